"""The vectors of a space in memory: exact nearest neighbours, as ``qmd.vectors.knn.chunks`` finds them.

The model's process has numpy, and a core of its own while keywords are searched. It reads the tables of vec0
(https://github.com/asg017/sqlite-vec/blob/main/ARCHITECTURE.md): each row has a blob of int8 vectors and their ids.
After any write to the index the vectors are read again: a thousand vectors take a third of a millisecond.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from qmd.index import store
from qmd.index.schema import SPAN
from qmd.index.semantic import coarse, spaces
from qmd.vectors.knn import depth

if TYPE_CHECKING:
    import apsw
    from numpy.typing import NDArray

# SQLite searches a larger space by other means (qmd/index/semantic/coarse.py).
_MOST_BYTES = 64 << 20
# How many selections of chunks are kept until the index changes.
_MOST_KEPT = 8


class Matrix:
    """The vectors of one space of one index: the one of the last question."""

    def __init__(self) -> None:
        self._connection: apsw.Connection | None = None
        self._of: tuple[object, ...] = ()
        self._version = -1
        self._blocks: list[NDArray[np.int8]] = []
        self._squares = np.zeros(0, np.float32)
        self._ids = np.zeros(0, np.int64)
        self._kept: dict[tuple[object, ...], NDArray[np.bool_]] = {}

    def nearest(self, look: dict[str, Any], vector: bytes) -> list[tuple[int, float]] | None:
        """Return (chunk, L2 distance) of the nearest, nearest first; None of a space that is not to be held in memory.

        ``look`` has the fields of ``qmd.vectors.knn.Look``, of its space ``name``, ``table`` and ``dimensions``. Raises
        BrainError, apsw.Error, OSError, ValueError (a table of another form), MemoryError.
        """
        connection = self._open(look)
        with connection:
            version = connection.pragma("data_version")
            if version != self._version:
                self._forget()
                if not self._read(connection, look):
                    return None
                self._version = version
            allowed = self._allowed(connection, look)
        most = depth(len(self._blocks), look["limit"])
        return self._best(np.frombuffer(vector, np.int8).astype(np.float32), allowed, most)

    def close(self) -> None:
        """Release the vectors and the index."""
        self._forget()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self, look: dict[str, Any]) -> apsw.Connection:
        of = (look["index"], os.stat(look["index"]).st_ino, look["table"], look["dimensions"])
        if self._connection is None or of != self._of:
            self.close()
            self._connection = store.open_index(look["index"])
            self._of = of
        return self._connection

    def _forget(self) -> None:
        self._version = -1
        self._blocks = []
        self._kept.clear()

    def _read(self, connection: apsw.Connection, look: dict[str, Any]) -> bool:
        table, dimensions = look["table"], look["dimensions"]
        state = connection.execute("SELECT value FROM brain_state WHERE key = ?", (f"lists:{look['name']}",)).get
        size: Any = connection.execute(f'SELECT coalesce(sum(size), 0) FROM "{table}_chunks"').get
        if coarse.is_whole(state) or size * dimensions > _MOST_BYTES:
            return False
        rows: Any = connection.execute(
            f'SELECT c.size, c.validity, c.rowids, v.vectors FROM "{table}_chunks" c'
            f' JOIN "{table}_vector_chunks00" v ON v.rowid = c.chunk_id ORDER BY c.chunk_id'
        )
        ids: list[NDArray[np.int64]] = []
        squares: list[NDArray[np.float32]] = []
        cuts: Any = connection.execute(f"SELECT id FROM brain_cuts t WHERE NOT {spaces.ANSWERS}").fetchall()
        under_way = [cut for (cut,) in cuts]
        for size, validity, rowids, packed in rows:
            there = np.unpackbits(np.frombuffer(validity, np.uint8), count=size, bitorder="little").astype(bool)
            if under_way:
                there &= ~np.isin(np.frombuffer(rowids, "<i8").reshape(size) // SPAN, under_way)
            # For equal distances vec0 returns earlier chunks first, and within a chunk the later vectors first.
            block = np.ascontiguousarray(np.frombuffer(packed, np.int8).reshape(size, dimensions)[there][::-1])
            ids.append(np.frombuffer(rowids, "<i8").reshape(size)[there][::-1])
            # Whole numbers below 2^24 throughout, so that float32 is exact.
            squares.append(np.square(block, dtype=np.float32).sum(axis=1))
            self._blocks.append(block)
        self._ids = np.concatenate(ids) if ids else np.zeros(0, np.int64)
        self._squares = np.concatenate(squares) if squares else np.zeros(0, np.float32)
        return True

    def _allowed(self, connection: apsw.Connection, look: dict[str, Any]) -> NDArray[np.bool_] | None:
        """Return which of the vectors may be found, None for all."""
        if not look["among"]:
            return None
        key = (look["among"], *look["bindings"])
        if key not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            rows: Any = connection.execute(look["among"], look["bindings"]).fetchall()
            self._kept[key] = np.isin(self._ids, np.fromiter((row for (row,) in rows), np.int64, len(rows)))
        return self._kept[key]

    def _best(
        self, vector: NDArray[np.float32], allowed: NDArray[np.bool_] | None, limit: int
    ) -> list[tuple[int, float]]:
        if not self._blocks:
            return []
        products = np.concatenate([block.astype(np.float32) @ vector for block in self._blocks])
        distances = self._squares + vector @ vector - 2 * products
        ids = self._ids
        if allowed is not None:
            distances, ids = distances[allowed], ids[allowed]
        if len(ids) > limit:
            last = np.partition(distances, limit - 1)[limit - 1]
            near = np.flatnonzero(distances <= last)
            distances, ids = distances[near], ids[near]
        order = np.argsort(distances, kind="stable")[:limit]
        return list(zip(ids[order].tolist(), np.sqrt(distances[order]).tolist(), strict=True))
