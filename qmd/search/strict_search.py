"""``--strict``: a question in qmd's own query language, ranked by FTS5's BM25 alone."""

from __future__ import annotations

from core.errors import BadQuery
from qmd.search import snippet
from qmd.search.answers import COLUMNS, Filters, Hit
from qmd.search.strict import match_expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

# Of a question's words, each a prefix. FTS5 looks all of them up before it looks whether it was interrupted.
_MOST_PREFIXES = 48


def search(connection: apsw.Connection, question: str, limit: int, filters: Filters) -> list[Hit]:
    """The best ``limit`` documents that match every term, best first.

    Raises BadQuery for more words than FTS5 can look up in time, apsw.Error.
    """
    match = match_expression(question)
    if match is None:
        return []
    if match.count('"*') > _MOST_PREFIXES:
        raise BadQuery(
            f"--strict takes at most {_MOST_PREFIXES} words outside quotes", "ask with fewer words, or quote a phrase"
        )
    condition, bindings = filters.sql()
    rows: list[Any] = connection.execute(
        f"SELECT {COLUMNS}, bm25(documents_fts, 1.5, 4.0, 1.0) AS score, c.doc"
        " FROM documents_fts JOIN documents d ON d.id = documents_fts.rowid"
        " JOIN brain_facts f ON f.document_id = d.id JOIN content c ON c.hash = d.hash"
        f" WHERE documents_fts MATCH ? AND {condition} ORDER BY score, d.id LIMIT ?",
        (match, *bindings, limit),
    ).fetchall()
    words = [word for word in question.replace('"', " ").split() if not word.startswith("-")]
    hits = []
    columns: list[Any]
    score: float
    text: str
    for *columns, score, text in rows:
        hit = Hit(tuple(columns), -score / (1 - score), {"bm25": round(-score, 3), "match": match})
        hit.line, hit.snippet = snippet.around(text, 0, snippet.find_any(text, words), is_clean=hit.is_clean)
        hits.append(hit)
    return hits
