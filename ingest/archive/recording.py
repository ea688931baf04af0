"""Taking raw files into the archive as they are read; what the archive is says ``ingest.archive.archive``."""

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
    BESIDE,
    CATALOGUE,
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
    """One source's part of the archive, open. Raises OSError and BrainError where it cannot be read or written.

    ``keeps_raw``: lines are stored as they were found, not redacted. ``checks``: what a file that is taken in has there
    already is read, so that objects that are damaged are noticed; those that are missing always are. Either are stored
    anew where the file still says what they did. ``hasty``: the catalogue's log is left for others to write back.
    """

    def __init__(
        self, home: Home, source: str, *, keeps_raw: bool = False, checks: bool = False, hasty: bool = False
    ) -> None:
        self.folder = home.path(FOLDER)
        self._home = home
        self.source = source
        self.keeps_raw = keeps_raw
        self._checks = checks
        # Object → whether it is to be stored anew, of those that were looked at.
        self._lacking: dict[str, bool] = {}
        self._is_mended = False
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
        """Close the catalogue; what was not committed is forgotten."""
        self._packing.close()
        self._connection.close()

    def entry(self, path: str, version: int = 0) -> Entry | None:
        """One version of a file, the present one unless another is asked for."""
        return self._versions(path).get(version)

    def older(self, path: str) -> list[Entry]:
        """What a file said before, as far as it was kept, to be read: the newest first."""
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

    def recorder(self, path: str, *, beside: bool = False, version: int = 0) -> Recorder:
        """Takes a file in, line by line."""
        return Recorder(self, path, BESIDE if beside else version)

    def put(self, data: bytes) -> Segment:
        """Store an object, unless it is there: what ``settle`` waits for."""
        segment = hashlib.sha256(data).hexdigest(), len(data)
        anew = self.lacks(segment)
        if anew:
            self._lacking[segment[0]] = False
            self._is_mended = True
        self._packing.add(object_path(self.folder, segment[0]), data, anew=anew)
        return segment

    def lacks(self, segment: Segment) -> bool:
        """Whether an object is to be stored anew: it is missing, or, where that is looked at, damaged."""
        name = segment[0]
        if name not in self._lacking:
            self._lacking[name] = bool(fault(self.folder, segment, contents=self._checks))
        return self._lacking[name]

    def settle(self) -> None:
        """Wait until what was put can be read. Raises OSError."""
        self._packing.wait()

    def take(self, entry: Entry, *, superseded: bool) -> None:
        """Let ``entry`` be the present version of its file from the next commit on, with or without the old one."""
        key = (entry.path, entry.version)
        before = self.entry(*key)
        if before is not None:
            if superseded:
                self._superseded.append(before)
            else:
                self._dropped.update(name for name, _ in before.segments)
        self._changed[key] = self._versions(entry.path)[entry.version] = entry

    def leave(self, path: str) -> None:
        """Let a file that was read beside another go with the next commit: that other is not made of it any more."""
        entry = self.entry(path, BESIDE)
        if entry is not None:
            self._left.append(entry)
            del self._versions(path)[BESIDE]
            self._changed.pop((path, BESIDE), None)
            self._dropped.update(name for name, _ in entry.segments)

    def drop(self, names: Iterable[str]) -> None:
        """Let objects go with the next commit, unless a row names them."""
        self._dropped.update(names)

    def sync(self) -> None:
        """Bring the objects that were put to the disk. Raises OSError."""
        self._packing.sync()

    def commit(self) -> None:
        """Bring objects, then the rows that name them, to the disk; remove objects that nothing names any more."""
        if not (self._changed or self._superseded or self._dropped or self._left or self._is_mended):
            return
        self.sync()
        self._is_mended = False
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
                entry.version = int(row[0])
                self._versions(entry.path)[entry.version] = entry
            write_rows(self._connection, self.source, [*self._superseded, *self._changed.values()])
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
    """Takes one file in as it is read: ``add`` for each line in its archived form, then ``finish``.

    Where the file begins as the archived one does, only what follows is stored. ``again`` after ``finish``: it did
    not, although it was expected to; the lines must be given once more, from the first.
    """

    __slots__ = (
        "_anew",
        "_archive",
        "_buffer",
        "_continues",
        "_entry",
        "_grows",
        "_hash",
        "_held",
        "_lost",
        "_path",
        "_pieces",
        "_segments",
        "_version",
        "again",
        "length",
        "records",
    )

    def __init__(self, archive: Archive, path: str, version: int = 0, *, anew: bool = False) -> None:
        self._anew = anew
        self._version = version
        self._archive = archive
        self._path = path
        entry = archive.entry(path, self._version)
        self._entry = entry
        self._grows = not anew and entry is not None and self._is_alike(entry) and bool(entry.segments)
        # Of what the archive has of it and cannot read: where it begins and ends, and what the file says there.
        self._lost = [] if entry is None or not self._grows else _lost(archive, entry)
        # Whether a second reading has come by what the archive has of the file, unchanged.
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
        """Whether lines are to be given as they were found."""
        return self._archive.keeps_raw

    def add(self, line: bytes) -> None:
        """The next line, with its line end."""
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
        if self._anew and entry is not None and self.length == entry.length:
            self._continues = self._hash.hexdigest() == entry.sha
        self._buffer.append(line)
        self._held += len(line)
        if self._held >= LARGE:
            self._cut()

    def dropped(self, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
        """Return what a history has dropped: ``held``, by then, and since then what of ``before`` is not in ``now``.

        ``now``: what is kept of the bytes that were ``read``.
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
        """What the archive has of the file."""
        return self._entry

    @property
    def folder(self) -> str:
        """Where the archive's objects lie, all of them."""
        self._archive.settle()
        return self._archive.folder

    def in_pieces(self) -> None:
        """The file is what ``piece`` is given: pieces that it had and are not given go, though it were all of them."""
        self._grows = False
        self._pieces = True

    def piece(self, data: bytes) -> None:
        """A part of the file that is an object by itself, in whole lines."""
        self.in_pieces()
        self.length += len(data)
        self.records += data.count(b"\n")
        self._hash.update(data)
        self._segments.append(self._archive.put(data))

    def whole(self, data: bytes, records: int = 1) -> None:
        """The file is one document of so many records, replaced at each write: it is stored whole."""
        self._grows = False
        self._segments = []
        self.add(data)
        self.records = records

    def finish(self, size: int, mtime_ns: int, consumed: int, digest: str) -> None:
        """The file has ended. Sizes and digest are the raw file's."""
        if self.again:
            return
        if self._grows:
            self.again = True  # it is shorter now: whether it says the same is not known yet
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
        if known is None or not same or known.about != made.about:
            self._archive.take(made, superseded=not same and self._says_less(known))

    def abandon(self) -> None:
        """The file is withheld: what was put of it goes, and nothing more is taken."""
        known = set() if self._entry is None else {name for name, _ in self._entry.segments}
        self._archive.drop(name for name, _ in self._segments if name not in known)
        self.again = True

    def restarted(self) -> Recorder:
        """A recorder for the second reading."""
        return Recorder(self._archive, self._path, self._version, anew=True)

    def _says_less(self, known: Entry | None) -> bool:
        """Whether the archived form holds lines that the new one has not, or, as one document, more records."""
        if known is None or self._pieces or not (self._is_alike(known) or known.policy == RAW):
            return False
        if not self._anew:
            return self.records < known.records
        there = set(lines(self.folder, self._segments))
        try:
            return any(line not in there for line in lines(self.folder, known.segments))
        except OSError:
            # What cannot be read may come back out of a backup: its row stays, unless the file still says all of it.
            return not self._continues if self._is_alike(known) else self.records < known.records

    def _is_alike(self, known: Entry) -> bool:
        """Whether its lines can be compared with these: they went through the same redaction, or through none."""
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
                self.again = True  # damaged: the file is stored anew
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

    zstd works without Python's lock. One small object alone is packed by whoever waits for it, as a hook does. What
    fails is raised by ``wait``, each time, and nothing is written after it. Objects are synced while the next are
    packed.
    """

    def __init__(self) -> None:
        self._syncs = Syncs()
        self._folders: set[str] = set()
        self._anew: set[str] = set()
        self._first: tuple[str, bytes] | None = None
        self._waiting: queue.Queue[tuple[str, bytes] | None]
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def add(self, target: str, data: bytes, *, anew: bool = False) -> None:
        """Have ``data`` stored as ``target`` soon, unless that is there, or in its place (``anew``)."""
        if anew:
            self._anew.add(target)
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
            except RuntimeError:  # there is none to be had: this object does not wait
                self._take(target, data)
                return
            self._thread = thread
            if self._first is not None:
                self._waiting.put(self._first)
                self._first = None
        self._waiting.put((target, data))

    def wait(self) -> None:
        """Return once all that was added is there. Raises OSError."""
        if self._first is not None:
            self._take(*self._first)
            self._first = None
        if self._thread is not None:
            self._waiting.join()
        if self._failure is not None:
            raise self._failure

    def sync(self) -> None:
        """Return once all that was added is on the disk, by its name. Raises OSError."""
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
        except BaseException as error:  # noqa: BLE001  # handed over to whoever waits for it
            self._failure = error

    def _store(self, target: str, data: bytes) -> None:
        if target not in self._anew and os.path.exists(target):
            return
        self._anew.discard(target)
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
