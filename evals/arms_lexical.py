"""Arms that need no model: BM25 in memory, and the engine's lexical ranking."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core import frontmatter
from evals.arms import Unavailable
from qmd.index import catalogue
from qmd.index.catalogue import Filters
from qmd.index.store import open_index
from qmd.search.search import Searcher
from runtime.asking.steps import default_filters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evals.arms import Answer, Place

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

        def answer(question: str, limit: int) -> list[str]:
            hits = searcher.search(question, limit=limit, filters=asked)
            return [f"{hit.collection}/{hit.path}" for hit in hits]

        yield answer
    finally:
        connection.close()


def filters(place: Place) -> Filters:
    """Which documents may answer: the collection that is asked, or those asked by default."""
    return Filters((place.scope,)) if place.scope else default_filters(place.config)


def _words(text: str) -> list[str]:
    found = frontmatter.bounds(text)
    return _WORD.findall(text[found[2] :].lower() if found else text.lower())
