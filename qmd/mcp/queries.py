"""Answering a ``query``, from a tool or over REST: keyword and vector lists, fused, and what each hit shows.

Without vectors, semantic searches are left out, and a note says so.
"""

from __future__ import annotations

import json
import math
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from core.errors import BrainError, EngineTimeout
from core.version import INDEX
from qmd import ecma
from qmd.index.collections import Contexts
from qmd.index.references import number_lines
from qmd.mcp.library import NoIndex
from qmd.mcp.server import encode
from qmd.search import hybrid, lex, semantic, structured
from qmd.search.excerpt import extract

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from qmd.generation.expansion import Expander
    from qmd.mcp.library import Library
    from qmd.reranking.judge import Judge
    from qmd.search.semantic import Semantic

    Engine = Callable[[apsw.Connection, "Query", Semantic | None, Judge | None], list[dict[str, Any]]]

_SNIPPET = 300
_FETCHED = 50
_ALL = 1 << 20
_MOST_SEARCHES = 10
_KINDS = ("lex", "vec", "hyde")

NO_EMBEDDINGS = (
    "Note: no embedding exists in this index yet, so semantic search (vec, hyde) found"
    " nothing; the results are those of the keyword search (lex)."
)


class Query:
    """A query: ``searches`` in order or ``plain`` words, over ``collections`` (None: the default ones).

    ``limit`` and ``candidates`` are cut to whole numbers; a negative limit leaves out as many at the end, as in qmd.
    """

    __slots__ = (
        "_more", "candidates", "collections", "expander", "intent", "limit", "min_score", "plain", "rerank",
        "searches",
    )  # fmt: skip

    def __init__(
        self,
        searches: list[structured.Search],
        *,
        plain: str = "",
        collections: list[str] | None = None,
        limit: float = 10,
        min_score: float = 0,
        candidates: float | None = None,
        intent: str = "",
        rerank: bool = True,
    ) -> None:
        self.searches = searches
        self.plain = structured.plain(plain)
        self.collections = collections
        self.limit = int(limit)
        self.min_score = min_score
        self.candidates = hybrid.CANDIDATES if candidates is None else max(0, int(candidates))
        self.intent = intent
        # The expander of plain words, None for none.
        self.expander: Expander | None = None
        self._more: list[structured.Search] | None = None
        self.rerank = rerank

    @property
    def semantic(self) -> bool:
        """True if a part of the query needs semantic search."""
        return bool(self.plain) or any(search.kind != "lex" for search in self.searches)

    def more(self) -> list[structured.Search]:
        """Return the expansion of plain words; the expander is asked once. Raises apsw.Error."""
        if self._more is None:
            self._more = [] if self.expander is None else self.expander.expand(self.plain, self.intent)
        return self._more

    @property
    def primary(self) -> str:
        """The words that choose a hit's excerpt: the plain ones, else the first ``lex``, else the first ``vec``."""
        if self.plain:
            return self.plain
        for kind in ("lex", "vec"):
            for search in self.searches:
                if search.kind == kind and search.query:
                    return search.query
        return self.searches[0].query if self.searches else ""


def run(
    connection: apsw.Connection, query: Query, meaning: Semantic | None = None, judge: Judge | None = None
) -> list[dict[str, Any]]:
    """Return the hits, best first: docid, file (``collection/path``), title, score, context (or None), line, snippet.

    The score is one over the fused rank, blended with what ``judge`` says. Raises structured.QueryError, apsw.Error.
    """
    structured.check(query.searches)
    scopes = _scopes(connection, query)
    if query.plain:
        hits = _plain(connection, query, scopes, meaning, judge)
    else:
        limits = hybrid.Limits(query.limit if query.limit > 0 else _ALL, query.min_score, query.candidates)
        hits = hybrid.documents(connection, query.searches, scopes, limits, query.intent, meaning, judge)
        hits = hits[: query.limit]
    return _shown(connection, query, hits)


def keywords(connection: apsw.Connection, query: Query, *_: object) -> list[dict[str, Any]]:
    """Return the hits of one keyword search with their own scores, |bm25| / (1 + |bm25|); the rest as ``run``'s."""
    most = max(_FETCHED, 2 * query.limit)
    found = lex.search(connection, query.primary, most, _scopes(connection, query))
    best = [each for each in found if each.score >= query.min_score][: query.limit]
    return _shown(connection, query, [_hit(connection, query, each, each.score) for each in best])


def vectors(
    connection: apsw.Connection, query: Query, meaning: Semantic | None = None, _: Judge | None = None
) -> list[dict[str, Any]]:
    """Return the hits of one search by meaning with their cosines; without vectors, ``run``'s."""
    if meaning is None:
        # The threshold is for cosines; keyword hits have ranks for scores.
        query.min_score = 0
        return run(connection, query)
    found = meaning.search(query.plain, max(0, query.limit), _scopes(connection, query))
    best = [each for each in found if each.score >= query.min_score]
    return _shown(connection, query, [_hit(connection, query, each, each.score) for each in best])


def answered(
    connection: apsw.Connection,
    query: Query,
    engine: Engine,
    section: dict[str, Any],
    open_judge: Callable[[apsw.Connection], Judge | None] | None = None,
) -> tuple[list[dict[str, Any]], str]:
    """Return (the hits of ``engine``, notes for the client on skipped steps).

    ``section`` is the configuration's ``embedding``; ``open_judge`` gives what reranks, where the query asks for that.
    Raises structured.QueryError, BrainError, apsw.Error.
    """
    structured.check(query.searches)
    judge, why = None, ""
    if open_judge is not None and query.rerank and engine is run:
        try:
            judge = open_judge(connection)
        except BrainError as error:
            why = error.message
    try:
        hits, note = _answered(connection, query, engine, section, judge)
    finally:
        if judge is not None:
            why = judge.reason
            judge.close()
    if query.expander is not None and query.expander.why:
        note = f"{note}\nNote: not expanded: {query.expander.why}".lstrip()
    return hits, f"{note}\nNote: not reranked: {why}".lstrip() if why else note


def _answered(
    connection: apsw.Connection, query: Query, engine: Engine, section: dict[str, Any], judge: Judge | None
) -> tuple[list[dict[str, Any]], str]:
    if not query.semantic:
        return engine(connection, query, None, judge), ""
    meaning = semantic.opened(connection, section, light=True)
    if isinstance(meaning, str):
        return engine(connection, query, None, judge), f"{NO_EMBEDDINGS} ({meaning})"
    try:
        return engine(connection, query, meaning, judge), ""
    except BrainError as error:
        return engine(connection, query, None, judge), f"Note: not searched by meaning: {error.message}"
    finally:
        meaning.close()


async def rest(library: Library, body: bytes) -> tuple[int, dict[str, Any]]:
    """Return (status, ``{"results": […]}``); ``error`` says what is wrong, ``note`` that a semantic search found
    nothing.
    """
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return HTTPStatus.BAD_REQUEST, {"error": "The body is not JSON"}
    if not isinstance(given, dict) or not isinstance(given.get("searches"), list):
        return HTTPStatus.BAD_REQUEST, {"error": "Missing required field: searches (array)"}
    if len(given["searches"]) > _MOST_SEARCHES:
        return HTTPStatus.BAD_REQUEST, {"error": f"searches: at most {_MOST_SEARCHES}"}
    query = _query_of(given)

    def look(connection: apsw.Connection) -> tuple[list[dict[str, Any]], str]:
        return answered(connection, query, run, library.embedding, library.judge)

    try:
        hits, note = await library.ask(look)
    except NoIndex:
        hits, note = [], ""
    except structured.QueryError as error:
        return HTTPStatus.BAD_REQUEST, {"error": str(error)}
    except EngineTimeout as error:
        return HTTPStatus.GATEWAY_TIMEOUT, {"error": error.message}
    except BrainError as error:
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": error.message}
    try:
        hits = await library.outgoing(hits)
    except BrainError as error:
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": error.message}
    results = library.fenced([{**hit, "file": encode(hit["file"])} for hit in hits])
    return HTTPStatus.OK, {"results": results, "note": note} if note else {"results": results}


def _query_of(given: dict[str, Any]) -> Query:
    entries = [entry for entry in given["searches"] if isinstance(entry, dict) and entry.get("type") in _KINDS]
    searches = [structured.Search(entry["type"], str(entry.get("query") or ""), 0) for entry in entries]
    collections = given.get("collections")
    intent = given.get("intent")
    return Query(
        searches,
        collections=[str(name) for name in collections] if isinstance(collections, list) else None,
        limit=_number(given.get("limit"), 10) or 0,
        min_score=_number(given.get("minScore"), 0) or 0,
        candidates=_number(given.get("candidateLimit"), None),
        intent=intent if isinstance(intent, str) else "",
        # As in qmd: anything but a plain no is a yes.
        rerank=given.get("rerank") is not False,
    )


def _number(value: Any, default: float | None) -> float | None:
    numeric = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if numeric else default


def _scopes(connection: apsw.Connection, query: Query) -> list[str]:
    """Return the collections to look into; none means all."""
    if query.collections is not None:
        return query.collections
    return [
        name
        for (name,) in connection.execute(
            "SELECT name FROM store_collections WHERE include_by_default IS NOT 0 ORDER BY rowid"
        )
    ]


def _plain(
    connection: apsw.Connection, query: Query, scopes: list[str], meaning: Semantic | None, judge: Judge | None
) -> list[hybrid.FusedHit]:
    words = query.plain
    keyed = lex.search(connection, words, hybrid.LIST_LENGTH, scopes)
    more = [] if hybrid.is_strong([each.score for each in keyed], query.intent) else query.more()
    lists: list[tuple[str, Sequence[lex.LexicalMatch]]] = [
        ("original", keyed),
        ("original", _passages(connection, words, scopes)),
    ]
    lists += [
        (each.kind, lex.search(connection, each.query, hybrid.LIST_LENGTH, scopes))
        for each in more
        if each.kind == "lex"
    ]
    if meaning is not None:
        meaning.prepare([(words, False), *((each.query, each.kind == "hyde") for each in more if each.kind != "lex")])
        lists.append(("original", meaning.search(words, hybrid.LIST_LENGTH, scopes)))
        lists += [
            (each.kind, meaning.search(each.query, hybrid.LIST_LENGTH, scopes, hyde=each.kind == "hyde"))
            for each in more
            if each.kind != "lex"
        ]
    lists = [(kind, found) for kind, found in lists if found]
    known = {each.uri: each for _, found in reversed(lists) for each in found}
    weights = hybrid.hybrid_weights([kind for kind, _ in lists]) if more else hybrid.document_weights(len(lists))
    fused = hybrid.fuse([[each.uri for each in found] for _, found in lists], weights)[: query.candidates]
    limits = hybrid.Limits(query.limit if query.limit > 0 else _ALL, query.min_score, query.candidates)
    candidates = [known[name] for name, _ in fused]
    best = hybrid.placed(connection, candidates, words, limits, query.intent, judge)[: query.limit]
    return [hybrid.FusedHit(each.found, each.body, each.score, each.span, {}) for each in best]


def _passages(connection: apsw.Connection, words: str, scopes: list[str]) -> list[lex.LexicalMatch]:
    """Return documents by their best passage, also if not all words of the question occur.

    Nothing in an index that has no passages, because another program wrote it.
    """
    from qmd.index.catalogue import Filters
    from qmd.search.search import Searcher

    if not _has_passages(connection):
        return []
    hits = Searcher(connection).search(words, limit=hybrid.LIST_LENGTH, filters=Filters(tuple(scopes)))
    return [lex.LexicalMatch(hit.id, hit.collection, hit.path, hit.title, hit.hash, 0.0) for hit in hits]


def _has_passages(connection: apsw.Connection) -> bool:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'brain_state'").fetchone():
        return False
    row = connection.execute("SELECT value FROM brain_state WHERE key = 'index_version'").fetchone()
    return row is not None and row[0] == INDEX


def _hit(connection: apsw.Connection, query: Query, found: lex.LexicalMatch, score: float) -> hybrid.FusedHit:
    body = lex.bodies(connection, [found])[found.id]
    chunk = hybrid.best_chunk(body, query.primary, query.intent)
    return hybrid.FusedHit(found, body, score, (chunk.pos, ecma.length(chunk.text)), {})


def _shown(connection: apsw.Connection, query: Query, hits: list[hybrid.FusedHit]) -> list[dict[str, Any]]:
    contexts = Contexts(connection)
    answers: list[dict[str, Any]] = []
    for hit in hits:
        found = hit.found
        excerpt = extract(hit.body, query.primary, _SNIPPET, *hit.chunk, query.intent)
        answers.append(
            {
                "docid": f"#{found.docid}",
                "file": found.display,
                "title": found.title,
                "score": ecma.number(ecma.round_half_up(hit.score * 100) / 100),
                "context": contexts.of(found.collection, found.path) or None,
                "line": excerpt.line,
                "snippet": number_lines(excerpt.text, excerpt.line),
            }
        )
    return answers
