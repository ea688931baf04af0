"""The report of ``brain explain``: each part of the state is gathered in isolation, then everything wrong is listed.

A part that cannot be gathered becomes ``{"error": …, "fix": …}`` and a line of ``problems``; it hides no other part.
Unknown values are None, never a guess. Each problem says what to do.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from core.errors import BrainError, Internal, LockContention
from runtime.explaining import corpus, installation, semantic
from runtime.explaining.corpus import findings
from runtime.forgetting.expiry import expiring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.config import Config
    from core.home import Home

    Part = dict[str, Any] | list[dict[str, Any]]
    from collections.abc import Iterator


def report(home: Home, surface: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the whole report, as ``brain explain --json`` prints it. Raises nothing."""
    found: dict[str, Any] = {"schema": 1, "ok": True, "surface": surface}
    found["version"] = installation.product()
    found["interpreter"] = _part(installation.interpreter)
    found["home"] = _part(lambda: installation.place(home, environ))
    found["inbox"] = _part(lambda: installation.notes(home, environ))
    found["engine"] = _part(lambda: installation.engine(environ))
    found["config"] = {
        **_dict(_part(lambda: installation.config_file(home))),
        **_dict(_part(lambda: installation.configuration(home))),
    }
    _corpus(home, found, environ)
    found["ledger"] = _part(lambda: installation.ledger(home))
    found["transcripts"] = _part(
        lambda: _of_sources(home, lambda: installation.transcripts(home, found["index"].get("as_of")))
    )
    found["archive"] = _part(lambda: installation.archive(home))
    found["expiry"] = _part(lambda: _of_sources(home, lambda: expiring(home, environ=environ)))
    found["telemetry"] = _part(lambda: installation.usage(home))
    found["schedule"] = _part(installation.schedule)
    found["hooks"] = _part(lambda: installation.hooks(environ))
    found["skills"] = _part(lambda: installation.skills(environ))
    found["doctor"] = _part(lambda: installation.doctor(home))
    found["disk"] = _part(lambda: installation.disk(home, _corpus_bytes(found["collections"])))
    found["problems"] = problems(found)
    encodable: dict[str, Any] = _encodable(found)
    return encodable


def _corpus(home: Home, found: dict[str, Any], environ: Mapping[str, str]) -> None:
    """The index, then the collections, which are walked whether the index can be read or not."""
    from core.config import load

    known: corpus.KnownCorpus | None = None
    config: Config | None = None

    def index() -> Part:
        nonlocal known
        known = corpus.read(home)
        return corpus.index(home, known, config)

    def collections() -> Part:
        return corpus.collections(load(home), known)

    with suppress(BrainError, OSError):  # the configuration's own part says so
        config = load(home)
    found["index"] = _part(index)
    if "error" in found["index"]:
        found["index"] = {"path": home.index, **found["index"]}
    found["distillation"] = _part(lambda: corpus.distillation(home))
    found["semantic"] = _part(lambda: semantic.semantic(known, config))
    found["expansion"] = _part(lambda: semantic.expansion(config, environ))
    found["reranking"] = _part(lambda: semantic.reranking(config, environ))
    found["collections"] = _part(collections)


def _corpus_bytes(collections: Part) -> int | None:
    if isinstance(collections, dict):
        return None
    return sum(entry.get("bytes") or 0 for entry in collections)


def _part(gather: Callable[[], Part]) -> Part:
    try:
        return gather()
    except BrainError as error:
        return {"error": error.message, "fix": error.fix}
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return {"error": f"{error.strerror or error}{where}", "fix": _permissions(error)}
    except Exception as error:  # noqa: BLE001 - one part's failure is a finding of the report, not its end
        return {"error": f"{type(error).__name__}: {error}", "fix": ""}


def _of_sources(home: Home, gather: Callable[[], Part]) -> Part:
    """Return what ``gather`` finds about the sources; an error of SQLite names the file and a fix."""
    import apsw

    from ingest.pipeline.state import FILE
    from qmd.index.store import disk_full

    path = os.path.join(home.state, FILE)
    try:
        return gather()
    except (apsw.BusyError, apsw.LockedError):
        raise LockContention(f"another process is writing to {path}", "wait a moment, then look again") from None
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise disk_full(error, path) or Internal(f"{path}: {error}", f"check its permissions: ls -l {path}") from error
    except apsw.Error as error:
        said = f"{path} cannot be read: {error}"
        raise disk_full(error, path) or Internal(said, "brain index reads the sources once more") from error


def _permissions(error: OSError) -> str:
    return f"check its permissions: ls -ld {error.filename}" if isinstance(error, PermissionError) else ""


def _dict(part: Part) -> dict[str, Any]:
    assert isinstance(part, dict)
    return part if "error" not in part else {"valid": False, **part}


def _encodable(value: Any) -> Any:
    """Return ``value`` with file names that are not UTF-8 shown as ``\\xNN``, so that it can be printed and sent."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        )
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value


_LOAD = {"launchd": "launchctl load -w {file}", "systemd": "systemctl --user enable --now {name}.timer"}
# Unknown kinds of records that are named.
_KINDS = 5
SEVERITIES = ("error", "warning", "notice")


def problems(found: dict[str, Any]) -> list[dict[str, str]]:
    """Return the problems of a report, worst first: severity (``error`` ``warning`` ``notice``), part, message, fix.

    An error keeps a command from doing its work, a warning harms privacy or the truth of answers, a notice is work
    that waits.
    """
    listed = [
        *_failed(found),
        *_installation(found),
        *_index(found),
        *_embedding(found),
        *_corpus_problems(found),
        *_sources(found),
        *_kept(found),
        *(_problem(severity, "distillation", said, fix) for severity, said, fix in findings(found["distillation"])),
        *_surfaces(found),
    ]
    return sorted(listed, key=lambda problem: SEVERITIES.index(problem["severity"]))


def _problem(severity: str, part: str, message: str, fix: str) -> dict[str, str]:
    return {"severity": severity, "part": part, "message": message, "fix": fix}


def _failed(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Parts, and entries of parts, that could not be gathered."""
    broken_config = "error" in found["config"]
    for name, part in found.items():
        if isinstance(part, dict) and "error" in part:
            if name == "collections" and broken_config:
                continue  # the same failure, reported as the configuration's
            yield _problem("error", name, part["error"], part.get("fix", ""))
    for entry in _entries(found["collections"]):
        if "error" in entry:
            yield _problem("error", "collections", f"{entry['name']}: {entry['error']}", entry["fix"])


def _installation(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    home = found["home"]
    if home.get("exists") is False:
        yield _problem("notice", "home", f"{home['path']} does not exist yet", "brain init")
    for name, wanted in (("home", 0o700), ("telemetry", 0o600)):
        part = found[name]
        mode = part.get("mode")
        if mode and int(mode, 8) & 0o077:
            message = f"{part['path']} has mode {mode}: others on this machine may read it"
            yield _problem("warning", name, message, f"chmod {wanted:o} {part['path']}")
    engine = found["engine"]
    if "error" not in engine and engine["resolved"] is None:
        message = f"BRAIN_QMD names {engine['setting']}, which is no executable"
        yield _problem("error", "engine", message, "unset BRAIN_QMD, or name one that runs")
    if "error" not in engine and engine["fts5"] is None:
        yield _problem("error", "engine", "this SQLite has no FTS5", "reinstall apsw from PyPI: pip install -U apsw")
    if "error" in engine.get("sqlite_vec", {}):
        yield _problem("warning", "engine", engine["sqlite_vec"]["error"], "pip install -U sqlite-vec")


def _index(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    index = found["index"]
    if index.get("exists") is False:
        yield _problem("error", "index", f"there is no index yet at {index['path']}", "brain index")
    elif index.get("exists"):
        if not index["complete"]:
            yield _problem(
                "notice", "index", "no index run has ended yet: answers may lack what is there", "brain index"
            )
        elif index["current"] is False:
            message = "the collections have changed since the last index run"
            yield _problem("notice", "index", message, "brain index")
    if "error" in index or "error" in found["config"]:
        return
    strays = {
        name: count for name, count in index["by_collection"].items() if name not in found["config"]["collections"]
    }
    for name, count in strays.items():
        message = f"{_many(count, 'document')} of collection {name}, which {found['config']['path']} does not name"
        yield _problem("notice", "index", message, f"name {name} there, or make the index anew: brain index --rebuild")


def _embedding(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    why = found["semantic"].get("why")
    if why:
        message = f"nothing can be embedded: {why}"
        yield _problem("error", "semantic", message, f"{found['semantic']['fix']} (in {_config(found)})")


def _corpus_problems(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    for entry in _entries(found["collections"]):
        if "error" in entry:
            continue
        name, path = entry["name"], entry["path"]
        if not entry["exists"] and entry["documents"]:
            answers = "answers" if entry["documents"] == 1 else "answer"
            message = f"{name}: {path} is missing; its {_many(entry['documents'], 'document')} still {answers}"
            yield _problem(
                "warning", "collections", message, f"bring {path} back, or correct its path in {_config(found)}"
            )
        if entry["unreadable"]:
            unreadable = _many(entry["unreadable"], "file or folder", "files or folders")
            message = f"{name}: {unreadable} below {path} cannot be read"
            yield _problem("warning", "collections", message, f"check their permissions: ls -lR {path}")
        if entry["pending"] and found["index"].get("exists"):
            message = f"{name}: {_many(entry['pending'], 'file waits', 'files wait')} to be indexed"
            yield _problem("notice", "collections", message, "brain index")


def _sources(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    waiting = found["transcripts"].get("waiting")
    if waiting:
        message = f"{_many(waiting, 'transcript waits', 'transcripts wait')} to be read"
        yield _problem("notice", "transcripts", message, "brain index --new")
    elif waiting == 0 and not found["ledger"]:
        yield _problem("notice", "transcripts", "no transcripts have been read yet", "brain index")
    for name, counted in found["ledger"].items() if "error" not in found["ledger"] else ():
        parts = [
            _many(counted[key], noun)
            for key, noun in (("failed_files", "file"), ("failed_records", "record"))
            if counted.get(key)
        ]
        unknown = counted.get("unknown")
        if isinstance(unknown, dict) and unknown:
            kinds = sorted(unknown, key=lambda kind: -_count(unknown[kind]))
            some = ", ".join(kinds[:_KINDS]) + (f" and {len(kinds) - _KINDS} more" if len(kinds) > _KINDS else "")
            message = f"{name}: records or fields that this version does not know: {some}"
            yield _problem("notice", "ledger", message, "brain explain shows where each was first seen")
        if counted.get("partial"):
            message = f"{name}: {_many(counted['partial'], 'file')} could be read only in part"
            yield _problem(
                "notice", "ledger", message, "mend it where it lies; brain explain --json lists it under ledger"
            )
        if parts:
            message = f"{name}: {' and '.join(parts)} could not be read"
            yield _problem("notice", "ledger", message, "brain explain --json lists them under ledger")


def _kept(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Raw files: what will soon be gone, and what takes much room."""
    expiry = found["expiry"]
    if expiry.get("unarchived"):
        some = "transcript is" if expiry["unarchived"] == 1 else "transcripts are"
        message = (
            f"{expiry['unarchived']} {some} not archived, and Claude Code deletes them within"
            f" {expiry['within_days']} days (cleanupPeriodDays: {expiry['period_days']})"
        )
        off = found["archive"].get("enabled") is False
        fix = "archive: {enabled: true} in collections.yml, then: brain index" if off else "brain index"
        yield _problem("warning", "expiry", message, fix)
    archive = found["archive"]
    if archive.get("over"):
        size, most = archive["bytes"] / 1e9, archive["max_bytes"] / 1e9
        message = (
            f"the archive takes {size:.3g} GB, more than the {most:g} GB of archive: {{max_gb}}; nothing is deleted"
        )
        yield _problem("warning", "archive", message, "raise max_gb in collections.yml, or: brain forget --until WHEN")


def _surfaces(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    for broken in found["hooks"].get("broken", ()):
        yield _problem("warning", "hooks", f"{broken['file']}: {broken['error']}", f"edit {broken['file']}")
    for skill in found["skills"].get("skills", ()):
        if "error" in skill:
            yield _problem("warning", "skills", f"{skill['path']}: {skill['error']}", f"edit {skill['path']}")
    for job in found["schedule"].get("jobs", ()):
        if "error" in job:
            yield _problem("warning", "schedule", f"{job['file']}: {job['error']}", f"remove {job['file']}")
        elif job["loaded"] is False:
            yield _problem(
                "warning",
                "schedule",
                f"{job['name']} is installed but not loaded",
                _LOAD[job["scheduler"]].format(**job),
            )
        elif job["last_exit"]:
            message = f"{job['name']} ended with {job['last_exit']} when it last ran"
            yield _problem("warning", "schedule", message, "run it by hand and read what it says")


def _count(entry: object) -> int:
    count = entry.get("count") if isinstance(entry, dict) else None
    return count if isinstance(count, int) else 0


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def _entries(part: Any) -> list[dict[str, Any]]:
    return part if isinstance(part, list) else []


def _config(found: dict[str, Any]) -> str:
    return str(found["config"].get("path", "collections.yml"))
