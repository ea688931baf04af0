"""Documents out of the index so that nothing of them is left in its file.

SQLite keeps deleted text in free pages, and FTS5 in segments that are not merged yet. So free pages are overwritten
(https://sqlite.org/pragma.html#pragma_secure_delete), the segments are merged into one, and the file is written again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import apsw

from core.errors import Internal
from qmd.index import legacy, orphans, schema
from qmd.index.segments import TABLES, optimize
from qmd.index.store import Transaction
from qmd.index.writer import drop, heal

if TYPE_CHECKING:
    from collections.abc import Iterable


def erase(connection: apsw.Connection, documents: Iterable[tuple[str, str]]) -> None:
    """Remove documents (collection, path) and all orphans, and prove that the full text is without them.

    If the full text is damaged, it is filled again from the texts. At the end the file is written again: readers wait.
    Raises apsw.Error: BusyError if another process holds on to the index, CorruptError if the proof fails.
    """
    gone = list(documents)
    connection.execute("PRAGMA secure_delete=ON").fetchall()
    try:
        _remove(connection, gone)
        _prove(connection)
    except apsw.CorruptError:
        _remove(connection, gone, refill=True)
        _prove(connection)
    connection.execute("VACUUM")
    compact(connection)


def _remove(connection: apsw.Connection, documents: list[tuple[str, str]], *, refill: bool = False) -> None:
    """Remove documents and orphans in one transaction."""
    with Transaction(connection):
        if refill:
            schema.empty_full_text(connection)
            legacy.refill(connection)
            heal(connection)
        for collection, path in documents:
            drop(connection, collection, path)
        orphans.remove(connection)
        optimize(connection)


def _prove(connection: apsw.Connection) -> None:
    """Raise apsw.CorruptError if FTS5 finds a table damaged, or if a term names a passage that is not there.

    Both only read, so that others can write meanwhile. FTS5 compares ``documents_fts`` with its texts. Passages have no
    texts there: the vocabulary is asked for their rows, also those that an earlier version removed.
    """
    for table in TABLES:
        for (said,) in connection.execute(f"PRAGMA main.integrity_check('{table}')").fetchall():
            if said != "ok":
                raise apsw.CorruptError(str(said))
    connection.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab('main', 'brain_passages', 'instance')")
    rows = "SELECT id FROM main.brain_passages_docsize"
    found = connection.execute(f"SELECT 1 FROM temp.instances WHERE doc NOT IN ({rows}) LIMIT 1").fetchall()
    connection.execute("DROP TABLE temp.instances")
    if found:
        raise apsw.CorruptError("table brain_passages still has terms of rows that were removed")


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
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (0, 0, 0)
    if busy:
        raise apsw.BusyError("the write-ahead log is in use")
