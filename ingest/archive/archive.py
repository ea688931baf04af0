"""The archive of raw files, ``$BRAIN_HOME/raw/``: it keeps what tools delete (docs/archive.md).

A file is a row of ``catalogue.sqlite`` with its path, mtime, digest and a list of segments. A segment is an object
``<first 2 hex>/<SHA-256 of its content>.zst``. The archive stores the redacted form that is parsed, so that a corpus
made from the archive is the same byte for byte. A transcript that has grown adds a segment; a small segment is joined
with the next; equal content is stored once. Objects are written before the rows that name them, and rows before the
state records that a file was read: a run that is killed leaves at worst orphan objects.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import time
from os.path import join
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import zstandard

from core.errors import BrainError, DiskFull, EngineMissing, Internal, LockContention
from core.home import Home
from core.sqlite import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = "raw"
CATALOGUE = "catalogue.sqlite"
# Names of objects with an accepted loss, below ``state/`` (``ingest.archive.verifier``).
LOSSES_FILE = "accepted-losses.json"
# The version of a companion file: it was read to understand a transcript.
COMPANION = -1
# The faults of an object.
MISSING = "missing"
DAMAGED = "damaged"
# The policy of a file that was stored as it was found, not redacted.
RAW = 0
_VERSION = 1
_LEVEL = 5
# A catalogue that is being created is an empty file for at most so long, in seconds.
_MAKING_S = 0.3
_SCHEMA = """
create table if not exists files(
  source text not null, path blob not null, version int not null, size int not null, mtime_ns int not null,
  consumed int not null, digest text not null, records int not null, length int not null, sha text not null,
  policy int not null, segments text not null, primary key(source, path, version)) without rowid;
"""
_COLUMNS = "path, version, size, mtime_ns, consumed, digest, records, length, sha, policy, segments"

Segment = tuple[str, int]


class Entry(NamedTuple):
    """A row of the catalogue: one version of an archived file.

    ``version`` 0 is the present one; 1, 2, … are from before the file was rewritten; or ``COMPANION``. ``size``,
    ``mtime_ns``, ``consumed`` and ``digest`` describe the raw file, ``length`` and ``sha`` the archived form.
    ``records`` counts its lines. ``policy`` is the redaction that it went through, or ``RAW``. ``segments`` are its
    objects in order.
    """

    path: str
    version: int
    size: int
    mtime_ns: int
    consumed: int
    digest: str
    records: int
    length: int
    sha: str
    policy: int
    segments: list[Segment]


def entries(connection: apsw.Connection, source: str, path: str | None = None) -> Iterator[Entry]:
    """Yield every version of every file of a source, or of the file at ``path``, by path and version."""
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
    """Return the bytes of an object. Raises OSError if it is missing, damaged or another object's."""
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
    """Yield the lines of a file, with their ends."""
    for segment in segments:
        yield from io.BytesIO(content(folder, segment))


def held(folder: str, entry: Entry) -> Iterator[bytes]:
    """Yield the objects of a file. Raises OSError."""
    return (content(folder, segment) for segment in entry.segments)


def sources(home: Home) -> list[str]:
    """Return the sources with archived files, sorted; nothing is created if there is no archive."""
    path = join(home.root, FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return []
    with catalogue(path) as connection:
        return [str(name) for (name,) in connection.execute("select distinct source from files order by 1")]


def read(home: Home, source: str) -> dict[str, Entry]:
    """Return path → the present version of every archived file of a source; empty if there is no archive."""
    path = join(home.root, FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return {}
    with catalogue(path) as connection:
        return {entry.path: entry for entry in entries(connection, source) if not entry.version}


def versions(home: Home, source: str) -> list[Entry]:
    """Return every version of every archived file of a source; empty if there is no archive."""
    path = join(home.root, FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return []
    with catalogue(path) as connection:
        return list(entries(connection, source))


def size(home: Home) -> tuple[int, int]:
    """Return (objects, bytes of the objects and the catalogue)."""
    count = total = 0
    folder = join(home.root, FOLDER)
    for path in objects(folder):
        with contextlib.suppress(OSError):
            total += os.stat(path).st_size
            count += 1
    with contextlib.suppress(OSError):
        total += sum(each.stat().st_size for each in os.scandir(folder) if ".sqlite" in each.name)
    return count, total


def objects(folder: str) -> Iterator[str]:
    """Yield the paths of all objects, orphans included."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        yield from (join(place, name) for name in sorted(names) if name.endswith(".zst") and not name.startswith("."))


def names(home: Home) -> set[str]:
    """Return the names of the objects in the catalogue. Raises BrainError if the catalogue cannot be read."""
    path = join(home.root, FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return set()
    with catalogue(path) as connection:
        rows = connection.execute("select segments from files")
        return {str(name) for (segments,) in rows for name, _ in json.loads(segments)}


_FEW = 16


def unlink_unnamed(connection: apsw.Connection, folder: str, candidates: Iterable[str]) -> int:
    """Delete those of the objects ``candidates`` (names) that no row names; return how many."""
    wanted = set(candidates)
    if not wanted:
        return 0
    named: set[str] = set()
    if len(wanted) <= _FEW:
        # Names are hashes, so a search in the text is exact. Parsing every row would take a hook longer each month.
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


def packed(data: bytes) -> bytes:
    """Return the file of an object with this content."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)


def write_rows(connection: apsw.Connection, source: str, rows: Iterable[Entry]) -> None:
    """Write entries, inside the caller's transaction."""
    values = [(source, os.fsencode(path), *rest, json.dumps(segments)) for path, *rest, segments in rows]
    connection.executemany("insert or replace into files values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


@contextlib.contextmanager
def catalogue(path: str) -> Iterator[apsw.Connection]:
    """Open the catalogue to read it. Raises BrainError that names the file."""
    with named(path):
        connection = open_catalogue(path)
        try:
            yield connection
        finally:
            connection.close()


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Raise SQLite's errors in the catalogue at ``path`` as a BrainError that names the file and the fix.

    A caller further up, which uses other databases as well, cannot tell from an apsw.Error which database failed.
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
    # The objects stay in place: a catalogue that comes back from a backup can read them.
    return EngineMissing(
        f"the archive's catalogue {path} is damaged: {error}",
        "brain doctor --fix moves it aside, takes it out of the newest backup that has one, and indexes",
    )


def open_catalogue(path: str, *, hasty: bool = False) -> apsw.Connection:
    """Open the catalogue, and create it if it is missing. Raises apsw.Error.

    ``hasty``: what is written stays in the log, and ``core.sqlite.sync_log`` brings it to the disk.
    """
    refuse_emptied(path)
    # A commit to a write-ahead log is one sync, to a rollback journal four, and a hook waits for each.
    synchronous = "normal" if hasty else "full"
    pragmas = f"pragma secure_delete=on; pragma synchronous={synchronous}"
    return open_store(path, pragmas, _SCHEMA, _VERSION, hasty=hasty)


def refuse_emptied(path: str) -> None:
    """Raise apsw.NotADBError if there are objects and the catalogue is an empty file, as a crash leaves it."""
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
    """Return the path of an object."""
    return join(folder, name[:2], f"{name}.zst")
