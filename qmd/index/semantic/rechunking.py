"""Change of cuts: texts that are cut by another rule; each old cut answers until the new one's vectors are complete.

Such a text's row in ``brain_cuts`` has ``>`` before the ``grammar`` of the change. Its new cut is in the same table,
under ``<layout>>``, until it replaces the old one. docs/index-schema.md has the table.
"""

from __future__ import annotations

from qmd.index.semantic import vectors
from qmd.index.semantic.spaces import MOVES, Space
from qmd.index.semantic.vectors import Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

# t is the old cut, d a document that has the text. Bound: the layout.
_MOVES = (
    " FROM brain_cuts t JOIN documents d ON d.hash = t.hash AND d.active = 1"
    f" WHERE t.layout = ? AND t.grammar >= '{MOVES}' AND t.grammar < '{chr(ord(MOVES) + 1)}'"
)


def following(space: Space) -> Space:
    """Return the space with the layout under which new cuts are stored until they are in force."""
    return Space(
        space.id,
        space.provider,
        space.model,
        space.dimensions,
        space.fingerprint,
        space.layout + MOVES,
        space.table,
    )


def begin(connection: apsw.Connection, layout: str, cut: int, hash: str, grammar: str) -> None:
    """Have a text go over to the cuts that ``grammar`` makes, inside the caller's transaction."""
    give_up(connection, layout, hash)
    connection.execute("UPDATE brain_cuts SET grammar = ? WHERE id = ?", (MOVES + grammar, cut))


def give_up(connection: apsw.Connection, layout: str, hash: str) -> None:
    """Remove what there is of a text's new cut, inside the caller's transaction."""
    _drop(connection, layout + MOVES, hash)


def end(connection: apsw.Connection, layout: str, hash: str, cut: int) -> None:
    """Let a text's new cut answer, now that its vectors are complete, inside the caller's transaction.

    The old cut goes, with its vectors of every model; another model embeds the new cut when it is asked to.
    """
    _drop(connection, layout, hash)
    connection.execute("UPDATE brain_cuts SET layout = ? WHERE id = ?", (layout, cut))


def _drop(connection: apsw.Connection, layout: str, hash: str) -> None:
    row: Any = connection.execute("SELECT id FROM brain_cuts WHERE hash = ? AND layout = ?", (hash, layout)).fetchone()
    if row is not None:
        vectors.drop_cut(connection, row[0])


def waiting(connection: apsw.Connection, space: Space, collections: Sequence[str] = ()) -> list[Waiting]:
    """Return the texts of documents that change cuts; ``cut`` and ``done`` are of the new one."""
    marks = f" AND d.collection IN ({', '.join('?' * len(collections))})" if collections else ""
    rows: Any = connection.execute(
        f"SELECT t.hash, {vectors.PATH},"
        " coalesce((SELECT id FROM brain_cuts WHERE hash = t.hash AND layout = ?), 0) cut, 0,"
        f" (SELECT octet_length(doc) FROM content WHERE hash = t.hash){_MOVES}{marks} GROUP BY t.hash ORDER BY t.hash",
        (space.layout + MOVES, space.layout, *collections),
    ).fetchall()
    found = [Waiting(*row) for row in rows]
    for each in found:
        each.moves = True
        if each.cut:
            each.done = connection.execute(
                "SELECT coalesce(max(done), 0) FROM brain_embedded WHERE model = ? AND cut = ?", (space.id, each.cut)
            ).get
    return found


def pending(connection: apsw.Connection, space: Space) -> dict[str, int]:
    """Return how many documents of each collection are answered for by a cut that is to be replaced."""
    asked = "SELECT 1 FROM brain_layouts WHERE layout = ?"
    if connection.execute(asked, (space.layout,)).fetchone() is None:
        return {}  # no grammar was ever asked for
    rows: Any = connection.execute(
        f"SELECT d.collection, count(*){_MOVES} AND t.chunks <= coalesce("
        "(SELECT done FROM brain_embedded WHERE model = ? AND cut = t.id), 0) GROUP BY 1",
        (space.layout, space.id),
    )
    return dict(rows.fetchall())
