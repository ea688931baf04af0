"""Lists of similar vectors, by their signs: where there are too many vectors to look at each, a few lists are searched.

docs/retrieval.md says why this form and what it is worth, docs/index-schema.md has the tables. Who asks needs no numpy
nor anything else that a cold process could not afford; who adds vectors has it.
"""

from __future__ import annotations

import itertools

import apsw

from qmd.index.schema import SPAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from qmd.index.semantic.spaces import Space

# Below so many vectors the plain scan costs no more than some 30 ms, and the tables would only take room.
LEAST = 50_000
# Lists of a table, at most; fewer where a list would not have so many of the vectors that its centre is made from.
_LISTS, _DRAWN = 2048, 32
# Centres are made from one vector of so many, or fewer: neighbours are of one text.
_APART = 4
# Centres are found again once the space has so many times the vectors that they were found among.
_OUTGROWN = 4
# A centre of fewer texts would show what one of them was after it is forgotten.
_FEWEST = 8
_ROUNDS = 2
# vec0 keeps the codes of a list in blocks of so many: the last of each is half empty.
_BLOCK = 256
# A question searches _SEARCHED · √lists lists, and at least one list for every _WANTED chunks that are wanted.
_SEARCHED, _WANTED = 7, 4
# The nearest 1/_SHARE of the searched lists give the distance of candidates: within it they have _NEAR codes for each
# searched list, and at least _SPARE for each wanted chunk.
_SHARE, _NEAR, _SPARE = 12, 5, 4
# Candidates of one list, at least; vec0 takes no more than 4,096.
_EACH, _MOST = 256, 4096
# Cuts that are copied in one transaction.
_CUTS = 500


def key(space: Space) -> str:
    """Under what ``brain_state`` says how far the table of a space is."""
    return f"lists:{space.name}"


def is_whole(state: int | None) -> bool:
    """Return True if a table has all vectors, by its value in ``brain_state``.

    Below 0 it is the number of vectors among which the centres were found. Else it is the last cut that is in.
    """
    return state is not None and state < 0


def table(space: Space) -> str:
    """Return the name of the table of signs that belongs to a space."""
    return space.table.replace("brain_vec_", "brain_bits_", 1)


def centres_table(space: Space) -> str:
    """Return the name of the table of the lists' centres."""
    return space.table.replace("brain_vec_", "brain_centres_", 1)


def exists(connection: apsw.Connection, space: Space) -> bool:
    """Return True if a space has its table of signs, complete or not."""
    row = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (centres_table(space),)).fetchone()
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

    There may be fewer. Raises apsw.Error; ``vec0`` must be loaded.
    """
    bits, name = code(vector), table(space)
    known: Any = connection.execute(f'SELECT count(*) FROM "{centres_table(space)}"').get
    lists: Any = connection.execute(
        f'SELECT list FROM "{centres_table(space)}" ORDER BY vec_distance_L2(vec_int8(centre), vec_int8(?)) LIMIT ?',
        (vector, max(int(_SEARCHED * known**0.5), limit // _WANTED)),
    ).fetchall()
    search = f'CROSS JOIN "{name}" b ON b.list = lists.column1 AND b.bits MATCH vec_bit(?2)'
    nearest, near = lists[: -(-len(lists) // _SHARE)], max(_NEAR * len(lists), _SPARE * limit)
    sample: Any = connection.execute(
        f"WITH lists AS (VALUES {_values(nearest)})"
        f" SELECT b.distance FROM lists {search} AND b.k = ?1 ORDER BY 1 LIMIT ?3",
        (min(2 * near // max(1, len(nearest)), _MOST), bits, near),
    ).fetchall()
    within = sample[near - 1][0] if len(sample) == near else 8.0 * len(bits)
    found: Any = connection.execute(
        f"WITH lists AS (VALUES {_values(lists)})"
        # vec0 gives a value of another column by a statement that it prepares for each row.
        " SELECT v.rowid, vec_distance_L2(vec_int8(v.value00), vec_int8(?1)) AS distance"
        f' FROM lists {search} AND b.distance <= ?3 AND b.k = ?4 CROSS JOIN "{name}_auxiliary" v ON v.rowid = b.rowid'
        " ORDER BY distance, v.rowid LIMIT ?5",
        (vector, bits, within, min(max(_EACH, limit, 2 * near // max(1, len(lists))), _MOST), limit),
    ).fetchall()
    return list(found)


def keep(connection: apsw.Connection, space: Space, least: int = LEAST, late: Any = None) -> bool:
    """Make the table of a space with at least ``least`` vectors, or go on making it; returns whether it is whole.

    Commits every few thousand vectors; where ``late()`` is true it stops, and the next call goes on. Nobody else may
    add vectors meanwhile, though texts may leave. ``vec0`` must be loaded.
    """
    from qmd.index.semantic.spaces import count
    from qmd.index.store import Transaction

    last, vectors = _state(connection, space), count(connection, space)
    if last is not None and 0 < _OUTGROWN * -last < vectors:
        last = None
    if last is None:
        if vectors < least:
            return False
        centres = _find_centres(*_drawn(connection, space))
        with Transaction(connection):
            drop(connection, space)
            _create(connection, space, centres)
            _note(connection, space, 0)
        last = 0
    while not is_whole(last):
        if late is not None and late():
            return False
        with Transaction(connection):
            last = _copy(connection, space, last) or -max(1, vectors)
            _note(connection, space, last)
    return True


def add(connection: apsw.Connection, space: Space, rows: list[tuple[int, bytes]]) -> None:
    """Add (chunk, vector) pairs where the space has its table, inside the caller's transaction."""
    if not rows or not exists(connection, space):
        return
    known: Any = connection.execute(f'SELECT list, centre FROM "{centres_table(space)}" ORDER BY list').fetchall()
    numbers, centres = zip(*known, strict=True)
    added = _matrix([vector for _, vector in rows])
    near = _nearest_centres(added, _matrix(centres)).tolist()
    connection.executemany(
        f'INSERT INTO "{table(space)}"(rowid, list, bits, vector) VALUES(?, ?, vec_bit(?), ?)',
        [
            (chunk, numbers[centre], bits, vector)
            for (chunk, vector), centre, bits in zip(rows, near, _codes(added), strict=True)
        ],
    )


def remove(connection: apsw.Connection, space: Space, chunks: list[int]) -> None:
    """Remove what the table has of ``chunks``, inside the caller's transaction."""
    if exists(connection, space):
        connection.executemany(f'DELETE FROM "{table(space)}" WHERE rowid = ?', [(chunk,) for chunk in chunks])
    else:  # a table without centres is of an older form, which nobody reads: it would keep the vectors
        drop(connection, space)


def drop(connection: apsw.Connection, space: Space) -> None:
    """Remove the tables, inside the caller's transaction."""
    for name in (table(space), centres_table(space)):
        connection.execute(f'DROP TABLE IF EXISTS "{name}"')
    connection.execute("DELETE FROM brain_state WHERE key = ?", (key(space),))


def drop_incomplete(connection: apsw.Connection, space: Space) -> None:
    """Drop a table that has not what the space has, as a program that knows nothing of it leaves it.

    Inside the caller's transaction, and after ``vectors.drop_strays``; ``keep`` makes it again.
    """
    if is_whole(_state(connection, space)):
        from qmd.index.semantic.spaces import count

        if connection.execute(f'SELECT count(*) FROM "{table(space)}"').get != count(connection, space):
            drop(connection, space)


def _copy(connection: apsw.Connection, space: Space, last: int) -> int:
    """Copy the vectors of the next cuts; return the last of them, 0 at the end."""
    cuts: Any = connection.execute(
        "SELECT cut, done FROM brain_embedded WHERE model = ? AND cut > ? ORDER BY cut LIMIT ?",
        (space.id, last, _CUTS),
    ).fetchall()
    found: list[tuple[int, bytes]] = []
    for cut, done in cuts:
        chunks = range(cut * SPAN, cut * SPAN + done)
        remove(connection, space, list(chunks))  # those that were embedded since it was begun
        for chunk in chunks:
            vector: Any = connection.execute(f'SELECT embedding FROM "{space.table}" WHERE rowid = ?', (chunk,)).get
            if vector is not None:
                found.append((chunk, vector))
    add(connection, space, found)
    return cuts[-1][0] if cuts else 0


def _drawn(connection: apsw.Connection, space: Space) -> tuple[NDArray[np.float32], list[int]]:
    """Return the vectors that centres are made from, spread evenly over all, one row each, and the text of each."""
    cuts: Any = connection.execute(
        "SELECT cut, done FROM brain_embedded WHERE model = ? ORDER BY cut", (space.id,)
    ).fetchall()
    every = max(_APART, sum(done for _, done in cuts) // (_LISTS * _DRAWN))
    chunks = (cut * SPAN + number for cut, done in cuts for number in range(done))
    found = [
        (vector, chunk // SPAN)
        for chunk in itertools.islice(chunks, 0, None, every)
        if (vector := connection.execute(f'SELECT embedding FROM "{space.table}" WHERE rowid = ?', (chunk,)).get)
    ]
    return _matrix([vector for vector, _ in found]), [text for _, text in found]


def _find_centres(drawn: NDArray[np.float32], texts: Sequence[int]) -> list[bytes]:
    """Return the centres of lists of the drawn vectors (k-means by cosine), as int8 of length 127 each.

    ``texts`` has the text of each vector. Each text counts once in a list, however many of its vectors are there.
    """
    import numpy as np

    _, number = np.unique(np.asarray(texts), return_inverse=True)
    centres = drawn[:: max(_DRAWN, -(-len(drawn) // _LISTS))]
    for _ in range(_ROUNDS):
        nearest = _nearest_centres(drawn, centres)
        pairs, pair, count = np.unique(nearest * len(drawn) + number, return_inverse=True, return_counts=True)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, drawn / count[pair, None].astype(np.float32))
        kept = sums[np.bincount(pairs // len(drawn), minlength=len(centres)) >= _FEWEST]
        # A centre of all, where no list has enough vectors.
        centres = kept if len(kept) else drawn.sum(axis=0, keepdims=True)
        centres *= 127 / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-9)
    return [row.tobytes() for row in np.rint(centres).astype(np.int8)]


def _matrix(vectors: Sequence[bytes]) -> NDArray[np.float32]:
    import numpy as np

    return np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), -1).astype(np.float32)


def _codes(vectors: NDArray[np.float32]) -> list[bytes]:
    """Return the ``code`` of each vector."""
    import numpy as np

    half = vectors.shape[1] // 2
    one, other = vectors[:, :half], vectors[:, half : 2 * half]
    flags = np.concatenate([vectors > 0, one + other > 0, one > other], axis=1)
    return [row.tobytes() for row in np.packbits(flags, axis=1)]


def _nearest_centres(vectors: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the number of the centre that is nearest to each vector, some thousands at a time."""
    import numpy as np

    parts = np.array_split(vectors, -(-len(vectors) // 4096) or 1)
    return np.concatenate([(part @ centres.T).argmax(axis=1) for part in parts])


def _create(connection: apsw.Connection, space: Space, centres: list[bytes]) -> None:
    name = table(space)
    connection.execute(f'CREATE TABLE "{centres_table(space)}"(list INTEGER PRIMARY KEY, centre BLOB NOT NULL)')
    connection.executemany(f'INSERT INTO "{centres_table(space)}" VALUES(?, ?)', list(enumerate(centres)))
    connection.execute(
        f'CREATE VIRTUAL TABLE "{name}" USING vec0('
        f"list INTEGER PARTITION KEY, bits bit[{_bits(space.dimensions)}], +vector BLOB, chunk_size={_BLOCK})"
    )
    # vec0 looks through all blocks for those of a list.
    connection.execute(f'CREATE INDEX "{name}_by_list" ON "{name}_chunks"(partition00)')


def _bits(dimensions: int) -> int:
    return -(-(dimensions + 2 * (dimensions // 2)) // 8) * 8


def _values(rows: list[tuple[int]]) -> str:
    return ",".join(f"({number})" for (number,) in rows)


def _state(connection: apsw.Connection, space: Space) -> int | None:
    value: Any = connection.execute("SELECT value FROM brain_state WHERE key = ?", (key(space),)).get
    return value if isinstance(value, int) and exists(connection, space) else None


def _note(connection: apsw.Connection, space: Space, last: int) -> None:
    connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (key(space), last))
