"""The nearest chunks of a space to a question's vector, and the documents that they are of."""

from __future__ import annotations

from qmd.schema import SPAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from qmd.answers import Filters
    from qmd.vectors import Space

# Chunks that are looked at: enough that a document's best one is among them wherever the document matters.
DEPTH = 200
# vec0 takes time for each of them as well as for each vector: of very many vectors, fewer.
_DEPTH_OF_MANY = 64
MANY = 40_000


class Near:
    """A document's nearest chunk: ``cosine``, and where it stands in the document's text (characters)."""

    __slots__ = ("chunk", "cosine", "end", "start")

    def __init__(self, cosine: float, chunk: int) -> None:
        self.cosine = cosine
        self.chunk = chunk
        self.start = 0
        self.end = 0


class Nearest:
    """Documents by id, and the least cosine that was looked at: those left out lie below it."""

    __slots__ = ("documents", "floor", "top")

    def __init__(self, documents: dict[int, Near], floor: float) -> None:
        self.documents = documents
        self.floor = floor
        self.top = max((near.cosine for near in documents.values()), default=floor)


def nearest(
    connection: apsw.Connection, space: Space, vector: bytes, filters: Filters, *, restricted: bool = True
) -> Nearest:
    """The documents nearest to ``vector`` (int8, of length 127) among those that ``filters`` let through.

    ``restricted`` is False where the filters let all through. Raises apsw.Error; ``vec0`` must be loaded.
    """
    found = _chunks(connection, space, vector, filters, restricted)
    if not found:
        return Nearest({}, 0.0)
    floor = found[-1][1]
    best: dict[int, Near] = {}
    for chunk, cosine in found:
        best.setdefault(chunk // SPAN, Near(cosine, chunk))
    condition, bindings = filters.sql()
    rows: Any = connection.execute(
        "SELECT t.id, d.id FROM brain_cuts t JOIN documents d ON d.hash = t.hash"
        " JOIN brain_facts f ON f.document_id = d.id"
        f" WHERE t.id IN ({','.join(map(str, best))}) AND {condition}",
        bindings,
    )
    return Nearest({document: best[cut] for cut, document in rows}, floor)


def place(connection: apsw.Connection, near: Near) -> None:
    """Fill in where the chunk stands. Raises apsw.Error."""
    row: Any = connection.execute('SELECT "start", "end" FROM brain_chunks WHERE id = ?', (near.chunk,)).fetchone()
    if row is not None:
        near.start, near.end = row


def _chunks(
    connection: apsw.Connection, space: Space, vector: bytes, filters: Filters, restricted: bool
) -> list[tuple[int, float]]:
    """(chunk, cosine), nearest first."""
    only = ""
    bindings: list[Any] = []
    if restricted:
        condition, bindings = filters.sql()
        only = (
            " AND rowid IN (SELECT c.id FROM documents d JOIN brain_facts f ON f.document_id = d.id"
            " JOIN brain_cuts t ON t.hash = d.hash AND t.layout = ?"
            f" JOIN brain_chunks c ON c.id BETWEEN t.id * {SPAN} AND t.id * {SPAN} + t.chunks - 1 WHERE {condition})"
        )
        bindings = [space.layout, *bindings]
    rows: Any = connection.execute(
        f'SELECT rowid, distance FROM "{space.table}" WHERE embedding MATCH vec_int8(?) AND k = ?{only}',
        (vector, DEPTH, *bindings),
    )
    return [(chunk, cosine(distance)) for chunk, distance in rows]


def cosine(distance: float) -> float:
    """Of two vectors of length 127 whose L2 distance is given."""
    return 1.0 - distance * distance / (2 * 127 * 127)
