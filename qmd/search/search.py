"""Lexical retrieval: nominate documents and passages by FTS5's BM25, then score the few nominated at three scales.

FTS5 clamps the inverse document frequency of common terms, and its value differs between documents and passages. So the
nominated rows are scored here, with one unclamped weight for all three scales. No text is read for it: an auxiliary
function hands out the positions that the index holds (https://sqlite.org/fts5.html#extending_fts5).

``_Ranking.rank`` lists the steps; ``qmd/search/scoring.py`` has the constants and the formulas.
"""

from __future__ import annotations

import apsw

from qmd.index import catalogue
from qmd.index.terms import Analyzer, Terms
from qmd.search import scoring, snippets
from qmd.search.scoring import Scored
from qmd.search.snippets import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from qmd.index.catalogue import Filters
    from qmd.search.parallel_read import SecondReader
    from qmd.vectors.knn import Meaning, Near, Nearest

    # A row of a full-text table: (rowid, length in average lengths, rows of the table, positions by phrase and column).
    Located = tuple[int, float, int, Any]

    class Boost(Protocol):
        """A lift of documents by their date: periods to look at, and how well a document matches (0-1)."""

        @property
        def periods(self) -> list[tuple[int, int]]: ...
        def match(self, date: int, ended: int) -> float: ...


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


class Searcher:
    """Any number of searches over one connection; independent reads run in parallel on ``second``.

    Attributes describe the last search. ``share``: what its best document has of what endless matches of every term
    would give. ``passages``: how many there are to search. ``cosine``: that of the nearest chunk, None if no vector
    took part. ``covered``: as ``scoring.covered``, None if there are passages enough to know rare words.
    """

    # SQLite's cached statements go on calling the function that was registered first under a name: each searcher has
    # a name of its own.
    _made = 0

    def __init__(self, connection: apsw.Connection, second: SecondReader | None = None) -> None:
        self.connection = connection
        self.second = second
        self.analyzer = Analyzer(connection)
        self.share = 0.0
        self.passages = 0
        self.cosine: float | None = None
        self.covered: float | None = None
        self._rows: list[Located] = []
        Searcher._made += 1
        self._function = f"brain_positions_{Searcher._made}"
        connection.register_fts5_function(self._function, self._collect)

    def search(
        self,
        question: str,
        *,
        limit: int,
        filters: Filters,
        strict: bool = False,
        boost: Boost | None = None,
        drop: str = "",
        meaning: Meaning | None = None,
    ) -> list[Hit]:
        """Return the best ``limit`` documents, best first; equal scores fall in the order they were indexed.

        Args:
            question: words, names, code.
            limit: the most documents.
            filters: which documents may answer.
            strict: the question is in qmd's ANDed language (``qmd.search.lex``).
            boost: lifts documents by their date.
            drop: the part of the question that names the date; its words count only if nothing else remains.
            meaning: the question's vector, to be blended with words; ``vec0`` must be loaded.

        Raises apsw.Error.
        """
        if strict:
            from qmd.search import lex

            return lex.strict(self.connection, question, limit, filters)
        ranking = _Ranking(self, filters, limit)
        ranking.rank(question, boost, drop, meaning)
        self.share, self.passages = ranking.share, ranking.passages
        self.cosine, self.covered = ranking.cosine, ranking.covered
        return ranking.hits(limit)

    def newest(self, *, limit: int, filters: Filters) -> list[Hit]:
        """Return the documents that ended last: a walk through time, no search. Raises apsw.Error."""
        hits = [Hit(row, 1.0, {}) for row in catalogue.newest(self.connection, filters, limit)]
        for hit in hits:
            snippets.fill(self.connection, self.analyzer, hit, Scored())
        return hits

    def explain(
        self, question: str, document: int, *, filters: Filters, boost: Boost | None = None, drop: str = ""
    ) -> Explanation:
        """Return how ``document`` ranks for ``question``, also if it is not nominated. Raises apsw.Error."""
        ranking = _Ranking(self, filters, watched=document)
        ranking.rank(question, boost, drop)
        return ranking.explanation(document)

    def locate(self, table: str, match: str, ids: set[int], skip: int) -> list[Located]:
        """Return where the phrases of ``match`` are in the rows ``ids``, without the first ``skip`` phrases."""
        if not ids:
            return []
        self._rows.clear()
        among = ",".join(map(str, ids))
        self.connection.execute(
            f"SELECT {self._function}({table}) FROM {table} WHERE {table} MATCH ? AND +rowid IN ({among})", (match,)
        ).fetchall()
        rows = [(rowid, length, total, places[skip:]) for rowid, length, total, places in self._rows]
        self._rows.clear()
        return rows

    def _collect(self, api: apsw.FTS5ExtensionApi, *_: object) -> None:
        average = api.column_total_size(-1) / max(1, api.row_count)
        places = [api.phrase_locations(index) for index in range(api.phrase_count)]
        self._rows.append((api.rowid, api.column_size(-1) / max(1.0, average), api.row_count, places))


class _Query:
    """A question for FTS5: ``nominating`` matches its rarest terms; ``full`` all, after ``skip`` phrases that steer.

    ``terms[i]`` is the term of phrase i of ``full``, after those; ``frequencies[t]`` the passages that have term t.
    """

    __slots__ = ("frequencies", "full", "nominating", "skip", "terms")

    def __init__(self, terms: Terms, known: list[int]) -> None:
        """Build both expressions; ``known`` is how many passages have each phrase.

        Phrases that no passage has are left out, unless no passage has any.
        """
        live = [index for index, frequency in enumerate(known) if frequency] or list(range(len(known)))
        rare: list[int] = []
        spent = 0
        for index in sorted(live, key=known.__getitem__):
            if rare and spent + known[index] > scoring.ROW_BUDGET:
                break
            rare.append(index)
            spent += known[index]
        self.nominating = " OR ".join(terms.phrases[index] for index in rare)
        self.full, self.skip = " OR ".join(terms.phrases[index] for index in live), 0
        if len(rare) < len(live):
            self.full, self.skip = f"({self.nominating}) AND ({self.full})", len(rare)
        self.terms = [terms.term[index] for index in live]
        self.frequencies = [0.0] * len(terms.count)
        for term, frequency in zip(terms.term, known, strict=True):
            self.frequencies[term] += frequency


class _Ranking:
    """One ranked search; ``watched`` is a document that is scored even if it is not nominated."""

    def __init__(self, searcher: Searcher, filters: Filters, limit: int = 0, watched: int = 0) -> None:
        self._searcher = searcher
        self._connection = searcher.connection
        self._filters = filters
        self._restricted = filters.restrict(searcher.connection)
        self._limit = limit
        self._watched = watched
        self._nominated = True
        self._watched_counts: list[float] = []
        self._terms = Terms()
        self._query: _Query | None = None
        self._named: set[int] = set()
        self._scored: dict[int, Scored] = {}
        # The weight of each term in a row, and in a span.
        self._weights: list[float] = []
        self._span_weights: list[float] = []
        self._perfect = 1.0
        # The terms that each document has, where there are too few passages to tell what is rare.
        self._held: dict[int, set[int]] | None = None
        self._nearest: Nearest | None = None
        self._blend: dict[int, float] | None = None
        self._shown_by_meaning: dict[int, Near] = {}
        self.share = 0.0
        self.passages = 0
        self.cosine: float | None = None
        self.covered: float | None = None

    def rank(self, question: str, boost: Boost | None, drop: str, meaning: Meaning | None = None) -> None:
        """Nominate and score."""
        self._analyze(question, drop)
        self._find_named(question)
        self._score_words(boost)
        best = max((candidate.word_points for candidate in self._scored.values()), default=0.0)
        self.share = best / self._perfect
        self._add_nearest(meaning)
        self._add_dates(boost, best)
        self._put_named_first()
        self._blend_meaning(meaning, best)

    # The steps of ``rank``.

    def _analyze(self, question: str, drop: str) -> None:
        """Find the question's terms, and ask the index how many passages have each."""
        analyzer = self._searcher.analyzer
        self._terms = analyzer.analyze(question, drop)
        if drop and self._terms.only_stop_words:
            self._terms = analyzer.analyze(question)  # the date was all there is to look for: its words, then
        if self._terms.phrases:
            self._query = _Query(self._terms, [self._frequency(stems) for stems in self._terms.stems])

    def _frequency(self, stems: list[str]) -> int:
        """Return how many passages have a phrase: of several words, at most as many as have the rarest."""
        query = "SELECT doc FROM brain_terms WHERE term = ?"
        return min(self._connection.execute(query, (stem,)).get or 0 for stem in stems)

    def _find_named(self, question: str) -> None:
        """Find the documents with the question as their title, or at its end behind a dot, if the question is a single
        name.

        A name without other words asks for the thing of that name, not for what mentions it most.
        """
        name = question.removesuffix("()")
        if all(part.isidentifier() for part in name.split(".")):
            self._named = catalogue.by_title(self._connection, name, self._filters, scoring.NOMINATED_DOCUMENTS)

    def _score_words(self, boost: Boost | None) -> None:
        """Score what the terms nominate: each passage with its tightest span, then each whole document."""
        query = self._query
        if query is None:
            return
        documents, passages, later = self._nominate(query, boost)
        homes = catalogue.homes(self._connection, passages)
        documents.update(document for at in homes.values() for document in at)
        if self._watched:
            own = self._passages_of(self._watched)
            passages |= own
            homes.update(catalogue.homes(self._connection, own))
        rows = self._searcher.locate("brain_passages", query.full, passages, query.skip)
        self._weigh(query, rows[0][2] if rows else 0)
        for row in rows:
            self._score_passage(query, row, homes.get(row[0], ()))
        documents |= later() | self._named
        if self._watched:
            self._nominated = self._watched in documents
            documents.add(self._watched)
        for row in self._searcher.locate("documents_fts", query.full, documents, query.skip):
            self._score_document(query, row)
        if self._held is not None:
            terms = self._terms
            self.covered = scoring.covered(terms.stems, terms.term, terms.count, list(self._held.values()))

    def _add_nearest(self, meaning: Meaning | None) -> None:
        """Add the documents of the nearest chunks; they take part even if no word of theirs matches."""
        if meaning is None:
            return
        self._nearest = nearest = meaning.nearest(self._connection, self._filters, restricted=self._restricted)
        if nearest.documents:
            self.cosine = nearest.best
        for document in nearest.documents:
            self._scored.setdefault(document, Scored())

    def _add_dates(self, boost: Boost | None, best: float) -> None:
        """Add date points to each match: at most ``best``, by how well the document's date matches."""
        if boost is None or not self._scored:
            return
        near = self._nearest.documents if self._nearest is not None else {}
        for document, date, ended in catalogue.dates(self._connection, self._scored):
            candidate = self._scored[document]
            if candidate.word_points > 0 or document in near:
                candidate.date_points = boost.match(date, ended) * best

    def _put_named_first(self) -> None:
        """Lift documents of the name that is asked for to the most points of all."""
        highest = max((candidate.points for candidate in self._scored.values()), default=0.0)
        for document in self._named:
            candidate = self._scored.setdefault(document, Scored())
            candidate.name_points = highest - candidate.points

    def _blend_meaning(self, meaning: Meaning | None, best: float) -> None:
        """Replace the scores by their blend with meaning."""
        nearest = self._nearest
        if meaning is None or nearest is None:
            return
        weights: dict[int, float] = {}
        passages: dict[int, int] = {}
        for document, collection, _, count in catalogue.lengths(self._connection, self._scored):
            weights[document] = meaning.weights.get(collection, meaning.default)
            passages[document] = count
        points = {document: scored.match_points for document, scored in self._scored.items()}
        full = scoring.full_match(best, self._perfect)
        parts = scoring.blend(points, full, nearest, weights, meaning.default, passages)
        self._blend = {document: words + meant for document, (words, meant) in parts.items()}
        self._blend.update(dict.fromkeys(self._named, max(self._blend.values(), default=0.0)))
        for document, near in nearest.documents.items():
            words, meant = parts[document]
            if meant > words:
                self._shown_by_meaning[document] = near

    # Nomination and the three scales.

    def _nominate(self, query: _Query, boost: Boost | None) -> tuple[set[int], set[int], Callable[[], set[int]]]:
        """Return documents of the days asked for, passages, and a function that gives the other documents.

        The other documents are looked for in parallel.
        """
        condition, bindings = self._filters.sql() if self._restricted else ("", [])
        documents = _Nomination("documents_fts", query.nominating, condition, bindings)
        passages = _Nomination("brain_passages", query.nominating, condition, bindings)
        dated: set[int] = set()
        if boost is not None:
            most = scoring.NOMINATED_BY_DATE
            dated = catalogue.on_days(self._connection, boost.periods, self._filters, most)
        later = self._begin(documents, max(scoring.NOMINATED_DOCUMENTS, self._limit))
        found = passages.best(self._connection, max(scoring.NOMINATED_PASSAGES, 2 * self._limit))
        if not dated:
            return set(), found, later
        those = f"d.id IN ({','.join(map(str, dated))})"
        of_days = _Nomination("documents_fts", query.nominating, those)
        found |= _Nomination("brain_passages", query.nominating, those).best(
            self._connection, scoring.NOMINATED_PASSAGES
        )
        return of_days.best(self._connection, scoring.NOMINATED_DOCUMENTS), found, later

    def _begin(self, nomination: _Nomination, depth: int) -> Callable[[], set[int]]:
        """Nominate on the other connection, if that is free in time; return a function that gives the ids."""
        later = None
        if self._searcher.second is not None:
            from qmd.search.parallel_read import Later

            later = Later(self._searcher.second, lambda other: nomination.best(other, depth))

        def found() -> set[int]:
            there: set[int] | None = later.outcome() if later is not None else None
            return nomination.best(self._connection, depth) if there is None else there

        return found

    def _weigh(self, query: _Query, total: int) -> None:
        """Weigh the terms by how rare they are among ``total`` passages (0: no passage matches)."""
        self.passages = total
        rows = total or 1
        pairs = list(zip(self._terms.count, query.frequencies, strict=True))
        self._weights = [count * scoring.idf(rows, frequency) for count, frequency in pairs]
        spans = rows * scoring.SPANS_IN_PASSAGE
        self._span_weights = [count * scoring.idf(spans, frequency) for count, frequency in pairs]
        # The points of a perfect match: a document, a passage and a span that match every term without end.
        self._perfect = (scoring.K1 + 1) * (2 * sum(self._weights) + sum(self._span_weights)) or 1.0
        self._held = {} if rows < scoring.FEW_PASSAGES else None

    def _score_passage(self, query: _Query, row: Located, homes: Sequence[int]) -> None:
        """Score a passage and its tightest span, for each document that has it."""
        passage, length, _, places = row
        matches = sorted(
            (position, term) for term, columns in zip(query.terms, places, strict=True) for position in columns[0]
        )
        counts = [0.0] * len(self._terms.count)
        for _, term in matches:
            counts[term] += 1
        for term, columns in zip(query.terms, places, strict=True):
            counts[term] += len(columns[1])
        whole = scoring.bm25(counts, self._weights, length)
        span, token, _ = scoring.best_span(matches, self._span_weights) if matches else (0.0, -1, -1)
        for document in homes:
            candidate = self._scored.setdefault(document, Scored())
            if whole + span > candidate.evidence_points:
                candidate.evidence_points, candidate.passage, candidate.token = whole + span, passage, token
            candidate.passage_points = max(candidate.passage_points, whole)
            candidate.span_points = max(candidate.span_points, span)
            self._hold(document, counts)

    def _score_document(self, query: _Query, row: Located) -> None:
        """Score a whole document; a term in the title counts more.

        Its points move ``share`` as well, so a factor on them also moves which questions get no answer.
        """
        document, length, _, places = row
        counts = [0.0] * len(self._terms.count)
        for term, (_, title, body) in zip(query.terms, places, strict=True):
            counts[term] += scoring.TITLE_WEIGHT * len(title) + len(body)
        candidate = self._scored.setdefault(document, Scored())
        candidate.document_points = scoring.bm25(counts, self._weights, length)
        if document == self._watched:
            self._watched_counts = counts
        self._hold(document, counts)

    def _hold(self, document: int, counts: list[float]) -> None:
        if self._held is not None:
            self._held.setdefault(document, set()).update(index for index, each in enumerate(counts) if each)

    def _passages_of(self, document: int) -> set[int]:
        return {
            passage
            for _, _, first, count in catalogue.lengths(self._connection, (document,))
            if first
            for passage in range(first, first + count)
        }

    # Results of ``rank``.

    def hits(self, limit: int) -> list[Hit]:
        """Return the best ``limit`` documents that the filters let through."""
        ranked = self._ranked()
        found: list[Hit] = []
        # Documents that the filters leave out were not nominated, except through a content they share.
        for start in range(0, len(ranked), limit):
            window = ranked[start : start + limit]
            rows = {row[0]: row for row in catalogue.rows(self._connection, self._filters, window)}
            found += [Hit(rows[each], self._score_of(each), self._parts(each)) for each in window if each in rows]
            if len(found) >= limit:
                break
        del found[limit:]
        analyzer, names = self._searcher.analyzer, self._terms.names
        for hit in found:
            near = self._shown_by_meaning.get(hit.id)
            snippets.fill(self._connection, analyzer, hit, self._scored[hit.id], names, near)
        return found

    def explanation(self, document: int) -> Explanation:
        """Return what is known of the watched document."""
        result = Explanation()
        ranked = self._ranked()
        result.candidates = len(ranked)
        result.nominated = self._nominated
        if document in ranked:
            result.rank = ranked.index(document) + 1
            result.score = self._scored[document].score(self._perfect)
            result.parts = self._scored[document].parts()
        counts = self._watched_counts or [0.0] * len(self._terms.count)
        for index, name in enumerate(self._terms.names):
            result.terms.append(
                {
                    "term": name,
                    "passages": int(self._query.frequencies[index]) if self._query else 0,
                    "weight": round(self._weights[index], 3) if self._weights else 0.0,
                    "in_document": int(counts[index]),
                }
            )
        return result

    def _score_of(self, document: int) -> float:
        if self._blend is not None:
            return min(1.0, self._blend[document])
        return self._scored[document].score(self._perfect)

    def _parts(self, document: int) -> dict[str, float]:
        parts = self._scored[document].parts()
        if self._blend is not None and self._nearest is not None:
            near = self._nearest.documents.get(document)
            parts["cosine"] = round(near.cosine if near is not None else self._nearest.floor, 3)
            parts["blend"] = round(self._blend[document], 4)
        return parts

    def _ranked(self) -> list[int]:
        """Return the candidates with a score, best first."""
        named, scored, blend = self._named, self._scored, self._blend
        scores = blend if blend is not None else {document: each.points for document, each in scored.items()}
        # Documents of the name that is asked for come first, those that say the name most before the others.
        return sorted(
            (document for document, score in scores.items() if score > 0),
            key=lambda each: (each not in named, -scores[each], -scored[each].match_points, each),
        )


class _Nomination:
    """The best rows of a full-text table for an expression, as far as ``condition`` (``Filters.sql``, or "") allows."""

    __slots__ = ("_bindings", "_match", "_only", "_table")

    def __init__(self, table: str, match: str, condition: str, bindings: Sequence[Any] = ()) -> None:
        self._table = table
        self._match = match
        self._bindings = bindings
        only = catalogue.only_documents if table == "documents_fts" else catalogue.only_passages
        self._only = only(condition) if condition else ""

    def best(self, connection: apsw.Connection, depth: int) -> set[int]:
        """Return the ids of the ``depth`` best rows. Raises apsw.Error."""
        # A document's path does not count.
        documents = self._table == "documents_fts"
        weights = f"0, {scoring.TITLE_WEIGHT}, 1" if documents else f"1, {scoring.INNER_WEIGHT}"
        query = (
            f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ?{self._only}"
            f" ORDER BY bm25({self._table}, {weights}) LIMIT {depth}"
        )
        return {rowid for (rowid,) in connection.execute(query, (self._match, *self._bindings))}
