"""Why a document ranks where it does: a search that scores one document even if nothing nominates it."""

from __future__ import annotations

from qmd.index.terms import spaced_out
from qmd.search import scoring
from qmd.search.search import DOCUMENTS, IndexCandidates, Ranking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from qmd.index.catalogue import Document, Filters
    from qmd.search.search import Boost, Searcher, Table


class Explanation:
    """Why a document ranks where it does.

    ``rank`` counts from 1 among the ``candidates`` that were scored; ``nominated`` is False for a document that was
    scored only because it was asked about. ``terms`` has a row a term: its name, the passages that have it, its weight
    and how often the document has it.
    """

    __slots__ = ("candidates", "nominated", "parts", "rank", "score", "terms")

    def __init__(self) -> None:
        self.rank = 0
        self.candidates = 0
        self.nominated = False
        self.score = 0.0
        self.parts: dict[str, float] = {}
        self.terms: list[dict[str, Any]] = []


def explain(
    searcher: Searcher,
    question: str,
    document: Document,
    text: str,
    *,
    filters: Filters,
    boost: Boost | None = None,
    drop: str = "",
) -> Explanation:
    """Return how ``document`` ranks for ``question`` among those of the index and of ``searcher.others``.

    A document of the index has a score also if it is not nominated. ``text`` is the document's. Raises apsw.Error.
    """
    ranking = _Watching(searcher, filters, boost, document.id)
    ranking.rank(question, drop)
    result = Explanation()
    ranked = ranking.ranked()
    result.candidates = len(ranked)
    result.nominated = ranking.nominated or not ranking.terms.phrases
    if document.id in ranked:
        result.rank = ranked.index(document.id) + 1
        result.score = min(1.0, ranking.scores[document.id] / ranking.full)
        result.parts = ranking.parts(document.id)
    result.terms = ranking.rows_of_terms(document.title, text)
    return result


class _Watched(IndexCandidates):
    """Candidates among which the document ``watched`` always is, with its passages."""

    def __init__(self, searcher: Searcher, filters: Filters, watched: int) -> None:
        super().__init__(searcher, filters, 0)
        self._watched = watched
        self._own = {
            passage
            for _, _, first, count in self.lengths((watched,))
            if first
            for passage in range(first, first + count)
        }
        self.nominated = False

    def _nominate(self, table: Table) -> set[int]:
        found = super()._nominate(table)
        if table is DOCUMENTS:
            self.nominated |= self._watched in found.union(self.named)
            return found | {self._watched}
        self.nominated |= not self._own.isdisjoint(found)
        return found | self._own


class _Watching(Ranking):
    """A search that also scores the document ``watched``."""

    def __init__(self, searcher: Searcher, filters: Filters, boost: Boost | None, watched: int) -> None:
        super().__init__(searcher, filters, 0, boost)
        self._watched, self._own = watched, _Watched(searcher, filters, watched)
        self.stores[0] = self._own

    @property
    def nominated(self) -> bool:
        """Return True if the search nominates the document by itself."""
        is_own = bool(self._own.hits((self._watched,)))
        return self._own.nominated if is_own else self._watched in self.scored

    def rows_of_terms(self, title: str, text: str) -> list[dict[str, Any]]:
        """Return what is known of each term, for the watched document. A store elsewhere may not have counted it."""
        terms = self.terms
        counts = [0.0] * len(terms.count)
        if terms.phrases:
            for said, weight in ((title, scoring.TITLE_WEIGHT), (text, 1.0)):
                spoken = [stem for _, _, stem in self._searcher.analyzer.offsets(spaced_out(said))]
                for term, stems in zip(terms.term, terms.stems, strict=True):
                    counts[term] += weight * _occurrences(spoken, list(stems))
        return [
            {
                "term": name,
                "passages": int(self.frequencies[index]) if self.frequencies else 0,
                "weight": round(self._weights[index], 3) if terms.phrases else 0.0,
                "in_document": int(counts[index]),
            }
            for index, name in enumerate(terms.names)
        ]


def _occurrences(spoken: Sequence[str], stems: list[str]) -> int:
    """Return how often a phrase is in a text."""
    first, width = stems[0], len(stems)
    return sum(stem == first and spoken[place : place + width] == stems for place, stem in enumerate(spoken))
