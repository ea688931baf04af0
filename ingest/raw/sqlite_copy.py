"""Reading a database that its application holds open: a private copy, journals included, taken between two writes.

Chromium locks ``History`` exclusively and keeps a rollback journal; editors use a write-ahead log. Opening the file
itself fails ("database is locked") or, with ``immutable=1``, ignores a hot journal and reads half a transaction. A copy
of the database alone has the same fault. So all files are copied, and the copy counts only if none of them changed
while it was made; SQLite then rolls back, or replays, what the application had not finished
(https://sqlite.org/lockingv3.html#hot_journals, https://sqlite.org/walformat.html#recovery).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from os.path import join
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from core.home import make_private
from core.sqlite import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

# The journals that a database may have; the write-ahead log's index (-shm) is made again from the log.
_COMPANIONS = ("-journal", "-wal")
_MAGIC = b"SQLite format 3\x00"
_PREFIX = "copy-"
_APART = "brain-copies-"
_TRIES = 8
_WAIT_S = 0.1
# Two writes within one tick of the file system's clock leave the same mtime: 10 ms is the slowest kernel's tick,
# 2 s what FAT and some network file systems keep.
_TICK_NS = 20_000_000
_COARSE_NS = 2_000_000_000
_ABANDONED_S = 3600


class Unsettled(Exception):
    """The database was written to during every attempt to copy it, or is still too busy to be read whole."""


class Part(NamedTuple):
    """One file of a database as ``os.stat`` saw it: name suffix ("", "-journal", "-wal"), bytes, ns since 1970."""

    suffix: str
    size: int
    mtime_ns: int
    inode: int


class Copy(NamedTuple):
    """``connection`` reads the copy, ``parts`` say of which state of the original it is (see ``parts``)."""

    connection: apsw.Connection
    parts: tuple[Part, ...]


def parts(path: str) -> tuple[Part, ...]:
    """Return the database and its journals as they are now: equal tuples mean nothing was written in between.

    Raises OSError if the database is not there, cannot be looked at or is not a regular file.
    """
    found: list[Part] = []
    for suffix in ("", *_COMPANIONS):
        try:
            status = os.stat(path + suffix)
        except FileNotFoundError:
            if not suffix:
                raise
            continue
        if not stat.S_ISREG(status.st_mode):
            if suffix:
                continue
            raise OSError(f"not a regular file: {path}")
        found.append(Part(suffix, status.st_size, status.st_mtime_ns, status.st_ino))
    return tuple(found)


def is_database(path: str) -> bool:
    """Return True if a file begins as SQLite databases do. Raises OSError."""
    with open(path, "rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


@contextlib.contextmanager
def copied(path: str, scratch: str) -> Iterator[Copy]:
    """Open a consistent copy of the database at ``path``, in a private folder below ``scratch``.

    The copy is gone when the ``with`` ends; one that a killed process left goes with the next (``sweep``). The original
    is opened for reading only and never locked. The connection refuses to write, and trusts nothing in the schema.

    Raises OSError if the original cannot be read or the copy not written, Unsettled where it never held still,
    apsw.Error if it is no database or is damaged.
    """
    make_private(scratch)
    sweep(scratch)
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=scratch)
    held = _hold(folder)
    try:
        target = join(folder, "database")
        state = _copy(path, target)
        connection = _open(target)
        try:
            yield Copy(connection, state)
        finally:
            connection.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def _copy(path: str, target: str) -> tuple[Part, ...]:
    """Copy the database with its journals; returns the state that was copied. Raises OSError and Unsettled."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_WAIT_S * attempt)
        began_ns = time.time_ns()
        before = parts(path)
        for suffix in _COMPANIONS:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target + suffix)
        try:
            # Journals first: a transaction that begins meanwhile is then seen as a change, not as a missing journal.
            for part in sorted(before, key=lambda part: part.suffix, reverse=True):
                _copy_file(path + part.suffix, target + part.suffix)
        except FileNotFoundError:
            if not os.path.exists(path):
                raise
            continue  # a journal went while it was to be copied: its transaction has ended
        if parts(path) == before and all(_is_settled(part, began_ns) for part in before):
            return before
    raise Unsettled(path)


def _copy_file(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    os.chmod(target, 0o600)


def _is_settled(part: Part, began_ns: int) -> bool:
    """Return True if the file's mtime is so old that a write during the copy would have changed it."""
    tick = _TICK_NS if part.mtime_ns % 1_000_000_000 else _COARSE_NS
    # A clock set back makes every mtime lie ahead: that is no sign of a write.
    return not 0 <= began_ns - part.mtime_ns < tick


def _open(path: str) -> apsw.Connection:
    """Let SQLite finish what the journals say, then close the door to writing. Raises apsw.Error and Unsettled."""
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.pragma("cell_size_check", True)
        connection.execute("select count(*) from sqlite_schema").fetchall()
        connection.pragma("query_only", True)
    except BaseException:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def apart() -> Iterator[str]:
    """Create a private folder for copies outside of every home, removed when the ``with`` ends.

    One that a killed process left is removed by the next to want one. Raises OSError.
    """
    sweep(tempfile.gettempdir(), _APART)
    with tempfile.TemporaryDirectory(prefix=f"{_APART}{os.getpid()}-") as folder:
        held = _hold(folder)
        try:
            yield folder
        finally:
            os.close(held)


def abandoned(scratch: str, prefix: str = _PREFIX) -> list[str]:
    """Return the folders of copies below ``scratch`` that an ended process has left, sorted."""
    try:
        with os.scandir(scratch) as entries:
            mine = [entry for entry in entries if entry.name.startswith(prefix)]
    except OSError:
        return []
    return sorted(entry.path for entry in mine if _is_abandoned(entry, prefix))


def sweep(scratch: str, prefix: str = _PREFIX) -> int:
    """Remove what ``abandoned`` finds: it is a whole database, before anything of it was left out. How many went."""
    left = abandoned(scratch, prefix)
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    return len(left)


def _is_abandoned(entry: os.DirEntry[str], prefix: str) -> bool:
    """Return True if a folder is ours, nobody holds it, and the process in its name is not just creating it."""
    try:
        status = entry.stat(follow_symlinks=False)
        if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode):
            return False
        held = os.open(entry.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: by the process alone
    finally:
        os.close(held)
    maker = entry.name.removeprefix(prefix).partition("-")[0]
    return not (maker.isdecimal() and _lives(int(maker))) or time.time() - status.st_mtime > _ABANDONED_S


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _hold(folder: str) -> int:
    """Lock a folder until this process ends, or closes what is returned: no copy that is in use is swept."""
    held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return held


class Cursor(apsw.Cursor):
    """Rows as ever, until one has such text: the statement's rows from there on are read as bytes, and decoded."""

    _statement = ""
    _bindings: Any = None
    _given = 0
    _rest: Iterator[tuple[Any, ...]] | None = None

    def __init__(self, connection: apsw.Connection, replaced: set[bytes]) -> None:
        super().__init__(connection)
        self._replaced = replaced

    def execute(self, statements: str, bindings: Any = None, **options: Any) -> Cursor:
        """As apsw's, of one statement."""
        self._statement, self._bindings, self._given, self._rest = statements, bindings, 0, None
        super().execute(statements, bindings, **options)
        return self

    def __next__(self) -> Any:
        if self._rest is None:
            try:
                row = super().__next__()
            except UnicodeDecodeError:
                self._rest = self._as_bytes([f"c{number}" for number in range(len(self.get_description()))])
            else:
                self._given += 1
                return row
        return next(self._rest)

    def fetchone(self) -> Any:
        """The next row, or None."""
        return next(self, None)

    def _as_bytes(self, names: list[str]) -> Iterator[tuple[Any, ...]]:
        connection = self.get_connection()
        encoding = str(connection.pragma("encoding"))
        wanted = ", ".join(
            f"typeof({name}), iif(typeof({name}) = 'text', cast({name} as blob), {name})" for name in names
        )
        # Materialised: by the same plan, thus in the same order, as the rows that were given out already.
        query = (
            f"with found({', '.join(names)}) as materialized ({self._statement})"
            f" select {wanted} from found limit -1 offset {self._given}"
        )
        for row in apsw.Cursor(connection).execute(query, self._bindings):
            kinds, values = row[::2], row[1::2]
            yield tuple(
                self._decoded(value, encoding) if kind == "text" else value
                for kind, value in zip(kinds, values, strict=True)
            )

    def _decoded(self, data: bytes, encoding: str) -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            self._replaced.add(hashlib.sha256(data).digest())
            return data.decode(encoding, "replace")


def bear(connection: apsw.Connection) -> set[bytes]:
    """Have ``connection`` read such text from now on; the set grows with digests of what was replaced."""
    replaced: set[bytes] = set()
    connection.cursor_factory = lambda found: Cursor(found, replaced)
    return replaced
