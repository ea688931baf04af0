"""qmd's keyword search: every term, the best by BM25, the score squeezed below 1."""

from __future__ import annotations

import apsw

from qmd.index.virtual import Addressed
from qmd.search.strict import match_expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from qmd.search.answers import Filters

# With collections given, so many times the limit is fetched before those of others are left out.
_MARGIN = 10


class Found(Addressed):
    """One hit: a document's row and its score, above 0 and below 1."""

    __slots__ = ("collection", "document_id", "hash", "path", "score", "title")

    def __init__(self, document_id: int, collection: str, path: str, title: str, digest: str, rating: float) -> None:
        self.document_id = document_id
        self.collection = collection
        self.path = path
        self.title = title
        self.hash = digest
        self.score = abs(rating) / (1 + abs(rating))


def search(
    connection: apsw.Connection,
    query: str,
    limit: int,
    collections: Sequence[str] = (),
    filters: Filters | None = None,
) -> list[Found]:
    """The best ``limit`` documents for ``query`` in ``collections`` (none given: in all), best first.

    Ties fall in the order in which documents were indexed; across collections, in the order of those. ``filters`` are
    applied before anything is counted. Raises apsw.Error.
    """
    match = match_expression(query)
    if match is None or limit == 0:
        return []
    bindings: list[Any] = [match]
    only = ""
    if filters is not None:
        condition, more = filters.sql()
        only = (
            " AND +rowid IN (SELECT d.id FROM documents d JOIN brain_facts f ON f.document_id = d.id"
            f" WHERE {condition})"
        )
        bindings += more
    fetched = limit * _MARGIN if collections else limit
    rows: list[Any] = connection.execute(
        "WITH matches AS ("
        "  SELECT rowid AS id, bm25(documents_fts, 1.5, 4.0, 1.0) AS rating FROM documents_fts"
        f"  WHERE documents_fts MATCH ?{only} ORDER BY rating LIMIT {int(fetched)}"
        ") SELECT d.id, d.collection, d.path, d.title, d.hash, m.rating FROM matches m"
        " JOIN documents d ON d.id = m.id WHERE d.active = 1 ORDER BY m.rating, d.id",
        bindings,
    ).fetchall()
    if not collections:
        return [Found(*row) for row in rows[:limit]]
    # One pass over the index serves all collections: each keeps its best, then the best of all stand together.
    kept: list[Found] = []
    for name in dict.fromkeys(collections):
        kept += [Found(*row) for row in [row for row in rows if row[1] == name][:limit]]
    if len(collections) > 1:
        kept.sort(key=lambda found: -found.score)
    return kept[:limit]


def bodies(connection: apsw.Connection, found: Sequence[Found]) -> dict[int, str]:
    """The texts of hits, by document id."""
    return {
        each.document_id: str(connection.execute("SELECT doc FROM content WHERE hash = ?", (each.hash,)).get or "")
        for each in found
    }
