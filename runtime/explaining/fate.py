"""The fate of a raw transcript: the documents that it became, or why it became none."""

from __future__ import annotations

import os
from os.path import abspath, expanduser, join
from shlex import quote
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import Internal
from core.sqlite import open_to_read
from ingest import registry
from ingest.pipeline.state import FILE, HIDDEN, hidden_key
from runtime.asking.envelope import uri

if TYPE_CHECKING:
    from core.home import Home

SUFFIX = ".jsonl"

# A person waits: no longer than this for another process's lock.
_BUSY_MS = 2_000
_ROWS = """
SELECT f.source, f.path, f.status, f.reason, u.name FROM files f
LEFT JOIN members m ON m.source = f.source AND m.path = f.path
LEFT JOIN units u ON u.source = m.source AND u.unit = m.unit
WHERE"""


class Fate:
    """A transcript: ``uris`` of its documents; where it has none, ``why`` in a sentence and ``fix`` ("" for none)."""

    __slots__ = ("fix", "path", "uris", "why")

    def __init__(self, path: str, uris: list[str], why: str = "", fix: str = "") -> None:
        self.path = path
        self.uris = uris
        self.why = why
        self.fix = fix


def fate(home: Home, reference: str) -> Fate | None:
    """Return the fate of the transcript that ``reference`` names: a path, or a unique file name.

    None if no transcript of that name is known or on disk. Raises Internal if the state cannot be read.
    """
    path = abspath(expanduser(reference))
    try:
        rows = _rows(home, path, reference)
    except apsw.Error as error:
        place = join(home.state, FILE)
        raise Internal(
            f"cannot read {place}: {error}", f"rm {quote(place)}; brain index (it reads all again)"
        ) from None
    if len({row[1] for row in rows}) == 1:
        return _read(rows)
    return _unread(home, path) if os.path.lexists(path) else None


def _read(rows: list[tuple[str, str, str, str, str | None]]) -> Fate:
    source, path, status, reason, _ = rows[0]
    known = registry.find(source)
    collection = known.collection if known is not None else ""
    uris = [uri(collection, row[4]) for row in rows if row[4]] if collection else []
    if uris:
        return Fate(path, uris)
    if status == "skipped":
        return Fate(path, [], f"the transcript was read and makes no document: {reason}")
    if status in ("failed", "unreadable"):
        return Fate(path, [], f"the transcript could not be read: {reason.removesuffix(': ')}", "brain index")
    if status == "vanished":
        return Fate(path, [], "the transcript is gone and had made no document")
    return Fate(path, [], "the transcript was read, and its document has been removed since", "brain index --rebuild")


def _unread(home: Home, path: str) -> Fate:
    """Return the fate of a file that no run has read: left out by its name, still to be read, or in no folder."""
    for source in map(registry.source, registry.present(home)):
        for file in source.discover(source.default_roots(home)):
            if file.path == path:
                if file.skip:
                    return Fate(path, [], f"the file is left out: {file.skip}")
                return Fate(path, [], "the transcript is on disk and has not been read yet", "brain index")
    folder = os.path.dirname(path)
    return Fate(path, [], "the transcript lies in no folder that is read", f"brain index --from {quote(folder)}")


def _rows(home: Home, path: str, reference: str) -> list[tuple[str, str, str, str, str | None]]:
    """Return (source, path, status, reason, name of a document or None) of the file, one row a document."""
    place = join(home.state, FILE)
    if not os.path.exists(place):
        return []
    connection = open_to_read(place, _BUSY_MS)
    try:
        if not connection.pragma("user_version"):
            return []
        keys = os.fsencode(path), os.fsencode(hidden_key(path))
        found: list[Any] = connection.execute(f"{_ROWS} f.path in (?1, ?2) ORDER BY u.name", keys).fetchall()
        if not found and os.sep not in reference:
            end = os.fsencode(f"{os.sep}{reference}")
            found = connection.execute(f"{_ROWS} substr(f.path, -length(?1)) = ?1 ORDER BY u.name", (end,)).fetchall()
    finally:
        connection.close()
    hidden = HIDDEN.encode()
    return [(source, path if blob.startswith(hidden) else os.fsdecode(blob), *rest) for source, blob, *rest in found]
