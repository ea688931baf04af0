"""Renewal: a second computation of a space's vectors; the old vectors answer until the new ones are complete.

The new vectors have a table of their own, and the negative of the space's id in ``brain_embedded``: an interrupted run
continues. docs/index-schema.md has the table.
"""

from __future__ import annotations

from qmd.index.schema import SPAN
from qmd.index.semantic import coarse, rechunking, spaces, vectors
from qmd.index.semantic.spaces import Renewal, Space
from qmd.index.store import Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

# Texts in one transaction that carries their vectors over.
_CUTS = 500


def begin(
    connection: apsw.Connection,
    space: Space,
    dimensions: int,
    fingerprint: str,
    layout: str,
    collections: Sequence[str] = (),
) -> Renewal:
    """Begin to compute a space's vectors again, inside the caller's transaction; an earlier attempt is dropped."""
    connection.execute(spaces.RENEWALS)
    vectors.give_up_renewal(connection, space)
    spaces.load(connection)
    table = spaces.free_table(connection, space.provider, space.model)
    connection.execute(
        "INSERT INTO brain_renewals VALUES(?, ?, ?, ?, ?, ?)",
        (space.id, dimensions, fingerprint, layout, table, "\n".join(collections)),
    )
    made = Space(-space.id, space.provider, space.model, dimensions, fingerprint, layout, table)
    spaces.create(connection, made)
    return Renewal(made, tuple(collections))


def pending(connection: apsw.Connection, space: Space) -> dict[str, int]:
    """Return how many documents of each collection have vectors that are to be computed again, or cut otherwise."""
    found = rechunking.pending(connection, space)
    begun = spaces.renewal_of(connection, space)
    if begun is not None:
        for name, count in vectors.pending(connection, begun.space).items():
            if not begun.collections or name in begun.collections:
                found[name] = max(count, found.get(name, 0))
    return found


def is_compatible(one: Space, other: Space) -> bool:
    """Return True if vectors of both spaces may be in one table."""
    return (one.dimensions, one.fingerprint, one.layout) == (other.dimensions, other.fingerprint, other.layout)


def take(connection: apsw.Connection, space: Space, renewal: Renewal) -> None:
    """Replace a space's vectors by the new ones, in one transaction.

    Old vectors of what was not computed again are carried over, if they are of the same state of the model.
    """
    made = renewal.space
    while is_compatible(space, made) and _carry(connection, space, made):
        pass
    with Transaction(connection):
        coarse.drop(connection, space)
        connection.execute(f'DROP TABLE IF EXISTS "{space.table}"')
        connection.execute("DELETE FROM brain_embedded WHERE model = ?", (space.id,))
        connection.execute("UPDATE brain_embedded SET model = ? WHERE model = ?", (space.id, made.id))
        connection.execute(
            "UPDATE brain_models SET dimensions = ?, fingerprint = ?, layout = ?, tbl = ? WHERE id = ?",
            (made.dimensions, made.fingerprint, made.layout, made.table, space.id),
        )
        connection.execute("DELETE FROM brain_renewals WHERE model = ?", (space.id,))
        vectors.settle(connection)


def _carry(connection: apsw.Connection, space: Space, made: Space) -> bool:
    """Copy the vectors of the next texts that have more of them than are new; returns whether there were any."""
    with Transaction(connection):
        cuts: Any = connection.execute(
            "SELECT o.cut, coalesce(n.done, 0), o.done FROM brain_embedded o"
            " LEFT JOIN brain_embedded n ON n.model = ? AND n.cut = o.cut"
            " WHERE o.model = ? AND o.done > coalesce(n.done, 0) LIMIT ?",
            (made.id, space.id, _CUTS),
        ).fetchall()
        for cut, first, last in cuts:
            for chunk in range(cut * SPAN + first, cut * SPAN + last):
                connection.execute(
                    f'INSERT INTO "{made.table}"(rowid, embedding)'
                    f' SELECT rowid, vec_int8(embedding) FROM "{space.table}" WHERE rowid = ?',
                    (chunk,),
                )
            connection.execute("INSERT OR REPLACE INTO brain_embedded VALUES(?, ?, ?)", (made.id, cut, last))
    return bool(cuts)
