"""qmd's keyword language: terms and phrases ANDed, ``-term`` excluded, every term a prefix, ranked by BM25 alone.

Follows qmd 2.8.3's translation to FTS5, except that words typed apart form a phrase here (``path/to``,
``"multi-agent"``); qmd glues them together (``pathto``, ``multiagent``).
"""

from __future__ import annotations

import re

import apsw

from core.errors import BadQuery
from qmd.index import catalogue, terms
from qmd.index.virtual import Addressed
from qmd.search import snippets
from qmd.search.search import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.index.catalogue import Filters

_TOKEN = re.compile(r'(?P<minus>-?)"(?P<phrase>[^"]*)"?|(?P<term>\S+)')
# A word character as qmd means it: letters, digits, apostrophe and underscore of any script; and the accents that
# FTS5's unicode61 takes for a part of the letter before them, as decomposed text has them.
_WORDS = re.compile(r"[\w'\u0300-\u0331]+")
# FTS5 nests one NOT in the other, and refuses an expression more than 256 deep.
_MOST_NEGATIONS = 100


# With collections given, so many times the limit is fetched before those of others are left out.
_MARGIN = 10
# Words that --strict takes, each a prefix. FTS5 looks all of them up before it notices an interrupt.
_MOST_PREFIXES = 48


class LexicalMatch(Addressed):
    """One hit: a document and its score, above 0 and below 1."""

    __slots__ = ("collection", "hash", "id", "path", "score", "title")

    def __init__(self, id: int, collection: str, path: str, title: str, digest: str, rating: float) -> None:
        self.id = id
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
) -> list[LexicalMatch]:
    """Return the best ``limit`` documents for ``query`` in ``collections`` (none given: in all), best first.

    Ties fall in the order in which documents were indexed; across collections, in the order of those. ``filters`` are
    applied before anything is counted. Raises apsw.Error.
    """
    match = match_expression(query)
    if match is None or limit == 0:
        return []
    rows = catalogue.matching(connection, match, int(limit * _MARGIN if collections else limit), filters)
    if not collections:
        return [LexicalMatch(*row) for row in rows[:limit]]
    # One pass over the index serves all collections: each keeps its best, then the best of all stand together.
    kept: list[LexicalMatch] = []
    for name in dict.fromkeys(collections):
        kept += [LexicalMatch(*row) for row in [row for row in rows if row[1] == name][:limit]]
    if len(collections) > 1:
        kept.sort(key=lambda found: -found.score)
    return kept[:limit]


def strict(connection: apsw.Connection, question: str, limit: int, filters: Filters) -> list[Hit]:
    """Return the best ``limit`` documents that match every term of ``question``, best first: ``brain ask --strict``.

    Raises BadQuery for more words than FTS5 can look up in time, apsw.Error.
    """
    match = match_expression(question)
    if match is None:
        return []
    if match.count('"*') > _MOST_PREFIXES:
        raise BadQuery(
            f"--strict takes at most {_MOST_PREFIXES} words outside quotes", "ask with fewer words, or quote a phrase"
        )
    ratings = {row[0]: row[-1] for row in catalogue.matching(connection, match, limit, filters)}
    rows = {row[0]: row for row in catalogue.rows(connection, filters, ratings)}
    words = [word for word in question.replace('"', " ").split() if not word.startswith("-")]
    hits = []
    for document, rating in ratings.items():
        hit = Hit(rows[document], -rating / (1 - rating), {"bm25": round(-rating, 3), "match": match})
        text = catalogue.text(connection, hit.hash) or ""
        hit.line, hit.snippet = snippets.around(text, 0, snippets.find_any(text, words), is_clean=hit.is_clean)
        hits.append(hit)
    return hits


def bodies(connection: apsw.Connection, found: Sequence[LexicalMatch]) -> dict[int, str]:
    """Return the texts of hits, by document id."""
    return {each.id: catalogue.text(connection, each.hash) or "" for each in found}


def match_expression(query: str) -> str | None:
    """Return the FTS5 MATCH expression of ``query``, None if it has no positive term."""
    positive: list[str] = []
    negative: list[str] = []
    for token in _TOKEN.finditer(query):
        phrase = token.group("phrase")
        if phrase is not None:
            expression = _phrase(_words(phrase))
            minus = bool(token.group("minus"))
        else:
            term = token.group("term")
            minus = term.startswith("-") and len(term) > 1
            expression = _term(term[1:] if minus else term)
        if expression:
            (negative if minus else positive).append(expression)
    if not positive:
        return None
    if len(negative) > _MOST_NEGATIONS:
        return f"({' AND '.join(positive)}) NOT ({' OR '.join(map(_grouped, negative))})"
    return " AND ".join(positive) + "".join(f" NOT {_grouped(expression)}" for expression in negative)


def _grouped(expression: str) -> str:
    return f"({expression})" if " AND " in expression else expression


def _term(term: str) -> str:
    words = _words(term)
    if len(words) > 1 and "." in term and term.split(".") == words:
        parts = [f'"{word}"*' for word in words]
        return parts[0] if len(parts) == 1 else " AND ".join(parts)
    if len(words) > 1 or terms.has_cjk(term):
        return _phrase(words)
    return f'"{words[0]}"*' if words else ""


def _phrase(words: list[str]) -> str:
    text = " ".join(terms.spaced_out(" ".join(words)).split())
    return f'"{text}"' if text else ""


def _words(text: str) -> list[str]:
    return [word for word in _WORDS.findall(text.lower()) if any(map(str.isalnum, word))]
