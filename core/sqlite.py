"""Open the databases of a home, each of which has a write-ahead log."""

from __future__ import annotations

import os

import apsw

from core.errors import from_os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.errors import BrainError

# Less room than this counts as none.
_LEAST_BYTES = 1 << 20
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

    SQLite maps the ``-shm`` file, for which it writes one byte of each 4096 (``unixShmMap`` in
    https://sqlite.org/src/file/src/os_unix.c). If blocks are smaller, or are copied on write, a change in the mapping
    needs a further block. Without a free one, the kernel ends the process by SIGBUS.

    Raises apsw.FullError if the file system is full, BadInput if a file or the folder may not be written to, otherwise
    what SQLite raises.
    """
    if failure := denied(path):
        raise failure
    if is_full(os.path.dirname(path)):
        raise apsw.FullError("database or disk is full")
    return apsw.Connection(path, flags=flags)


def denied(path: str) -> BrainError | None:
    """Return the failure if this process may not write the database at ``path``, its companions or its folder.

    SQLite reports each as "unable to open" or "readonly database", and neither names the file.
    """
    import errno

    files = [path, f"{path}-wal", f"{path}-shm"]
    there = [each for each in files if os.path.lexists(each)]
    closed = [each for each in there if not os.access(each, os.R_OK | os.W_OK)]
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
