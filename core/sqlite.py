"""Open the databases of a home, each of which has a write-ahead log."""

from __future__ import annotations

import os

import apsw

# Less room than this counts as none.
_LEAST_BYTES = 1 << 20


def connect(path: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """Open the database at ``path``, unless its file system is full.

    SQLite maps the ``-shm`` file, for which it writes one byte of each 4096 (``unixShmMap`` in
    https://sqlite.org/src/file/src/os_unix.c). If blocks are smaller, or are copied on write, a change in the mapping
    needs a further block. Without a free one, the kernel ends the process by SIGBUS.

    Raises apsw.FullError if the file system is full, otherwise what SQLite raises.
    """
    if is_full(os.path.dirname(path)):
        raise apsw.FullError("database or disk is full")
    return apsw.Connection(path, flags=flags)


def is_full(folder: str) -> bool:
    """Return True if the file system of ``folder`` has less than 1 MB free; some network file systems do not say."""
    try:
        room = os.statvfs(folder or ".")
    except OSError:
        return False
    return room.f_blocks > 0 and room.f_bavail * room.f_frsize < _LEAST_BYTES
