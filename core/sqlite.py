"""Open the databases of a home, each of which has a write-ahead log.

A hook has no time for a checkpoint, and a log that no open connection shares is read whole by whoever opens it next
(https://sqlite.org/walformat.html#recovery): a long one makes every hook and every question slow. So hooks only append
(``hasty``), and the child that outlives them writes the log back once it has grown.
"""

from __future__ import annotations

import os
import time

import apsw

from core.errors import from_os
from core.home import make_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.errors import BrainError

# Less room than this counts as none.
_LEAST_BYTES = 1 << 20
# A transaction writes no more to a log.
_MOST_LOG_BYTES = 256 << 20
# About 1,000 pages, which are read in two milliseconds.
_LONG_LOG = 4_000_000
# How long a statement waits for another process's lock, and a checkpoint for readers while it keeps writers out.
_BUSY_MS = 10_000
_CHECKPOINT_BUSY_MS = 200
# The pause before a retry where SQLite does not wait.
_AGAIN_S = 0.01
# Errors of SQLite and Python for damaged bytes. A text that is no UTF-8 is a ValueError.
DAMAGE = (
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.SQLError,
    apsw.ConstraintError,
    apsw.MismatchError,
    apsw.TooBigError,
    ValueError,
)


def connect(path: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """Open the database at ``path``, unless its file system is full.

    Raises apsw.FullError if the file system is full, BadInput if a file or the folder may not be written to, otherwise
    what SQLite raises.
    """
    if failure := denied(path):
        raise failure
    if is_full(os.path.dirname(path)):
        raise apsw.FullError("database or disk is full")
    connection = apsw.Connection(path, flags=flags)
    if flags & apsw.SQLITE_OPEN_READWRITE and os.path.exists(path):
        try:
            _allocate(connection)
        except apsw.FullError:
            connection.close()
            raise
        except apsw.Error:
            return connection  # damaged or locked: the caller's first statement raises the error again
    return connection


def open_store(
    path: str, pragmas: str = "", schema: str = "", version: int = 0, *, busy_ms: int = _BUSY_MS, hasty: bool = False
) -> apsw.Connection:
    """Open a database to write, with a write-ahead log and its tables; create it and its folder if they are missing.

    Args:
        path: the file.
        pragmas: statements that each connection needs.
        schema: creates the tables that are missing; run unless the file is of this ``version``.
        version: the file's ``user_version``.
        busy_ms: how long a statement waits for another process's lock.
        hasty: leave what is written in the log (``leave_log``).

    Raises:
        BadInput: a file or the folder may not be written to.
        apsw.Error: the file is damaged, or the disk is full.
    """
    make_private(os.path.dirname(path) or ".")
    connection = connect(path)
    try:
        connection.set_busy_timeout(busy_ms)
        # apsw stops at the first row that a statement gives, and some pragmas give one: fetchall runs them all.
        connection.execute(pragmas).fetchall()
        write_ahead(connection)
        if hasty:
            leave_log(connection)
        if schema and connection.pragma("user_version") != version:
            connection.execute(f"BEGIN IMMEDIATE; {schema}PRAGMA user_version={version}; COMMIT").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: str, busy_ms: int = _BUSY_MS) -> apsw.Connection:
    """Open the database at ``path``, which must exist, to read alone; a statement waits ``busy_ms`` for a lock.

    Raises what ``connect`` does.
    """
    # SQLite opens it to write, so that it joins the write-ahead log, and removes it with the last connection.
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(busy_ms)
    connection.execute("PRAGMA query_only=1").fetchall()
    return connection


def write_ahead(connection: apsw.Connection) -> None:
    """Give a database from ``connect`` a write-ahead log. Raises apsw.FullError if the disk has no room for it."""
    # If two connections do so at once, SQLite returns SQLITE_BUSY to one of them before its timeout, as a wait of both
    # would never end (https://sqlite.org/c3ref/busy_handler.html).
    give_up = time.monotonic() + connection.pragma("busy_timeout") / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
            break
        except apsw.BusyError:
            if time.monotonic() >= give_up:
                raise
        time.sleep(_AGAIN_S)
    _allocate(connection)


def _allocate(connection: apsw.Connection) -> None:
    """Allocate the blocks of the ``-shm`` file before SQLite maps the file.

    To extend the file, SQLite writes one byte of each 4096 (``unixShmMap`` in
    https://sqlite.org/src/file/src/os_unix.c). If blocks are smaller, a change in the mapping needs a further block.
    Without a free one, the kernel ends the process by SIGBUS. Blocks that are copied on write may still need one.
    """
    if connection.pragma("journal_mode") != "wal":  # reading opens the -shm file, which empties an abandoned one
        return
    path = connection.db_filename("main")
    shared, size = f"{path}-shm", _shared_bytes(path, connection.pragma("page_size"))
    if _has_blocks(shared, size) or not hasattr(os, "posix_fallocate"):
        return
    try:
        # Without support by the file system, the C library writes into each block; nobody else may meanwhile.
        connection.execute("BEGIN IMMEDIATE")
    except apsw.BusyError:
        return  # the writer that holds the lock has allocated them
    try:
        descriptor = _descriptor(shared)
        if descriptor is not None and not _has_blocks(shared, size):
            os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        raise apsw.FullError("database or disk is full") from error
    finally:
        connection.execute("ROLLBACK")


def _shared_bytes(path: str, page: int) -> int:
    """Return the size of the ``-shm`` file when the log of the database at ``path`` has filled the disk.

    A disk with more room than ``_MOST_LOG_BYTES`` does not fill up within a transaction, and the next connection
    allocates what is missing. A block of 32 KB holds 4096 pages, the first one 34 fewer
    (https://sqlite.org/walformat.html#the_wal_index_file_format).
    """
    room = os.statvfs(os.path.dirname(path) or ".")
    try:
        log = os.stat(f"{path}-wal").st_size
    except OSError:
        log = 0
    pages = (log + min(room.f_bavail * room.f_frsize, _MOST_LOG_BYTES)) // page + 34
    return (pages // 4096 + 1) * 32_768


def _has_blocks(path: str, size: int) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return found.st_size >= size and found.st_blocks * 512 >= size


def _descriptor(path: str) -> int | None:
    """Return the descriptor by which SQLite has the file at ``path`` open, None if the system does not list it.

    A descriptor of our own would remove SQLite's locks of the file when it is closed
    (https://sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
    """
    try:
        found = os.stat(path)
        numbers = os.listdir("/dev/fd")
    except OSError:
        return None
    for number in numbers:
        try:
            if os.path.samestat(os.fstat(int(number)), found):
                return int(number)
        except OSError:
            continue  # the listing's own, or one that another thread has closed
    return None


def denied(path: str) -> BrainError | None:
    """Return the failure if this process may not write the database at ``path``, its companions or its folder.

    SQLite reports each as "unable to open" or "readonly database", and neither names the file.
    """
    import errno

    files = [path, f"{path}-wal", f"{path}-shm"]
    there = [each for each in files if os.path.lexists(each)]
    # Look for each file again: the last process that closes a database removes its companions.
    closed = [each for each in there if not os.access(each, os.R_OK | os.W_OK) and os.path.lexists(each)]
    folder = os.path.dirname(path) or "."
    if len(there) < len(files) and os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        closed.append(folder)
    return from_os(PermissionError(errno.EACCES, "Permission denied", closed[0])) if closed else None


def is_full(folder: str) -> bool:
    """Return True if the file system of ``folder`` has less than 1 MB free; some network file systems do not say."""
    try:
        room = os.statvfs(folder or ".")
    except OSError:
        return False
    return room.f_blocks > 0 and room.f_bavail * room.f_frsize < _LEAST_BYTES


def size_limit() -> int:
    """Return how many bytes a file of this process may have (``ulimit -f``), 0 if there is no limit.

    SQLite reports a write beyond the limit as "disk I/O error" or "not an error".
    """
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return 0 if most == resource.RLIM_INFINITY else most


def roll_back(connection: apsw.Connection) -> None:
    """Undo the open transaction, unless SQLite has: it does so itself after some failures, such as a full disk."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def leave_log(connection: apsw.Connection) -> None:
    """Make ``connection`` only append: neither its commits nor its end write the log back."""
    connection.wal_autocheckpoint(0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def sync_log(path: str) -> None:
    """Bring the log of the database at ``path`` to the disk, for a connection with ``synchronous=normal``.

    With ``synchronous=full`` SQLite does so at each commit, and at the first one of a process it syncs the folder, too.
    The folder needs that only once, for a new log, and ``normal`` does it then. Raises OSError: FileNotFoundError if
    there is no log.
    """
    # No lock is lost when this descriptor is closed: SQLite locks the database and the -shm file.
    descriptor = os.open(f"{path}-wal", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_log_long(path: str) -> bool:
    """Return True if it is time to write the log of the database at ``path`` back."""
    try:
        return os.stat(f"{path}-wal").st_size > _LONG_LOG
    except OSError:
        return False


def checkpoint(path: str) -> bool:
    """Write the log of the database at ``path`` back; whether it is empty now, which a reader can forbid.

    Raises what SQLite says.
    """
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_CHECKPOINT_BUSY_MS)
        # The first keeps nobody waiting and does nearly all of it; the second has only the rest to hold a writer for.
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    return not busy
