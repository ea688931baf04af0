"""The index as a whole: opening it with the right pragmas, SQLite's failures as ours, what is noted of every run."""

from __future__ import annotations

import os
import time

import apsw

from core import sqlite
from core.errors import BrainError, DiskFull, EngineMissing, EngineTimeout, Internal, LockContention, from_os
from core.version import INDEX, REDACTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config

_FIX = "brain index"
_REBUILD = "brain index --rebuild"
# VM steps between two looks at the clock: about a millisecond of a scan.
STEPS = 20_000

# So many times the free pages are more than all pages where it is worth while to give them back.
_MANY_FREE = 50

# Bulk inserts sort terms in memory and spill seldom; a checkpoint a transaction keeps the log short. A new file also
# takes ``auto_vacuum``, for ``give_back``.
_WRITING = (
    "PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-64000; PRAGMA wal_autocheckpoint=4000;"
    " PRAGMA temp_store=MEMORY"
)

# How many documents there are, for readers with no time to count; run at the end of every change.
COUNT = "INSERT OR REPLACE INTO brain_state SELECT 'documents', count(*) FROM documents WHERE active = 1"


def open_index(path: str, *, write: bool = False, busy_ms: int = 2000, hasty: bool = False) -> apsw.Connection:
    """Open the index at ``path``; ``write`` creates it and its tables where they are missing.

    ``busy_ms`` is how long a statement waits for another process's lock; ``hasty`` leaves what is written in the log.
    Raises EngineMissing if there is no index or the file is none, LockContention if a writer holds it too long,
    BadInput if permissions deny it.
    """
    if not os.path.isfile(path):
        _require_place(path, write)
    return _open_to_write(path, busy_ms, hasty) if write else _open_to_read(path, busy_ms)


def _require_place(path: str, write: bool) -> None:
    """Raise EngineMissing if there is no index to read, or something else than a file in its place."""
    require_file(path)
    if not write:
        raise EngineMissing(f"there is no index yet at {path}", _FIX)


def require_file(path: str) -> None:
    """Raise EngineMissing where something else than a file lies in the place of an index."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise EngineMissing(f"{path} is not a file", "move it away, then: brain index")


def _open_to_write(path: str, busy_ms: int, hasty: bool) -> apsw.Connection:
    from qmd.index import schema

    try:
        # The umask does not make the index private; creating it before SQLite does, does. SQLite gives its -wal and
        # -shm the mode of the database.
        if not os.path.exists(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        pragmas = _WRITING if os.path.getsize(path) else f"PRAGMA auto_vacuum=INCREMENTAL; {_WRITING}"
        connection = sqlite.open_store(path, pragmas, busy_ms=busy_ms, hasty=hasty)
        try:
            schema.ensure(connection)
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise translate(error, path) from error
    except PermissionError as error:
        raise from_os(error) or error from None
    return connection


def _open_to_read(path: str, busy_ms: int) -> apsw.Connection:
    if sqlite.is_full(os.path.dirname(path)):
        try:
            return _open_unwritable(path, 0)
        except LockContention:
            pass  # another process has the index open, so the blocks of the -shm file are allocated
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error as error:
        raise translate(error, path) from None
    try:
        connection.set_busy_timeout(busy_ms)
        _prepare_for_reading(connection, path)
    except apsw.Error as error:
        connection.close()
        # IOError: a full disk, on which a reader cannot make the files that it shares with writers.
        if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.IOError):
            return _open_unwritable(path, busy_ms)
        raise translate(error, path) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _open_unwritable(path: str, busy_ms: int) -> apsw.Connection:
    """Open an index where no file can be made or grown: a backup, another user's folder, a full disk.

    A log without bytes holds no change, so the database file alone is the index; a failed attempt to read it may have
    left such a log (https://sqlite.org/uri.html#uriimmutable). A log with bytes is read with the memory of this process
    in place of the shared file, which keeps other processes out meanwhile
    (https://sqlite.org/wal.html#use_of_wal_without_shared_memory).
    """
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection: apsw.Connection | None = None
    try:
        if _log_bytes(path):
            connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
            connection.set_busy_timeout(busy_ms)
            connection.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
        else:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            connection = apsw.Connection(f"file:{quoted}?immutable=1", flags=flags)
        _prepare_for_reading(connection, path)
    except apsw.Error as error:
        if connection is not None:
            connection.close()
        raise translate(error, path) from error
    return connection


def _log_bytes(path: str) -> int:
    try:
        return os.stat(f"{path}-wal").st_size
    except OSError:
        return 0


def _prepare_for_reading(connection: apsw.Connection, path: str) -> None:
    # A reader that closes the last connection would sync and remove the log, and the next hook would sync a new one.
    # A log without bytes was made by this reader, which removes it.
    if _log_bytes(path):
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute("PRAGMA query_only=1; PRAGMA cache_size=-16000").fetchall()
    _check_version(connection, path)


def give_back(connection: apsw.Connection) -> None:
    """Give pages that nothing uses back to the disk where they are many: what FTS5 merged leaves them behind.

    An index that was made without ``auto_vacuum`` keeps them for what it will hold.
    """
    if connection.pragma("freelist_count") * _MANY_FREE > connection.pragma("page_count"):
        connection.execute("PRAGMA incremental_vacuum").fetchall()


def _check_version(connection: apsw.Connection, path: str) -> None:
    try:
        row = connection.execute("SELECT value FROM brain_state WHERE key = 'index_version'").fetchone()
    except apsw.SQLError:
        raise EngineMissing(f"{path} has no brain tables", _FIX) from None
    if row is None or row[0] != INDEX:
        raise EngineMissing(f"the index {path} is of another version", _FIX)


def translate(error: apsw.Error, path: str) -> BrainError:
    """Return our exception for one of SQLite's."""
    full = disk_full(error, path)
    if full is not None:
        return full
    if isinstance(error, apsw.NotADBError):
        return EngineMissing(f"{path} is not a database", _REBUILD)
    if isinstance(error, apsw.CorruptError):
        return EngineMissing(f"the index {path} is damaged: {error}", _REBUILD)
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) and (denied := sqlite.denied(path)):
        return denied
    if isinstance(error, apsw.CantOpenError):
        return EngineMissing(f"cannot open the index {path}: {error}", f"check its permissions: ls -l {path}")
    if isinstance(error, apsw.ReadOnlyError):
        return EngineMissing(f"the index {path} may not be written to", f"check its permissions: ls -l {path}")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return LockContention("another process is writing to the index", "wait a moment, then run the command again")
    if isinstance(error, apsw.InterruptError):
        return EngineTimeout("the index did not answer in time", "ask again with a longer --timeout, or fewer words")
    return damaged(error, path) or Internal(f"SQLite: {error}", f"brain explain; if the index is damaged, {_REBUILD}")


def damaged(error: Exception, path: str) -> EngineMissing | None:
    """Return what an error that nobody expects means if the index at ``path`` is damaged; None if the index is sound.

    Damaged bytes can make any code fail that reads the index. So the index is checked when something has failed (2 s
    for 2,000 documents), rather than each value that is read.
    """
    if not os.path.isfile(path):
        return None
    from qmd.index import damage

    try:
        fault = damage.of_file(path)
    except apsw.Error:
        return None
    said = f" ({type(error).__name__}: {error})" if fault else ""
    return EngineMissing(f"the index {path} is damaged: {fault}{said}", _REBUILD) if fault else None


def disk_full(error: apsw.Error, path: str) -> DiskFull | None:
    """Return a DiskFull if the failure with the database at ``path`` means that the disk has no room, else None."""
    if isinstance(error, apsw.FullError | apsw.IOError) and (most := sqlite.size_limit()):
        return DiskFull(f"no file may grow beyond {most:,} bytes (ulimit -f): {path}", "ulimit -f unlimited")
    if isinstance(error, apsw.FullError) or (
        isinstance(error, apsw.IOError | apsw.CantOpenError) and sqlite.is_full(os.path.dirname(path))
    ):
        return DiskFull("the disk is full", "free some space, then run the command again")
    return None


class Deadline:
    """``with Deadline(connection, seconds):`` interrupts whatever statement runs when the time is up.

    The interrupted statement raises apsw.InterruptError (https://sqlite.org/c3ref/progress_handler.html). Python code
    between two statements is not interrupted; if it ends too late, leaving the block raises the same error.
    """

    def __init__(self, connection: apsw.Connection, seconds: float) -> None:
        self._connection = connection
        self._at = time.monotonic() + seconds

    def __enter__(self) -> Deadline:
        self._connection.set_progress_handler(self.passed, STEPS)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.set_progress_handler(None)
        if kind is None and self.passed():
            raise apsw.InterruptError("the answer came after the deadline")

    def left(self) -> float:
        """Seconds until then, at least 0."""
        return max(0.0, self._at - time.monotonic())

    def passed(self) -> bool:
        """Return True if the time is up."""
        return time.monotonic() > self._at


class Transaction:
    """``with Transaction(connection):`` is one write transaction; inside an open one it joins it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._outer = connection.in_transaction

    def __enter__(self) -> Transaction:
        if not self._outer:
            self._connection.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._outer:
            return
        if kind is None:
            self._connection.execute("COMMIT")
        else:
            sqlite.roll_back(self._connection)


def mark_complete(connection: apsw.Connection, config: Config) -> None:
    """Note that a run over every configured collection has ended."""
    rows = [("complete", fingerprint(config)), ("as_of", int(time.time()))]
    connection.executemany("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", rows)


def is_complete(connection: apsw.Connection) -> bool:
    """Return True if an index run has ended: until then, the index lacks documents that are there."""
    return connection.execute("SELECT 1 FROM brain_state WHERE key = 'complete'").get is not None


def fingerprint(config: Config) -> str:
    """Return the names, folders and masks of the collections as one text, to compare two configurations."""
    return "\n".join(
        "\t".join((name, folder.path, folder.pattern, *folder.ignore)) for name, folder in config.collections.items()
    )


def is_redacted(connection: apsw.Connection) -> bool:
    """Return True if every document of the index went through this version's redaction."""
    row = connection.execute("SELECT value FROM brain_state WHERE key = 'redaction'").fetchone()
    return row is not None and row[0] == REDACTION


def mark_redacted(connection: apsw.Connection) -> None:
    """Note that every document of the index went through this version's redaction."""
    connection.execute("INSERT OR REPLACE INTO brain_state VALUES('redaction', ?)", (REDACTION,))
