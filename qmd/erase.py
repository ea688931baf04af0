"""Documents out of the index so that nothing of them is left in its file.

SQLite keeps deleted text in free pages and FTS5 in segments that it has not merged yet; both are told not to, merged
and written anew (https://sqlite.org/pragma.html#pragma_secure_delete, https://sqlite.org/fts5.html#the_secure_delete_configuration_option).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from core.errors import Internal
from qmd import orphans
from qmd.segments import TABLES
from qmd.writer import drop

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw


def erase(connection: apsw.Connection, documents: Iterable[tuple[str, str]]) -> int:
    """Remove documents (collection, path), their passages, vectors and cached answers; returns how many there were.

    All that is orphaned goes too, and the file is written anew: readers wait meanwhile. Raises apsw.Error, BusyError
    where another process holds on to it.
    """
    connection.execute("PRAGMA secure_delete=ON").fetchall()
    for table in TABLES:
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('secure-delete', 1)")
    gone = 0
    for collection, path in documents:
        gone += drop(connection, collection, path)
    orphans.clean(connection)
    for table in TABLES:
        # Updates would pay for it each time; what they leave is merged away here.
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('secure-delete', 0)")
    compact(connection)
    return gone


def require_room(path: str) -> None:
    """Raise Internal where the index at ``path`` cannot be written anew: that takes twice its size, next to it.

    ``VACUUM`` makes a copy, and writes that into the log before the old pages go (https://sqlite.org/lang_vacuum.html).
    Told beforehand, since it would fill the disk first, and again at each run.
    """
    room = os.statvfs(os.path.dirname(path) or ".")
    free, wanted = room.f_bavail * room.f_frsize, 2 * os.path.getsize(path)
    if free < wanted:
        raise Internal(
            "the disk is too full to write the index anew:"
            f" that takes {wanted / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free",
            f"free {(wanted - free) / 1e6 + 1:,.0f} MB, then: brain index",
        )


def compact(connection: apsw.Connection) -> None:
    """Leave nothing in the write-ahead log. Raises apsw.BusyError where a reader holds on to it."""
    import apsw

    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (0, 0, 0)
    if busy:
        raise apsw.BusyError("the write-ahead log is in use")
