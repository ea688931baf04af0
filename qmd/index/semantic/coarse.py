"""Signs of vectors, by which the candidates of a search are found where there are too many vectors to look at each.

docs/retrieval.md says why this form and what it is worth, docs/index-schema.md has the table. Readers need no numpy nor
anything else that a cold process could not afford.
"""

from __future__ import annotations

import os
from functools import partial

import apsw

from qmd.index.schema import SPAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from qmd.index.semantic.spaces import Space

# Below so many vectors the plain scan costs no more than some 30 ms, and the table would only take room.
LEAST = 50_000
# vec0 finds the k nearest of n in time k × n: many small searches find as many candidates for far less than one large.
SHARDS = 64
# Candidates of each shard; together they are at least twice those that are wanted.
EACH = 32
# Shards by which the distance of candidates is estimated, and shards of one search for those within that distance.
_SAMPLE = 2
_GROUP = 8
_GROUPS = range(SHARDS // _GROUP)
# At most so many times the expected candidates are taken of a group; vec0 takes no more than 4,096.
_SLACK = 2
_MOST = 4096
# A table with more blocks of 1,024 codes is searched by several connections, a core each and this many at most: a
# connection and its thread take some 3 ms, a block 0.1 ms.
_FEW_BLOCKS = 256
_MOST_CONNECTIONS = 4
# The value in ``brain_state`` of a table that has all vectors; until then it is the last cut that is in.
WHOLE = -1
# Cuts that are copied in one transaction.
_CUTS = 500


def key(space: Space) -> str:
    """Under what ``brain_state`` says how far the table of a space is."""
    return f"coarse:{space.name}"


def table(space: Space) -> str:
    """Return the name of the table of signs that belongs to a space."""
    return space.table.replace("brain_vec_", "brain_bits_", 1)


def exists(connection: apsw.Connection, space: Space) -> bool:
    """Return True if a space has its table of signs, complete or not."""
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table(space),)).fetchone()
    return row is not None


def code(vector: bytes) -> bytes:
    """Return the signs of an int8 vector's numbers, and of the sums and differences of its first half with its second.

    Sums and differences are the numbers after a turn by 45° in each of those planes: a second look at the same vector
    for the cost of additions. Zeros fill the last byte.
    """
    values = memoryview(vector).cast("b").tolist()
    half = len(values) // 2
    pairs = list(zip(values[:half], values[half : 2 * half], strict=True))
    flags = [value > 0 for value in values]
    flags += [first + second > 0 for first, second in pairs]
    flags += [first > second for first, second in pairs]
    size = _bits(len(values))
    digits = "".join(["1" if flag else "0" for flag in flags])
    return int(digits.ljust(size, "0"), 2).to_bytes(size // 8, "big")


def nearest(connection: apsw.Connection, space: Space, vector: bytes, limit: int) -> list[tuple[int, float]]:
    """Return (chunk, L2 distance) of the ``limit`` nearest of the candidates, nearest first; the distances are exact.

    Raises apsw.Error; ``vec0`` must be loaded.
    """
    asked = _Asked(connection, space, vector, limit)
    blocks: Any = connection.execute(f'SELECT count(*) FROM "{table(space)}_chunks"').get
    parts = 1 if blocks <= _FEW_BLOCKS else min(os.cpu_count() or 1, _MOST_CONNECTIONS)
    if parts == 1:
        return asked.search(connection, _GROUPS)
    return _search_in_parallel(connection, asked, parts)


class _Asked:
    """A question to a table of signs: its vector and code, and the Hamming distance within which candidates lie.

    The distance is estimated by a sample of shards: at least ``EACH`` codes of a shard lie within it. A sample of fewer
    codes bounds nothing. ``limit`` chunks are wanted.
    """

    __slots__ = ("_bits", "_most", "_table", "_vector", "_within", "limit")

    def __init__(self, connection: apsw.Connection, space: Space, vector: bytes, limit: int) -> None:
        self._vector, self._bits, self.limit = vector, code(vector), limit
        self._table = table(space)
        each = max(EACH, -(-2 * limit // SHARDS))
        self._most = min(_SLACK * _GROUP * each, _MOST)
        wanted = _SAMPLE * each
        found: Any = connection.execute(
            f'SELECT distance FROM "{self._table}" WHERE shard < ? AND bits MATCH vec_bit(?) AND k = ?',
            (_SAMPLE, self._bits, wanted),
        ).fetchall()
        self._within = float(found[-1][0]) if len(found) == wanted else 8.0 * len(self._bits)

    def search(self, connection: apsw.Connection, groups: range) -> list[tuple[int, float]]:
        """Return what ``nearest`` does of some groups of shards. Raises apsw.Error."""
        among = ",".join(f"({number * _GROUP})" for number in groups)
        found: Any = connection.execute(
            f"WITH groups(first) AS (VALUES {among})"
            # vec0 gives a value of another column by a statement that it prepares for each row.
            " SELECT v.rowid, vec_distance_L2(vec_int8(v.value00), vec_int8(?1)) AS distance"
            f' FROM groups CROSS JOIN "{self._table}" b CROSS JOIN "{self._table}_auxiliary" v'
            f" WHERE v.rowid = b.rowid AND b.shard >= groups.first AND b.shard < groups.first + {_GROUP}"
            " AND b.bits MATCH vec_bit(?2) AND b.distance <= ?3 AND b.k = ?4"
            " ORDER BY distance, v.rowid LIMIT ?5",
            (self._vector, self._bits, self._within, self._most, self.limit),
        ).fetchall()
        return list(found)


def _search_in_parallel(connection: apsw.Connection, asked: _Asked, parts: int) -> list[tuple[int, float]]:
    """Search as many parts of the shards, the last on ``connection``, each other one on a connection of its own."""
    from core.errors import BrainError
    from qmd.index.parallel_read import SecondReader
    from qmd.index.semantic.spaces import load

    def part(number: int, other: apsw.Connection) -> list[tuple[int, float]]:
        load(other)
        return asked.search(other, range(number, len(_GROUPS), parts))

    readers = [SecondReader(str(connection.filename)) for _ in range(parts - 1)]
    try:
        begun = [reader.begin(partial(part, number)) for number, reader in enumerate(readers)]
        found = part(parts - 1, connection)
        for number, wait in enumerate(begun):
            try:
                found += wait() if wait is not None else part(number, connection)
            except (BrainError, apsw.SQLError):  # the index does not open again, or has lost the table
                found += part(number, connection)
    finally:
        for reader in readers:
            reader.close()
    return sorted(found, key=lambda row: (row[1], row[0]))[: asked.limit]


def keep(connection: apsw.Connection, space: Space, least: int = LEAST, late: Any = None) -> bool:
    """Make the table of a space with at least ``least`` vectors, or go on making it; returns whether it is whole.

    Commits every few thousand vectors; where ``late()`` is true it stops, and the next call goes on. Nobody else may
    add vectors meanwhile, though texts may leave. ``vec0`` must be loaded.
    """
    from qmd.index.semantic.spaces import count
    from qmd.index.store import Transaction

    last = _state(connection, space)
    if last == WHOLE:
        return True
    if last is None:
        if count(connection, space) < least:
            return False
        with Transaction(connection):
            drop(connection, space)
            connection.execute(
                f'CREATE VIRTUAL TABLE "{table(space)}" USING vec0('
                f"shard INTEGER PARTITION KEY, bits bit[{_bits(space.dimensions)}], +vector BLOB)"
            )
            _note(connection, space, 0)
        last = 0
    while last != WHOLE:
        if late is not None and late():
            return False
        with Transaction(connection):
            last = _copy(connection, space, last)
            _note(connection, space, last)
    return True


def add(connection: apsw.Connection, space: Space, rows: list[tuple[int, bytes]]) -> None:
    """Add (chunk, vector) pairs where the space has its table, inside the caller's transaction."""
    if exists(connection, space):
        connection.executemany(
            f'INSERT INTO "{table(space)}"(rowid, shard, bits, vector) VALUES(?, ?, vec_bit(?), ?)',
            [(chunk, _shard(chunk), code(vector), vector) for chunk, vector in rows],
        )


def remove(connection: apsw.Connection, space: Space, chunks: list[int]) -> None:
    """Remove what the table has of ``chunks``, inside the caller's transaction."""
    if exists(connection, space):
        connection.executemany(f'DELETE FROM "{table(space)}" WHERE rowid = ?', [(chunk,) for chunk in chunks])


def drop(connection: apsw.Connection, space: Space) -> None:
    """Remove the table, inside the caller's transaction."""
    connection.execute(f'DROP TABLE IF EXISTS "{table(space)}"')
    connection.execute("DELETE FROM brain_state WHERE key = ?", (key(space),))


def drop_incomplete(connection: apsw.Connection, space: Space) -> None:
    """Drop a table that has not what the space has, as a program that knows nothing of it leaves it.

    Inside the caller's transaction, and after ``vectors.drop_strays``; ``keep`` makes it again.
    """
    if _state(connection, space) == WHOLE:
        from qmd.index.semantic.spaces import count

        if connection.execute(f'SELECT count(*) FROM "{table(space)}"').get != count(connection, space):
            drop(connection, space)


def _copy(connection: apsw.Connection, space: Space, last: int) -> int:
    """Copy the vectors of the next cuts; return the last of them, ``WHOLE`` at the end."""
    cuts: Any = connection.execute(
        "SELECT cut, done FROM brain_embedded WHERE model = ? AND cut > ? ORDER BY cut LIMIT ?",
        (space.id, last, _CUTS),
    ).fetchall()
    for cut, done in cuts:
        chunks = range(cut * SPAN, cut * SPAN + done)
        remove(connection, space, list(chunks))  # those that were embedded since it was begun
        found: list[tuple[int, bytes]] = []
        for chunk in chunks:
            vector: Any = connection.execute(f'SELECT embedding FROM "{space.table}" WHERE rowid = ?', (chunk,)).get
            if vector is not None:
                found.append((chunk, vector))
        add(connection, space, found)
    return cuts[-1][0] if cuts else WHOLE


def _bits(dimensions: int) -> int:
    return -(-(dimensions + 2 * (dimensions // 2)) // 8) * 8


def _shard(chunk: int) -> int:
    # The chunks of a text are alike: they go to different shards, else they would displace each other.
    return (chunk // SPAN * 37 + chunk % SPAN) % SHARDS


def _state(connection: apsw.Connection, space: Space) -> int | None:
    value: Any = connection.execute("SELECT value FROM brain_state WHERE key = ?", (key(space),)).get
    return value if isinstance(value, int) and exists(connection, space) else None


def _note(connection: apsw.Connection, space: Space, last: int) -> None:
    connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (key(space), last))
