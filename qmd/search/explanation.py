"""Why a document ranks where it does: a search that scores one document even if nothing nominates it."""

from __future__ import annotations

from qmd.search import scoring
from qmd.search.search import DOCUMENTS, IndexCandidates, Ranking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.index.catalogue import Filters
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
    searcher: Searcher, question: str, document: int, *, filters: Filters, boost: Boost | None = None, drop: str = ""
) -> Explanation:
    """Return how ``document`` ranks for ``question``, also if it is not nominated. Raises apsw.Error."""
    ranking = _Watching(searcher, filters, boost, document)
    ranking.rank(question, drop)
    result = Explanation()
    ranked = ranking.ranked()
    result.candidates = len(ranked)
    result.nominated = ranking.nominated or not ranking.terms.phrases
    if document in ranked:
        result.rank = ranked.index(document) + 1
        result.score = min(1.0, ranking.scores[document] / ranking.full)
        result.parts = ranking.parts(document)
    result.terms = ranking.rows_of_terms()
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
        self.stores = [self._own]

    @property
    def nominated(self) -> bool:
        """Return True if the search nominates the document by itself."""
        return self._own.nominated

    def rows_of_terms(self) -> list[dict[str, Any]]:
        """Return what is known of each term, for the watched document."""
        terms = self.terms
        counts = [0.0] * len(terms.count)
        if terms.phrases:
            query = self._own.query
            for _, _, _, places in self._searcher.locate(DOCUMENTS, query.full, (self._watched,), query.skip):
                for term, (_, title, body) in zip(query.terms, places, strict=True):
                    counts[term] += scoring.TITLE_WEIGHT * len(title) + len(body)
        return [
            {
                "term": name,
                "passages": int(self.frequencies[index]) if self.frequencies else 0,
                "weight": round(self._weights[index], 3) if terms.phrases else 0.0,
                "in_document": int(counts[index]),
            }
            for index, name in enumerate(terms.names)
        ]
