"""Lexical retrieval: nominate documents and passages by FTS5's BM25, then score the few nominated at three scales.

FTS5 clamps the inverse document frequency of common terms, and its value differs between documents and passages. So the
nominated rows are scored here, with one unclamped weight for all three scales. No text is read for it: an auxiliary
function hands out the positions that the index holds (https://sqlite.org/fts5.html#extending_fts5).

``Ranking.rank`` lists the steps; ``qmd/search/scoring.py`` has the constants and the formulas.
"""

from __future__ import annotations

import apsw

from qmd.index import catalogue
from qmd.index.catalogue import Document
from qmd.index.terms import Analyzer, Terms
from qmd.search import scoring
from qmd.search.scoring import Scored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any, Protocol

    from qmd.index.catalogue import Filters, Row
    from qmd.index.parallel_read import Later, SecondReader
    from qmd.vectors.knn import Meaning, Near, Nearest

    # A row of a full-text table: (rowid, length in average lengths, rows of the table, positions by phrase and column).
    Located = tuple[int, float, int, Any]
    # Passages, and the documents that have each.
    Placed = tuple[list[Located], dict[int, list[int]]]
    # A full-text table and what is nominated from it: its name, the weights of its columns, what restricts its rows,
    # and how many rows, at least and for each document that is wanted.
    Table = tuple[str, str, Callable[[str], str], int, int]

    class Boost(Protocol):
        """A lift of documents by their date: periods to look at, and how well a document matches (0-1)."""

        @property
        def periods(self) -> list[tuple[int, int]]: ...
        def match(self, date: int, ended: int) -> float: ...

    class Candidates(Protocol):
        """What one question reads of one store; each leaves out the ids of others.

        ``begin`` comes first. ``terms`` then has the term of each phrase of which ``places`` lists the positions,
        ``named`` the documents of the name that is asked for. ``passages`` comes before ``documents``; then
        ``frequencies`` has the passages that have each term, ``total`` how many passages there are (0 if none matches).
        """

        terms: list[int]
        frequencies: list[float]
        total: int
        named: Collection[int]

        def begin(self, terms: Terms, name: str, periods: list[tuple[int, int]]) -> None: ...
        def passages(self) -> Placed: ...
        def documents(self) -> list[Located]: ...
        def nearest(self, meaning: Meaning) -> Nearest: ...
        def dates(self, ids: Collection[int]) -> Iterable[tuple[int, int, int]]: ...
        def lengths(self, ids: Collection[int]) -> Iterable[tuple[int, str, int, int]]: ...
        def hits(self, ids: Collection[int]) -> dict[int, Hit]: ...

    class Store(Protocol):
        """Documents elsewhere that are ranked together with those of the index."""

        def candidates(self, filters: Filters, limit: int) -> Candidates: ...
        def newest(self, filters: Filters, limit: int) -> list[Hit]: ...
        def read(self, hit: Hit) -> str: ...


# A document's path does not count.
_TITLE, _INNER = scoring.TITLE_WEIGHT, scoring.INNER_WEIGHT
DOCUMENTS: Table = (
    "documents_fts", f"0, {_TITLE}, 1", catalogue.only_documents, scoring.NOMINATED_DOCUMENTS, 1
)  # fmt: skip
PASSAGES: Table = ("brain_passages", f"1, {_INNER}", catalogue.only_passages, scoring.NOMINATED_PASSAGES, 2)


class Hit(Document):
    """One answer.

    ``score`` (0-1) is the share of the evidence that a perfect match would give; ``parts`` are its summands, if they
    were asked for. The evidence is a ``passage`` (its id, 0 for none) from number ``token`` on, or the chunk ``near``;
    ``names`` are the words that were searched for.

    The rest comes with the text (``read``, ``fill``). ``line`` counts from 1. ``piece`` is the passage of the evidence,
    (start, end) in characters; (0, 0) if there is none. ``begin`` is where the text begins, behind its frontmatter.
    ``quotes`` are lines that a caller chose instead of the snippet.

    ``store`` has the text, None for the index itself; ``owner`` is who shares the document, "" for the
    user, and ``trust`` what its owner calls it.
    """

    __slots__ = (
        "begin", "line", "names", "near", "owner", "parts", "passage", "piece", "quotes", "score", "snippet",
        "store", "token", "trust",
    )  # fmt: skip

    if TYPE_CHECKING:
        near: Near | None
        store: Store | None
        names: Sequence[str]
        quotes: Sequence[Any]

    def __init__(self, row: Row, score: float, parts: dict[str, Any] | None = None) -> None:
        super().__init__(row)
        self.score, self.parts = score, parts or {}
        self.passage, self.token, self.near, self.names = 0, 0, None, ()
        self.store, self.owner, self.trust = None, "", ""
        self.line, self.snippet, self.piece, self.begin, self.quotes = 1, "", (0, 0), 0, ()


def read(connection: apsw.Connection, hit: Hit) -> str:
    """Return the text of a hit, "" if the index lacks it, and note its ``piece``. Raises apsw.Error."""
    if hit.store is not None:
        return hit.store.read(hit)
    text, first, bounds = catalogue.passages(connection, hit.hash) or ("", 0, ())
    place = hit.passage - first
    if hit.near is not None:
        from qmd.vectors import knn

        knn.place(connection, hit.near)
        hit.piece = (hit.near.start, hit.near.end)
    elif 0 <= place < len(bounds) - 1:
        hit.piece = (bounds[place], bounds[place + 1])
    elif bounds:
        hit.begin = bounds[0]
    return text


class Searcher:
    """Any number of searches over one connection; independent reads run in parallel on ``second``.

    Documents of ``others`` are ranked together with those of the index. ``last`` is the search that ranked the last
    answer; None if nothing was ranked for it.
    """

    # SQLite's cached statements go on calling the function that was registered first under a name: each searcher has
    # a name of its own.
    _made = 0
    if TYPE_CHECKING:
        _rows: list[Located]

    def __init__(
        self, connection: apsw.Connection, second: SecondReader | None = None, others: Sequence[Store] = ()
    ) -> None:
        self.connection, self.second, self.analyzer = connection, second, Analyzer(connection)
        self.others = others
        self.last: Ranking | None = None
        Searcher._made += 1
        self._function = f"brain_positions_{Searcher._made}"
        connection.register_fts5_function(self._function, self._collect)

    def search(self, question: str, *, limit: int, filters: Filters) -> list[Hit]:
        """Return the best ``limit`` documents for words alone, best first. Raises apsw.Error.

        No text is read: ``show`` fills in the lines of the hits that are shown.
        """
        self.last = ranking = Ranking(self, filters, limit)
        ranking.rank(question)
        return ranking.hits()

    def elsewhere(self, question: str, *, limit: int, filters: Filters) -> list[Hit]:
        """Return the best documents of ``others`` alone, best first, without a text. Raises apsw.Error."""
        ranking = Ranking(self, filters, limit)
        del ranking.stores[0]
        ranking.rank(question)
        return ranking.hits()

    def newest(self, *, limit: int, filters: Filters) -> list[Hit]:
        """Return the documents that ended last: a walk through time, no search. Raises apsw.Error."""
        self.last = None
        found = [Hit(row, 1.0) for row in catalogue.newest(self.connection, filters, limit)]
        if self.others:
            found += [hit for store in self.others for hit in store.newest(filters, limit)]
            found.sort(key=lambda hit: -hit.ended)
        return found[:limit]

    def show(self, hits: Iterable[Hit]) -> None:
        """Fill in the line and the snippet of each hit that has none. Raises apsw.Error."""
        for hit in hits:
            if not hit.snippet:
                self.fill(hit, read(self.connection, hit))

    def fill(self, hit: Hit, text: str) -> None:
        """Fill in the line and the snippet of a hit, where its evidence is in ``text`` (``read``)."""
        from qmd.search import snippets

        snippets.fill(self.analyzer, hit, text)

    def locate(self, table: Table, match: str, ids: Collection[int], skip: int) -> list[Located]:
        """Return where the phrases of ``match`` are in the rows ``ids``, without the first ``skip`` phrases."""
        if not ids:
            return []
        self._rows, self._skip = [], skip
        query = "SELECT {0}({1}) FROM {1} WHERE {1} MATCH ? AND +rowid IN ({2})"
        query = query.format(self._function, table[0], ",".join(map(str, ids)))
        self.connection.execute(query, (match,)).fetchall()
        return self._rows

    def _collect(self, api: apsw.FTS5ExtensionApi, *_: object) -> None:
        average = api.column_total_size(-1) / max(1, api.row_count)
        places = [api.phrase_locations(index) for index in range(self._skip, api.phrase_count)]
        self._rows.append((api.rowid, api.column_size(-1) / max(1.0, average), api.row_count, places))


class Query:
    """A question's terms for FTS5: ``nominating`` matches the rarest; ``full`` all, after ``skip`` phrases that steer.

    ``live`` and ``rare`` are the phrases of both. ``terms[i]`` is the term of phrase i of ``full``, after those that
    steer; ``frequencies[t]`` the passages that have term t.
    """

    __slots__ = ("frequencies", "full", "live", "nominating", "rare", "skip", "terms")

    def __init__(self, terms: Terms, known: list[int]) -> None:
        """Build both expressions. Phrases that no passage has are left out, unless no passage has any.

        ``known`` has the passages of each phrase. One of several words is in at most as many as its rarest word.
        """
        self.live = live = [index for index, frequency in enumerate(known) if frequency] or list(range(len(known)))
        rare = sorted(live, key=known.__getitem__)
        self.rare = rare = _affordable(rare, known) if sum(known) > scoring.ROW_BUDGET else rare
        self.nominating = " OR ".join(map(terms.phrases.__getitem__, rare))
        self.full, self.skip = " OR ".join(map(terms.phrases.__getitem__, live)), 0
        if len(rare) < len(live):
            self.full, self.skip = f"({self.nominating}) AND ({self.full})", len(rare)
        self.terms = list(map(terms.term.__getitem__, live))
        self.frequencies = [0.0] * len(terms.count)
        for term, frequency in zip(terms.term, known, strict=True):
            self.frequencies[term] += frequency


def _affordable(rare: list[int], known: list[int]) -> list[int]:
    """Return the first phrases of ``rare`` that ``scoring.ROW_BUDGET`` rows allow; the first is always taken."""
    spent = known[rare[0]]
    for place, index in enumerate(rare[1:], 1):
        spent += known[index]
        if spent > scoring.ROW_BUDGET:
            return rare[:place]
    return rare


class IndexCandidates:
    """What one question reads of the index (``Candidates``)."""

    if TYPE_CHECKING:
        query: Query
        named: Collection[int]
        _homes: Collection[int]
        # The documents of the days that are lifted, as a condition of SQL.
        _of_days: str
        _later: Later | None

    def __init__(self, searcher: Searcher, filters: Filters, limit: int) -> None:
        self._searcher, self._connection, self._limit = searcher, searcher.connection, limit
        self._filters, self._restricted = filters, filters.restrict(searcher.connection)
        self.named = self._homes = frozenset[int]()
        self._of_days, self._later, self.total = "", None, 0

    def begin(self, terms: Terms, name: str, periods: list[tuple[int, int]]) -> None:
        """Look up the terms, the documents of the ``name`` that is asked for, and those of the days that are lifted."""
        search = self._connection.execute
        query = "SELECT doc FROM brain_terms WHERE term = ?"
        known: list[int] = [min(search(query, (stem,)).get or 0 for stem in stems) for stems in terms.stems]
        self.query = Query(terms, known)
        self.terms, self.frequencies = self.query.terms, self.query.frequencies
        if name:
            self.named = catalogue.by_title(self._connection, name, self._filters, scoring.NOMINATED_DOCUMENTS)
        if periods:
            dated = catalogue.on_days(self._connection, periods, self._filters, scoring.NOMINATED_BY_DATE)
            self._of_days = f"d.id IN ({','.join(map(str, dated))})" if dated else ""

    def passages(self) -> Placed:
        """Nominate passages, and locate the terms in them."""
        if self._searcher.second is not None:
            self._begin(self._searcher.second)
        passages = self._nominate(PASSAGES)
        homes = catalogue.homes(self._connection, passages)
        self._homes = set[int]().union(*homes.values())
        rows = self._searcher.locate(PASSAGES, self.query.full, passages, self.query.skip)
        self.total = rows[0][2] if rows else 0
        return rows, homes

    def documents(self) -> list[Located]:
        """Locate the terms in the documents of passages, the nominated ones, and those of the name asked for."""
        documents = self._nominate(DOCUMENTS).union(self._homes, self.named)
        return self._searcher.locate(DOCUMENTS, self.query.full, documents, self.query.skip)

    def nearest(self, meaning: Meaning) -> Nearest:
        """Find what is near by meaning."""
        return meaning.nearest(self._connection, self._filters, restricted=self._restricted)

    def dates(self, ids: Collection[int]) -> Iterable[tuple[int, int, int]]:
        """Return (id, date, ended) of dated documents."""
        return catalogue.dates(self._connection, ids)

    def lengths(self, ids: Collection[int]) -> Iterable[tuple[int, str, int, int]]:
        """Return (id, collection, first passage, passages) of documents."""
        return catalogue.lengths(self._connection, ids)

    def hits(self, ids: Collection[int]) -> dict[int, Hit]:
        """Return the documents that the filters let through as hits without a score."""
        return {row[0]: Hit(row, 0.0) for row in catalogue.rows(self._connection, self._filters, ids)}

    def _nominate(self, table: Table) -> set[int]:
        """Return the ids of the best rows of a full-text table, and of the best of the days that are lifted."""
        found: set[int] | None = self._later.outcome() if self._later is not None and table is DOCUMENTS else None
        if found is None:
            condition, bindings = self._filters.sql() if self._restricted else ("", [])
            found = self._best(self._connection, table, condition, bindings)
        if self._of_days:
            found |= self._best(self._connection, table, self._of_days)
        return found

    def _begin(self, second: SecondReader) -> None:
        """Nominate documents on the other connection, if that is free in time."""
        from qmd.index.parallel_read import Later

        condition, bindings = self._filters.sql() if self._restricted else ("", [])
        self._later = Later(second, lambda other: self._best(other, DOCUMENTS, condition, bindings))

    def _best(
        self, connection: apsw.Connection, table: Table, condition: str, bindings: Sequence[Any] = ()
    ) -> set[int]:
        """Return the ids of the best rows for which ``condition`` (``Filters.sql``, or "") holds. Raises apsw.Error."""
        name, weights, only, least, each = table
        query = (
            f"SELECT rowid FROM {name} WHERE {name} MATCH ?{only(condition) if condition else ''}"
            f" ORDER BY bm25({name}, {weights}) LIMIT {max(least, each * self._limit)}"
        )
        return {rowid for (rowid,) in connection.execute(query, (self.query.nominating, *bindings))}


class Ranking:
    """One ranked search.

    ``scored`` has the points of each candidate, ``scores`` what the candidates are ranked by; ``full`` is the score of
    a perfect match. ``best`` is the most points for words. ``evidence`` (0-1) is None if nothing is known about it.
    ``frequencies[t]`` is how many passages have term t, of ``passages`` (0 if no word matches).
    """

    if TYPE_CHECKING:
        scored: dict[int, Scored]
        nearest: Nearest | None
        evidence: float | None
        frequencies: list[float]
        _named: set[int]
        _shown_by_meaning: dict[int, Near]
        # The terms that each document has, where there are too few passages to know what is rare.
        _held: dict[int, set[int]] | None

    def __init__(
        self,
        searcher: Searcher,
        filters: Filters,
        limit: int,
        boost: Boost | None = None,
        meaning: Meaning | None = None,
    ) -> None:
        self._searcher, self._filters = searcher, filters
        self._limit, self._boost, self._meaning = limit, boost, meaning
        self.stores: list[Candidates] = [IndexCandidates(searcher, filters, limit)]
        self.stores += [store.candidates(filters, limit) for store in searcher.others]
        self._named, self._shown_by_meaning, self.scored = set(), {}, {}
        self._held = self.nearest = self.evidence = None
        self.frequencies = []
        self.best, self.full, self.passages = 0.0, 1.0, 0

    def rank(self, question: str, drop: str = "") -> None:
        """Nominate and score. Raises apsw.Error.

        ``drop`` is the part of the question that names the date; its words count only if nothing else remains.
        """
        self.terms = self._searcher.analyzer.analyze(question, drop)
        # A name without other words asks for the thing of that name, not for what mentions it most.
        name = question.removesuffix("()")
        if not all(part.isidentifier() for part in name.split(".")):
            name = ""
        # A store elsewhere works while the index does.
        for store in reversed(self.stores):
            store.begin(self.terms, name, self._boost.periods if self._boost is not None else [])
        if self.terms.phrases:
            self._score_passages()
            self._score_documents()
        self.best = max((candidate.word_points for candidate in self.scored.values()), default=0.0)
        share, meaning = self.best / self.full, self._meaning
        if meaning is not None:
            self._add_nearest(meaning)
        if self._boost is not None:
            self._add_dates(self._boost)
        if self._named:
            self._put_named_first()
        self.scores = {document: candidate.points for document, candidate in self.scored.items()}
        covered = None if self._held is None else scoring.covered(self.terms, self._held.values())
        if meaning is None:
            self.evidence = scoring.evidence(share, self.passages, covered=covered)
        else:
            self._blend_meaning(meaning, share, covered)

    # The steps of ``rank``.

    def _score_passages(self) -> None:
        """Score the nominated passages, each with its tightest span."""
        located = [(store, *store.passages()) for store in self.stores]
        self.passages = sum(store.total for store in self.stores)
        self.frequencies = list(map(sum, zip(*(store.frequencies for store in self.stores), strict=True)))
        self._weigh()
        for store, rows, homes in located:
            for passage, length, _, places in rows:
                counts = self._count(store, [len(own) + len(inner) for own, inner in places])
                matches = sorted([(at, term) for term, (own, _) in zip(store.terms, places, strict=True) for at in own])
                whole = scoring.bm25(counts, self._weights, length)
                span, token, _ = scoring.best_span(matches, self._span_weights) if matches else (0.0, -1, -1)
                for document in homes.get(passage, ()):
                    self._candidate(document, counts).add_passage(whole, span, passage, token)

    def _score_documents(self) -> None:
        """Score whole documents. A term in the title counts more.

        A factor on the points also moves which questions get no answer.
        """
        for store in self.stores:
            self._named.update(store.named)
            for document, length, _, places in store.documents():
                counts = self._count(store, [len(own) * scoring.TITLE_WEIGHT + len(body) for _, own, body in places])
                self._candidate(document, counts).document_points = scoring.bm25(counts, self._weights, length)

    def _add_nearest(self, meaning: Meaning) -> None:
        """Add the documents of the nearest chunks; they take part even if no word of theirs matches."""
        found = [store.nearest(meaning) for store in self.stores]
        self.nearest = found[0] if len(found) == 1 else found[0].united(found[1:])
        for document in self.nearest.documents:
            self.scored.setdefault(document, Scored())

    def _add_dates(self, boost: Boost) -> None:
        """Add date points to each match: at most ``best``, by how well the document's date matches."""
        near = self.nearest.documents if self.nearest is not None else {}
        for store in self.stores:
            for document, date, ended in store.dates(self.scored):
                candidate = self.scored[document]
                if candidate.word_points > 0 or document in near:
                    candidate.date_points = boost.match(date, ended) * self.best

    def _put_named_first(self) -> None:
        """Lift documents of the name that is asked for to the most points of all."""
        highest = max((candidate.points for candidate in self.scored.values()), default=0.0)
        for document in self._named:
            candidate = self.scored.setdefault(document, Scored())
            candidate.name_points = highest - candidate.points

    def _blend_meaning(self, meaning: Meaning, share: float, covered: float | None) -> None:
        """Replace the scores by their blend with meaning."""
        nearest = self.nearest
        assert nearest is not None
        weights: dict[int, float] = {}
        passages: dict[int, int] = {}
        for store in self.stores:
            for document, collection, _, count in store.lengths(self.scored):
                weights[document] = meaning.weights.get(collection, meaning.default)
                passages[document] = count
        points = {document: scored.match_points for document, scored in self.scored.items()}
        full = scoring.full_match(self.best, self.full)
        # A document that awaits its vector has words alone.
        matched = share if meaning.whole else scoring.OWN_WORDS
        parts = scoring.blend(points, full, nearest, weights, meaning.default, passages, matched)
        self.scores, self.full = {document: words + meant for document, (words, meant) in parts.items()}, 1.0
        self.scores.update(dict.fromkeys(self._named, max(self.scores.values(), default=0.0)))
        for document, near in nearest.documents.items():
            words, meant = parts[document]
            if meant > words:
                self._shown_by_meaning[document] = near
        if meaning.level is not None:
            cosine = nearest.best if nearest.documents else None
            self.evidence = scoring.evidence(
                share, self.passages, cosine, meaning.level, whole=meaning.whole, covered=covered
            )

    def _weigh(self) -> None:
        """Weigh the terms by how rare they are among the passages of all stores, and among their spans."""
        rows, pairs = self.passages or 1, list(zip(self.terms.count, self.frequencies, strict=True))
        self._weights = [count * scoring.idf(rows, frequency) for count, frequency in pairs]
        spans = rows * scoring.SPANS_IN_PASSAGE
        self._span_weights = [count * scoring.idf(spans, frequency) for count, frequency in pairs]
        # The points of a perfect match: a document, a passage and a span that match every term without end.
        self.full = (scoring.K1 + 1) * (2 * sum(self._weights) + sum(self._span_weights)) or 1.0
        self._held = {} if rows < scoring.FEW_PASSAGES else None

    def _count(self, store: Candidates, by_phrase: list[float]) -> list[float]:
        """Return how often a row of ``store`` has each term, from the same of each phrase."""
        counts = [0.0] * len(self._weights)
        for term, count in zip(store.terms, by_phrase, strict=True):
            counts[term] += count
        return counts

    def _candidate(self, document: int, counts: list[float]) -> Scored:
        """Return the points of a document that has a row with these ``counts`` of the terms."""
        if self._held is not None:
            self._held.setdefault(document, set()).update(index for index, each in enumerate(counts) if each)
        return self.scored.setdefault(document, Scored())

    # Results of ``rank``.

    def ranked(self) -> list[int]:
        """Return the candidates with a score, best first."""
        named, scored, scores = self._named, self.scored, self.scores
        # Documents of the name that is asked for come first, those that say the name most before the others.
        return sorted(
            (document for document, score in scores.items() if score > 0),
            key=lambda each: (each not in named, -scores[each], -scored[each].match_points, each),
        )

    def rarities(self) -> dict[str, float]:
        """Return how rare each term of the question is (0–1; 1: no passage has the term), by the term's name.

        Among fewer than ``scoring.FEW_PASSAGES``, it is the rarity of the term's rarest word in general.
        """
        if self._held is not None:
            from qmd.search.stems import RARITY, UNKNOWN

            pairs = zip(self.terms.term, self.terms.stems, strict=True)
            return {
                self.terms.names[term]: max(RARITY.get(stem, UNKNOWN) for stem in stems) / UNKNOWN
                for term, stems in reversed(list(pairs))
            }
        rows = self.passages or 1
        most = scoring.idf(rows, 0.0)
        found = zip(self.terms.names, self.frequencies, strict=True)
        return {name: scoring.idf(rows, frequency) / most for name, frequency in found}

    def facets(self, fields: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return (collection, month, how many, *fields) of all candidates (``catalogue.facets``). Raises apsw.Error."""
        return list(catalogue.facets(self._searcher.connection, self._filters, self.ranked(), fields))

    @property
    def has_all(self) -> bool:
        """Whether every document with a telling word of the question is a candidate."""
        return len(self.scored) < scoring.NOMINATED_DOCUMENTS

    def hits(self, *, parts: bool = False, limit: int = 0) -> list[Hit]:
        """Return the best documents that filters let through, ``limit`` if given, with ``parts`` of their scores."""
        ranked, limit, found = self.ranked(), limit or self._limit, list[Hit]()
        # Documents that the filters leave out were not nominated, except through a content they share.
        while ranked and len(found) < limit:
            window, ranked = ranked[:limit], ranked[limit:]
            there = {number: hit for store in self.stores for number, hit in store.hits(window).items()}
            found += [there[document] for document in window if document in there]
        del found[limit:]
        for hit in found:
            points, hit.score = self.scored[hit.id], min(1.0, self.scores[hit.id] / self.full)
            hit.passage, hit.token, hit.names = points.passage, points.token, self.terms.names
            hit.near = self._shown_by_meaning.get(hit.id)
            if parts:
                hit.parts = self.parts(hit.id)
        return found

    def parts(self, document: int) -> dict[str, float]:
        """Return the summands of a document's score, for people."""
        parts = self.scored[document].parts()
        if self.nearest is not None:
            near = self.nearest.documents.get(document)
            parts["cosine"] = round(near.cosine if near is not None else self.nearest.floor, 3)
            parts["blend"] = round(self.scores[document], 4)
        return parts
