"""Write-ahead logs that hooks leave for others to write back.

A hook has no time for a checkpoint, and a log that no open connection shares is read whole by whoever opens it next
(https://sqlite.org/walformat.html#recovery): a long one makes every hook and every question slow. So hooks only append,
and the child that outlives them writes the log back once it has grown.
"""

from __future__ import annotations

import os

import apsw

from core.sqlite import connect

# About 1,000 pages, which are read in two milliseconds.
_LONG = 4_000_000
# How long a checkpoint waits for readers, while it keeps writers out.
_BUSY_MS = 200


def leave(connection: apsw.Connection) -> None:
    """Make ``connection`` only append: neither its commits nor its end write the log back."""
    connection.wal_autocheckpoint(0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def sync(path: str) -> None:
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


def is_long(path: str) -> bool:
    """Return True if it is time to write the log of the database at ``path`` back."""
    try:
        return os.stat(f"{path}-wal").st_size > _LONG
    except OSError:
        return False


def checkpoint(path: str) -> bool:
    """Write the log of the database at ``path`` back; whether it is empty now, which a reader can forbid.

    Raises what SQLite says.
    """
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        # The first keeps nobody waiting and does nearly all of it; the second has only the rest to hold a writer for.
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    return not busy
