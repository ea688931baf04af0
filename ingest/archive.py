"""Raw sources, kept: ``$BRAIN_HOME/raw/``, after their tools have deleted them (docs/archive.md).

A file is a row of ``catalogue.sqlite`` (where it lay, its mtime, the digest of its bytes) and a list of segments, each
an object ``<first 2 hex>/<SHA-256 of its content>.zst``. What is stored is the redacted form that is parsed, so that a
corpus made from the archive is the same byte for byte. A transcript that has grown adds a segment; small ones are put
together with what follows; equal content is stored once. Objects are written before the rows that name them, and rows
before the state says that a file was read: a run that is killed leaves at worst objects that nothing names.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

import apsw
import zstandard

from core.files import remove_temporary, sync_folder, write_temporary
from core.home import Home, make_private
from core.version import REDACTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FOLDER = "raw"
CATALOGUE = "catalogue.sqlite"
# The next segment takes in the last one while that is shorter than this: appending a line costs no file of its own.
SMALL = 512 * 1024
# The version of a file that is no source's own, but was read to understand one that is.
BESIDE = -1
LARGE = 8 * 1024 * 1024
_LEVEL = 5
_VERSION = 1
_SCHEMA = """
create table if not exists files(
  source text not null, path blob not null, version int not null, size int not null, mtime_ns int not null,
  consumed int not null, digest text not null, records int not null, length int not null, sha text not null,
  policy int not null, segments text not null, primary key(source, path, version)) without rowid;
"""
_COLUMNS = "path, version, size, mtime_ns, consumed, digest, records, length, sha, policy, segments"

Segment = tuple[str, int]


class Entry:
    """An archived file: ``version`` 0 is the present one, 1, 2, … what it said before it was rewritten; or ``BESIDE``.

    ``size``, ``mtime_ns``, ``consumed`` and ``digest`` are of the raw file, ``length`` and ``sha`` of the archived
    form, ``records`` its lines, ``policy`` the redaction it went through, ``segments`` its objects in order.
    """

    __slots__ = (
        "consumed",
        "digest",
        "length",
        "mtime_ns",
        "path",
        "policy",
        "records",
        "segments",
        "sha",
        "size",
        "version",
    )

    def __init__(
        self,
        path: str,
        version: int,
        size: int,
        mtime_ns: int,
        consumed: int,
        digest: str,
        records: int,
        length: int,
        sha: str,
        policy: int,
        segments: list[Segment],
    ) -> None:
        self.path = path
        self.version = version
        self.size = size
        self.mtime_ns = mtime_ns
        self.consumed = consumed
        self.digest = digest
        self.records = records
        self.length = length
        self.sha = sha
        self.policy = policy
        self.segments = segments


class Archive:
    """One source's part of the archive, open. Raises OSError and apsw.Error where it cannot be read or written.

    ``keeps_raw``: lines are stored as they were found, not redacted. ``stored`` counts bytes written in this run.
    """

    def __init__(self, home: Home, source: str, *, keeps_raw: bool = False) -> None:
        self.folder = home.path(FOLDER)
        self.source = source
        self.keeps_raw = keeps_raw
        self.stored = 0
        make_private(self.folder)
        self._connection = _open(join(self.folder, CATALOGUE))
        self._entries: dict[tuple[str, int], Entry | None] = {}
        self._changed: dict[tuple[str, int], Entry] = {}
        self._superseded: list[Entry] = []
        self._dropped: set[str] = set()
        self._folders: set[str] = set()

    def close(self) -> None:
        """Close the catalogue; what was not committed is forgotten."""
        self._connection.close()

    def entry(self, path: str, version: int = 0) -> Entry | None:
        """The present version of a file."""
        if (path, version) not in self._entries:
            found = entries(self._connection, self.source, path)
            self._entries[path, version] = next((entry for entry in found if entry.version == version), None)
        return self._entries[path, version]

    def recorder(self, path: str, *, beside: bool = False) -> Recorder:
        """Takes a file in, line by line."""
        return Recorder(self, path, beside=beside)

    def put(self, data: bytes) -> Segment:
        """Store an object, unless it is there. Raises OSError."""
        name = hashlib.sha256(data).hexdigest()
        target = _object(self.folder, name)
        if not os.path.exists(target):
            folder = dirname(target)
            make_private(folder)
            packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)
            temporary, descriptor = write_temporary(folder, packed)
            os.close(descriptor)
            try:
                os.rename(temporary, target)
            except BaseException:
                remove_temporary(temporary)
                raise
            self._folders.add(target)
            self.stored += len(packed)
        return name, len(data)

    def take(self, entry: Entry, *, superseded: bool) -> None:
        """Let ``entry`` be the present version of its file from the next commit on, with or without the old one."""
        key = (entry.path, entry.version)
        before = self.entry(*key)
        if before is not None:
            if superseded:
                self._superseded.append(before)
            else:
                self._dropped.update(name for name, _ in before.segments)
        self._entries[key] = self._changed[key] = entry

    def sync(self) -> None:
        """Bring the objects that were put to the disk."""
        for target in self._folders:
            _sync(target)
        for folder in {dirname(target) for target in self._folders}:
            sync_folder(folder)
        self._folders.clear()

    def commit(self) -> None:
        """Bring objects, then the rows that name them, to the disk; remove objects that nothing names any more."""
        if not self._changed and not self._superseded:
            return
        self.sync()
        with self._connection:
            for entry in self._superseded:
                row = self._connection.execute(
                    "select coalesce(max(version), 0) + 1 from files where source = ? and path = ?",
                    (self.source, os.fsencode(entry.path)),
                ).fetchone()
                assert row is not None
                entry.version = int(row[0])
            _write(self._connection, self.source, [*self._superseded, *self._changed.values()])
        self._superseded.clear()
        self._changed.clear()
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
        "_entry",
        "_grows",
        "_hash",
        "_held",
        "_path",
        "_pieces",
        "_segments",
        "_version",
        "again",
        "length",
        "records",
    )

    def __init__(self, archive: Archive, path: str, *, anew: bool = False, beside: bool = False) -> None:
        self._anew = anew
        self._version = BESIDE if beside else 0
        self._archive = archive
        self._path = path
        entry = archive.entry(path, self._version)
        self._entry = entry
        self._grows = not anew and entry is not None and entry.policy == REDACTION and bool(entry.segments)
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
            if self.length < entry.length:
                return
            if self.length > entry.length or self._hash.hexdigest() != entry.sha:
                self.again = True
                return
            self._grows = False
            self._segments = list(entry.segments)
            return
        self._buffer.append(line)
        self._held += len(line)
        if self._held >= LARGE:
            self._cut()

    @property
    def before(self) -> Entry | None:
        """What the archive has of the file."""
        return self._entry

    @property
    def folder(self) -> str:
        """Where the archive's objects lie."""
        return self._archive.folder

    def piece(self, data: bytes) -> None:
        """A part of the file that is an object by itself, in whole lines; pieces that it had and are not given go."""
        self._grows = False
        self._pieces = True
        self.length += len(data)
        self.records += data.count(b"\n")
        self._hash.update(data)
        self._segments.append(self._archive.put(data))

    def whole(self, data: bytes) -> None:
        """The file is one document, replaced at each write: it is stored whole."""
        self._grows = False
        self._segments = []
        self.add(data)

    def finish(self, size: int, mtime_ns: int, consumed: int, digest: str) -> None:
        """The file has ended. Sizes and digest are the raw file's."""
        entry = self._entry
        if self.again:
            return
        if self._grows:
            self.again = True  # it is shorter now: whether it says the same is not known yet
            return
        self._cut()
        sha = self._hash.hexdigest()
        known = entry
        if known is not None and known.sha == sha and known.policy == REDACTION:
            if (known.size, known.mtime_ns, known.consumed, known.digest) == (size, mtime_ns, consumed, digest):
                return
        elif not self._pieces and known is not None and known.policy == REDACTION and self.records < known.records:
            return  # cut short where it stood: the archive keeps what it had said, as its document does
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
            REDACTION,
            self._segments,
        )
        self._archive.take(made, superseded=self._rewritten(known))

    def restarted(self) -> Recorder:
        """A recorder for the second reading."""
        return Recorder(self._archive, self._path, anew=True)

    def _rewritten(self, known: Entry | None) -> bool:
        """Whether the archived form holds lines that the new one has not."""
        if not self._anew or known is None or known.policy != REDACTION or known.records < 2:
            return False
        there = set(lines(self._archive.folder, self._segments))
        return any(line not in there for line in lines(self._archive.folder, known.segments))

    def _cut(self) -> None:
        if not self._buffer:
            return
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._held = 0
        if self._segments and self._segments[-1][1] < SMALL:
            data = content(self._archive.folder, self._segments.pop()) + data
        self._segments.append(self._archive.put(data))


def entries(connection: apsw.Connection, source: str, path: str | None = None) -> Iterator[Entry]:
    """Every version of every file of a source, or of the one at ``path``, by path and version."""
    where = "source = ?"
    bound: list[str | bytes] = [source]
    if path is not None:
        where += " and path = ?"
        bound.append(os.fsencode(path))
    rows = connection.execute(f"select {_COLUMNS} from files where {where} order by path, version", bound)
    for row in rows:
        values: list[Any] = list(row)
        segments = [(str(name), int(length)) for name, length in json.loads(values.pop())]
        yield Entry(*[os.fsdecode(values[0]), *values[1:], segments])


def content(folder: str, segment: Segment) -> bytes:
    """The bytes of an object. Raises OSError where it is missing, damaged or not what its name says."""
    name, length = segment
    path = _object(folder, name)
    with open(path, "rb") as stream:
        packed = stream.read()
    try:
        data: bytes = zstandard.ZstdDecompressor().decompress(packed, max_output_size=length)
    except zstandard.ZstdError as error:
        raise OSError(f"damaged: {path}: {error}") from None
    if hashlib.sha256(data).hexdigest() != name:
        raise OSError(f"damaged: {path}")
    return data


def lines(folder: str, segments: Iterable[Segment]) -> Iterator[bytes]:
    """The lines of a file, with their ends."""
    for segment in segments:
        yield from io.BytesIO(content(folder, segment))


class Shelved(io.RawIOBase):
    """An archived file as a stream; an object is unpacked when its turn comes."""

    def __init__(self, folder: str, segments: list[Segment]) -> None:
        self._folder = folder
        self._segments = list(reversed(segments))
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._held and self._segments:
            self._held = memoryview(content(self._folder, self._segments.pop()))
        count = min(len(into), len(self._held))
        into[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


def sources(home: Home) -> list[str]:
    """The sources of which something is archived, sorted; nothing is made where there is no archive."""
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return []
    connection = _open(path)
    try:
        return [str(name) for (name,) in connection.execute("select distinct source from files order by 1")]
    finally:
        connection.close()


def read(home: Home, source: str) -> dict[str, Entry]:
    """Path → the present version of every archived file of a source; empty where there is no archive."""
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return {}
    connection = _open(path)
    try:
        return {entry.path: entry for entry in entries(connection, source) if not entry.version}
    finally:
        connection.close()


def versions(home: Home, source: str) -> list[Entry]:
    """Every version of every archived file of a source; empty where there is no archive."""
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return []
    connection = _open(path)
    try:
        return list(entries(connection, source))
    finally:
        connection.close()


def remove(home: Home, source: str, paths: Iterable[str], rest: Callable[[str, bytes], bytes]) -> None:
    """Take files out, every version of them, and the objects that nothing names then; ``rest`` (path, bytes of an
    object) is what is kept of each, where it is anything. Raises OSError and apsw.Error.
    """
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return
    archive = Archive(home, source)
    connection = _open(path)
    try:
        dropped: set[str] = set()
        for entry in [entry for each in paths for entry in entries(connection, source, each)]:
            dropped.update(name for name, _ in entry.segments)
            left = [data for segment in entry.segments if (data := _left(archive.folder, entry, segment, rest))]
            entry.segments = [archive.put(data) for data in left]
            entry.length, entry.sha = sum(map(len, left)), hashlib.sha256(b"".join(left)).hexdigest()
            # One that is stored whole counts as one record.
            entry.records = min(entry.records, sum(data.count(b"\n") for data in left))
            archive.sync()
            with connection:
                connection.execute(
                    "delete from files where source = ? and path = ? and version = ?",
                    (source, os.fsencode(entry.path), entry.version),
                )
                _write(connection, source, [entry] if left else [])
        unlink_unnamed(connection, archive.folder, dropped)
        connection.execute("vacuum")
    finally:
        connection.close()
        archive.close()


def _left(folder: str, entry: Entry, segment: Segment, rest: Callable[[str, bytes], bytes]) -> bytes:
    try:
        return rest(entry.path, content(folder, segment))
    except (OSError, ValueError):
        return b""  # damaged: nothing of it can be read


def redact_again(home: Home, source: str, counts: dict[str, int]) -> None:
    """Store anew, with this version's redaction, what went through an older one, whatever its version.

    ``counts`` (kind → replaced) is added to. Raises OSError and apsw.Error.
    """
    from core.redaction import clean, clean_record

    def cleaned(line: bytes) -> bytes:
        before = sum(counts.values())
        try:
            record = clean_record(line, json.loads(line), counts)
        except (ValueError, RecursionError):
            text = line.decode("utf-8", "surrogateescape")
            return clean(text, counts).encode("utf-8", "surrogateescape")
        return line if sum(counts.values()) == before else json.dumps(record, separators=(",", ":")).encode() + b"\n"

    connection = _open(home.path(FOLDER, CATALOGUE))
    archive = Archive(home, source)
    try:
        old = [entry for entry in entries(connection, source) if entry.policy != REDACTION]
        for entry in old:
            whole = hashlib.sha256()
            segments: list[Segment] = []
            length = 0
            for segment in entry.segments:
                data = b"".join(map(cleaned, io.BytesIO(content(archive.folder, segment))))
                whole.update(data)
                length += len(data)
                segments.append(archive.put(data))
            dropped = {name for name, _ in entry.segments} - {name for name, _ in segments}
            entry.segments, entry.length, entry.sha, entry.policy = segments, length, whole.hexdigest(), REDACTION
            archive.sync()
            with connection:
                _write(connection, source, [entry])
            unlink_unnamed(connection, archive.folder, dropped)
    finally:
        archive.close()
        connection.close()


def size(home: Home) -> tuple[int, int]:
    """(objects, bytes they take) of the archive."""
    count = total = 0
    for path in objects(home.path(FOLDER)):
        with contextlib.suppress(OSError):
            total += os.stat(path).st_size
            count += 1
    return count, total


def objects(folder: str) -> Iterator[str]:
    """The paths of all objects, named by the catalogue or not."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (join(place, name) for name in sorted(names) if name.endswith(".zst") and not name.startswith("."))


def unlink_unnamed(connection: apsw.Connection, folder: str, candidates: Iterable[str]) -> int:
    """Remove those of the objects ``candidates`` (names) that no row names; returns how many went."""
    wanted = set(candidates)
    if not wanted:
        return 0
    named: set[str] = set()
    for (segments,) in connection.execute("select segments from files"):
        named.update(str(name) for name, _ in json.loads(segments))
    gone = 0
    for name in wanted - named:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_object(folder, name))
            gone += 1
    return gone


def _write(connection: apsw.Connection, source: str, rows: Iterable[Entry]) -> None:
    connection.executemany(
        "insert or replace into files values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                source,
                os.fsencode(entry.path),
                entry.version,
                entry.size,
                entry.mtime_ns,
                entry.consumed,
                entry.digest,
                entry.records,
                entry.length,
                entry.sha,
                entry.policy,
                json.dumps(entry.segments),
            )
            for entry in rows
        ],
    )


def _open(path: str) -> apsw.Connection:
    mask = os.umask(0o077)
    try:
        connection = apsw.Connection(path)
        connection.set_busy_timeout(10_000)
        # A journal that is deleted, not a log that stays: what is removed from the archive must be gone from its files.
        connection.execute("pragma secure_delete=on; pragma journal_mode=delete; pragma synchronous=full").fetchall()
        if connection.pragma("user_version") != _VERSION:
            with connection:
                connection.execute(f"{_SCHEMA}pragma user_version={_VERSION};").fetchall()
        return connection
    finally:
        os.umask(mask)


def _object(folder: str, name: str) -> str:
    return join(folder, name[:2], f"{name}.zst")


def _sync(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
