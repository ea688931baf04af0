"""What Codex's sessions are called: ``session_index.jsonl`` beside ``sessions``, to which every naming adds a line.

A line is ``{id, thread_name, updated_at}``; the last one of an id counts
(https://github.com/openai/codex, codex-rs/rollout/src/session_index.rs). For some versions of 2026 the name is written
into the transcript too; since 0.144 it is in a database (``ingest.sources.codex.state``), which counts where it has
one. A session may thus be renamed without its transcript changing.
"""

from __future__ import annotations

import json
import os
from os.path import basename, dirname, isdir, isfile, join
from typing import TYPE_CHECKING, Any

from ingest.raw import records
from ingest.session.values import moment, string
from ingest.sources.codex import state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow
    from ingest.raw.files import SourceFile
    from ingest.raw.store import RawStore

FILE = "session_index.jsonl"
INDEX = "index of sessions"
# A transcript lies four folders below the index, ``rollout_segments`` some more.
_ABOVE = 7
_MAX = 64 * 1024 * 1024
# Later than any time of a name in a transcript.
_ALWAYS = "9999-12-31T00:00:00.000"
# Index → (what it was like, id → (when, name)): one file names all sessions.
_known: dict[str, tuple[tuple[int, int, int], dict[str, tuple[str, str]]]] = {}

# (when, an ``instant`` or "", the name)
Name = tuple[str, str]


def above(path: str) -> list[str]:
    """The index and the database that name the sessions of which a file or folder is one, those that exist."""
    for _ in range(_ABOVE):
        index = join(path, FILE)
        found = [index] if isfile(index) else []
        if found or any(isdir(join(path, name)) for name in ("sessions", "archived_sessions")):
            found += filter(None, [state.database(path)])
        if found or path == dirname(path):
            return found
        path = dirname(path)
    return []


def of(reading: Reading, unit: str) -> tuple[Name, list[Callable[[], None]]]:
    """What the session of a transcript was named last, and what has the archive keep that beside it.

    The index names all sessions: of it the archive has a session's own line, below a name made from its transcript's.
    """
    path, raw = reading.path, reading.raw
    if raw.is_shelved(path):
        try:
            return _entry(json.loads(raw.load(beside(path))))[1], []
        except (OSError, ValueError, RecursionError):
            return ("", ""), []
    at, name = "", ""
    for place in above(dirname(path)):
        if not state.is_state(place):
            at, name = _read(place, raw).get(unit, ("", ""))
        elif unit in (given := state.names(place)):
            at, name = _ALWAYS, given[unit]
    if not name:
        return ("", ""), []
    line = json.dumps({"id": unit, "thread_name": name, "updated_at": at}).encode()
    return (at, name), [lambda: raw.keep(beside(path), line)]


def beside(path: str) -> str:
    """The path under which the archive has the name of the session in the transcript at ``path``."""
    return f"{path}.name"


def renamed(files: Sequence[SourceFile], known: Mapping[str, FileRow], indexes: Iterable[str]) -> list[SourceFile]:
    """Those of ``files`` whose sessions were named since ``indexes`` were read last, as ``known`` has them."""
    ids: set[str] = set()
    for path in indexes:
        row = known.get(path)
        if state.is_state(path):
            before = json.loads(row.notes).get("marks") if row is not None and row.notes else None
            ids |= state.renamed(path, before or {})
        else:
            ids |= _since(path, row)
    return [file for file in files if not file.skip and _id(file.path) in ids] if ids else []


def _id(path: str) -> str:
    # Of a session that was taken back to an earlier turn: rollout-<time>-<id>_<id of that file> (since 0.150).
    return basename(path).removesuffix(".zst").rpartition(".")[0].partition("_")[0][-36:]


def _since(path: str, row: FileRow | None) -> set[str]:
    """The sessions that lines name which were added to an index since it was read; all where it was written anew."""
    try:
        start = row.consumed if row is not None and records.prefix_digest(path, row.consumed) == row.digest else 0
        with open(path, "rb") as stream:
            stream.seek(start)
            return set(_entries(records.Records(stream, path)))
    except OSError:
        return set()


def _read(path: str, raw: RawStore) -> dict[str, Name]:
    try:
        status = os.stat(path)
        stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
        found = _known.get(path)
        if found is None or found[0] != stamp:
            with raw.open(path) as file:
                names = _entries(records.Records(file.lines, path)) if status.st_size <= _MAX else {}
            found = _known[path] = (stamp, names)
    except OSError:
        return {}
    return found[1]


def _entries(source: records.Records) -> dict[str, Name]:
    found: dict[str, Name] = {}
    for item in source:
        if isinstance(item, tuple):
            unit, name = _entry(item[1])
            if unit and name[1].strip():
                found[unit] = name
    return found


def _entry(record: Any) -> tuple[str, Name]:
    if type(record) is not dict:
        return "", ("", "")
    return string(record.get("id")), (moment(record.get("updated_at")), string(record.get("thread_name")))
