"""What the brain knows of its own state, each part gathered in isolation.

A part that cannot be gathered is ``{"error": …, "fix": …}`` in its place and a line of ``problems``; it hides no other.
What is not known is None, never a guess.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from core.errors import BrainError, Internal, LockContention
from runtime.explaining import corpus, distilled, machine, semantic, surfaces
from runtime.explaining.problems import problems
from runtime.forgetting.expiry import expiring

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.config import Config
    from core.home import Home

    Part = dict[str, Any] | list[dict[str, Any]]


def report(home: Home, surface: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The whole report, as ``brain explain --json`` prints it. Raises nothing."""
    found: dict[str, Any] = {"schema": 1, "ok": True, "surface": surface}
    found["version"] = machine.product()
    found["interpreter"] = _part(machine.interpreter)
    found["home"] = _part(lambda: machine.place(home, environ))
    found["inbox"] = _part(lambda: machine.notes(home, environ))
    found["engine"] = _part(lambda: machine.engine(environ))
    found["config"] = {
        **_dict(_part(lambda: machine.config_file(home))),
        **_dict(_part(lambda: machine.configuration(home))),
    }
    _corpus(home, found, environ)
    found["ledger"] = _part(lambda: machine.ledger(home))
    found["transcripts"] = _part(
        lambda: _of_sources(home, lambda: machine.transcripts(home, found["index"].get("as_of")))
    )
    found["archive"] = _part(lambda: machine.archive(home))
    found["expiry"] = _part(lambda: _of_sources(home, lambda: expiring(home, environ=environ)))
    found["telemetry"] = _part(lambda: machine.usage(home))
    found["schedule"] = _part(surfaces.schedule)
    found["hooks"] = _part(lambda: surfaces.hooks(environ))
    found["skills"] = _part(lambda: surfaces.skills(environ))
    found["doctor"] = _part(lambda: surfaces.doctor(home))
    found["disk"] = _part(lambda: machine.disk(home, _corpus_bytes(found["collections"])))
    found["problems"] = problems(found)
    encodable: dict[str, Any] = _encodable(found)
    return encodable


def _corpus(home: Home, found: dict[str, Any], environ: Mapping[str, str]) -> None:
    """The index, then the collections, which are walked whether the index can be read or not."""
    from core.config import load

    known: corpus.Known | None = None
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
    found["distillation"] = _part(lambda: distilled.distillation(home))
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
    """What is known of the sources, by ``gather``; SQLite's failures say which file, and what can be done."""
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
    """``value`` with file names that are not UTF-8 shown as ``\\xNN``, so that it can be printed and sent."""
    if isinstance(value, str):
        return (
            value if value.isascii() else value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        )
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value
