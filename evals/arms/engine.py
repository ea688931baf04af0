"""Arms of the engine alone: BM25 in memory, lexical ranking, exact vector search, and qmd's ``query``."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core import document
from evals.arms.registry import ArmAnswer, Unavailable
from qmd.embedding.provider import make
from qmd.generation import expansion
from qmd.index import catalogue
from qmd.index.catalogue import Filters
from qmd.index.schema import SPAN
from qmd.index.semantic import spaces, vectors
from qmd.index.store import open_index
from qmd.search import hybrid, semantic
from qmd.search.search import Searcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from evals.arms.registry import Answer, Place

_WORD = re.compile(r"\w+")
# rank-bm25 keeps a dictionary of counts a document.
_MOST_IN_MEMORY = 20_000


@contextmanager
def bm25(place: Place) -> Iterator[Answer]:
    """rank-bm25's Okapi with its own constants, over every document's text without its frontmatter."""
    from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

    connection = open_index(place.home.index)
    try:
        rows = list(catalogue.texts(connection, filters(place), limit=_MOST_IN_MEMORY + 1))
    finally:
        connection.close()
    if len(rows) > _MOST_IN_MEMORY:
        raise Unavailable(f"over {_MOST_IN_MEMORY:,} documents do not fit in its memory")
    if not rows:
        raise Unavailable("there are no documents")
    names = [f"{document.collection}/{document.path}" for document, _ in rows]
    # A word of ours: rank-bm25 divides by the number of words, which may be none.
    ranking = BM25Okapi([_words(text) or ["\x00"] for _, text in rows])

    def answer(question: str, limit: int) -> list[str]:
        scores = ranking.get_scores(_words(question))
        best = sorted(range(len(names)), key=lambda index: -scores[index])[:limit]
        return [names[index] for index in best if scores[index] > 0]

    yield answer


@contextmanager
def lex(place: Place) -> Iterator[Answer]:
    """``qmd.search.search`` as it is, without what ``ask`` puts around it."""
    connection = open_index(place.home.index)
    try:
        searcher = Searcher(connection)
        asked = filters(place)

        def answer(question: str, limit: int) -> ArmAnswer:
            hits = searcher.search(question, limit=limit, filters=asked)
            searcher.show(hits)
            snippets = [hit.snippet for hit in hits]
            return ArmAnswer((f"{hit.collection}/{hit.path}" for hit in hits), snippets=lambda _: snippets)

        yield answer
    finally:
        connection.close()


def filters(place: Place) -> Filters:
    """Which documents may answer: the collection that is asked, or those asked by default."""
    return Filters((place.scope,)) if place.scope else Filters(place.config.asked)


def _words(text: str) -> list[str]:
    found = document.bounds(text)
    return _WORD.findall(text[found[2] :].lower() if found else text.lower())


@contextmanager
def exact(place: Place) -> Iterator[Answer]:
    """Every vector against the question's, by inner product: what a faster search is an approximation of."""
    import numpy as np

    source = make(place.config.section("embedding"), os.environ)
    connection = open_index(place.home.index)
    try:
        space = spaces.find(connection, source.name, source.model)
        if space is None or not spaces.count(connection, space):
            raise Unavailable(f"nothing is embedded by {source.name}/{source.model}: brain embed")
        spaces.load(connection)
        names = _documents(connection, place, space)
        matrix, homes = _matrix(connection, space, names)

        def answer(question: str, limit: int) -> list[str]:
            (vector,) = source.embed([question], question=True)
            scores = matrix @ vector
            best = np.full(len(names), -np.inf, dtype=np.float32)
            np.maximum.at(best, homes, scores)
            ranked = np.argsort(-best, kind="stable")[:limit]
            return [name for index in ranked if np.isfinite(best[index]) for name in names[index][1]][:limit]

        yield answer
    finally:
        connection.close()
        source.close()


def _documents(connection: apsw.Connection, place: Place, space: spaces.Space) -> list[tuple[int, list[str]]]:
    """(cut, the documents that have its text), for the documents that may answer."""
    found: dict[int, list[str]] = {}
    for cut, name in vectors.cut_names(connection, space.layout, filters(place)):
        found.setdefault(cut, []).append(name)
    return list(found.items())


def _matrix(
    connection: apsw.Connection, space: spaces.Space, names: list[tuple[int, list[str]]]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The chunks' vectors, a row each, and the index in ``names`` of each row's document."""
    import numpy as np

    place_of = {cut: index for index, (cut, _) in enumerate(names)}
    rows: Any = connection.execute(f'SELECT rowid, embedding FROM "{space.table}"')
    kept = [(place_of[rowid // SPAN], blob) for rowid, blob in rows if rowid // SPAN in place_of]
    matrix = np.frombuffer(b"".join(blob for _, blob in kept), dtype=np.int8).reshape(len(kept), space.dimensions)
    # A common factor changes no order, so the quantised values are not scaled.
    return matrix.astype(np.float32), np.array([index for index, _ in kept], dtype=np.int64)


# Asked first, so that a generator that fails is no arm that is merely unexpanded.
_PROBE = "how does this work"


def query(place: Place) -> AbstractContextManager[Answer]:
    """Return the arm of the question as typed. Raises Unavailable where there are no vectors."""
    return _asked(place, expand=False)


def expanded(place: Place) -> AbstractContextManager[Answer]:
    """In other words, too. Raises Unavailable where no generator is named, or it does not answer."""
    return _asked(place, expand=True)


@contextmanager
def _asked(place: Place, *, expand: bool) -> Iterator[Answer]:
    collections = place.config.collections
    scope = [place.scope] if place.scope else [name for name, each in collections.items() if each.include_by_default]
    connection = open_index(place.home.index)
    try:
        source = _expander(place, connection) if expand else None
        meaning = semantic.opened(connection, place.config.section("embedding"))
        if isinstance(meaning, str):
            raise Unavailable(meaning)
        try:

            def answer(question: str, limit: int) -> list[str]:
                more = None if source is None else lambda: source.expand(question)
                hits, _ = hybrid.plain(connection, question, scope, hybrid.Limits(limit), "", meaning, more)
                return [f"{hit.found.collection}/{hit.found.path}" for hit in hits]

            yield answer
        finally:
            meaning.close()
    finally:
        connection.close()


def _expander(place: Place, connection: apsw.Connection) -> expansion.Expander:
    models = place.config.section("models")
    found = expansion.opened(
        connection, place.config.section("generation"), {"generate": str(models.get("generate") or "")}, os.environ
    )
    if isinstance(found, str):
        raise Unavailable(f"{found}: QMD_GENERATE_MODEL=openai:MODEL or llm:MODEL names one")
    found.expand(_PROBE)
    if found.why:
        raise Unavailable(found.why)
    return found
