"""What ``explain`` says of the installation: interpreter, home, engine, configuration, telemetry, sources, disk."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from stat import S_IMODE
from typing import TYPE_CHECKING, Any

from core import config, telemetry
from core.errors import EngineMissing
from core.version import DOCUMENT, INDEX, PARSER, VERSION
from runtime.capture import inbox

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.home import Home

_LAST_EVENTS = 5


def product() -> dict[str, Any]:
    """The product's version, and those that decide when derived data is made anew."""
    return {"product": VERSION, "parser": PARSER, "document": DOCUMENT, "index": INDEX}


def interpreter() -> dict[str, Any]:
    """The Python that runs, and the machine it runs on."""
    return {
        "path": sys.executable,
        "version": platform.python_version(),
        "environment": sys.prefix,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def place(home: Home, environ: Mapping[str, str]) -> dict[str, Any]:
    """The home: its path, where that comes from, and its octal mode. Raises OSError where it cannot be looked at."""
    origin = "BRAIN_HOME" if environ.get("BRAIN_HOME") else "default"
    return {"path": home.root, "origin": origin, **_folder(home.root)}


def notes(home: Home, environ: Mapping[str, str]) -> dict[str, Any]:
    """The inbox: its folder, where that comes from, and where a note of now would go."""
    origin = "BRAIN_INBOX_DIR" if environ.get("BRAIN_INBOX_DIR") else "home"
    return {"path": home.inbox, "origin": origin, "today": inbox.folder(home, time.time()), **_folder(home.inbox)}


def engine(environ: Mapping[str, str]) -> dict[str, Any]:
    """Which engine ``BRAIN_QMD`` names and what it resolves to (None where to nothing), with SQLite's versions."""
    import apsw

    setting = environ.get("BRAIN_QMD") or "builtin"
    memory = apsw.Connection(":memory:")
    return {
        "setting": setting,
        "resolved": setting if setting == "builtin" else shutil.which(os.path.expanduser(setting)),
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "fts5": _version_of(memory, "fts5_source_id"),
        "sqlite_vec": _sqlite_vec(memory),
    }


def configuration(home: Home) -> dict[str, Any]:
    """The file in force and the collections it names. Raises BadInput, naming file and line, where it is not valid."""
    loaded = config.load(home)
    return {"valid": True, "collections": list(loaded.collections)}


def config_file(home: Home) -> dict[str, Any]:
    """Which file is in force, valid or not: the home's own or the shipped default."""
    path = config.locate(home)
    return {"path": path, "origin": "home" if path == home.path(config.FILE) else "shipped"}


def usage(home: Home) -> dict[str, Any]:
    """The telemetry file: path, octal mode, bytes, and its last events, oldest first."""
    return {"path": home.usage, **_status(home.usage), "last": telemetry.tail(home, _LAST_EVENTS)}


def ledger(home: Home) -> dict[str, Any]:
    """What the last runs over each source counted."""
    from ingest.pipeline.ledger import read

    counted: dict[str, Any] = read(home)
    return counted


def transcripts(home: Home, as_of: str | None) -> dict[str, Any]:
    """How many transcripts are new or have grown, in all and by source; ``as_of`` is that of the last index run."""
    from ingest.pipeline.pulse import waiting

    sources = waiting(home)
    return {"waiting": sum(sources.values()), "sources": sources, "as_of": as_of}


def disk(home: Home, corpus: int | None) -> dict[str, Any]:
    """Bytes by purpose; ``corpus``, the collections' files, has been counted by their walk (None: it failed)."""
    index = sum(_size(home.index + suffix) for suffix in ("", "-wal", "-shm"))
    return {"corpus": corpus, "index": index, "state": _weight(home.state), "logs": _weight(home.logs)}


def _folder(path: str) -> dict[str, Any]:
    status = _status(path)
    return {"exists": status["exists"], "mode": status["mode"]}


def _status(path: str) -> dict[str, Any]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return {"exists": False, "mode": None, "bytes": None}
    return {"exists": True, "mode": f"{S_IMODE(status.st_mode):04o}", "bytes": status.st_size}


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _weight(folder: str) -> int:
    """Bytes of the files below ``folder``; 0 where it is missing. Raises OSError where it cannot be listed."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    return sum(_size(os.path.join(path, name)) for path, _, names in os.walk(folder, onerror=fail) for name in names)


def _version_of(connection: Any, function: str) -> str | None:
    """What an SQL function without arguments answers, or None where this SQLite has no such function."""
    import apsw

    try:
        return str(connection.execute(f"SELECT {function}()").get)
    except apsw.SQLError:
        return None


def _sqlite_vec(connection: Any) -> dict[str, Any]:
    from qmd.index import spaces

    if spaces.extension_path() is None:
        return {"installed": False}
    try:
        spaces.load(connection)
    except EngineMissing as error:
        return {"installed": True, "error": str(error)}
    return {"installed": True, "version": _version_of(connection, "vec_version")}


def archive(home: Home) -> dict[str, Any]:
    """What is kept of raw files (``ingest.archive.verifier.summarize``)."""
    from ingest import registry
    from ingest.archive import verifier

    return dict(verifier.summarize(home, registry.settings(home)))
