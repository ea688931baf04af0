"""Cleanup: rows and texts that no document has any more, and documents of which no byte may stay in the file.

SQLite keeps deleted text in free pages, and FTS5 in segments that are not merged yet. To erase, free pages are
overwritten (https://sqlite.org/pragma.html#pragma_secure_delete), the segments are merged into one, and the file is
written again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import apsw

from core.errors import EngineMissing, Internal
from qmd.index import catalogue, completeness, schema
from qmd.index.segments import TABLES, optimize, refill
from qmd.index.semantic.vectors import settle
from qmd.index.store import COUNT, Transaction
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
        _remove(connection, gone, damaged=True)
        _prove(connection)
    connection.execute("VACUUM")
    compact(connection)


def _remove(connection: apsw.Connection, documents: list[tuple[str, str]], *, damaged: bool = False) -> None:
    """Remove documents and orphans in one transaction."""
    with Transaction(connection):
        if damaged:
            schema.empty_full_text(connection)
            refill(connection)
            heal(connection)
        for collection, path in documents:
            drop(connection, collection, path)
        remove_orphans(connection)
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
    """Raise Internal if there is no room to write the index at ``path`` again: that takes twice its size, next to it.

    ``VACUUM`` makes a copy, and writes the copy into the log before the old pages go
    (https://sqlite.org/lang_vacuum.html). Without this check, each run would fill the disk.
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


class Counts:
    """Counts of a cleanup; ``kept``: orphaned vectors that stay because sqlite-vec does not load."""

    __slots__ = ("cached", "contents", "inactive", "kept", "vectors")

    def __init__(self, cached: int, vectors: int, inactive: int, contents: int, *, kept: int = 0) -> None:
        self.cached = cached
        self.vectors = vectors
        self.kept = kept
        self.inactive = inactive
        self.contents = contents


def preview(connection: apsw.Connection) -> Counts:
    """Return what ``clean`` would remove; ``contents`` also counts texts that only inactive documents have."""
    return Counts(
        _number(connection, "SELECT count(*) FROM llm_cache"),
        completeness.orphaned_vectors(connection),
        completeness.inactive(connection),
        catalogue.unused_texts(connection),
    )


def clean(connection: apsw.Connection) -> Counts:
    """Remove what ``remove_orphans`` removes, then compact the full text and the file."""
    with Transaction(connection):
        counts = remove_orphans(connection)
    optimize(connection)
    connection.execute("VACUUM")
    return counts


def remove_orphans(connection: apsw.Connection) -> Counts:
    """Remove inactive documents, cached answers, and the texts, passages and vectors that no document has.

    The caller has begun a transaction.
    """
    kept = completeness.orphaned_vectors(connection)
    vectors = _drop_vectors(connection) if kept and _has_vectors(connection) else 0
    cached = _number(connection, "SELECT count(*) FROM llm_cache")
    connection.execute("DELETE FROM llm_cache")
    connection.execute("DELETE FROM documents WHERE active = 0")
    inactive = connection.changes()
    contents = release(connection)
    connection.execute(COUNT)
    settle(connection)
    return Counts(cached, vectors, inactive, contents, kept=kept - vectors)


def _has_vectors(connection: apsw.Connection) -> bool:
    """Return True if qmd's table of vectors exists and can be used."""
    from qmd.index.semantic import spaces

    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vectors_vec'").fetchone():
        return False
    try:
        spaces.load(connection)
    except EngineMissing:
        return False
    return True


def _drop_vectors(connection: apsw.Connection) -> int:
    """Drop the vectors of texts that no document has, inside the caller's transaction; return how many.

    Both tables or neither: a chunk that counts as embedded but has no vector would never get one again.
    """
    orphaned = "NOT EXISTS (SELECT 1 FROM documents d WHERE d.hash = v.hash AND d.active = 1)"
    connection.execute(
        "DELETE FROM vectors_vec WHERE hash_seq IN"
        f" (SELECT v.hash || '_' || v.seq FROM content_vectors v WHERE {orphaned})"
    )
    connection.execute(f"DELETE FROM content_vectors AS v WHERE {orphaned}")
    return connection.changes()


def release(connection: apsw.Connection) -> int:
    """Drop texts that no row has, and passages that no document has, inside the caller's transaction.

    Return how many texts were dropped.
    """
    for identity, _, passages in catalogue.unused_passages(connection):
        connection.execute("DELETE FROM brain_passages WHERE rowid >= ? AND rowid < ?", (identity, identity + passages))
        connection.execute("DELETE FROM brain_contents WHERE id = ?", (identity,))
    connection.execute("DELETE FROM content WHERE hash NOT IN (SELECT hash FROM documents)")
    return connection.changes()


def _number(connection: apsw.Connection, query: str) -> int:
    count: int = connection.execute(query).get
    return count
