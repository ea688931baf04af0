"""Recording raw files in the archive while they are read. The format of the archive: ``ingest.archive.archive``."""

from __future__ import annotations

import hashlib
import os
from os.path import dirname, join
from typing import TYPE_CHECKING

from core import sqlite
from core.files import sync_folder, write_atomic
from core.home import Home
from core.version import REDACTION
from ingest.archive.archive import (
    CATALOGUE,
    COMPANION,
    FOLDER,
    LOSSES_FILE,
    RAW,
    Entry,
    Segment,
    content,
    entries,
    fault,
    lines,
    named,
    object_path,
    open_catalogue,
    packed,
    unlink_unnamed,
    write_rows,
)
from ingest.archive.archive import held as objects

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ingest.archive.packing import Packing

# The next segment takes in the last one while that is shorter than this: appending a line costs no file of its own.
SMALL = 512 * 1024
LARGE = 8 * 1024 * 1024
# An object of so many bytes does not wait to be packed.
_LARGE_OBJECT = 1 << 20


class Archive:
    """One source's part of the archive, open. Raises OSError and BrainError if it cannot be read or written.

    ``keeps_raw``: lines are stored as they were found, not redacted. ``checks``: the archived objects of each recorded
    file are read, to find damaged ones; missing objects are always found. Both are stored again if the file still has
    their content. ``hasty``: the catalogue's log is left for others to write back.
    """

    def __init__(
        self, home: Home, source: str, *, keeps_raw: bool = False, checks: bool = False, hasty: bool = False
    ) -> None:
        self.folder, self.source, self.keeps_raw = join(home.root, FOLDER), source, keeps_raw
        self._checks, self._hasty = checks, hasty
        self._home = home
        self._catalogue = join(self.folder, CATALOGUE)
        with named(self._catalogue):
            self._connection = open_catalogue(self._catalogue, hasty=hasty)
        # One small object waits until it is needed, as in a hook; more of them are packed on a thread.
        self._first: tuple[str, bytes] | None = None
        self._packing: Packing | None = None
        # Object → True if it must be stored, of the objects that were looked for.
        self._lacking: dict[str, bool] = {}
        self._has_stored = False
        # Path → version → what the archive has of the file.
        self._known: dict[str, dict[int, Entry]] = {}
        self._changed: dict[tuple[str, int], Entry] = {}
        self._superseded: list[Entry] = []
        self._left: list[Entry] = []
        self._dropped: set[str] = set()

    def close(self) -> None:
        """Close the catalogue, and drop what was not committed."""
        if self._packing is not None:
            self._packing.close()
        self._connection.close()

    def versions(self, path: str) -> dict[int, Entry]:
        """Return version → entry of a file."""
        if path not in self._known:
            with named(self._catalogue):
                self._known[path] = {entry.version: entry for entry in entries(self._connection, self.source, path)}
        return self._known[path]

    def older(self, path: str) -> list[Entry]:
        """Return the older versions of a file, ready to be read: the newest first."""
        found = [entry for entry in reversed(self._superseded) if entry.path == path]
        found += [entry for version, entry in sorted(self.versions(path).items(), reverse=True) if version > 0]
        if found:
            self.settle()
        return found

    def put(self, data: bytes) -> Segment:
        """Store an object, unless it is there. ``settle`` waits for it."""
        segment = hashlib.sha256(data).hexdigest(), len(data)
        if self.lacks(segment):
            self._lacking[segment[0]] = False
            self._has_stored = True
            self._store(object_path(self.folder, segment[0]), data)
        return segment

    def lacks(self, segment: Segment) -> bool:
        """Return True if an object must be stored: it is missing, or ``checks`` found it damaged."""
        name = segment[0]
        if name not in self._lacking:
            self._lacking[name] = bool(fault(self.folder, segment, contents=self._checks))
        return self._lacking[name]

    def _store(self, target: str, data: bytes) -> None:
        if self._packing is None:
            if self._first is None and len(data) < _LARGE_OBJECT:
                self._first = target, data
                return
            from ingest.archive.packing import Packing

            self._packing = Packing()
            if self._first is not None:
                self._packing.add(*self._first)
                self._first = None
        self._packing.add(target, data)

    def settle(self) -> str:
        """Wait until the stored objects can be read; return their folder. Raises OSError, again if one failed."""
        if self._first is not None:
            target, data = self._first
            write_atomic(target, packed(data))
            sync_folder(dirname(target))
            self._first = None
        elif self._packing is not None:
            self._packing.wait()
        return self.folder

    def sync(self) -> None:
        """Sync the stored objects to the disk. Raises OSError."""
        self.settle()
        if self._packing is not None:
            self._packing.sync()

    def take(self, entry: Entry, *, superseded: bool) -> None:
        """Make ``entry`` the present version of its file with the next commit. ``superseded``: keep the old version."""
        known = self.versions(entry.path)
        before = known.get(entry.version)
        if before is not None and superseded:
            self._superseded.append(before)
        elif before is not None:
            self.drop(before.segments)
        self._changed[entry.path, entry.version] = known[entry.version] = entry

    def leave(self, path: str) -> None:
        """Drop a companion file with the next commit: its session is not made of it any more."""
        entry = self.versions(path).pop(COMPANION, None)
        if entry is not None:
            self._left.append(entry)
            self._changed.pop((path, COMPANION), None)
            self.drop(entry.segments)

    def drop(self, segments: Iterable[Segment]) -> None:
        """Delete objects with the next commit, unless a row names them."""
        self._dropped.update(name for name, _ in segments)

    def commit(self) -> None:
        """Sync the objects, then write the rows that name them; delete objects that no row names any more."""
        if not (self._changed or self._superseded or self._dropped or self._left or self._has_stored):
            return
        self.sync()
        self._has_stored = False
        with named(self._catalogue), self._connection:
            if self._left or self._superseded:
                self._rearrange()
            write_rows(self._connection, self.source, self._changed.values())
        if self._hasty:
            sqlite.sync_log(self._catalogue)
        stored = {name for entry in self._changed.values() for name, _ in entry.segments}
        if os.path.exists(join(self._home.state, LOSSES_FILE)):
            from ingest.archive.verifier import withdraw_losses

            there = {name for name, lacks in self._lacking.items() if not lacks}
            withdraw_losses(self._home, stored | there)
        self._changed.clear()
        if self._dropped:
            with named(self._catalogue):
                unlink_unnamed(self._connection, self.folder, self._dropped - stored)
            for name in self._dropped:
                self._lacking.pop(name, None)
            self._dropped.clear()

    def _rearrange(self) -> None:
        """Delete the rows of versions that are left, and give superseded versions the next numbers."""
        self._connection.executemany(
            "delete from files where source = ? and path = ? and version = ?",
            [(self.source, os.fsencode(entry.path), entry.version) for entry in self._left],
        )
        for entry in self._superseded:
            last: int = self._connection.execute(
                "select coalesce(max(version), 0) from files where source = ? and path = ?",
                (self.source, os.fsencode(entry.path)),
            ).get
            older = entry._replace(version=last + 1)
            self.versions(entry.path)[older.version] = older
            write_rows(self._connection, self.source, [older])
        self._left.clear()
        self._superseded.clear()


class Recorder:
    """Records one file while it is read: ``add`` for each line in its archived form, then ``finish``.

    ``before``: the archived entry of the file, if there is one. If the file begins as that one does, only the rest is
    stored. If ``again`` is True after ``finish``, the file did not begin so, although it was expected to; the caller
    adds all lines once more, from the first, to the recorder of a ``second`` reading.
    """

    def __init__(self, archive: Archive, path: str, version: int = 0, *, second: bool = False) -> None:
        self.archive, self._path, self._version, self._is_second = archive, path, version, second
        self.before = known = archive.versions(path).get(version)
        # What the file is expected to begin with. Of its unreadable segments: where each begins and ends, and the
        # bytes that the file has there.
        self._prefix: Entry | None = None
        self._lost: list[tuple[int, int, bytearray]] = []
        if known is not None and known.segments and not second and self._is_alike(known):
            self._prefix, self._lost = known, _lost(archive, known)
        # True if a second reading has found the archived bytes unchanged.
        self._continues = self._pieces = self.again = False
        self._hash = hashlib.sha256()
        self._buffer: list[bytes] = []
        self._segments: list[Segment] = []
        self._held = self._length = self._records = 0

    def add(self, line: bytes) -> None:
        """Record the next line, with its line end."""
        if self.again:
            return
        self._length += len(line)
        self._records += 1
        self._hash.update(line)
        if self._prefix is not None:
            self._compare(line, self._prefix)
            return
        if self._is_second and self.before is not None and self._length == self.before.length:
            self._continues = self._hash.hexdigest() == self.before.sha
        self._buffer.append(line)
        self._held += len(line)
        if self._held >= LARGE:
            self._cut()

    def _compare(self, line: bytes, known: Entry) -> None:
        """Take a line that is expected to be archived already."""
        for start, end, held in self._lost:
            before = self._length - len(line)
            held += line[max(0, start - before) : max(0, end - before)]
        if self._length < known.length:
            return
        if self._length > known.length or self._hash.hexdigest() != known.sha:
            self.again = True
            return
        self._prefix = None
        self._segments = list(known.segments)
        if self._lost:
            for _, _, held in self._lost:
                self.archive.put(bytes(held))
            self.archive.settle()

    def state(self) -> tuple[int, int, str]:
        """Return what ``go_on`` needs of the lines that were added."""
        return self._length, self._records, self._hash.hexdigest()

    def go_on(self, state: tuple[int, int, str], digest: str, read: Any) -> bool:
        """Take lines as added, with the ``state`` after them; return False, and take none, if the archive lacks any.

        ``digest`` is the SHA-256 of these lines in the file, hexadecimal, and ``read`` its object.
        """
        (length, records, sha), known = state, self._prefix
        policy = RAW if self.archive.keeps_raw else REDACTION
        if known is None or self._lost or known.policy != policy or length > known.length:
            return False
        try:
            hashed = read.copy() if sha == digest else self._hashed(known, length)
        except OSError:
            return False
        if hashed.hexdigest() != sha or (length == known.length and sha != known.sha):
            return False
        self._hash, self._length, self._records = hashed, length, records
        if length == known.length:
            self._prefix, self._segments = None, list(known.segments)
        return True

    def _hashed(self, known: Entry, length: int) -> Any:
        """Return the SHA-256 object of the first bytes of an archived file. Raises OSError."""
        hashed = hashlib.sha256()
        for data in objects(self.archive.settle(), known):
            hashed.update(data[:length])
            length -= min(length, len(data))
        return hashed

    def in_pieces(self) -> None:
        """Make the file consist of the pieces that are given; earlier pieces that are not given are dropped."""
        self._prefix = None
        self._pieces = True

    def piece(self, data: bytes) -> None:
        """Record a part of the file, in whole lines, as an object by itself."""
        self.in_pieces()
        self._length += len(data)
        self._records += data.count(b"\n")
        self._hash.update(data)
        self._segments.append(self.archive.put(data))

    def whole(self, data: bytes, records: int = 1) -> None:
        """Record the file as one document of so many records: the tool replaces it at each write."""
        self._prefix = None
        self._segments = []
        self.add(data)
        self._records = records

    def finish(self, size: int, mtime_ns: int, consumed: int, digest: str) -> None:
        """End the file. Sizes and digest are the raw file's."""
        if self._prefix is not None:
            self.again = True  # it is shorter now, and may differ
        if not self.again:
            self._cut()
        if self.again:
            return
        known, sha = self.before, self._hash.hexdigest()
        policy = RAW if self.archive.keeps_raw else REDACTION
        raw = size, mtime_ns, consumed, digest
        made = Entry(self._path, self._version, *raw, self._records, self._length, sha, policy, self._segments)
        same = known is not None and known.sha == sha and known.policy == policy
        if known is None or not same or known[2:7] != made[2:7]:
            self.archive.take(made, superseded=not same and known is not None and self._says_less(known))

    def abandon(self) -> None:
        """Drop what was recorded of the file: it is excluded or forgotten."""
        known = set() if self.before is None else {name for name, _ in self.before.segments}
        self.archive.drop(segment for segment in self._segments if segment[0] not in known)
        self.again = True

    def restarted(self) -> Recorder:
        """Return a recorder for the second reading."""
        return Recorder(self.archive, self._path, self._version, second=True)

    def _says_less(self, known: Entry) -> bool:
        """Return True if the archived form has lines that the new one lacks, or, as one document, more records."""
        if self._pieces or not (self._is_alike(known) or known.policy == RAW):
            return False
        if not self._is_second:
            return self._records < known.records
        folder = self.archive.settle()
        there = set(lines(folder, self._segments))
        try:
            return any(line not in there for line in lines(folder, known.segments))
        except OSError:
            # An unreadable object may come back out of a backup: the row stays, unless the file still has all of it.
            return not self._continues if self._is_alike(known) else self._records < known.records

    def _is_alike(self, known: Entry) -> bool:
        """Return True if the lines are comparable: they went through the same redaction, or through none."""
        return known.policy == REDACTION or self.archive.keeps_raw

    def _cut(self) -> None:
        if not self._buffer:
            return
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._held = 0
        if self._segments and self._segments[-1][1] < SMALL:
            try:
                data = content(self.archive.folder, self._segments.pop()) + data
            except OSError:
                self.again = True  # damaged: the file is stored again
                return
        self._segments.append(self.archive.put(data))


def _lost(archive: Archive, entry: Entry) -> list[tuple[int, int, bytearray]]:
    found: list[tuple[int, int, bytearray]] = []
    start = 0
    for segment in entry.segments:
        if archive.lacks(segment):
            found.append((start, start + segment[1], bytearray()))
        start += segment[1]
    return found
