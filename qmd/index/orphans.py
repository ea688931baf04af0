"""What no document has any more: texts, passages, cached answers, rows of files that are gone."""

from __future__ import annotations

import apsw

from core.errors import EngineMissing
from qmd.index import catalogue
from qmd.index.segments import optimize
from qmd.index.store import COUNT, Transaction
from qmd.index.vectors import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Counts:
    """What a cleanup removes, or would remove; ``kept``: orphaned vectors that stay, as sqlite-vec does not load."""

    __slots__ = ("cached", "contents", "inactive", "kept", "vectors")

    def __init__(self, cached: int, vectors: int, inactive: int, contents: int, *, kept: int = 0) -> None:
        self.cached = cached
        self.vectors = vectors
        self.kept = kept
        self.inactive = inactive
        self.contents = contents


def preview(connection: apsw.Connection) -> Counts:
    """What ``clean`` would remove; ``contents`` counts those that only inactive documents have, too."""
    return Counts(
        _count(connection, "SELECT count(*) FROM llm_cache"),
        catalogue.orphaned_vectors(connection),
        _count(connection, "SELECT count(*) FROM documents WHERE active = 0"),
        _count(
            connection,
            "SELECT count(*) FROM content WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)",
        ),
    )


def clean(connection: apsw.Connection) -> Counts:
    """Remove what ``remove`` removes, then compact the full text and the file."""
    with Transaction(connection):
        counts = remove(connection)
    optimize(connection)
    connection.execute("VACUUM")
    return counts


def remove(connection: apsw.Connection) -> Counts:
    """Remove inactive documents, cached answers, and the texts, passages and vectors that no document has.

    The caller has begun a transaction.
    """
    kept = catalogue.orphaned_vectors(connection)
    vectors = _drop_vectors(connection) if kept and _has_vectors(connection) else 0
    cached = _count(connection, "SELECT count(*) FROM llm_cache")
    connection.execute("DELETE FROM llm_cache")
    connection.execute("DELETE FROM documents WHERE active = 0")
    inactive = connection.changes()
    contents = release(connection)
    connection.execute(COUNT)
    settle(connection)
    return Counts(cached, vectors, inactive, contents, kept=kept - vectors)


def _has_vectors(connection: apsw.Connection) -> bool:
    """Whether qmd's table of vectors is there and can be used."""
    from qmd.index import spaces

    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vectors_vec'").fetchone():
        return False
    try:
        spaces.load(connection)
    except EngineMissing:
        return False
    return True


def _drop_vectors(connection: apsw.Connection) -> int:
    """Inside the caller's transaction, drop the vectors of contents that no active document has; returns how many.

    Both tables or neither: a chunk counted as embedded that has no vector would never get one again.
    """
    orphaned = "NOT EXISTS (SELECT 1 FROM documents d WHERE d.hash = v.hash AND d.active = 1)"
    connection.execute(
        "DELETE FROM vectors_vec WHERE hash_seq IN"
        f" (SELECT v.hash || '_' || v.seq FROM content_vectors v WHERE {orphaned})"
    )
    connection.execute(f"DELETE FROM content_vectors AS v WHERE {orphaned}")
    return connection.changes()


def release(connection: apsw.Connection) -> int:
    """Inside the caller's transaction, drop the texts that no document has, and the passages that no active one has.

    Returns how many texts went.
    """
    unused: list[Any] = connection.execute(
        "SELECT id, length(starts) / 4 - 1 FROM brain_contents"
        " WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)"
    ).fetchall()
    for identity, passages in unused:
        connection.execute("DELETE FROM brain_passages WHERE rowid >= ? AND rowid < ?", (identity, identity + passages))
        connection.execute("DELETE FROM brain_contents WHERE id = ?", (identity,))
    connection.execute("DELETE FROM content WHERE hash NOT IN (SELECT hash FROM documents)")
    return connection.changes()


def _count(connection: apsw.Connection, query: str) -> int:
    count: int = connection.execute(query).get
    return count
