"""What no document has any more: texts, passages, cached answers, rows of files that are gone."""

from __future__ import annotations

import apsw

from qmd.schema import SPAN
from qmd.store import COUNT, Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Counts:
    """What a cleanup removes, or would remove."""

    __slots__ = ("cached", "contents", "inactive", "vectors")

    def __init__(self, cached: int, vectors: int, inactive: int, contents: int) -> None:
        self.cached = cached
        self.vectors = vectors
        self.inactive = inactive
        self.contents = contents


def preview(connection: apsw.Connection) -> Counts:
    """What ``clean`` would remove; ``contents`` counts those that only inactive documents have, too."""
    from qmd import models

    return Counts(
        _count(connection, "SELECT count(*) FROM llm_cache"),
        models.orphaned(connection),
        _count(connection, "SELECT count(*) FROM documents WHERE active = 0"),
        _count(
            connection,
            "SELECT count(*) FROM content WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)",
        ),
    )


def clean(connection: apsw.Connection) -> Counts:
    """Remove inactive documents, texts and passages that nothing has, and cached answers; then compact the file.

    Vectors stay as they are: they are the real qmd's, and only counted.
    """
    from qmd import models

    with Transaction(connection):
        cached = _count(connection, "SELECT count(*) FROM llm_cache")
        connection.execute("DELETE FROM llm_cache")
        connection.execute("DELETE FROM documents WHERE active = 0")
        inactive = connection.changes()
        contents = release(connection)
        connection.execute(COUNT)
    for table in ("documents_fts", "brain_passages"):
        connection.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")
    connection.execute("VACUUM")
    return Counts(cached, models.orphaned(connection), inactive, contents)


def release(connection: apsw.Connection) -> int:
    """Inside the caller's transaction, drop the texts that no document has, and the passages that no active one has.

    Returns how many texts went.
    """
    unused: list[Any] = connection.execute(
        "SELECT id, length(starts) / 4 FROM brain_contents"
        " WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)"
    ).fetchall()
    for identity, bounds in unused:
        first = identity * SPAN
        connection.execute(
            "DELETE FROM brain_passages WHERE rowid >= ? AND rowid < ?", (first, first + max(0, bounds - 1))
        )
        connection.execute("DELETE FROM brain_contents WHERE id = ?", (identity,))
    connection.execute("DELETE FROM content WHERE hash NOT IN (SELECT hash FROM documents)")
    return connection.changes()


def _count(connection: apsw.Connection, query: str) -> int:
    count: int = connection.execute(query).get
    return count
