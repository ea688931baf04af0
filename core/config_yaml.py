"""Reading and validation of ``collections.yml``: the slow half of ``core.config``, off the interactive path."""

from __future__ import annotations

from typing import Any

import yaml

from core.errors import BadInput

TRUST = ("note", "distilled", "session", "article", "browser")
_COLLECTION_KEYS: dict[str, type | tuple[type, ...]] = {
    "path": str,
    "pattern": str,
    "ignore": list,
    "context": dict,
    "update": str,
    "includeByDefault": bool,
    "trust": str,
    "quota": (int, float),
}
_EMBEDDING_KEYS: dict[str, type | tuple[type, ...]] = {
    "provider": str,
    "model": str,
    "path": str,
    "base_url": str,
    "dimensions": int,
    "window": int,
}
_GENERATION_KEYS: dict[str, type | tuple[type, ...]] = {
    "provider": str,
    "model": str,
    "base_url": str,
    "timeout_s": (int, float),
}
_DISTILL_KEYS: dict[str, type | tuple[type, ...]] = {
    "llm": str,
    "model": str,
    "centrality": str,
    "base_url": str,
    "window": int,
    "timeout_s": (int, float),
    "budget_tokens": int,
    "budget_tokens_day": int,
    "budget_seconds": (int, float),
    "budget_seconds_day": (int, float),
}
_RERANK_KEYS: dict[str, type | tuple[type, ...]] = {
    "provider": str,
    "model": str,
    "path": str,
    "base_url": str,
    "window": int,
    "timeout_s": (int, float),
    "candidates": int,
    "weight": (int, float),
}
_GENERATORS = ("openai", "llm")
CHROME_MODES = ("allow", "deny", "all")
_CHROME_KEYS: dict[str, type] = {
    "roots": list,
    "mode": str,
    "allow": list,
    "deny": list,
    "nsfw": bool,
    "nsfw_words": list,
    "noise_words": list,
    "follow_clears": bool,
    "time_zone": str,
}
_SECTIONS = (
    "collections",
    "sources",
    "archive",
    "exclude",
    "synthetic",
    "embedding",
    "generation",
    "rerank",
    "distill",
    "ask",
    "serve",
    "telemetry",
    "doctor",
    "acceptance",
    "global_context",
    "models",
    "editor_uri",
)


class UniqueKeys:
    """For a subclass of a YAML loader: it rejects a repeated key, where YAML would silently use the last one."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return the mapping. Raises ConstructorError with the line of the second key."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    problem = f"the key {key.value!r} is here twice: merge the two or remove one"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)  # type: ignore[misc]


class _Loader(UniqueKeys, yaml.SafeLoader):
    """A safe loader that rejects repeated keys."""


def parse(path: str) -> dict[str, Any]:
    """Return the file as plain JSON-like data. Raises BadInput with the line of the fault."""
    try:
        with open(path, encoding="utf-8") as stream:
            data = yaml.load(stream, Loader=_Loader)  # noqa: S506  # a safe loader's subclass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}" if mark else path
        raise BadInput(f"{where}: {error.problem}", f"edit {path}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not YAML: {error}", f"edit {path}") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", f"check its permissions: ls -l {path}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        # What PyYAML's constructors stumble over: a date of no calendar, `!!int x`, nesting without end.
        raise BadInput(f"{path}: a value that YAML cannot hold: {error}", f"edit {path}") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path}: expected a mapping with `collections:`", f"edit {path}")
    for key in data:
        if key not in _SECTIONS:
            raise BadInput(f"{path}: unknown key {key!r}", f"known keys: {', '.join(_SECTIONS)}")
    collections = data.get("collections")
    if not isinstance(collections, dict) or not collections:
        raise BadInput(f"{path}: `collections:` must name at least one collection", f"edit {path}")
    for name, entry in collections.items():
        _check_collection(path, name, entry)
    known = ("embedding", "generation", "rerank", "distill", "ask", "serve", "telemetry", "doctor", "acceptance")
    for section in ("sources", *known):
        if not isinstance(data.get(section) or {}, dict):
            raise BadInput(f"{path}: `{section}:` must be a mapping", f"edit {path}")
    for name, entry in (data.get("sources") or {}).items():
        _check_source(path, name, entry)
    _check_ask(path, data.get("ask") or {})
    _check_serve(path, data.get("serve") or {})
    _check_doctor(path, data.get("doctor") or {})
    _check_acceptance(path, data.get("acceptance") or {})
    _check_archive(path, data.get("archive") or {})
    _check_globs(path, "exclude", data.get("exclude") or {}, ("projects", "paths"))
    _check_globs(path, "synthetic", data.get("synthetic") or {}, ("projects",))
    check_embedding(path, data.get("embedding") or {})
    check_generation(path, data.get("generation") or {})
    check_rerank(path, data.get("rerank") or {})
    _check_distill(path, data.get("distill") or {})
    plain: dict[str, Any] = _plain(data)
    if (plain.get("ask") or {}).get("serve") is False:
        plain["ask"]["serve"] = "off"
    return plain


_DOCTOR = frozenset(
    (
        *("free_bytes", "process_hours", "pending_share", "lexical_hours", "semantic_days", "wal_bytes"),
        *("recent_share", "silent_days", "distill_days", "hook_days", "backup_days"),
    )
)


def _check_doctor(path: str, section: dict[str, Any]) -> None:
    for key, value in section.items():
        if key == "log":
            if not isinstance(value, str):
                raise BadInput(f"{path}: doctor.log must be a path", f"edit {path}")
        elif key not in _DOCTOR:
            raise BadInput(f"{path}: unknown key doctor.{key}", f"known keys: {', '.join(sorted(_DOCTOR))}, log")
        elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise BadInput(f"{path}: doctor.{key} must be a number", f"edit {path}")


_SHARES = ("within_budget", "agent_answered", "recall", "recall_drop")
_ACCEPTANCE = ("uses", "days", *_SHARES[:1], "agent_uses", *_SHARES[1:], "teardown_below")


def _check_acceptance(path: str, section: dict[str, Any]) -> None:
    for key, value in section.items():
        if key not in _ACCEPTANCE:
            raise BadInput(f"{path}: unknown key acceptance.{key}", f"known keys: {', '.join(_ACCEPTANCE)}")
        most = 1 if key in _SHARES else 1e9
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            expected = "a share from 0 to 1" if key in _SHARES else "a number from 0 on"
            raise BadInput(f"{path}: acceptance.{key} must be {expected}", f"edit {path}")


def _check_source(path: str, name: object, entry: object) -> None:
    if entry is None:
        return
    if not isinstance(entry, dict):
        raise BadInput(f"{path}: source {name!r} must be a mapping", f"edit {path}")
    if not _texts(entry.get("roots") or []):
        raise BadInput(f"{path}: source {name!r}: roots must be a list of folders", "roots: [~/old/.claude/projects]")
    if name == "chrome":
        _check_chrome(path, entry)


def _check_chrome(path: str, entry: dict[str, Any]) -> None:
    where = f"{path}: source 'chrome'"
    for key in entry:
        if key not in _CHROME_KEYS:
            raise BadInput(f"{where}: unknown key {key!r}", f"known keys: {', '.join(_CHROME_KEYS)}")
    if entry.get("mode") not in (None, *CHROME_MODES):
        raise BadInput(f"{where}: mode must be one of {', '.join(CHROME_MODES)}", "mode: allow")
    for key, kind in _CHROME_KEYS.items():
        value = entry.get(key)
        if kind is list and not _texts(value or []):
            raise BadInput(f"{where}: {key} must be a list of texts", f"{key}: [example.com]")
        if value is not None and not isinstance(value, kind):
            raise BadInput(f"{where}: {key} has the wrong type", f"edit {path}")
    zone = entry.get("time_zone")
    if zone:
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(zone)
        except (LookupError, ValueError, OSError):
            raise BadInput(f"{where}: no time zone is called {zone!r}", "time_zone: Europe/Berlin") from None


def _check_ask(path: str, entry: dict[str, Any]) -> None:
    timeout = entry.get("timeout_s")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout < 1e9):
        raise BadInput(f"{path}: ask: timeout_s must be a number of seconds above 0", "timeout_s: 10")
    # YAML 1.1 reads a bare off as false.
    if entry.get("serve") not in (None, False, "off", "on-demand"):
        raise BadInput(f"{path}: ask: serve must be on-demand or off", "serve: on-demand")
    if entry.get("rerank") not in (None, True, False):
        raise BadInput(f"{path}: ask: rerank must be true or false", "rerank: true")


def _check_serve(path: str, entry: dict[str, Any]) -> None:
    for key, value in entry.items():
        if key != "watch":
            raise BadInput(f"{path}: serve: unknown key {key!r}", "known keys: watch")
        if value is not None and not isinstance(value, bool):
            raise BadInput(f"{path}: serve: watch must be true or false", "watch: true")


def check_embedding(path: str, entry: dict[str, Any]) -> None:
    """Raises BadInput where the section ``embedding:`` does not hold; what providers there are is not checked here."""
    _check_provider(path, "embedding", entry, _EMBEDDING_KEYS, "OPENAI_API_KEY, GEMINI_API_KEY")
    for key in ("dimensions", "window"):
        value = entry.get(key)
        if value is not None and not 8 <= value <= 100_000:
            raise BadInput(f"{path}: embedding: {key} must lie between 8 and 100000", f"edit {path}")


def check_generation(path: str, entry: dict[str, Any]) -> None:
    """Raises BadInput where the section ``generation:`` does not hold."""
    _check_provider(path, "generation", entry, _GENERATION_KEYS, "QMD_GENERATE_API_KEY, OPENAI_API_KEY")
    if entry.get("provider") not in (None, *_GENERATORS):
        raise BadInput(f"{path}: generation: provider must be one of {', '.join(_GENERATORS)}", "provider: openai")
    timeout = entry.get("timeout_s")
    if timeout is not None and not 0 < timeout <= 600:
        raise BadInput(f"{path}: generation: timeout_s must be a number of seconds up to 600", "timeout_s: 10")


def _check_provider(
    path: str, section: str, entry: dict[str, Any], known: dict[str, type | tuple[type, ...]], secrets: str
) -> None:
    for key, value in entry.items():
        if key not in known:
            # The configuration is copied into the index and into its cache: no place for a key.
            secret = "key" in str(key).lower() or "token" in str(key).lower()
            fix = f"export it instead: {secrets}" if secret else f"known keys: {', '.join(known)}"
            raise BadInput(f"{path}: {section}: unknown key {key!r}", fix)
        if value is not None and (not isinstance(value, known[key]) or isinstance(value, bool)):
            raise BadInput(f"{path}: {section}: {key} has the wrong type", f"edit {path}")


def check_rerank(path: str, entry: dict[str, Any]) -> None:
    """Raises BadInput where the section ``rerank:`` does not hold; what rerankers there are is not checked here."""
    _check_provider(path, "rerank", entry, _RERANK_KEYS, "QMD_RERANK_API_KEY")
    bounds = (("window", 16, 100_000), ("timeout_s", 0.001, 600), ("candidates", 1, 200), ("weight", 0, 1))
    for key, least, most in bounds:
        value = entry.get(key)
        if value is not None and not least <= value <= most:
            raise BadInput(f"{path}: rerank: {key} must lie between {least} and {most}", f"edit {path}")


def _check_globs(path: str, name: str, entry: object, keys: tuple[str, ...]) -> None:
    if not isinstance(entry, dict):
        raise BadInput(f"{path}: `{name}:` must be a mapping", f"{name}: {{{keys[0]}: [~/folder]}}")
    for key, value in entry.items():
        if key not in keys:
            raise BadInput(f"{path}: {name}: unknown key {key!r}", f"known keys: {', '.join(keys)}")
        if not _texts(value or []):
            raise BadInput(f"{path}: {name}: {key} must be a list of globs", f"{key}: [~/folder, '*/client-*']")


def _check_distill(path: str, entry: dict[str, Any]) -> None:
    for key, value in entry.items():
        if key not in _DISTILL_KEYS:
            secret = "key" in str(key).lower()
            fix = "export it instead: OPENAI_API_KEY" if secret else f"known keys: {', '.join(_DISTILL_KEYS)}"
            raise BadInput(f"{path}: distill: unknown key {key!r}", fix)
        if value is None:
            continue
        if not isinstance(value, _DISTILL_KEYS[key]) or isinstance(value, bool):
            raise BadInput(f"{path}: distill: {key} has the wrong type", f"edit {path}")
        if isinstance(value, int | float) and not 0 < value < 1e9:
            raise BadInput(f"{path}: distill: {key} must be a number above 0", f"edit {path}")
    name = str(entry.get("llm") or "extractive")
    if name not in ("extractive", "claude", "openai") and not (name.startswith("llm:") and name[4:]):
        raise BadInput(f"{path}: distill: llm must be extractive, claude, openai or llm:MODEL", "llm: extractive")
    if entry.get("centrality") not in (None, "embedding", "terms"):
        raise BadInput(f"{path}: distill: centrality must be embedding or terms", "centrality: embedding")


def _check_archive(path: str, entry: object) -> None:
    if not isinstance(entry, dict):
        raise BadInput(f"{path}: `archive:` must be a mapping", "archive: {max_gb: 20}")
    for key, value in entry.items():
        if key in ("enabled", "redact"):
            if not isinstance(value, bool):
                raise BadInput(f"{path}: archive: {key} must be true or false", f"{key}: true")
        elif key == "max_gb":
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
                raise BadInput(f"{path}: archive: max_gb must be a number above 0", "max_gb: 20")
        else:
            raise BadInput(f"{path}: archive: unknown key {key!r}", "known keys: enabled, redact, max_gb")


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check_collection(path: str, name: object, entry: object) -> None:
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise BadInput(f"{path}: {name!r} is no collection name", "use letters, digits, `-` and `_`")
    if entry is None:
        return
    if not isinstance(entry, dict):
        raise BadInput(f"{path}: collection {name!r} must be a mapping", f"edit {path}")
    for key, value in entry.items():
        if key not in _COLLECTION_KEYS:
            known = ", ".join(_COLLECTION_KEYS)
            raise BadInput(f"{path}: collection {name!r}: unknown key {key!r}", f"known keys: {known}")
        if value is not None and not isinstance(value, _COLLECTION_KEYS[key]):
            raise BadInput(f"{path}: collection {name!r}: {key} has the wrong type", f"edit {path}")
    if not _texts(entry.get("ignore") or []):
        raise BadInput(f"{path}: collection {name!r}: ignore must be a list of globs", 'ignore: ["drafts/**"]')
    if entry.get("trust") not in (None, *TRUST):
        raise BadInput(f"{path}: collection {name!r}: trust must be one of {', '.join(TRUST)}", f"edit {path}")
    quota = entry.get("quota")
    if quota is not None and not 0 < quota <= 1:
        raise BadInput(f"{path}: collection {name!r}: quota must lie in (0, 1]", f"edit {path}")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
