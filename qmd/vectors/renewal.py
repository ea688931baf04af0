"""Vectors that are made anew beside those that answer, whose place they take once they are whole.

A space that is made anew keeps its vectors until then; what is made for it stands in a table of its own, under the
negative of the space's id in ``brain_embedded``, so that a run that is cut short goes on. docs/index-schema.md has the
table.
"""

from __future__ import annotations

from qmd.index.schema import SPAN
from qmd.index.store import Transaction
from qmd.vectors import coarse, rechunking, vectors
from qmd.vectors.vectors import Space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import apsw

TABLE = """
CREATE TABLE IF NOT EXISTS brain_renewals (
  model INTEGER PRIMARY KEY,
  dimensions INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  layout TEXT NOT NULL,
  tbl TEXT NOT NULL UNIQUE,
  collections TEXT NOT NULL
)
"""
# Texts whose vectors are carried over in one transaction.
_CUTS = 500


class Renewal:
    """What takes the place of a space's vectors: ``space``, whose id is the negative of that one's.

    ``collections`` are those whose texts are made anew, none for all.
    """

    __slots__ = ("collections", "space")

    def __init__(self, space: Space, collections: tuple[str, ...]) -> None:
        self.space = space
        self.collections = collections

    def covers(self, collections: Sequence[str]) -> bool:
        """Whether all of what is asked for (everything, where none are named) is made anew."""
        return not self.collections or (bool(collections) and set(collections) <= set(self.collections))

    def within(self, collections: Sequence[str]) -> tuple[str, ...] | None:
        """Those of ``collections`` (none: of all) that are made anew; None where none of them is."""
        if not (collections and self.collections):
            return tuple(collections) or self.collections
        return tuple(name for name in self.collections if name in collections) or None


def exist(connection: apsw.Connection) -> bool:
    """Whether anything was ever made anew in this index."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'brain_renewals'").fetchone() is not None


def of(connection: apsw.Connection, space: Space) -> Renewal | None:
    """What is being made in the place of a space's vectors, None where nothing is."""
    if not exist(connection):
        return None
    row: Any = connection.execute(
        "SELECT dimensions, fingerprint, layout, tbl, collections FROM brain_renewals WHERE model = ?", (space.id,)
    ).fetchone()
    if row is None:
        return None
    *what, names = row
    return Renewal(Space(-space.id, space.provider, space.model, *what), tuple(names.split("\n")) if names else ())


def begin(
    connection: apsw.Connection,
    space: Space,
    dimensions: int,
    fingerprint: str,
    layout: str,
    collections: Sequence[str] = (),
) -> Renewal:
    """Begin to make a space's vectors anew, inside the caller's transaction; what was begun before is given up."""
    connection.execute(TABLE)
    drop(connection, space)
    vectors.load(connection)
    table = vectors.free_table(connection, space.provider, space.model)
    connection.execute(
        "INSERT INTO brain_renewals VALUES(?, ?, ?, ?, ?, ?)",
        (space.id, dimensions, fingerprint, layout, table, "\n".join(collections)),
    )
    made = Space(-space.id, space.provider, space.model, dimensions, fingerprint, layout, table)
    vectors.create(connection, made)
    return Renewal(made, tuple(collections))


def drop(connection: apsw.Connection, space: Space) -> None:
    """Give up what was being made in the place of a space's vectors, inside the caller's transaction."""
    begun = of(connection, space)
    if begun is not None:
        vectors.load(connection)
        connection.execute(f'DROP TABLE IF EXISTS "{begun.space.table}"')
        connection.execute("DELETE FROM brain_embedded WHERE model = ?", (begun.space.id,))
        connection.execute("DELETE FROM brain_renewals WHERE model = ?", (space.id,))


def pending(connection: apsw.Connection, space: Space) -> dict[str, int]:
    """How many active documents of each collection have vectors that are still to be made anew, or cut otherwise."""
    found = rechunking.pending(connection, space)
    begun = of(connection, space)
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
