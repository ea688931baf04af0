"""``query``: keyword and vector lists fused by reciprocal ranks, as qmd 2.8.3 does, and reranked if there is a model.

Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009. The models that expand a question and that rerank are
the caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from qmd import ecma
from qmd.search import lex, structured
from qmd.vectors import chunking, syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from core.redaction.outgoing import Outgoing
    from qmd.index.catalogue import Filters
    from qmd.search.semantic import Semantic

    class Judge(Protocol):
        """A model that reranks, as ``qmd.reranking.judge.Judge``."""

        def scores(self, query: str, texts: Sequence[str]) -> list[float] | None: ...
        def sendable(self, body: str) -> Outgoing | None: ...


K = 60
_FIRST_BONUS = 0.05
_NEAR_FIRST_BONUS = 0.02

# How much of a final score the fused rank keeps against the reranker's judgement: (last rank, weight).
_BLEND = ((3, 0.75), (10, 0.60))
_BLEND_REST = 0.40

# A keyword search this sure of its first hit needs no expansion.
STRONG_SCORE = 0.85
STRONG_GAP = 0.15
CANDIDATES = 40
LIST_LENGTH = 20
_INTENT_WEIGHT = 0.5


class FusedHit:
    """One answer: ``score`` is 1/rank, or blended; ``chunk`` (start, length) in UTF-16 units; ``trace`` is
    ``--explain``'s.
    """

    __slots__ = ("body", "chunk", "found", "score", "trace")

    def __init__(
        self, found: lex.LexicalMatch, body: str, score: float, chunk: tuple[int, int], trace: dict[str, Any]
    ) -> None:
        self.found = found
        self.body = body
        self.score = score
        self.chunk = chunk
        self.trace = trace


class Limits:
    """At most ``limit`` answers of ``candidates``, none below ``min_score`` or that ``filters`` leave out.

    ``strategy`` cuts code into chunks.
    """

    __slots__ = ("candidates", "filters", "limit", "min_score", "strategy")

    def __init__(
        self,
        limit: int = 10,
        min_score: float = 0.0,
        candidates: int = CANDIDATES,
        strategy: str = syntax.REGEX,
        filters: Filters | None = None,
    ) -> None:
        self.filters = filters
        self.limit = limit
        self.min_score = min_score
        self.candidates = candidates
        self.strategy = strategy


def documents(
    connection: apsw.Connection,
    searches: Sequence[structured.Search],
    collections: Sequence[str],
    limits: Limits,
    intent: str = "",
    semantic: Semantic | None = None,
    judge: Judge | None = None,
) -> list[FusedHit]:
    """Return the answers to a query document, to its ``lex`` lines alone without ``semantic``; ``judge`` reranks them.

    Raises QueryError if a line breaks the grammar, BrainError if the question cannot be encoded.
    """
    structured.check(list(searches))
    hits: dict[str, lex.LexicalMatch] = {}
    lists = [
        _ranked("lex", search.query, found, hits)
        for search in searches
        if search.kind == "lex"
        for collection in (collections or [""])
        if (found := lex.search(connection, search.query, LIST_LENGTH, _only(collection), limits.filters))
    ]
    if semantic is not None:
        semantic.prepare((search.query, search.kind == "hyde") for search in searches if search.kind != "lex")
    # Keyword lists come first, whatever the order of the lines: the first list counts twice.
    lists += [
        _ranked(search.kind, search.query, near, hits, "vec")
        for search in searches
        if search.kind != "lex" and semantic is not None
        for collection in (collections or [""])
        if (
            near := semantic.search(
                search.query,
                LIST_LENGTH,
                _only(collection),
                hyde=search.kind == "hyde",
                filters=limits.filters,
            )
        )
    ]
    primary = next((search.query for kind in ("lex", "vec", "hyde") for search in searches if search.kind == kind), "")
    return _fused(connection, lists, document_weights(len(lists)), hits, primary, limits, intent, judge)


def plain(
    connection: apsw.Connection,
    query: str,
    collections: Sequence[str],
    limits: Limits,
    intent: str = "",
    semantic: Semantic | None = None,
    expand: Callable[[], Sequence[structured.Search]] | None = None,
    judge: Judge | None = None,
) -> tuple[list[FusedHit], float]:
    """Return the answers to plain words, and the first one's keyword score if it alone settles the question, else 0.

    If that score is 0, ``expand`` returns additional searches.
    """
    only = limits.filters
    found = lex.search(connection, query, LIST_LENGTH, collections, only)
    hits: dict[str, lex.LexicalMatch] = {}
    strong = found[0].score if is_strong([each.score for each in found], intent) else 0.0
    more = expand() if expand is not None and not strong else ()
    lists = [_ranked("original", query, found, hits)] if found else []
    lists += [
        _ranked("lex", each.query, also, hits)
        for each in more
        if each.kind == "lex" and (also := lex.search(connection, each.query, LIST_LENGTH, collections, only))
    ]
    if semantic is not None:
        asked = [("original", query), *((each.kind, each.query) for each in more if each.kind != "lex")]
        semantic.prepare((text, kind == "hyde") for kind, text in asked)
        lists += [
            _ranked(kind, text, near, hits, "vec")
            for kind, text in asked
            if (near := semantic.search(text, LIST_LENGTH, collections, hyde=kind == "hyde", filters=only))
        ]
    weights = hybrid_weights([ranked.kind for ranked in lists])
    return _fused(connection, lists, weights, hits, query, limits, intent, judge), strong


def _only(collection: str) -> list[str]:
    return [collection] if collection else []


def _ranked(
    kind: str, query: str, found: Sequence[lex.LexicalMatch], hits: dict[str, lex.LexicalMatch], source: str = "fts"
) -> Ranked:
    for each in found:
        hits.setdefault(each.uri, each)
    return Ranked(source, kind, query, [each.uri for each in found], [each.score for each in found])


def _fused(
    connection: apsw.Connection,
    lists: list[Ranked],
    weights: list[float],
    hits: dict[str, lex.LexicalMatch],
    query: str,
    limits: Limits,
    intent: str,
    judge: Judge | None,
) -> list[FusedHit]:
    fused = fuse([ranked.names for ranked in lists], weights)[: limits.candidates]
    candidates = [hits[name] for name, _ in fused]
    return [
        FusedHit(
            each.found,
            each.body,
            each.score,
            each.span,
            _trace(each.found.uri, lists, weights, each),
        )
        for each in placed(connection, candidates, query, limits, intent, judge)
    ]


class Placed:
    """A candidate by its fused ``rank`` (from 1), its text and the chunk of it that counts; ``weight`` is what the rank
    counts in ``score``, ``judged`` (0–1) what the reranker says of the chunk.
    """

    __slots__ = ("body", "chunk", "found", "judged", "rank", "score", "weight")

    def __init__(
        self, connection: apsw.Connection, rank: int, found: lex.LexicalMatch, query: str, intent: str, strategy: str
    ) -> None:
        self.rank = rank
        self.found = found
        self.body = lex.bodies(connection, [found])[found.id]
        self.chunk = best_chunk(self.body, query, intent, syntax.language_of(found.path, strategy))
        self.weight = 1.0
        self.judged = 0.0
        self.score = 1 / rank

    @property
    def span(self) -> tuple[int, int]:
        """Return (start, length) of the chunk in UTF-16 units."""
        return self.chunk.pos, ecma.length(self.chunk.text)

    def judge(self, score: float) -> None:
        """Blend the rank with the reranker's score."""
        self.judged = score
        self.weight = blend_weight(self.rank)
        self.score = self.weight / self.rank + (1 - self.weight) * score


def placed(
    connection: apsw.Connection,
    candidates: Sequence[lex.LexicalMatch],
    query: str,
    limits: Limits,
    intent: str = "",
    judge: Judge | None = None,
) -> list[Placed]:
    """Return the best of ``candidates``, which are in the order of their fused ranks; ``judge`` reranks them.

    The reranker reads the question, the intent before it, and each candidate's best chunk. Raises apsw.Error, and
    BrainError if a text may not be sent to it.
    """
    if judge is not None and candidates:
        ranked = [
            Placed(connection, rank, found, query, intent, limits.strategy) for rank, found in enumerate(candidates, 1)
        ]
        asked = f"{intent}\n\n{query}" if intent else query
        scores = judge.scores(asked, [_read(judge, each) for each in ranked])
        for each, score in zip(ranked, scores or (), strict=False):
            each.judge(score)
        # Where nothing is judged this is the order that they are in.
        ranked.sort(key=lambda each: -each.score)
        return [each for each in ranked if each.score >= limits.min_score][: limits.limit]
    chosen = [(rank, found) for rank, found in enumerate(candidates, 1) if 1 / rank >= limits.min_score]
    return [Placed(connection, rank, found, query, intent, limits.strategy) for rank, found in chosen[: limits.limit]]


def _read(judge: Judge, placed: Placed) -> str:
    """Return the chunk that ``judge`` reads of a candidate, redacted in the context of the whole text."""
    text, at = placed.chunk
    whole = judge.sendable(placed.body)
    if whole is None:
        return text
    start = len(ecma.cut(placed.body, 0, at))
    return whole.piece(start, start + len(text))


def best_chunk(body: str, query: str, intent: str = "", language: str = "") -> chunking.Chunk:
    """Return the chunk with most of the query's words of three letters and more; those of the intent count half.

    A ``language`` that has a grammar decides the cuts.
    """
    chunks = chunking.chunk(body, more=syntax.breaks(body, language))
    terms = [word for word in ecma.words(query.lower()) if ecma.length(word) > 2]
    steering = structured.intent_terms(intent) if intent else []

    def rate(chunk: chunking.Chunk) -> float:
        text = chunk.text.lower()
        return sum(term in text for term in terms) + _INTENT_WEIGHT * sum(term in text for term in steering)

    return max(chunks, key=rate) if len(chunks) > 1 else chunks[0]


def _trace(name: str, lists: list[Ranked], weights: list[float], placed: Placed) -> dict[str, Any]:
    fused = rank_trace(name, lists, weights)
    whole = placed.weight == 1
    return {
        "ftsScores": [item["backendScore"] for item in fused["contributions"] if item["source"] == "fts"],
        "vectorScores": [item["backendScore"] for item in fused["contributions"] if item["source"] == "vec"],
        "rrf": {
            "rank": placed.rank,
            "positionScore": 1 / placed.rank,
            "weight": 1 if whole else placed.weight,
            "baseScore": fused["baseScore"],
            "topRankBonus": fused["topRankBonus"],
            "totalScore": fused["totalScore"],
            "contributions": fused["contributions"],
        },
        "rerankScore": 0 if whole else placed.judged,
        "blendedScore": placed.score,
    }


# Ranks: pure functions over names.


class Ranked:
    """One list: names best first, with the scores of its backend; ``source`` is ``fts`` or ``vec``."""

    __slots__ = ("kind", "names", "query", "scores", "source")

    def __init__(self, source: str, kind: str, query: str, names: Sequence[str], scores: Sequence[float]) -> None:
        self.source = source
        self.kind = kind
        self.query = query
        self.names = list(names)
        self.scores = list(scores)


def fuse(lists: Sequence[Sequence[str]], weights: Sequence[float] = ()) -> list[tuple[str, float]]:
    """Return (name, score) of every name, best first; a missing weight counts 1. Equal scores keep their order.

    A name scores weight / (60 + rank) for each list that has it, and a bonus for its best rank: 0.05 for the first,
    0.02 for the second and third.
    """
    scores: dict[str, float] = {}
    top: dict[str, int] = {}
    for index, names in enumerate(lists):
        weight = weights[index] if index < len(weights) else 1.0
        for rank, name in enumerate(names, 1):
            scores[name] = scores.get(name, 0.0) + weight / (K + rank)
            top[name] = min(top.get(name, rank), rank)
    fused = [(name, score + bonus(top[name])) for name, score in scores.items()]
    return sorted(fused, key=lambda item: -item[1])


def bonus(rank: int) -> float:
    """Return what a best rank of ``rank`` adds."""
    if rank == 1:
        return _FIRST_BONUS
    return _NEAR_FIRST_BONUS if rank <= 3 else 0.0


def hybrid_weights(kinds: Sequence[str]) -> list[float]:
    """Return the weights of a plain query's lists: those of the original words count twice those of its expansions."""
    return [2.0 if kind == "original" else 1.0 for kind in kinds]


def document_weights(count: int) -> list[float]:
    """Return the weights of a query document's lists: the first one counts twice."""
    return [2.0 if index == 0 else 1.0 for index in range(count)]


def is_strong(scores: Sequence[float], intent: str = "") -> bool:
    """Return True if a keyword search's first hit is so far ahead that its query needs no expansion."""
    if intent or not scores:
        return False
    second = scores[1] if len(scores) > 1 else 0.0
    return scores[0] >= STRONG_SCORE and scores[0] - second >= STRONG_GAP


def blend_weight(rank: int) -> float:
    """Return the weight of a fused rank (from 1) against the reranker's score."""
    return next((weight for last, weight in _BLEND if rank <= last), _BLEND_REST)


def rank_trace(name: str, lists: Sequence[Ranked], weights: Sequence[float]) -> dict[str, Any]:
    """Return how ``name`` came to its fused score, for ``--explain``."""
    contributions: list[dict[str, Any]] = []
    for index, ranked in enumerate(lists):
        for rank, (each, score) in enumerate(zip(ranked.names, ranked.scores, strict=True), 1):
            if each == name:
                contributions.append(
                    {
                        "listIndex": index,
                        "source": ranked.source,
                        "queryType": ranked.kind,
                        "query": ranked.query,
                        "rank": rank,
                        "weight": weights[index],
                        "backendScore": score,
                        "rrfContribution": weights[index] / (K + rank),
                    }
                )
    base = sum((item["rrfContribution"] for item in contributions), 0.0)
    added = bonus(min(item["rank"] for item in contributions)) if contributions else 0.0
    return {
        "baseScore": base,
        "topRankBonus": added,
        "totalScore": base + added,
        "contributions": contributions,
    }
