"""Copilot CLI: ``~/.copilot/session-state/<id>/events.jsonl`` or ``<id>.jsonl``; ``history-session-state/*.json``.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``; ``read`` is what a run calls.
Formats: ``ingest._copilot``.
"""

from __future__ import annotations

import contextlib

from ingest.histories import PLACES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.document import Document, Failure
    from core.home import Home
    from ingest.files import SourceFile
    from ingest.reading import Reading
    from ingest.state import FileRow

NAME = "copilot"
COLLECTION = "brain"
PREFIX = "copilot__"
SUFFIXES = (".jsonl", ".json")

# What the tool makes of its transcripts, and keeps when they are gone.
STORE = PLACES[NAME][0]

# Beside the events: what the session is called, and where it ran; what VS Code calls those that it shows.
ABOUT, EDITORS = "workspace.yaml", "vscode.metadata.json"

_NOT_FOLDERS = {"logs": "log", "rewind-snapshots": "snapshot of files", "checkpoints": "checkpoint"}


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The places where this machine keeps them, those that exist."""
    from ingest.sources import roots

    return roots(NAME, home, environ)


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """Every session below the roots, sorted by path, each as new as what its folder says of it.

    The database of all sessions is among them, also where it lies beside the roots.
    """
    from os.path import basename

    from ingest.databases import with_logs
    from ingest.files import walk
    from ingest.histories import above

    places = list(roots)
    found = walk([*places, *above(NAME, places)], (*SUFFIXES, STORE), {}, _NOT_FOLDERS)
    files = list(with_logs([file for file in found if _is_session(file.path)]))
    taken_over = {_session(file.path) for file in files if file.path.endswith(".jsonl")}
    for file in files:
        if file.skip:
            continue
        if basename(file.path) == "events.jsonl":
            file.mtime_ns = max(file.mtime_ns, newest_beside(file.path))
        elif file.path.endswith(".json") and _session(file.path) in taken_over:
            file.skip = "session that a later version took over"
    return files


def newest_beside(path: str) -> int:
    """When what lies beside a session's events was written last, in ns; 0 where nothing does."""
    import os
    from os.path import dirname

    newest = 0
    for name in (ABOUT, EDITORS):
        with contextlib.suppress(OSError):
            newest = max(newest, os.stat(f"{dirname(path)}/{name}").st_mtime_ns)
    return newest


def _is_session(path: str) -> bool:
    """Whether a file may be a session: of documents only those that lie, or are called, as sessions were."""
    return path.endswith((".jsonl", f"/{STORE}")) or "/history-session-state/" in path or "/session_" in path


def _session(path: str) -> str:
    """The id of the session that a file's name tells."""
    from os.path import basename, dirname

    name = basename(path)
    if name == "events.jsonl":
        return basename(dirname(path))
    if name.endswith(".json"):
        name = name.removesuffix(".json").removeprefix("session_")
        return name.rpartition("_")[0] or name
    return name.removesuffix(".jsonl")


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Those of ``files`` that are new or not what they were when ``known`` was recorded, or are called otherwise."""
    from ingest.files import pending as not_as_known

    new = not_as_known(files, known, trust_stat=trust_stat)
    there = {file.path for file in new}
    for file in files:
        row = known.get(file.path)
        if row is not None and not file.skip and file.path not in there and file.mtime_ns > row.mtime_ns:
            new.append(file)
    return new


def parse(path: str) -> Iterator[Document | Failure]:
    """The documents of one file taken alone, then what in it could not be read. Raises nothing."""
    from ingest.sessions import documents

    return documents(read(path), PREFIX)


def stats(home: Home) -> dict[str, object]:
    """What the last run recorded of this source (see ``ingest.ledger``); empty before the first."""
    from ingest.ledger import of

    return of(home, NAME)


def read(path: str) -> Reading:
    """One file as sessions, and the account of what was not kept."""
    from ingest._copilot import read as read_file

    return read_file(path)
