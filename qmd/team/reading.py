"""A team's documents as a ranking reads them: the store on PostgreSQL behind ``qmd.search.search.Store``.

The server nominates (``migrations/0003.sql``), as FTS5 does on SQLite; what is nominated is scored by the same code as
documents of the index. A question takes four round trips: how many passages have its terms, the candidates, the facts
of those that are scored, and the rows that are shown. The first two run in a thread while the index is read.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

from core import jsonb
from core.config import EVIDENCE
from core.errors import BrainError, EngineMissing
from core.processes.within import Begun
from core.version import REDACTION
from qmd.index.catalogue import Filters
from qmd.index.schema import SPAN
from qmd.search import scoring
from qmd.search.search import Hit, Query
from qmd.team import failures
from qmd.team.vocabulary import DOCUMENT_TOKENS, PASSAGE_TOKENS, stem_key
from qmd.vectors import knn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from qmd.index.terms import Analyzer, Terms
    from qmd.search.search import Located, Placed
    from qmd.team.bounded import BoundedConnection
    from qmd.vectors.knn import Meaning, Nearest

# Ids of a team's documents begin here, so that they never are those of the index.
FIRST_ID = 1 << 60
# Rows that the index of vectors looks at before it gives up finding enough that the member may see.
_SCANNED = 40_000
# Passages that have a word to nominate by: up to so many, all are looked at.
_FEW = 4_000
# Seconds that closing waits for a statement under way.
_CLOSE_S = 1.0
_COLUMNS = (
    "d.id, u.owner, u.collection, u.trust, d.path, d.title, d.hash, d.date, d.ended, d.dated, d.fields::text, d.policy"
)


# No person wrote a synthetic document. A note may have a `parent`: only a session can be a subagent.
_WORKED_ON = (
    "d.fields -> 'synthetic' IS DISTINCT FROM 'true'"
    " AND (d.fields ->> 'parent' IS NULL OR d.fields ->> 'session_id' IS NULL)"
)
_HEX = frozenset("0123456789abcdef")
# The dates that have a text, from year 1 to year 9999, in epoch seconds.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799


class Away(EngineMissing):
    """The team's store gives no answer: the user's own documents have to do. Its exit code is that of the cause."""

    def __init__(self, cause: BrainError) -> None:
        super().__init__(cause.message, cause.fix or failures.AGAIN)
        self.code, self.error = cause.code, cause.error


class Unit:
    """One collection of one member: ``name`` is ``owner/collection``, ``code_share`` how much of it is code (0–1).

    ``trust`` is its owner's.

    ``pushed_at`` is when its owner last sent something, in epoch seconds; None if never.
    """

    __slots__ = ("code_share", "collection", "id", "name", "owner", "passages", "pushed_at", "trust")

    def __init__(
        self, id: int, owner: str, collection: str, trust: str, code_share: float, passages: int, pushed_at: int | None
    ) -> None:
        self.id, self.owner, self.collection, self.trust = id, owner, collection, trust
        self.name, self.code_share, self.passages = f"{owner}/{collection}", code_share, passages
        self.pushed_at = pushed_at


class TeamStore:
    """What other members share, over one connection (``qmd.search.search.Store``).

    One thread uses the connection at a time. Documents of ``without`` are left out: they are in the member's own index.
    ``evidence`` are members of whom everything is evidence only, ``known`` the collections that the configuration has.
    ``until`` (monotonic seconds) is when every method gives up. Each raises Away if the server fails or takes longer.
    """

    def __init__(
        self,
        connection: BoundedConnection,
        analyzer: Analyzer,
        *,
        without: str = "",
        evidence: Collection[str] = (),
        known: Collection[str] = (),
    ) -> None:
        self.connection, self.analyzer = connection, analyzer
        self.without, self._evidence, self._known = without, evidence, known
        self._lock = threading.Lock()
        self._units: list[Unit] | None = None
        self.until = float("inf")

    def ask_until(self, until: float) -> None:
        """Begin another question: what may be asked is looked up again, and every method gives up at ``until``."""
        self.until, self._units = until, None
        self.connection.until = until

    def close(self) -> None:
        """Close the connection, once no thread uses it; a statement that is late ends, and closes it, by itself."""
        if self._lock.acquire(timeout=_CLOSE_S):
            self.connection.close()
            self._lock.release()

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query."""
        try:
            return self.read_rows(query, *values)
        except BrainError as error:
            raise Away(error) from None

    def begin(self, task: Callable[[], None]) -> Callable[[], None]:
        """Begin a task that calls ``read_rows``; what is returned waits for the end of the task."""
        begun = Begun(task)

        def wait() -> None:
            try:
                begun.wait(min(self.until - time.monotonic(), threading.TIMEOUT_MAX), failures.LATE)
            except BrainError as error:
                raise Away(error) from None

        return wait

    def read_rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query. Raises BrainError, EngineTimeout at ``until``."""
        from psycopg import Error

        try:
            with self._lock:
                return self.connection.execute(query.encode(), values).fetchall()
        except Error as error:
            raise failures.translated(error) from None

    def units(self, filters: Filters | None = None, read: Callable[..., list[Any]] | None = None) -> list[Unit]:
        """Return what may be asked, of the collections of ``filters``; ``read`` is one of the methods below."""
        if self._units is None:
            query = (
                "SELECT id, owner, collection, trust, code_share, passages, extract(epoch FROM pushed_at)::bigint"
                " FROM units WHERE owner <> %s AND documents > 0"
            )
            self._units = [Unit(*row) for row in (read or self.rows)(query, self.without)]
        if filters is None or not filters.collections:
            return self._units
        more = filters.unnamed
        return [
            unit
            for unit in self._units
            if unit.collection in filters.collections
            or (more is not None and unit.collection not in self._known and more in ("", unit.trust))
        ]

    def candidates(self, filters: Filters, limit: int) -> TeamCandidates:
        """Return what a question reads."""
        return TeamCandidates(self, filters, limit)

    def newest(self, filters: Filters, limit: int, *, worked_on: bool = False) -> list[Hit]:
        """Return the documents that ended last; ``worked_on``: neither subagents' nor those that no person wrote."""
        condition, values = _condition(filters)
        condition += f" AND {_WORKED_ON}" if worked_on else ""
        return self._hits(f"{condition} ORDER BY d.ended DESC, d.id LIMIT {int(limit)}", filters, values)

    def statements(self, limit: int) -> list[Hit]:
        """Return what may hold decisions that still stand: notes and distillates, then sessions, the newest first."""
        condition = (
            "d.fields ->> 'superseded_by' IS NULL"
            " ORDER BY d.fields ? 'distiller' OR d.fields ->> 'source' = 'note' DESC, d.ended DESC, d.id"
        )
        return self._hits(f"{condition} LIMIT {int(limit)}", Filters(), ())

    def count(self, filters: Filters) -> dict[str, int]:
        """Return how many documents that people worked on each ``owner/collection`` has."""
        condition, values = _condition(filters)
        units = {unit.id: unit.name for unit in self.units(filters)}
        query = f"SELECT d.unit, count(*) FROM documents d WHERE d.unit = ANY (%s) AND {condition} AND {_WORKED_ON}"
        rows = self.rows(f"{query} GROUP BY 1", list(units), *values) if units else []
        return {units[unit]: count for unit, count in rows}

    def hits(self, filters: Filters, ids: Iterable[int]) -> list[Hit]:
        """Return documents of ``ids`` that the filters let through, without a score."""
        condition, values = _condition(filters)
        return self._hits(f"{condition} AND d.id = ANY (%s)", filters, (*values, list(ids)))

    def find(self, condition: str, *values: object) -> list[Hit]:
        """Return documents for which a condition over ``documents d JOIN units u`` holds."""
        query = f"SELECT {_COLUMNS} FROM documents d JOIN units u ON u.id = d.unit WHERE {condition}"
        return [self._hit(row) for row in self.rows(query, *values)]

    def read(self, hit: Hit) -> str:
        """Return the text of a hit, "" if it has gone meanwhile, and note its ``piece``."""
        found = self.rows("SELECT text, starts FROM documents WHERE id = %s", hit.id - FIRST_ID)
        if not found:
            return ""
        text, bounds = found[0][0], memoryview(bytes(found[0][1])).cast("I")
        place = hit.passage % SPAN
        if hit.near is not None:
            hit.piece = (hit.near.start, hit.near.end)
        elif hit.passage and place < len(bounds) - 1:
            hit.piece = (bounds[place], bounds[place + 1])
        elif len(bounds):
            hit.begin = bounds[0]
        return str(text)

    def texts(self, hits: Iterable[Hit], most_bytes: int) -> list[tuple[Hit, str]]:
        """Return hits with their texts: in this order, those that still fit into ``most_bytes``."""
        wanted = {hit.id - FIRST_ID: hit for hit in hits}
        sizes = dict(self.rows("SELECT id, octet_length(text) FROM documents WHERE id = ANY (%s)", list(wanted)))
        fitting: list[int] = []
        for document in wanted:
            if document in sizes and sizes[document] <= most_bytes:
                most_bytes -= sizes[document]
                fitting.append(document)
        found = dict(self.rows("SELECT id, text FROM documents WHERE id = ANY (%s)", fitting))
        return [(wanted[document], str(found[document])) for document in fitting if document in found]

    def _hits(self, condition: str, filters: Filters, values: Sequence[object]) -> list[Hit]:
        units = [unit.id for unit in self.units(filters)]
        return self.find(f"d.unit = ANY (%s) AND {condition}", units, *values) if units else []

    def _hit(self, row: Sequence[Any]) -> Hit:
        id, owner, collection, trust, path, title, digest, date, ended, dated, fields, policy = row
        # Another member wrote the row, and answers show both as they are.
        digest = digest if _HEX.issuperset(digest) else ""
        trust = trust if trust.isascii() and trust.isalpha() else EVIDENCE
        date, ended = (max(_FIRST, min(each, _LAST)) for each in (date, ended))
        row = (id + FIRST_ID, collection, path, title, digest, date, ended, dated, _packed(fields), policy)
        hit = Hit(row, 0.0)
        # A newer policy than this program's hides at least as much.
        hit.is_clean = policy >= REDACTION
        hit.store, hit.owner = self, owner
        hit.trust = EVIDENCE if owner in self._evidence else trust
        return hit


class TeamCandidates:
    """What one question reads of a team's documents (``qmd.search.search.Candidates``)."""

    if TYPE_CHECKING:
        terms: list[int]
        frequencies: list[float]
        named: Collection[int]

    def __init__(self, store: TeamStore, filters: Filters, limit: int) -> None:
        self._store, self._filters, self._limit = store, filters, limit
        self.total, self.named = 0, ()
        self._units: list[Unit] = []
        self._work: Callable[[], None] | None = None
        self._rows: list[Any] = []
        self._facts: dict[int, tuple[str, int, int, int, bool]] = {}

    def begin(self, terms: Terms, name: str, periods: list[tuple[int, int]]) -> None:
        """Have the server look for candidates."""
        self._phrases = [[stem_key(stem) for stem in stems] for stems in terms.stems]
        stems = [stem_key(stem) for _, _, stem in self._store.analyzer.offsets(name)]
        self._work = self._store.begin(lambda: self._nominate(terms, name, stems, periods))

    def _nominate(self, terms: Terms, name: str, name_stems: list[str], periods: list[tuple[int, int]]) -> None:
        store, filters = self._store, self._filters
        everything = store.units(read=store.read_rows)
        self._units = store.units(filters)
        ids = [unit.id for unit in everything]
        stems = sorted({stem for phrase in self._phrases for stem in phrase})
        # How rare a word is does not depend on the filters, as on SQLite.
        found = dict(
            store.read_rows(
                "SELECT stem, sum(passages)::bigint FROM terms WHERE stem = ANY (%s) AND unit = ANY (%s) GROUP BY 1",
                stems,
                ids,
            )
            if stems and ids
            else ()
        )
        query = Query(terms, [min(found.get(stem, 0) for stem in phrase) for phrase in self._phrases])
        self.terms, self.frequencies = query.terms, query.frequencies
        self._live = [self._phrases[index] for index in query.live]
        self._stems = sorted({stem for phrase in self._live for stem in phrase})
        if not ids or not self._units or not self._live:
            return
        within = None if len(self._units) == len(everything) else [unit.id for unit in self._units]
        self._rows = store.read_rows(
            "SELECT * FROM candidates(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            ids,
            within,
            json.dumps(self._live),
            self._stems,
            [query.live.index(index) + 1 for index in query.rare],
            scoring.TITLE_WEIGHT,
            scoring.INNER_WEIGHT,
            max(scoring.NOMINATED_PASSAGES, 2 * self._limit),
            max(scoring.NOMINATED_DOCUMENTS, self._limit),
            name,
            json.dumps(name_stems),
            json.dumps(periods),
            scoring.NOMINATED_BY_DATE,
            filters.since,
            filters.until,
            json.dumps([_test(*each) for each in filters.fields]),
            _FEW,
            PASSAGE_TOKENS,
            DOCUMENT_TOKENS,
        )
        self.named = [FIRST_ID + row[0] for row in self._rows if row[7]]
        if any(row[1] is not None for row in self._rows):
            self.total = sum(unit.passages for unit in everything)

    def passages(self) -> Placed:
        """Return the nominated passages, with the places of the terms."""
        self._wait()
        found: list[Located] = []
        homes: dict[int, list[int]] = {}
        for document, number, length, places, inner, *_ in self._rows:
            if number is not None:
                passage = (FIRST_ID + document) * SPAN + number
                homes[passage] = [FIRST_ID + document]
                own, parts = (dict(zip(self._stems, map(_numbers, texts), strict=True)) for texts in (places, inner))
                columns = [(_places(own, each), _places(parts, each)) for each in self._live]
                found.append((passage, length, self.total, columns))
        # Of equal passages the first counts, as in the index.
        found.sort(key=lambda row: row[0])
        return found, homes

    def documents(self) -> list[Located]:
        """Return the documents of passages, the nominated ones and those of the name asked for, with counts."""
        found: list[Located] = []
        for document, number, length, _, _, titles, bodies, _ in self._rows:
            if number is None:
                counts = [((), range(title), range(body)) for title, body in zip(titles, bodies, strict=True)]
                found.append((FIRST_ID + document, length, self.total, counts))
        return found

    def nearest(self, meaning: Meaning) -> Nearest:
        """Find what is near by meaning, in the space of the question's vector."""
        self._wait()
        if meaning.weigh is not None:
            meaning.weights.update({unit.name: meaning.weigh(unit.code_share) for unit in self._units})
        units = [unit.id for unit in self._units]
        found = self._store.rows(
            "SELECT s.id, (SELECT coalesce(sum(c.vectors), 0)::bigint FROM vector_counts c"
            " WHERE c.space = s.id AND c.unit = ANY (%s))"
            " FROM spaces s WHERE (s.fingerprint, s.layout, s.dimensions) = (%s, %s, %s)"
            " ORDER BY (s.provider, s.model) = (%s, %s) DESC, s.id LIMIT 1",
            units,
            meaning.space.fingerprint,
            meaning.space.layout,
            meaning.space.dimensions,
            meaning.space.provider,
            meaning.space.model,
        )
        if not found or not found[0][1]:
            return knn.Nearest({}, 0.0)
        return self._nearest(int(found[0][0]), int(found[0][1]), units, meaning)

    def _nearest(self, space: int, count: int, units: list[int], meaning: Meaning) -> Nearest:
        dimensions = int(meaning.space.dimensions)
        depth = knn.depth(-(-count // knn.BLOCK), self._limit)
        filters = self._filters
        found = self._store.rows(
            "SELECT * FROM nearest(%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            space,
            dimensions,
            f"[{','.join(map(str, memoryview(meaning.vector()).cast('b')))}]",
            units,
            depth,
            _SCANNED,
            filters.since,
            filters.until,
            json.dumps([_test(*each) for each in filters.fields]),
        )
        last = {row[0]: row[6] for row in found if row[6] is not None}
        chunks = {(FIRST_ID + row[0]) * SPAN + row[1]: row for row in found}
        nearest = knn.gather(
            [(chunk, row[5]) for chunk, row in chunks.items()],
            [(FIRST_ID + document, FIRST_ID + document, kind) for document, kind in last.items()],
            {chunk: row[2] for chunk, row in chunks.items()},
        )
        for near in nearest.documents.values():
            near.start, near.end = chunks[near.chunk][3:5]
        return nearest

    def dates(self, ids: Collection[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (id, date, ended) of those of ``ids`` with a date of their own."""
        for id, (_, _, date, ended, dated) in self._read_facts(ids):
            if dated:
                yield id, date, ended

    def lengths(self, ids: Collection[int]) -> Iterator[tuple[int, str, int, int]]:
        """Yield (id, ``owner/collection``, 0, number of passages) of those of ``ids`` that are a team's."""
        for id, (collection, passages, *_) in self._read_facts(ids):
            yield id, collection, 0, passages

    def hits(self, ids: Collection[int]) -> dict[int, Hit]:
        """Return those of ``ids`` that are a team's as hits without a score."""
        wanted = [id - FIRST_ID for id in ids if id >= FIRST_ID]
        return {hit.id: hit for hit in self._store.hits(self._filters, wanted)} if wanted else {}

    def _read_facts(self, ids: Collection[int]) -> Iterator[tuple[int, tuple[str, int, int, int, bool]]]:
        wanted = [id - FIRST_ID for id in ids if id >= FIRST_ID and id not in self._facts]
        if wanted:
            names = {unit.id: unit.name for unit in self._units}
            query = "SELECT id, unit, passages, date, ended, dated FROM documents WHERE id = ANY (%s)"
            for id, unit, *rest in self._store.rows(query, wanted):
                self._facts[id + FIRST_ID] = (names.get(unit, ""), max(1, rest[0]), *rest[1:])
        for id in ids:
            if id in self._facts:
                yield id, self._facts[id]

    def _wait(self) -> None:
        if self._work is not None:
            work, self._work = self._work, None
            work()


def _packed(fields: str) -> bytes:
    """Return a document's frontmatter as JSONB, without any if it is too deep, or has a number that is too large."""
    try:
        return jsonb.pack(json.loads(fields))
    except (ValueError, RecursionError):
        return jsonb.pack({})


def _numbers(text: str) -> list[int]:
    """Return the positions that a tsvector's text has of one lexeme; a letter behind one is its weight."""
    return [int(each.rstrip("ABC")) for each in text.split(",")] if text else []


def _places(positions: dict[str, list[int]], phrase: Sequence[str]) -> list[int]:
    """Return the places (from 0) at which a phrase begins."""
    first, *others = (positions.get(stem, ()) for stem in phrase)
    following = [frozenset(each) for each in others]
    return [at - 1 for at in first if all(at + place in each for place, each in enumerate(following, 1))]


def _condition(filters: Filters) -> tuple[str, list[object]]:
    """Return what filters say of dates and fields, over ``documents d``, and its values."""
    clauses: list[str] = []
    values: list[object] = []
    if filters.since is not None:
        clauses.append("d.ended >= %s")
        values.append(filters.since)
    if filters.until is not None:
        clauses.append("d.date < %s")
        values.append(filters.until)
    if filters.fields:
        clauses.append("holds(d.fields, %s)")
        values.append(json.dumps([_test(*each) for each in filters.fields]))
    return " AND ".join(clauses) or "true", values


def _test(name: str, operator: str, value: str) -> tuple[str, str, str]:
    """Return a test of ``Filters.fields`` as ``holds`` takes it: a GLOB is a regular expression of PostgreSQL."""
    if operator == "=":
        return name, operator, value
    pattern, place = "", 0
    while place < len(value):
        mark, end = value[place], value.find("]", place + 2)
        if mark == "[" and end > 0:
            body = value[place + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            pattern += f"[{body}]"
            place = end
        else:
            pattern += {"*": ".*", "?": "."}.get(mark, mark if mark.isalnum() else f"\\{mark}")
        place += 1
    return name, "/~" if value.startswith("*/") else "~", f"^{pattern}$"
