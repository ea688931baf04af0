"""Reading and validation of ``collections.yml``: the slow half of ``core.config``, off the interactive path.

Each section is a table: key → rule. A message names the file, the section and the key; its fix is a line to write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from core.counting import TOKENS
from core.engine import POSTGRES, PRIVATE, TEAM, is_dsn, is_space
from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TRUST = ("note", "distilled", "session", "article", "browser")
SYNC_TRUST = ("full", "evidence")
CHROME_MODES = ("allow", "deny", "all")
_GENERATORS = ("openai", "llm")
_NUMBER = (int, float)


class Rule(NamedTuple):
    """The rule of a key: a type, and a condition that ``expected`` puts into words: "KEY must …".

    A rule of type ``object`` leaves the type to its condition. ``fix`` is a line of the file, "" for none.
    """

    kind: type | tuple[type, ...] = object
    holds: Callable[[Any], bool] = lambda _: True
    expected: str = ""
    fix: str = ""


def _one_of(names: Iterable[str], fix: str = "") -> Rule:
    return Rule(str, lambda value: value in names, f"be one of {', '.join(names)}", fix)


def _within(least: float, most: float, kind: type | tuple[type, ...] = _NUMBER) -> Rule:
    return Rule(kind, lambda value: least <= value <= most, f"lie between {least} and {most}")


def _number(expected: str, least: float, most: float, fix: str = "", *, above: bool = False) -> Rule:
    """Return the rule of a number from ``least`` (``above``: not ``least`` itself) to ``most``."""

    def holds(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and least <= value <= most and not (above and value == least)

    return Rule(object, holds, f"be {expected}", fix)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _texts(of: str, fix: str, kind: type = object) -> Rule:
    return Rule(kind, _is_texts, f"be a list of {of}", fix)


def _flag(fix: str) -> Rule:
    return Rule(object, lambda value: isinstance(value, bool), "be true or false", fix)


def _is_share(value: object) -> bool:
    if isinstance(value, str):
        return value in (PRIVATE, TEAM)
    return isinstance(value, list) and all(
        isinstance(name, str) and name != PRIVATE and 0 < len(name.encode()) < 64 for name in value
    )


def _is_zone(name: Any) -> bool:
    from zoneinfo import ZoneInfo

    try:
        return not name or bool(ZoneInfo(name))
    except (LookupError, ValueError, OSError):
        return False


_TEXT = Rule(str)
_POSITIVE = Rule(_NUMBER, lambda value: 0 < value < 1e9, "be a number above 0")
_COUNT = Rule(int, _POSITIVE.holds, _POSITIVE.expected)
_SHARE = _number("a share from 0 to 1", 0, 1)
_FROM_0 = _number("a number from 0 on", 0, 1e9)

COLLECTION = {
    "path": _TEXT,
    "pattern": _TEXT,
    "ignore": _texts("globs", 'ignore: ["drafts/**"]', list),
    "context": Rule(dict),
    "update": _TEXT,
    "includeByDefault": Rule(bool),
    "trust": _one_of(TRUST),
    "quota": Rule(_NUMBER, lambda value: 0 < value <= 1, "lie in (0, 1]"),
    "share": Rule(object, _is_share, "be private, team, or a list of members and groups", "share: [NAME]"),
}
ENGINE = {
    "kind": _one_of((POSTGRES,), "kind: postgres"),
    "dsn": Rule(
        str,
        is_dsn,
        "be a DSN of PostgreSQL without a password; passwords lie in ~/.pgpass or in the keyring",
        "dsn: postgresql://NAME@HOST/DATABASE",
    ),
    "space": Rule(str, is_space, "be the team's name: small letters, digits, _ and -", "space: platform"),
    "evidence": _texts("members", "evidence: [leo]"),
}
SOURCE = {"roots": _texts("folders", "roots: [~/old/.claude/projects]")}
CHROME = {
    "mode": _one_of(CHROME_MODES, "mode: allow"),
    **{name: _texts("texts", f"{name}: [example.com]") for name in ("allow", "deny", "nsfw_words", "noise_words")},
    "nsfw": Rule(bool),
    "follow_clears": Rule(bool),
    "time_zone": Rule(str, _is_zone, "name a time zone", "time_zone: Europe/Berlin"),
}
EMBEDDING = {
    **dict.fromkeys(("provider", "model", "path", "base_url"), _TEXT),
    **dict.fromkeys(("dimensions", "window"), _within(8, 100_000, int)),
}
GENERATION = {
    "provider": _one_of(_GENERATORS, "provider: openai"),
    "model": _TEXT,
    "base_url": _TEXT,
    "timeout_s": Rule(_NUMBER, lambda value: 0 < value <= 600, "be a number of seconds up to 600", "timeout_s: 10"),
}
RERANK = {
    **dict.fromkeys(("provider", "model", "path", "base_url"), _TEXT),
    "window": _within(16, 100_000, int),
    "timeout_s": _within(0.001, 600),
    "candidates": _within(1, 200, int),
    "weight": _within(0, 1),
}
DISTILL = {
    "llm": Rule(
        str,
        lambda name: not name or name in ("extractive", "claude", "openai") or (name.startswith("llm:") and name[4:]),
        "be extractive, claude, openai or llm:MODEL",
        "llm: extractive",
    ),
    "model": _TEXT,
    "centrality": Rule(
        str, lambda value: value in ("embedding", "terms"), "be embedding or terms", "centrality: embedding"
    ),
    "base_url": _TEXT,
    "timeout_s": _POSITIVE,
    **dict.fromkeys(("window", "budget_tokens", "budget_tokens_day"), _COUNT),
    **dict.fromkeys(("budget_seconds", "budget_seconds_day"), _POSITIVE),
}
ASK = {
    "timeout_s": _number("a number of seconds above 0", 0, 1e9, "timeout_s: 10", above=True),
    # YAML 1.1 reads a bare off as false.
    "serve": Rule(
        object, lambda value: value in (False, "off", "auto", "on-demand"), "be auto, on-demand or off", "serve: auto"
    ),
    "rerank": _flag("rerank: true"),
}
SERVE = {"watch": _flag("watch: true")}
ARCHIVE = {
    "enabled": _flag("enabled: true"),
    "redact": _flag("redact: true"),
    "max_gb": _number("a number above 0", 0, 1e9, "max_gb: 20", above=True),
}
_LIMITS = """free_bytes process_hours pending_share lexical_hours semantic_days wal_bytes recent_share silent_days
    distill_days hook_days backup_days""".split()
DOCTOR = {**dict.fromkeys(_LIMITS, _number("a number", 0, float("inf"))), "log": Rule(str, expected="be a path")}
ACCEPTANCE = {
    **dict.fromkeys(("uses", "days", "agent_uses", "teardown_below"), _FROM_0),
    **dict.fromkeys(("within_budget", "agent_answered", "recall", "recall_drop"), _SHARE),
}
SYNC = {
    "trust": Rule(
        dict,
        # YAML reads a bare `no` as false and 007 as 7: a machine of that name would go on being trusted.
        lambda value: all(
            type(name) is str and name == name.lower() and kind in SYNC_TRUST for name, kind in value.items()
        ),
        f"give each machine, its name in quotes and small letters, one of {', '.join(SYNC_TRUST)}",
        "trust: {laptop: full, friend: evidence}",
    )
}
INJECTED = {"budget": _within(0, 9_000, int)}
# Prices are for a million tokens.
PRICE = dict.fromkeys(TOKENS, _FROM_0)
_GLOBS = "[~/folder, '*/client-*']"
# Section → its rules. The sections without rules have free keys, or are checked below.
_RULES: dict[str, Mapping[str, Rule]] = {
    "ask": ASK,
    "serve": SERVE,
    "doctor": DOCTOR,
    "acceptance": ACCEPTANCE,
    "injected": INJECTED,
    "sync": SYNC,
    "engine": ENGINE,
    "archive": ARCHIVE,
    "exclude": {name: _texts("globs", f"{name}: {_GLOBS}") for name in ("projects", "paths")},
    "synthetic": {"projects": _texts("globs", f"projects: {_GLOBS}")},
    "embedding": EMBEDDING,
    "generation": GENERATION,
    "rerank": RERANK,
    "distill": DISTILL,
    "telemetry": {},
    "sources": {},
}
# Source → the rules of its own keys. Sources without rules may have any.
_OF_SOURCES = {"chrome": CHROME}
# Sections with keys that other versions of the program may read.
_OPEN = ("ask", "telemetry", "sources")
_SECTIONS = (
    *("collections", "sources", "archive", "exclude", "synthetic", "embedding", "generation", "rerank", "distill"),
    *(
        "ask",
        "serve",
        "telemetry",
        "doctor",
        "acceptance",
        "injected",
        "sync",
        "engine",
        "prices",
        "global_context",
        "models",
        "editor_uri",
    ),
)
# What to write where a section is a word by mistake.
_FIXES = {"serve": "so that questions use no `brain serve`: ask: {serve: off}"}
# The configuration is copied into the index and into its cache: no place for a key. Section → the variables to export.
_SECRETS = {
    "embedding": "OPENAI_API_KEY, GEMINI_API_KEY",
    "generation": "QMD_GENERATE_API_KEY, OPENAI_API_KEY",
    "rerank": "QMD_RERANK_API_KEY",
    "distill": "OPENAI_API_KEY",
}


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
        # PyYAML's constructors fail on: a date of no calendar, `!!int x`, nesting without end.
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
        if not isinstance(name, str) or not name.isprintable() or not name or "/" in name or name.startswith("."):
            raise BadInput(f"{path}: {name!r} is no collection name", "use letters, digits, `-` and `_`")
        _check(path, f"collection {name!r}", _mapping(path, f"collection {name!r}", entry), COLLECTION)
    for section in _RULES:
        check(path, section, _mapping(path, f"`{section}:`", data.get(section), _FIXES.get(section, "")))
    named = _mapping(path, "`engine:`", data.get("engine"))
    if named and not (named.get("dsn") and named.get("space")):
        raise BadInput(f"{path}: engine: dsn and space belong together", "brain team join --help")
    for name, entry in (data.get("sources") or {}).items():
        where = f"source {name!r}"
        rules = _OF_SOURCES.get(name, {})
        _check(path, where, _mapping(path, where, entry), {**SOURCE, **rules}, is_open=not rules)
    for model, entry in _mapping(path, "`prices:`", data.get("prices")).items():
        if not isinstance(model, str):
            raise BadInput(f"{path}: {model!r} under `prices:` is no model's name", f"write it in quotes: '{model}'")
        _check(path, f"price of {model!r}", _mapping(path, f"price of {model!r}", entry), PRICE)
    plain: dict[str, Any] = _plain(data)
    if (plain.get("ask") or {}).get("serve") is False:
        plain["ask"]["serve"] = "off"
    return plain


def check(path: str, section: str, entry: Mapping[str, Any]) -> None:
    """Raise BadInput for the first key of a section that breaks its rule; ``path`` is the file for the message."""
    _check(path, section, entry, _RULES[section], is_open=section in _OPEN, secrets=_SECRETS.get(section, ""))


def _check(
    path: str,
    where: str,
    entry: Mapping[str, Any],
    rules: Mapping[str, Rule],
    *,
    is_open: bool = False,
    secrets: str = "",
) -> None:
    for key, value in entry.items():
        rule = rules.get(key)
        if rule is None:
            if is_open:
                continue
            is_secret = secrets and any(word in str(key).lower() for word in ("key", "token"))
            fix = f"export it instead: {secrets}" if is_secret else f"known keys: {', '.join(rules)}"
            raise BadInput(f"{path}: {where}: unknown key {key!r}", fix)
        if value is None:
            continue
        if not isinstance(value, rule.kind) or (isinstance(value, bool) and rule.kind not in (bool, object)):
            raise BadInput(f"{path}: {where}: {key} has the wrong type", rule.fix or f"edit {path}")
        if not rule.holds(value):
            raise BadInput(f"{path}: {where}: {key} must {rule.expected}", rule.fix or f"edit {path}")


def _mapping(path: str, where: str, entry: object, fix: str = "") -> dict[str, Any]:
    """Return ``entry``, {} for None. Raises BadInput if it is no mapping."""
    if entry is None:
        return {}
    if not isinstance(entry, dict):
        raise BadInput(f"{path}: {where} must be a mapping", fix or f"edit {path}")
    return entry


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
