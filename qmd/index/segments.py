"""The segments of the full-text tables, merged a little at a time.

Each flush of FTS5 writes a segment, and merges those of one level into one of the next once there are enough
(https://sqlite.org/fts5.html#the_automerge_configuration_option). Whoever writes then waits for segments that others
left: milliseconds mostly, a fifth of a second when a large level's turn comes. A writer that somebody waits for leaves
them (``qmd.index.writer.leave_merging``). A process that nobody waits for merges them, in steps between which others
write.
"""

from __future__ import annotations

import time

import apsw

from qmd.index.terms import spaced_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = ("documents_fts", "brain_passages")

# Pages that a step writes: one to five milliseconds. A step ends with a term, so a very common one makes it 20.
_STEP = 16


def merge(connection: apsw.Connection, stop: Callable[[], bool]) -> bool:
    """Merge the segments there are, in steps that are a transaction each; ``stop`` is called before each step.

    Two steps are as far apart as one took: waiting writers look only now and then. Return True if nothing is left to
    merge. The next merge continues the work of a killed process. Raises apsw.Error, BusyError if another process
    writes.
    """
    for table in TABLES:
        left = True
        while left:
            if stop():
                return False
            before, began = connection.total_changes(), time.perf_counter()
            connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)", (_STEP,))
            # https://sqlite.org/fts5.html#the_merge_command: with nothing to merge, only the command itself counts.
            left = connection.total_changes() - before >= 2
            if left:
                time.sleep(time.perf_counter() - began)
    return True


def optimize(connection: apsw.Connection) -> None:
    """Merge each table's segments into one, which drops every term of deleted rows.

    FTS5 drops a deleted row's terms only when their segment is merged into the oldest one
    (https://sqlite.org/fts5.html#the_optimize_command). FTS5's option ``secure-delete`` is no alternative: it removes
    the newest entry of a row, and an older entry that this one had replaced is then found again.
    """
    for table in TABLES:
        connection.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")


def refill(connection: apsw.Connection) -> None:
    """Fill ``documents_fts`` from the texts of the active documents, inside the caller's transaction."""
    connection.execute("DELETE FROM documents_fts")
    from qmd.index import catalogue

    connection.executemany(
        "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)",
        ((identity, *map(spaced_out, row)) for identity, *row in catalogue.full_text(connection)),
    )
    connection.execute("INSERT OR REPLACE INTO store_config VALUES('fts_cjk_normalized_version', '1')")
