"""Lexical retrieval: nominate documents and passages by FTS5's BM25, then score the few nominated at three scales.

FTS5 gives its terms an inverse document frequency that is clamped for common ones and differs between documents and
passages; scoring the nominated rows ourselves uses one unclamped weight for all three scales. No text is read for it:
an auxiliary function hands out the positions that the index holds (https://sqlite.org/fts5.html#extending_fts5).
"""

from __future__ import annotations

import apsw

from qmd.index.schema import content_of
from qmd.search import snippet
from qmd.search.answers import COLUMNS, Explanation, Filters, Hit, Scored
from qmd.search.scoring import FEW_PASSAGES, K1, SPANS_IN_PASSAGE, TITLE_WEIGHT, best_span, bm25, idf
from qmd.search.terms import Analyzer, Terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from qmd.search.parallel_read import Beside
    from qmd.vectors.knn import Meaning, Near, Nearest

    class Boost(Protocol):
        """What lifts documents by their date: periods to look at, and how well a document matches (0–1)."""

        @property
        def periods(self) -> list[tuple[int, int]]: ...
        def match(self, date: int, ended: int) -> float: ...


_DOCUMENTS = 30
_PASSAGES = 60
_DATED = 500
# Rows that the nominating terms may match together; the rarest terms come first, and one is always taken.
_ROW_BUDGET = 12_000


class Searcher:
    """Any number of searches over one connection.

    What does not depend on the rest is looked for by ``beside`` at the same time. Of the last search: ``share`` is what
    its best document has of what endless matches of every term would give, ``passages`` how many there are to search,
    ``cosine`` the nearest chunk's (None where no vector took part), ``covered`` what
    ``qmd.search.common.covered`` gives (None where there are passages enough to tell what is rare).
    """

    # SQLite's cached statements go on calling the function that was registered first under a name: each searcher has
    # a name of its own.
    _made = 0

    def __init__(self, connection: apsw.Connection, beside: Beside | None = None) -> None:
        self.connection = connection
        self.beside = beside
        self.analyzer = Analyzer(connection)
        self.rows: list[tuple[int, float, int, Any]] = []
        self._named: set[int] = set()
        self.share = 0.0
        self.passages = 0
        self.cosine: float | None = None
        self.covered: float | None = None
        Searcher._made += 1
        self.function = f"brain_positions_{Searcher._made}"
        connection.register_fts5_function(self.function, self._collect)

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
        """The best ``limit`` documents, best first; equal scores fall in the order they were indexed.

        ``strict`` is qmd's ANDed language. ``boost`` lifts documents by date; ``drop`` is the part of the question
        that named the date, which is no term unless nothing else remains. With ``meaning``, words and vectors are
        blended; ``vec0`` must be loaded then. Raises apsw.Error.
        """
        if strict:
            from qmd.search import strict_search

            return strict_search.search(self.connection, question, limit, filters)
        ranking = _Search(self, filters, limit)
        ranking.rank(question, boost, drop, meaning)
        self.share, self.passages, self.cosine = ranking.share, ranking.passages, ranking.cosine
        self.covered = ranking.covered
        return ranking.hits(limit)

    def newest(self, *, limit: int, filters: Filters) -> list[Hit]:
        """The documents that the filters let through, the latest first: a walk through time, no search."""
        condition, bindings = filters.sql()
        rows = self.connection.execute(
            f"SELECT {COLUMNS} FROM documents d JOIN brain_facts f ON f.document_id = d.id"
            f" WHERE {condition} ORDER BY f.ended DESC, d.id LIMIT ?",
            (*bindings, limit),
        ).fetchall()
        hits = [Hit(row, 1.0, {}) for row in rows]
        for hit in hits:
            snippet.fill(self.connection, self.analyzer, hit, Scored())
        return hits

    def explain(
        self, question: str, document: int, *, filters: Filters, boost: Boost | None = None, drop: str = ""
    ) -> Explanation:
        """How ``document`` fares with ``question``, whether or not it would be nominated. Raises apsw.Error."""
        ranking = _Search(self, filters, watched=document)
        ranking.rank(question, boost, drop)
        return ranking.explanation(document)

    def _collect(self, api: apsw.FTS5ExtensionApi, *_: object) -> None:
        average = api.column_total_size(-1) / max(1, api.row_count)
        places = [api.phrase_locations(index) for index in range(api.phrase_count)]
        self.rows.append((api.rowid, api.column_size(-1) / max(1.0, average), api.row_count, places))


class _Search:
    """One ranked search; ``watched`` is a document that is scored even where it is not nominated."""

    def __init__(self, searcher: Searcher, filters: Filters, limit: int = 0, watched: int = 0) -> None:
        self._watched = watched
        self._limit = limit
        self._watched_counts: list[float] = []
        self._nominated = True
        self._scored: dict[int, Scored] = {}
        self._ceiling = 1.0
        self._terms = Terms()
        self._weights: list[float] = []
        self._frequencies: list[float] = []
        self._connection = searcher.connection
        self._beside = searcher.beside
        self._analyzer = searcher.analyzer
        self._positions = searcher.rows
        self._function = searcher.function
        self._filters = filters
        self._only_documents, self._only_passages, self._bindings = self._restriction()
        self.share = 0.0
        self.passages = 0
        self.cosine: float | None = None
        self.covered: float | None = None
        self._nearest: Nearest | None = None
        self._blend: dict[int, float] | None = None
        self._shown_by_meaning: dict[int, Near] = {}

    def rank(self, question: str, boost: Boost | None, drop: str, meaning: Meaning | None = None) -> None:
        """Nominate and score."""
        self._terms = self._analyzer.analyze(question, drop)
        if drop and self._terms.only_stop_words:
            self._terms = self._analyzer.analyze(question)  # the date was all there is to look for: its words, then
        self._named = self._of_that_name(question)
        self._score(self._dated(boost) if boost is not None else set())
        top = max((candidate.lexical for candidate in self._scored.values()), default=0.0)
        self.share = top / self._ceiling
        if meaning is not None:
            self._near(meaning)
        if boost is not None and self._scored:
            self._lift(boost, top)
        highest = max((candidate.sum for candidate in self._scored.values()), default=0.0)
        for document in self._named:
            candidate = self._scored.setdefault(document, Scored())
            candidate.name = highest - candidate.sum
        if meaning is not None:
            self._fuse(meaning, top)

    def _near(self, meaning: Meaning) -> None:
        """The documents whose chunks are nearest; they take part whether or not a word of theirs matches."""
        self._nearest = nearest = meaning.nearest(
            self._connection, self._filters, restricted=bool(self._only_documents)
        )
        if nearest.documents:
            self.cosine = nearest.best
        for document in nearest.documents:
            self._scored.setdefault(document, Scored())

    def _fuse(self, meaning: Meaning, top: float) -> None:
        from qmd.search.blend import blend, full

        nearest = self._nearest
        if nearest is None:
            return
        weights: dict[int, float] = {}
        passages: dict[int, int] = {}
        for document, collection, count in self._connection.execute(
            "SELECT d.id, d.collection, ifnull(length(c.starts) / 4 - 1, 1) FROM documents d LEFT JOIN brain_contents c"
            f" ON c.hash = d.hash WHERE d.id IN ({','.join(map(str, self._scored))})"
        ):
            weights[document] = meaning.weights.get(collection, meaning.default)
            passages[document] = count
        lexical = {document: scored.lexical + scored.date for document, scored in self._scored.items()}
        parts = blend(lexical, full(top, self._ceiling), nearest, weights, meaning.default, passages)
        self._blend = {document: words + meant for document, (words, meant) in parts.items()}
        highest = max(self._blend.values(), default=0.0)
        self._blend.update(dict.fromkeys(self._named, highest))
        for document, near in nearest.documents.items():
            words, meant = parts[document]
            if meant > words:
                self._shown_by_meaning[document] = near

    def _lift(self, boost: Boost, top: float) -> None:
        """Add to what matches up to as much again as the best has, by how well its date matches."""
        near = self._nearest.documents if self._nearest is not None else {}
        for document, date, ended in self._connection.execute(
            "SELECT document_id, date, ended FROM brain_facts WHERE dated = 1"
            f" AND document_id IN ({','.join(map(str, self._scored))})"
        ):
            candidate = self._scored[document]
            if candidate.lexical > 0 or document in near:
                candidate.date = boost.match(date, ended) * top

    def hits(self, limit: int) -> list[Hit]:
        """The best ``limit`` documents that the filters let through."""
        condition, bindings = self._filters.sql()
        ranked = self._ranked()
        found: list[Hit] = []
        # Documents that the filters leave out were not nominated, except through a content they share.
        for start in range(0, len(ranked), limit):
            window = ranked[start : start + limit]
            rows = {
                row[0]: row
                for row in self._connection.execute(
                    f"SELECT {COLUMNS} FROM documents d JOIN brain_facts f ON f.document_id = d.id"
                    f" WHERE d.id IN ({','.join(map(str, window))}) AND {condition}",
                    bindings,
                )
            }
            found += [
                Hit(rows[document], self._score_of(document), self._parts(document))
                for document in window
                if document in rows
            ]
            if len(found) >= limit:
                break
        del found[limit:]
        for hit in found:
            near = self._shown_by_meaning.get(hit.document_id)
            snippet.fill(self._connection, self._analyzer, hit, self._scored[hit.document_id], self._terms.names, near)
        return found

    def explanation(self, document: int) -> Explanation:
        """What is known of the watched document after ``rank``."""
        result = Explanation()
        ranked = self._ranked()
        result.candidates = len(ranked)
        result.nominated = self._nominated
        if document in ranked:
            result.rank = ranked.index(document) + 1
            result.score = self._scored[document].total(self._ceiling)
            result.parts = self._scored[document].parts()
        counts = self._watched_counts or [0.0] * len(self._terms.count)
        for index, name in enumerate(self._terms.names):
            result.terms.append(
                {
                    "term": name,
                    "passages": int(self._frequencies[index]) if self._frequencies else 0,
                    "weight": round(self._weights[index], 3) if self._weights else 0.0,
                    "in_document": int(counts[index]),
                }
            )
        return result

    def _score_of(self, document: int) -> float:
        if self._blend is not None:
            return min(1.0, self._blend[document])
        return self._scored[document].total(self._ceiling)

    def _parts(self, document: int) -> dict[str, float]:
        parts = self._scored[document].parts()
        if self._blend is not None and self._nearest is not None:
            near = self._nearest.documents.get(document)
            parts["cosine"] = round(near.cosine if near is not None else self._nearest.floor, 3)
            parts["blend"] = round(self._blend[document], 4)
        return parts

    def _ranked(self) -> list[int]:
        blend = self._blend
        if blend is not None:
            return sorted((each for each, score in blend.items() if score > 0), key=self._order(blend.__getitem__))
        found = [document for document, candidate in self._scored.items() if candidate.sum > 0]
        return sorted(found, key=self._order(lambda each: self._scored[each].sum))

    def _order(self, score: Callable[[int], float]) -> Callable[[int], tuple[bool, float, float, int]]:
        """Documents of the name that is asked for first, those that say it most before the others."""
        named, scored = self._named, self._scored
        return lambda each: (each not in named, -score(each), -(scored[each].lexical + scored[each].date), each)

    def _of_that_name(self, question: str) -> set[int]:
        """Return the documents whose title is the question or ends with it behind a dot, if that is a single name.

        A name without other words asks for what has the name, not for what mentions it most.
        """
        name = question.removesuffix("()")
        if not _is_name(name):
            return set()
        condition, bindings = self._filters.sql()
        titles: list[Any] = self._connection.execute(
            "SELECT d.id, d.title = ? FROM documents d JOIN brain_facts f ON f.document_id = d.id"
            " WHERE d.id IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)"
            f" AND (d.title = ? OR substr(d.title, ?) = ?) AND {condition} ORDER BY 2 DESC LIMIT {_DOCUMENTS}",
            (name, f'title : "{name}"', name, -len(name) - 1, f".{name}", *bindings),
        ).fetchall()
        return {document for document, same in titles if same} or {document for document, _ in titles}

    def _restriction(self) -> tuple[str, str, list[Any]]:
        """The filters as conditions on the rowids of documents_fts and of brain_passages; none where all may answer."""
        if not self._filters.restrict(self._connection):
            return "", "", []
        condition, bindings = self._filters.sql()
        source = f"FROM documents d JOIN brain_facts f ON f.document_id = d.id WHERE {condition}"
        # The unary plus keeps SQLite from running the match once for each id.
        documents = f" AND +rowid IN (SELECT d.id {source})"
        contents = (
            f" AND +{content_of('brain_passages.rowid')} IN"
            f" (SELECT c.id FROM brain_contents c WHERE c.hash IN (SELECT d.hash {source}))"
        )
        return documents, contents, bindings

    def _dated(self, boost: Boost) -> set[int]:
        """Documents of the days that the question names, the newest first, for nomination; at most 500."""
        condition, bindings = self._filters.sql()
        found: set[int] = set()
        for since, until in boost.periods:
            found.update(
                document
                for (document,) in self._connection.execute(
                    "SELECT d.id FROM brain_facts f JOIN documents d ON d.id = f.document_id"
                    f" WHERE f.ended >= ? AND f.date < ? AND f.dated = 1 AND {condition}"
                    f" ORDER BY f.ended DESC LIMIT {_DATED - len(found)}",
                    (since, until, *bindings),
                )
            )
        return found

    def _score(self, dated: set[int]) -> None:
        terms = self._terms
        known = [self._frequency(stems) for stems in terms.stems]
        live = [index for index, frequency in enumerate(known) if frequency] or list(range(len(known)))
        if not live:
            return
        nominating, match = self._expressions(terms, known, live)
        skip = match[1]
        found = self._begin("documents_fts", nominating, max(_DOCUMENTS, self._limit), self._only_documents)
        passages = self._nominate("brain_passages", nominating, max(_PASSAGES, 2 * self._limit), self._only_passages)
        documents: set[int] = set()
        if dated:
            among = ",".join(map(str, dated))
            documents = self._nominate(
                "documents_fts", nominating, _DOCUMENTS, f" AND +rowid IN ({among})", bound=False
            )
            passages |= self._nominate(
                "brain_passages",
                nominating,
                _PASSAGES,
                f" AND +{content_of('brain_passages.rowid')} IN"
                " (SELECT c.id FROM brain_contents c JOIN documents d ON d.hash = c.hash"
                f" WHERE d.id IN ({among}))",
                bound=False,
            )
        homes = self._homes(passages)
        documents.update(document for at in homes.values() for document in at)
        if self._watched:
            own = self._passages_of(self._watched)
            passages |= own
            homes.update(self._homes(own))

        rows = self._locate("brain_passages", match[0], passages)
        documents |= found() | self._named
        if self._watched:
            self._nominated = self._watched in documents
            documents.add(self._watched)
        total = rows[0][2] if rows else 1
        self.passages = total if rows else 0
        frequencies = [0.0] * len(terms.count)
        for term, frequency in zip(terms.term, known, strict=True):
            frequencies[term] += frequency
        weights = [count * idf(total, f) for count, f in zip(terms.count, frequencies, strict=True)]
        narrow = [count * idf(total * SPANS_IN_PASSAGE, f) for count, f in zip(terms.count, frequencies, strict=True)]
        of_phrase = [terms.term[index] for index in live]
        self._weights, self._frequencies = weights, frequencies
        self._ceiling = (K1 + 1) * (2 * sum(weights) + sum(narrow)) or 1.0
        scored = self._scored
        held: dict[int, set[int]] | None = {} if total < FEW_PASSAGES else None
        for rowid, length, _, places in rows:
            matches = sorted(
                (position, term)
                for term, columns in zip(of_phrase, places[skip:], strict=True)
                for position in columns[0]
            )
            counts = [0.0] * len(terms.count)
            for _, term in matches:
                counts[term] += 1
            for term, columns in zip(of_phrase, places[skip:], strict=True):
                counts[term] += len(columns[1])
            whole = bm25(counts, weights, length)
            span, token, _ = best_span(matches, narrow) if matches else (0.0, -1, -1)
            for document in homes.get(rowid, ()):
                candidate = scored.setdefault(document, Scored())
                if whole + span > candidate.best:
                    candidate.best, candidate.passage, candidate.token = whole + span, rowid, token
                candidate.passage_score = max(candidate.passage_score, whole)
                candidate.span = max(candidate.span, span)
                if held is not None:
                    held.setdefault(document, set()).update(index for index, each in enumerate(counts) if each)
        for document, length, _, places in self._locate("documents_fts", match[0], documents):
            counts = [0.0] * len(terms.count)
            for term, (_, title, body) in zip(of_phrase, places[skip:], strict=True):
                counts[term] += TITLE_WEIGHT * len(title) + len(body)
            scored.setdefault(document, Scored()).document = bm25(counts, weights, length)
            if document == self._watched:
                self._watched_counts = counts
            if held is not None:
                held.setdefault(document, set()).update(index for index, each in enumerate(counts) if each)
        if held is not None:
            from qmd.search.common import covered

            self.covered = covered(terms.stems, terms.term, terms.count, list(held.values()))

    def _frequency(self, stems: list[str]) -> int:
        """How many passages have a phrase: for several words, at most as many as have the rarest."""
        return min(
            self._connection.execute("SELECT doc FROM brain_terms WHERE term = ?", (stem,)).get or 0 for stem in stems
        )

    def _expressions(self, terms: Terms, known: list[int], live: list[int]) -> tuple[str, tuple[str, int]]:
        """The nominating expression; the full one, with how many of its first phrases only steer."""
        rare: list[int] = []
        spent = 0
        for index in sorted(live, key=known.__getitem__):
            if rare and spent + known[index] > _ROW_BUDGET:
                break
            rare.append(index)
            spent += known[index]
        nominating = " OR ".join(terms.phrases[index] for index in rare)
        full = " OR ".join(terms.phrases[index] for index in live)
        if len(rare) == len(live):
            return nominating, (full, 0)
        return nominating, (f"({nominating}) AND ({full})", len(rare))

    def _nominate(self, table: str, match: str, depth: int, only: str, bound: bool = True) -> set[int]:
        return _best(self._connection, table, match, depth, only, self._bindings if only and bound else ())

    def _begin(self, table: str, match: str, depth: int, only: str) -> Callable[[], set[int]]:
        """The same, by the other connection where that is free in time; what is returned gives the rows."""
        bindings = self._bindings if only else ()

        def best(connection: apsw.Connection) -> set[int]:
            return _best(connection, table, match, depth, only, bindings)

        later = None
        if self._beside is not None:
            from qmd.search.parallel_read import Later

            later = Later(self._beside, best)

        def found() -> set[int]:
            there: set[int] | None = later.outcome() if later is not None else None
            return best(self._connection) if there is None else there

        return found

    def _locate(self, table: str, match: str, ids: set[int]) -> list[tuple[int, float, int, Any]]:
        """(rowid, length relative to the average, rows of the table, positions by phrase and column)."""
        if not ids:
            return []
        self._positions.clear()
        among = ",".join(map(str, ids))
        self._connection.execute(
            f"SELECT {self._function}({table}) FROM {table} WHERE {table} MATCH ? AND +rowid IN ({among})", (match,)
        ).fetchall()
        rows = list(self._positions)
        self._positions.clear()
        return rows

    def _homes(self, passages: set[int]) -> dict[int, list[int]]:
        """The active documents that have each passage."""
        homes: dict[int, list[int]] = {}
        for passage, document in self._connection.execute(
            f"SELECT p.value, d.id FROM json_each(?) p JOIN brain_contents c ON c.id = {content_of('p.value')}"
            " JOIN documents d ON d.hash = c.hash AND d.active = 1",
            (f"[{','.join(map(str, passages))}]",),
        ):
            homes.setdefault(passage, []).append(document)
        return homes

    def _passages_of(self, document: int) -> set[int]:
        row = self._connection.execute(
            "SELECT c.id, length(c.starts) / 4 - 1 FROM brain_contents c JOIN documents d ON d.hash = c.hash"
            " WHERE d.id = ?",
            (document,),
        ).fetchone()
        return set(range(row[0], row[0] + row[1])) if row else set()


def _is_name(text: str) -> bool:
    """Return True for an identifier, also one that dots qualify."""
    return all(part.isidentifier() for part in text.split("."))


def _best(
    connection: apsw.Connection, table: str, match: str, depth: int, only: str, bindings: Sequence[Any]
) -> set[int]:
    """The ``depth`` rows of ``table`` that match best; ``only`` is SQL that restricts them."""
    # filepath does not count; a passage's inner words count half of its body.
    weights = f"0, {TITLE_WEIGHT}, 1" if table == "documents_fts" else "1, 0.5"
    return {
        rowid
        for (rowid,) in connection.execute(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ?{only} ORDER BY bm25({table}, {weights}) LIMIT {depth}",
            (match, *bindings),
        )
    }
