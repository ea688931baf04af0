"""The segments of the full-text tables: written without merging them, and merged a little at a time.

Each flush of FTS5 writes a segment, and merges those of one level into one of the next once there are enough
(https://sqlite.org/fts5.html#the_automerge_configuration_option). Whoever writes then waits for segments that others
left: milliseconds mostly, a fifth of a second when a large level's turn comes. A writer that somebody waits for leaves
them; a process that nobody waits for merges them, in steps between which others write.
"""

from __future__ import annotations

import time

import apsw

from qmd.index import catalogue
from qmd.index.terms import spaced_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = ("documents_fts", "brain_passages")

# FTS5's own values, and those of a writer that leaves merging to others: it merges only where nobody else ever does,
# since a question looks through every segment (0.04 ms each for six words).
_USUAL = {"automerge": 4, "crisismerge": 16}
_LEFT = {"automerge": 0, "crisismerge": 64}
# Pages that a step writes: one to five milliseconds. A step ends with a term, so a very common one makes it 20.
_STEP = 16


class Merging:
    """``with Merging(connection, wanted):`` inside a write transaction; not ``wanted``, what it writes merges nothing.

    The settings of FTS5 are the table's and not the connection's. They are set back before the transaction ends, so
    that no other writer, and nobody after a kill, ever meets these.
    """

    __slots__ = ("_before", "_connection", "_wanted")

    def __init__(self, connection: apsw.Connection, wanted: bool) -> None:
        self._connection = connection
        self._wanted = wanted
        self._before: list[tuple[str, str, int]] = []

    def __enter__(self) -> None:
        for table in () if self._wanted else TABLES:
            for key, value in _LEFT.items():
                found = self._connection.execute(f"SELECT v FROM {table}_config WHERE k = ?", (key,)).get
                self._before.append((table, key, _USUAL[key] if found is None else int(found)))
                _set(self._connection, table, key, value)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:  # else they are rolled back with the transaction
            # Setting a value first flushes what the table holds in memory, under the values that still hold.
            for each in self._before:
                _set(self._connection, *each)


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
            _set(connection, table, "merge", _STEP)
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


def _set(connection: apsw.Connection, table: str, key: str, value: int) -> None:
    connection.execute(f"INSERT INTO {table}({table}, rank) VALUES(?, ?)", (key, value))


# Characters of text after which what is held is written: some hundred documents.
_ENOUGH = 1 << 20


class Rows:
    """Rows for ``documents_fts`` and ``brain_passages``, each in the order of its rowids as far as they come so."""

    __slots__ = ("_connection", "_documents", "_held", "_passages")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._documents: list[tuple[int, str, str, str]] = []
        self._passages: list[tuple[int, str, str]] = []
        self._held = 0

    @property
    def full(self) -> bool:
        """Return True if there are enough rows to write."""
        return self._held > _ENOUGH

    def document(self, identity: int, path: str, title: str, body: str) -> None:
        """Add a document; the caller has deleted the row that it had."""
        self._documents.append((identity, path, title, body))
        self._held += len(body)

    def passage(self, rowid: int, body: str, words: str) -> None:
        """Add a passage and the words inside its identifiers."""
        self._passages.append((rowid, body, words))
        self._held += len(body)

    def write(self) -> None:
        """Write what is held, inside the caller's transaction."""
        documents, passages = self._documents, self._passages
        self.forget()
        if documents:
            self._connection.executemany(
                "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)", documents
            )
        if passages:
            self._connection.executemany("INSERT INTO brain_passages(rowid, body, words) VALUES(?, ?, ?)", passages)

    def forget(self) -> None:
        """Drop what is held: its transaction was rolled back."""
        self._documents, self._passages, self._held = [], [], 0


def refill(connection: apsw.Connection) -> None:
    """Fill ``documents_fts`` from the texts of the active documents, inside the caller's transaction."""
    connection.execute("DELETE FROM documents_fts")
    connection.executemany(
        "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)",
        ((identity, *map(spaced_out, row)) for identity, *row in catalogue.full_text(connection)),
    )
    connection.execute("INSERT OR REPLACE INTO store_config VALUES('fts_cjk_normalized_version', '1')")
