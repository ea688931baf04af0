"""Recording raw files in the archive while they are read. The format of the archive: ``ingest.archive.archive``."""

from __future__ import annotations

import contextlib
import hashlib
import os
from os.path import dirname, join
from typing import TYPE_CHECKING

import zstandard

from core import wal
from core.files import Syncs, remove_temporary, write_temporary
from core.home import Home, make_private
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
    unlink_unnamed,
    write_rows,
)

if TYPE_CHECKING:
    import queue
    import threading
    from collections.abc import Container, Iterable

# The next segment takes in the last one while that is shorter than this: appending a line costs no file of its own.
SMALL = 512 * 1024
LARGE = 8 * 1024 * 1024


class Archive:
    """One source's part of the archive, open. Raises OSError and BrainError if it cannot be read or written.

    ``keeps_raw``: lines are stored as they were found, not redacted. ``checks``: the archived objects of each recorded
    file are read, to find damaged ones; missing objects are always found. Both are stored again if the file still has
    their content. ``hasty``: the catalogue's log is left for others to write back.
    """

    def __init__(
        self, home: Home, source: str, *, keeps_raw: bool = False, checks: bool = False, hasty: bool = False
    ) -> None:
        self.folder = join(home.root, FOLDER)
        self._home = home
        self.source = source
        self.keeps_raw = keeps_raw
        self._checks = checks
        # Object → True if it must be stored again, of the objects that were checked.
        self._lacking: dict[str, bool] = {}
        self._has_repaired = False
        make_private(self.folder)
        self._packing = Packing()
        self._catalogue = join(self.folder, CATALOGUE)
        with named(self._catalogue):
            self._connection = open_catalogue(self._catalogue)
            if hasty:
                wal.leave(self._connection)
                self._connection.execute("pragma synchronous=normal").fetchall()
        self._hasty = hasty
        # Path → version → what the archive has of the file.
        self._known: dict[str, dict[int, Entry]] = {}
        self._changed: dict[tuple[str, int], Entry] = {}
        self._superseded: list[Entry] = []
        self._dropped: set[str] = set()
        self._left: list[Entry] = []

    def close(self) -> None:
        """Close the catalogue, and drop what was not committed."""
        self._packing.close()
        self._connection.close()

    def entry(self, path: str, version: int = 0) -> Entry | None:
        """Return one version of a file, by default the present one."""
        return self._versions(path).get(version)

    def older(self, path: str) -> list[Entry]:
        """Return the older versions of a file, ready to be read: the newest first."""
        found = [entry for entry in reversed(self._superseded) if entry.path == path]
        held = self._versions(path)
        found += [held[version] for version in sorted(held, reverse=True) if version > 0]
        if found:
            self.settle()
        return found

    def _versions(self, path: str) -> dict[int, Entry]:
        if path not in self._known:
            with named(self._catalogue):
                found = list(entries(self._connection, self.source, path))
            self._known[path] = {entry.version: entry for entry in found}
        return self._known[path]

    def recorder(self, path: str, *, companion: bool = False, version: int = 0) -> Recorder:
        """Return a recorder of a file."""
        return Recorder(self, path, COMPANION if companion else version)

    def put(self, data: bytes) -> Segment:
        """Store an object, unless it is there. ``settle`` waits for it."""
        segment = hashlib.sha256(data).hexdigest(), len(data)
        again = self.lacks(segment)
        if again:
            self._lacking[segment[0]] = False
            self._has_repaired = True
        self._packing.add(object_path(self.folder, segment[0]), data, again=again)
        return segment

    def lacks(self, segment: Segment) -> bool:
        """Return True if an object must be stored again: it is missing, or ``checks`` found it damaged."""
        name = segment[0]
        if name not in self._lacking:
            self._lacking[name] = bool(fault(self.folder, segment, contents=self._checks))
        return self._lacking[name]

    def settle(self) -> None:
        """Wait until the stored objects can be read. Raises OSError."""
        self._packing.wait()

    def take(self, entry: Entry, *, superseded: bool) -> None:
        """Make ``entry`` the present version of its file with the next commit. ``superseded``: keep the old version."""
        key = (entry.path, entry.version)
        before = self.entry(*key)
        if before is not None:
            if superseded:
                self._superseded.append(before)
            else:
                self._dropped.update(name for name, _ in before.segments)
        self._changed[key] = self._versions(entry.path)[entry.version] = entry

    def leave(self, path: str) -> None:
        """Drop a companion file with the next commit: its session is not made of it any more."""
        entry = self.entry(path, COMPANION)
        if entry is not None:
            self._left.append(entry)
            del self._versions(path)[COMPANION]
            self._changed.pop((path, COMPANION), None)
            self._dropped.update(name for name, _ in entry.segments)

    def drop(self, names: Iterable[str]) -> None:
        """Delete objects with the next commit, unless a row names them."""
        self._dropped.update(names)

    def sync(self) -> None:
        """Sync the stored objects to the disk. Raises OSError."""
        self._packing.sync()

    def commit(self) -> None:
        """Sync the objects, then write the rows that name them; delete objects that no row names any more."""
        if not (self._changed or self._superseded or self._dropped or self._left or self._has_repaired):
            return
        self.sync()
        self._has_repaired = False
        with named(self._catalogue), self._connection:
            self._connection.executemany(
                "delete from files where source = ? and path = ? and version = ?",
                [(self.source, os.fsencode(entry.path), entry.version) for entry in self._left],
            )
            for entry in self._superseded:
                row = self._connection.execute(
                    "select coalesce(max(version), 0) + 1 from files where source = ? and path = ?",
                    (self.source, os.fsencode(entry.path)),
                ).fetchone()
                assert row is not None
                older = entry._replace(version=int(row[0]))
                self._versions(entry.path)[older.version] = older
                write_rows(self._connection, self.source, [older])
            write_rows(self._connection, self.source, self._changed.values())
        if self._hasty:
            wal.sync(self._catalogue)
        named_now = {name for entry in self._changed.values() for name, _ in entry.segments}
        self._dropped -= named_now
        if os.path.exists(join(self._home.state, LOSSES_FILE)):
            from ingest.archive.verifier import withdraw_losses

            stored = {name for name, lacking in self._lacking.items() if not lacking}
            withdraw_losses(self._home, named_now | stored)
        self._superseded.clear()
        self._changed.clear()
        self._left.clear()
        with named(self._catalogue):
            unlink_unnamed(self._connection, self.folder, self._dropped)
        self._dropped.clear()


class Recorder:
    """Records one file while it is read: ``add`` for each line in its archived form, then ``finish``.

    If the file begins as the archived one does, only the rest is stored. If ``again`` is True after ``finish``, the
    file did not begin so, although it was expected to; the caller adds all lines once more, from the first.
    """

    __slots__ = (
        "_archive",
        "_buffer",
        "_continues",
        "_entry",
        "_grows",
        "_hash",
        "_held",
        "_is_second",
        "_lost",
        "_path",
        "_pieces",
        "_segments",
        "_version",
        "again",
        "length",
        "records",
    )

    def __init__(self, archive: Archive, path: str, version: int = 0, *, is_second: bool = False) -> None:
        self._is_second = is_second
        self._version = version
        self._archive = archive
        self._path = path
        entry = archive.entry(path, self._version)
        self._entry = entry
        self._grows = not is_second and entry is not None and self._is_alike(entry) and bool(entry.segments)
        # Unreadable segments: where each begins and ends, and the bytes that the file has there.
        self._lost = [] if entry is None or not self._grows else _lost(archive, entry)
        # True if a second reading has found the archived bytes unchanged.
        self._continues = False
        self._hash = hashlib.sha256()
        self._buffer: list[bytes] = []
        self._held = 0
        self._segments: list[Segment] = []
        self._pieces = False
        self.again = False
        self.length = 0
        self.records = 0

    @property
    def keeps_raw(self) -> bool:
        """Return True if lines are stored as they were found."""
        return self._archive.keeps_raw

    def add(self, line: bytes) -> None:
        """Record the next line, with its line end."""
        if self.again:
            return
        self.length += len(line)
        self.records += 1
        self._hash.update(line)
        entry = self._entry
        if self._grows and entry is not None:
            for start, end, held in self._lost:
                before = self.length - len(line)
                held += line[max(0, start - before) : max(0, end - before)]
            if self.length < entry.length:
                return
            if self.length > entry.length or self._hash.hexdigest() != entry.sha:
                self.again = True
                return
            self._grows = False
            self._segments = list(entry.segments)
            for _, _, held in self._lost:
                self._archive.put(bytes(held))
            if self._lost:
                self._archive.settle()
            return
        if self._is_second and entry is not None and self.length == entry.length:
            self._continues = self._hash.hexdigest() == entry.sha
        self._buffer.append(line)
        self._held += len(line)
        if self._held >= LARGE:
            self._cut()

    def dropped(self, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
        """Return the content that a history has dropped: ``held``, and the part of ``before`` that is not in ``now``.

        ``now``: the archived form of the bytes that were ``read``.
        """
        from ingest.archive import sharing

        return sharing.dropped(self._archive.source, self._path, held, before, now, read)

    def redacted(self, data: bytes) -> bytes:
        """Return the bytes of a file that is one document or text, without secrets."""
        from ingest.archive import sharing

        return sharing.redacted(self._archive.source, self._path, data, {})

    def left(self, data: bytes, units: Container[str]) -> bytes:
        """Return the bytes of a file that belong to some of its units; nothing if the file cannot be taken apart."""
        from ingest.archive import sharing

        return sharing.without(self._archive.source, self._path, data, lambda unit: unit not in units)

    @property
    def before(self) -> Entry | None:
        """Return the archived entry of the file, if there is one."""
        return self._entry

    @property
    def folder(self) -> str:
        """Return the folder of the archive's objects, once all of them are there."""
        self._archive.settle()
        return self._archive.folder

    def in_pieces(self) -> None:
        """Make the file consist of the pieces that are given; earlier pieces that are not given are dropped."""
        self._grows = False
        self._pieces = True

    def piece(self, data: bytes) -> None:
        """Record a part of the file, in whole lines, as an object by itself."""
        self.in_pieces()
        self.length += len(data)
        self.records += data.count(b"\n")
        self._hash.update(data)
        self._segments.append(self._archive.put(data))

    def whole(self, data: bytes, records: int = 1) -> None:
        """Record the file as one document of so many records: the tool replaces it at each write."""
        self._grows = False
        self._segments = []
        self.add(data)
        self.records = records

    def finish(self, size: int, mtime_ns: int, consumed: int, digest: str) -> None:
        """End the file. Sizes and digest are the raw file's."""
        if self.again:
            return
        if self._grows:
            self.again = True  # it is shorter now, and may differ
            return
        self._cut()
        if self.again:
            return
        sha = self._hash.hexdigest()
        known = self._entry
        policy = RAW if self.keeps_raw else REDACTION
        same = known is not None and known.sha == sha and known.policy == policy
        made = Entry(
            self._path,
            self._version,
            size,
            mtime_ns,
            consumed,
            digest,
            self.records,
            self.length,
            sha,
            policy,
            self._segments,
        )
        if known is None or not same or known[2:7] != made[2:7]:
            self._archive.take(made, superseded=not same and self._says_less(known))

    def abandon(self) -> None:
        """Drop what was recorded of the file: it is excluded or forgotten."""
        known = set() if self._entry is None else {name for name, _ in self._entry.segments}
        self._archive.drop(name for name, _ in self._segments if name not in known)
        self.again = True

    def restarted(self) -> Recorder:
        """Return a recorder for the second reading."""
        return Recorder(self._archive, self._path, self._version, is_second=True)

    def _says_less(self, known: Entry | None) -> bool:
        """Return True if the archived form has lines that the new one lacks, or, as one document, more records."""
        if known is None or self._pieces or not (self._is_alike(known) or known.policy == RAW):
            return False
        if not self._is_second:
            return self.records < known.records
        there = set(lines(self.folder, self._segments))
        try:
            return any(line not in there for line in lines(self.folder, known.segments))
        except OSError:
            # An unreadable object may come back out of a backup: the row stays, unless the file still has all of it.
            return not self._continues if self._is_alike(known) else self.records < known.records

    def _is_alike(self, known: Entry) -> bool:
        """Return True if the lines are comparable: they went through the same redaction, or through none."""
        return known.policy == REDACTION or self.keeps_raw

    def _cut(self) -> None:
        if not self._buffer:
            return
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._held = 0
        if self._segments and self._segments[-1][1] < SMALL:
            try:
                data = content(self.folder, self._segments.pop()) + data
            except OSError:
                self.again = True  # damaged: the file is stored again
                return
        self._segments.append(self._archive.put(data))


def _lost(archive: Archive, entry: Entry) -> list[tuple[int, int, bytearray]]:
    found: list[tuple[int, int, bytearray]] = []
    start = 0
    for segment in entry.segments:
        if archive.lacks(segment):
            found.append((start, start + segment[1], bytearray()))
        start += segment[1]
    return found


_LEVEL = 5
# Objects that wait to be packed: their bytes are held.
_WAITING = 2
# An object of so many bytes does not wait to be packed.
_LARGE = 1 << 20


class Packing:
    """Packs objects and writes them, one after the other, on a thread that starts with the second, or a large one.

    zstd works without Python's lock. One small object alone is packed by the caller that waits for it, as in a hook.
    ``wait`` raises a failure, each time, and nothing is written after it. Objects are synced while the next are packed.
    """

    def __init__(self) -> None:
        self._syncs = Syncs()
        self._folders: set[str] = set()
        self._again: set[str] = set()
        self._first: tuple[str, bytes] | None = None
        self._waiting: queue.Queue[tuple[str, bytes] | None]
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def add(self, target: str, data: bytes, *, again: bool = False) -> None:
        """Store ``data`` as ``target`` soon, unless ``target`` exists; ``again``: replace it."""
        if again:
            self._again.add(target)
        if self._thread is None:
            if self._first is None and len(data) < _LARGE:
                self._first = target, data
                return
            import queue
            import threading

            self._waiting = queue.Queue(_WAITING)
            thread = threading.Thread(target=self._work, name="archive", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no thread can start: this object does not wait
                self._take(target, data)
                return
            self._thread = thread
            if self._first is not None:
                self._waiting.put(self._first)
                self._first = None
        self._waiting.put((target, data))

    def wait(self) -> None:
        """Return once every added object can be read. Raises OSError."""
        if self._first is not None:
            self._take(*self._first)
            self._first = None
        if self._thread is not None:
            self._waiting.join()
        if self._failure is not None:
            raise self._failure

    def sync(self) -> None:
        """Return once every added object is on the disk, under its name. Raises OSError."""
        self.wait()
        self._syncs.wait()
        with contextlib.suppress(OSError):  # file systems that sync no folders are left to their own timing
            for folder in self._folders:
                self._syncs.add(folder, os.open(folder, os.O_RDONLY))
            self._syncs.wait()
        self._folders.clear()

    def close(self) -> None:
        """Let the thread finish what was added, and end."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        self._syncs.close()

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            self._take(*item)
            self._waiting.task_done()

    def _take(self, target: str, data: bytes) -> None:
        try:
            if self._failure is None:
                self._store(target, data)
        except BaseException as error:  # noqa: BLE001  # raised in the thread that waits
            self._failure = error

    def _store(self, target: str, data: bytes) -> None:
        if target not in self._again and os.path.exists(target):
            return
        self._again.discard(target)
        folder = dirname(target)
        make_private(folder)
        packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)
        temporary, descriptor = write_temporary(folder, packed)
        try:
            os.rename(temporary, target)
        except BaseException:
            os.close(descriptor)
            remove_temporary(temporary)
            raise
        self._folders.add(folder)
        self._syncs.add(target, descriptor)
