"""The nearest chunks of a space to a question's vector, and the documents that they are of."""

from __future__ import annotations

from qmd.index.schema import SPAN
from qmd.index.semantic import spaces, vectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import apsw

    from qmd.index.catalogue import Filters
    from qmd.index.semantic.spaces import Space

# Chunks that are looked at: enough that a document's best one is among them wherever the document matters. vec0 finds
# the k nearest of n in time k × n: of many, half as many do (docs/retrieval.md).
DEPTH = 200
DEPTH_OF_MANY = 100
# A vec0 table keeps its vectors in blocks; those of a space with more than these are many.
BLOCK = 1024
_FEW_BLOCKS = 4
# Chunks looked at for each document that is wanted, and the most that vec0 gives.
_EACH = 2
_MOST = 4096


class Near:
    """How near a document is: ``cosine``, the mean of those of its nearest piece and its nearest exchange.

    ``chunk`` is the nearest of all; ``start`` and ``end`` are its place (characters), once ``place`` has filled them
    in.
    """

    __slots__ = ("best", "chunk", "cosine", "end", "start")

    def __init__(self, cosine: float, best: float, chunk: int) -> None:
        self.cosine = cosine
        self.best = best
        self.chunk = chunk
        self.start = 0
        self.end = 0


class Nearest:
    """Documents by id, and the least cosine that was looked at: those left out lie below it.

    ``top`` is the highest cosine of a document, ``best`` that of a chunk.
    """

    __slots__ = ("best", "documents", "floor", "top")

    def __init__(self, documents: dict[int, Near], floor: float) -> None:
        self.documents = documents
        self.floor = floor
        self.top = max((near.cosine for near in documents.values()), default=floor)
        self.best = max((near.best for near in documents.values()), default=floor)

    def united(self, others: Sequence[Nearest]) -> Nearest:
        """Return what is nearest here and in the stores of ``others``: what any of them left out lies below it."""
        floor = max(each.floor for each in (self, *others) if each.documents or each is self)
        found = {document: near for each in (self, *others) for document, near in each.documents.items()}
        return Nearest({document: near for document, near in found.items() if near.best >= floor}, floor)


class Look:
    """A search for ``chunks``, for a process that has the vectors of ``index`` in memory.

    ``among`` and ``bindings`` select the chunks that it may find, "" all; ``limit`` documents are wanted.
    """

    __slots__ = ("among", "bindings", "index", "limit", "space")

    def __init__(self, connection: apsw.Connection, space: Space, filters: Filters, limit: int) -> None:
        self.index = str(connection.filename)
        self.limit = limit
        self.space = space
        self.among, self.bindings = vectors.chunk_ids(space, filters) if filters.restrict(connection) else ("", [])


class Meaning:
    """A question's ``vector`` (int8 of length 127) in a space, and what it counts (0–1) in each collection, ``default``
    in the others; ``limit`` documents are wanted.

    ``level`` is the cosine that questions without an answer reach, None if it is not known; ``whole``: every document
    has its vectors; ``by_model``: the model itself encoded the question, not a table fitted to it.

    Words are searched first, so that others can look up meanwhile what is near: ``found`` gives it (as ``chunks``), or
    None where it is to be looked up by whoever asks. ``weigh`` gives what meaning counts in a collection of another
    store, by its share of code; None if meaning counts the same in all.
    """

    __slots__ = ("_found", "_limit", "by_model", "default", "level", "space", "vector", "weigh", "weights", "whole")

    def __init__(
        self,
        space: Space,
        vector: Callable[[], bytes],
        weights: dict[str, float],
        default: float,
        limit: int,
        found: Callable[[], list[tuple[int, float]] | None] | None = None,
    ) -> None:
        self.space = space
        self._limit = limit
        self.weights = weights
        self.default = default
        self.vector = vector
        self._found = found
        self.weigh: Callable[[float], float] | None = None
        self.level: float | None = None
        self.whole, self.by_model = True, False

    def nearest(self, connection: apsw.Connection, filters: Filters, *, restricted: bool) -> Nearest:
        """Return ``nearest`` of the vector. Raises apsw.Error, EngineMissing if ``vec0`` is needed and missing."""
        found = self._found() if self._found is not None else None
        if found is None:
            spaces.load(connection)
            found = chunks(connection, self.space, self.vector(), filters, restricted, self._limit)
        return documents(connection, found, filters)


def nearest(
    connection: apsw.Connection, space: Space, vector: bytes, filters: Filters, limit: int, *, restricted: bool = True
) -> Nearest:
    """Return the documents nearest to ``vector`` (int8, of length 127) among those that ``filters`` let through.

    ``limit`` documents are wanted; ``restricted`` is False if the filters let all through. Raises apsw.Error; ``vec0``
    must be loaded.
    """
    return documents(connection, chunks(connection, space, vector, filters, restricted, limit), filters)


def enough(
    connection: apsw.Connection, space: Space, vector: bytes, filters: Filters, limit: int, *, restricted: bool
) -> Nearest:
    """Return ``nearest``, of twice as many chunks each time until ``limit`` documents are found.

    Stop once all chunks were looked at, or as many as vec0 gives. Raises as ``nearest`` does.
    """
    most = _depth(connection, space, limit)
    while True:
        looked = _chunks(connection, space, vector, filters, restricted, most)
        found = documents(connection, looked, filters)
        if len(found.documents) >= limit or len(looked) < most or most == _MOST:
            return found
        most = min(2 * most, _MOST)


def documents(connection: apsw.Connection, chunks: Sequence[tuple[int, float]], filters: Filters) -> Nearest:
    """Return the documents of ``chunks``, as far as ``filters`` let them through. Raises apsw.Error.

    The chunks are (id, L2 distance of vectors of length 127), nearest first.
    """
    rows = vectors.documents_of(connection, dict.fromkeys(chunk // SPAN for chunk, _ in chunks), filters)
    kinds: Any = ()
    if any(last == spaces.EXCHANGE for _, _, last in rows):
        kinds = connection.execute(
            f"SELECT id, kind FROM brain_chunks WHERE id IN ({','.join(str(chunk) for chunk, _ in chunks)})"
        )
    return gather(chunks, rows, dict(kinds))


def gather(
    chunks: Sequence[tuple[int, float]], rows: Sequence[tuple[int, int, int]], kind_of: dict[int, int]
) -> Nearest:
    """Return the documents of ``chunks``, nearest first: (id, distance) as for ``documents``.

    ``rows`` are (cut, document, kind of the cut's last chunk), ``kind_of`` has the kinds of chunks.
    """
    if not chunks:
        return Nearest({}, 0.0)
    found = [(chunk, _cosine(distance)) for chunk, distance in chunks]
    floor = found[-1][1]
    first: dict[int, tuple[int, float]] = {}
    for chunk, cosine in found:
        first.setdefault(chunk // SPAN, (chunk, cosine))
    # A chunk that is not among the nearest is no nearer than the last of them: no more is known.
    scales = {cut: [floor, floor] for cut, _, last in rows if last == spaces.EXCHANGE}
    for chunk, cosine in reversed(found):
        if chunk // SPAN in scales and chunk in kind_of:
            scales[chunk // SPAN][kind_of[chunk] == spaces.EXCHANGE] = cosine
    nearest: dict[int, Near] = {}
    for cut, document, _ in rows:
        chunk, cosine = first[cut]
        mean = sum(scales[cut]) / 2 if cut in scales else cosine
        if document not in nearest or nearest[document].best < cosine:
            nearest[document] = Near(mean, cosine, chunk)
    return Nearest(nearest, floor)


def place(connection: apsw.Connection, near: Near) -> None:
    """Fill in the chunk's place. Raises apsw.Error."""
    near.start, near.end = vectors.span(connection, near.chunk) or (near.start, near.end)


def scan(
    connection: apsw.Connection,
    space: Space,
    vector: bytes,
    limit: int,
    only: str = "",
    bindings: Sequence[Any] = (),
) -> list[tuple[int, float]]:
    """Return (chunk, L2 distance) of the ``limit`` nearest of all vectors, nearest first. Raises apsw.Error.

    ``only`` is SQL that restricts them, ``bindings`` its parameters.
    """
    rows: Any = connection.execute(
        f'SELECT rowid, distance FROM "{space.table}" WHERE embedding MATCH vec_int8(?) AND k = ?{only}',
        (vector, limit, *bindings),
    ).fetchall()
    return list(rows)


def depth(blocks: int, limit: int) -> int:
    """Return how many chunks to look at for ``limit`` documents in a space with so many ``blocks`` in its table."""
    return max(DEPTH if blocks <= _FEW_BLOCKS else DEPTH_OF_MANY, min(_EACH * limit, _MOST))


def chunks(
    connection: apsw.Connection, space: Space, vector: bytes, filters: Filters, restricted: bool, limit: int
) -> list[tuple[int, float]]:
    """Return (chunk, L2 distance) of the nearest, ``depth`` of them, nearest first.

    If a search by signs finds a cut that does not answer yet, all permitted vectors are scanned instead. A scan takes
    as long as a restricted search, and also finds the few that signs miss.

    Raises apsw.Error; ``vec0`` must be loaded.
    """
    return _chunks(connection, space, vector, filters, restricted, _depth(connection, space, limit))


def _depth(connection: apsw.Connection, space: Space, limit: int) -> int:
    blocks: Any = connection.execute(f'SELECT count(*) FROM "{space.table}_chunks"').get
    return depth(blocks, limit)


def _chunks(
    connection: apsw.Connection, space: Space, vector: bytes, filters: Filters, restricted: bool, most: int
) -> list[tuple[int, float]]:
    if restricted:
        among, bindings = vectors.chunk_ids(space, filters)
    else:
        found = _all(connection, space, vector, most)
        if not _under_way(connection, found):
            return found
        # So that the chunks of a cut that does not answer yet take the room of no others.
        among, bindings = answering(space), []
    return scan(connection, space, vector, most, f" AND rowid IN ({among})", bindings)


def answering(space: Space) -> str:
    """SQL that selects the ids of all vectors of a space but those of cuts that do not answer yet.

    ``documents`` leaves out documents that do not answer. vec0 takes the ids that it may find from ``rowid IN``, and
    looks at ``NOT IN`` only once it has chosen (https://github.com/asg017/sqlite-vec/blob/main/ARCHITECTURE.md). Its
    ``_rowids`` has one row for each vector.
    """
    return (
        f'SELECT rowid FROM "{space.table}_rowids" WHERE rowid / {SPAN} NOT IN'
        f" (SELECT t.id FROM brain_cuts t WHERE NOT {spaces.ANSWERS})"
    )


def _under_way(connection: apsw.Connection, found: Sequence[tuple[int, float]]) -> bool:
    """Return True if any of the chunks is of a cut that does not answer yet."""
    cuts = {chunk // SPAN for chunk, _ in found}
    row = connection.execute(
        f"SELECT 1 FROM brain_cuts t WHERE t.id IN ({','.join(map(str, cuts))}) AND NOT {spaces.ANSWERS} LIMIT 1"
    ).fetchone()
    return row is not None


def _all(connection: apsw.Connection, space: Space, vector: bytes, limit: int) -> list[tuple[int, float]]:
    """Search by lists if the space has a whole table of them; scan if not, or if fewer than wanted are found so."""
    state: Any = connection.execute("SELECT value FROM brain_state WHERE key = ?", (f"lists:{space.name}",)).get
    if state is not None:
        from qmd.index.semantic import coarse

        if coarse.is_whole(state):
            found = coarse.nearest(connection, space, vector, limit)
            if len(found) == limit:
                return found
    return scan(connection, space, vector, limit)


def _cosine(distance: float) -> float:
    """Return the cosine of two vectors of length 127 from their L2 distance."""
    return 1.0 - distance * distance / (2 * 127 * 127)
