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
import time
from os.path import join
from typing import TYPE_CHECKING, Any

import apsw
import zstandard

from core.errors import BrainError, DiskFull, EngineMissing, Internal, LockContention
from core.home import Home
from core.sqlite import connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = "raw"
CATALOGUE = "catalogue.sqlite"
# Names of objects with an accepted loss, below ``state/`` (``ingest.archive.verifier``).
LOSSES_FILE = "accepted-losses.json"
# The version of a file that is no source's own, but was read to understand one that is.
BESIDE = -1
# What may be wrong with an object.
MISSING = "missing"
DAMAGED = "damaged"
# The policy of what was kept as it was found: it went through none.
RAW = 0
_VERSION = 1
# A catalogue is an empty file for so long at most while it is made.
_MAKING_S = 0.3
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
    form, ``records`` its lines, ``policy`` the redaction it went through or ``RAW``, ``segments`` its objects in order.
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

    @property
    def about(self) -> tuple[int, int, int, str, int]:
        """What is known of the raw file, and how many records it has."""
        return self.size, self.mtime_ns, self.consumed, self.digest, self.records


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
    path = object_path(folder, name)
    with open(path, "rb") as stream:
        packed = stream.read()
    try:
        data: bytes = zstandard.ZstdDecompressor().decompress(packed, max_output_size=length)
    except zstandard.ZstdError as error:
        raise OSError(f"damaged: {path}: {error}") from None
    if hashlib.sha256(data).hexdigest() != name:
        raise OSError(f"damaged: {path}")
    return data


def fault(folder: str, segment: Segment, *, contents: bool) -> str:
    """Return what is wrong with an object, or ""."""
    try:
        if not os.stat(object_path(folder, segment[0])).st_size:
            return MISSING
    except OSError:
        return MISSING
    if contents:
        try:
            content(folder, segment)
        except OSError:
            return DAMAGED
    return ""


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


def held(folder: str, entry: Entry) -> Iterator[bytes]:
    """Yield the objects of a file. Raises OSError."""
    return (content(folder, segment) for segment in entry.segments)


def sources(home: Home) -> list[str]:
    """The sources of which something is archived, sorted; nothing is made where there is no archive."""
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return []
    with catalogue(path) as connection:
        return [str(name) for (name,) in connection.execute("select distinct source from files order by 1")]


def read(home: Home, source: str) -> dict[str, Entry]:
    """Path → the present version of every archived file of a source; empty where there is no archive."""
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return {}
    with catalogue(path) as connection:
        return {entry.path: entry for entry in entries(connection, source) if not entry.version}


def versions(home: Home, source: str) -> list[Entry]:
    """Every version of every archived file of a source; empty where there is no archive."""
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return []
    with catalogue(path) as connection:
        return list(entries(connection, source))


def size(home: Home) -> tuple[int, int]:
    """(objects, bytes that they and the databases beside them take) of the archive."""
    count = total = 0
    folder = home.path(FOLDER)
    for path in objects(folder):
        with contextlib.suppress(OSError):
            total += os.stat(path).st_size
            count += 1
    with contextlib.suppress(OSError):
        total += sum(each.stat().st_size for each in os.scandir(folder) if ".sqlite" in each.name)
    return count, total


def objects(folder: str) -> Iterator[str]:
    """The paths of all objects, named by the catalogue or not."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (join(place, name) for name in sorted(names) if name.endswith(".zst") and not name.startswith("."))


def names(home: Home) -> set[str]:
    """The objects that the catalogue names; empty where there is none. Raises BrainError where it cannot be read."""
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return set()
    with catalogue(path) as connection:
        rows = connection.execute("select segments from files")
        return {str(name) for (segments,) in rows for name, _ in json.loads(segments)}


_FEW = 16


def unlink_unnamed(connection: apsw.Connection, folder: str, candidates: Iterable[str]) -> int:
    """Remove those of the objects ``candidates`` (names) that no row names; returns how many went."""
    wanted = set(candidates)
    if not wanted:
        return 0
    named: set[str] = set()
    if len(wanted) <= _FEW:
        # As a text, since names are hashes: parsing all that is archived would take a hook longer each month.
        mentioned = "select 1 from files where instr(segments, ?) limit 1"
        named.update(name for name in wanted if connection.execute(mentioned, (name,)).fetchone())
    else:
        for (segments,) in connection.execute("select segments from files"):
            named.update(str(name) for name, _ in json.loads(segments))
    gone = 0
    for name in wanted - named:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(object_path(folder, name))
            gone += 1
    return gone


def write_rows(connection: apsw.Connection, source: str, rows: Iterable[Entry]) -> None:
    """Write entries, inside the caller's transaction."""
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


@contextlib.contextmanager
def catalogue(path: str) -> Iterator[apsw.Connection]:
    """The catalogue, to be read. Raises BrainError that names it."""
    with named(path):
        connection = open_catalogue(path)
        try:
            yield connection
        finally:
            connection.close()


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """What SQLite fails with in the catalogue at ``path`` is raised as a BrainError that names it, and the way out.

    There are other databases: of which one a failure tells, whoever catches apsw.Error further up cannot know.
    """
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise _failure(error, path) from error


def _failure(error: Exception, path: str) -> BrainError:
    from core.sqlite import is_full

    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return LockContention("another process is writing to the archive", "wait a moment, then run the command again")
    if isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError | apsw.CantOpenError) and is_full(os.path.dirname(path))
    ):
        return DiskFull("the disk is full", "free some space, then run the command again")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        return Internal(f"the archive's catalogue {path}: {error}", f"check its permissions: ls -l {path}")
    # The objects stay where they are: what a catalogue that comes back names can be read again.
    return EngineMissing(
        f"the archive's catalogue {path} is damaged: {error}",
        "brain doctor --fix moves it aside, takes it out of the newest backup that has one, and indexes",
    )


def open_catalogue(path: str) -> apsw.Connection:
    """The catalogue, made where it is missing. Raises apsw.Error."""
    refuse_emptied(path)
    connection = connect(path)
    connection.set_busy_timeout(10_000)
    # A commit to a write-ahead log is one sync, to a rollback journal four, and a hook waits for each.
    connection.execute("pragma secure_delete=on; pragma journal_mode=wal; pragma synchronous=full").fetchall()
    if connection.pragma("user_version") != _VERSION:
        with connection:
            connection.execute(f"{_SCHEMA}pragma user_version={_VERSION};").fetchall()
    return connection


def refuse_emptied(path: str) -> None:
    """Raise apsw.NotADBError where a catalogue that named something is an empty file by now, as a crash leaves it."""
    if _is_empty(path) and next(objects(os.path.dirname(path)), None) is not None:
        time.sleep(_MAKING_S)
        if _is_empty(path):
            raise apsw.NotADBError("it is empty")


def _is_empty(path: str) -> bool:
    try:
        return not os.stat(path).st_size
    except OSError:
        return False


def object_path(folder: str, name: str) -> str:
    """Where an object lies."""
    return join(folder, name[:2], f"{name}.zst")
