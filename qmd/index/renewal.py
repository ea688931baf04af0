"""Vectors that are made anew beside those that answer, whose place they take once they are whole.

A space that is made anew keeps its vectors until then; what is made for it stands in a table of its own, under the
negative of the space's id in ``brain_embedded``, so that a run that is cut short goes on. docs/index-schema.md has the
table.
"""

from __future__ import annotations

from qmd.index import coarse, rechunking, spaces, vectors
from qmd.index.schema import SPAN
from qmd.index.spaces import Renewal, Space
from qmd.index.store import Transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

# Texts whose vectors are carried over in one transaction.
_CUTS = 500


def begin(
    connection: apsw.Connection,
    space: Space,
    dimensions: int,
    fingerprint: str,
    layout: str,
    collections: Sequence[str] = (),
) -> Renewal:
    """Begin to make a space's vectors anew, inside the caller's transaction; what was begun before is given up."""
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
    """How many active documents of each collection have vectors that are still to be made anew, or cut otherwise."""
    found = rechunking.pending(connection, space)
    begun = spaces.renewal_of(connection, space)
    if begun is not None:
        for name, count in vectors.pending(connection, begun.space).items():
            if not begun.collections or name in begun.collections:
                found[name] = max(count, found.get(name, 0))
    return found


def like(one: Space, other: Space) -> bool:
    """Whether the vectors of one can stand among those of the other."""
    return (one.dimensions, one.fingerprint, one.layout) == (other.dimensions, other.fingerprint, other.layout)


def take(connection: apsw.Connection, space: Space, renewal: Renewal) -> None:
    """Let the new vectors answer from now on, in one transaction, and the old ones go.

    Of what was not made anew the old ones are carried over, as far as they are of the same state of the model.
    """
    made = renewal.space
    while like(space, made) and _carry(connection, space, made):
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
