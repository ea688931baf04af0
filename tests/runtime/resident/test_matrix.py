"""Vectors in memory answer exactly as the index does, and never from before a change."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from core.errors import EngineMissing
from qmd.index.catalogue import Filters
from qmd.index.schema import SPAN
from qmd.index.semantic import coarse, rechunking, spaces, vectors
from qmd.index.semantic.spaces import Space
from qmd.index.store import Transaction
from qmd.vectors import knn
from runtime.resident import matrix
from runtime.resident.matrix import Matrix
from tests.qmd.corpus import indexed

_DIMENSIONS = 8
_DOCUMENTS = 120
_CHUNKS = 20


class World:
    """An index with vectors of so few different numbers that many are equally near."""

    def __init__(self, folder: Path) -> None:
        self.draw = random.Random(5)
        texts: dict[str, str | bytes] = {f"{number}.md": f"text {number}" for number in range(_DOCUMENTS)}
        self.connection, _ = indexed(folder, texts)
        with Transaction(self.connection):
            self.space = vectors.ensure(self.connection, "local", "m", _DIMENSIONS, "f", "1")
        self.embed()
        self.matrix = Matrix()

    def embed(self) -> None:
        with Transaction(self.connection):
            for each in vectors.waiting(self.connection, self.space):
                spans = [(0, end + 1, spaces.PIECE) for end in range(_CHUNKS)]
                cut = vectors.put_cut(self.connection, self.space, each.hash, spans)
                vectors.add(self.connection, self.space, cut, 0, [self.vector() for _ in range(_CHUNKS)])

    def vector(self) -> bytes:
        return bytes(self.draw.choice((0, 1, 2, 255)) for _ in range(_DIMENSIONS))

    def agree(self, filters: Filters | None = None, question: bytes = b"", limit: int = 10) -> int:
        """How many both ways find; they must be the same, in the same order, at the same distances."""
        only = filters or Filters()
        vector = question or self.vector()
        wanted = knn.chunks(self.connection, self.space, vector, only, only.restrict(self.connection), limit)
        found = self.matrix.nearest(look(self.connection, self.space, only, limit), vector)
        assert found == wanted
        return len(wanted)


def look(connection: apsw.Connection, space: Space, filters: Filters, limit: int = 10) -> dict[str, Any]:
    it = knn.Look(connection, space, filters, limit)
    return {
        "index": it.index, "name": space.name, "table": space.table, "dimensions": space.dimensions,
        "among": it.among, "bindings": it.bindings, "limit": it.limit,
    }  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_is_near_is_found_in_the_order_of_the_table_also_among_equally_near_ones(world: World) -> None:
    for _ in range(20):
        assert world.agree() == knn.DEPTH


def test_of_many_vectors_both_ways_look_at_fewer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn, "_FEW_BLOCKS", 2)
    assert world.agree() == knn.DEPTH_OF_MANY < knn.DEPTH
    assert world.agree(Filters(until=1 << 40)) == knn.DEPTH_OF_MANY
    assert world.agree(limit=150) == 300
    assert world.agree(limit=100_000) == _DOCUMENTS * _CHUNKS
    monkeypatch.setattr(knn, "_FEW_BLOCKS", 3)
    assert world.agree() == knn.DEPTH


def test_a_change_of_the_index_is_seen_by_the_next_question(world: World) -> None:
    question = bytes([9] * _DIMENSIONS)
    world.agree(question=question)
    rows: list[Any] = world.connection.execute(f'SELECT rowid FROM "{world.space.table}"').fetchall()
    chosen = [row for (row,) in world.draw.sample(rows, 900)]
    with Transaction(world.connection):
        world.connection.executemany(f'DELETE FROM "{world.space.table}" WHERE rowid = ?', [(row,) for row in chosen])
        world.connection.execute(f'INSERT INTO "{world.space.table}" VALUES(?, vec_int8(?))', (chosen[0], question))
    assert world.agree(question=question) == knn.DEPTH
    (nearest, distance), *_ = world.matrix.nearest(look(world.connection, world.space, Filters()), question) or []
    assert (nearest, distance) == (chosen[0], 0.0)
    world.connection.execute(f'DELETE FROM "{world.space.table}"')
    assert world.agree() == 0
    with Transaction(world.connection):
        vectors.clear(world.connection, world.space)
    world.embed()
    assert world.agree() == knn.DEPTH


def test_only_what_the_filters_let_through_is_found(world: World) -> None:
    ended: Any = world.connection.execute("SELECT ended FROM brain_facts ORDER BY ended").fetchall()
    world.connection.execute("UPDATE brain_facts SET date = 5, ended = 5 WHERE document_id <= 7")
    for filters in (Filters(until=6), Filters(since=6), Filters(until=6), Filters(since=ended[-1][0] + 1)):
        assert world.agree(filters) in (0, 7 * _CHUNKS, knn.DEPTH)
    world.connection.execute("UPDATE brain_facts SET date = 5, ended = 5 WHERE document_id <= 9")
    assert world.agree(Filters(until=6)) == 9 * _CHUNKS


def test_while_a_cut_is_under_way_both_ways_leave_out_its_chunks_and_no_others(world: World) -> None:
    question = bytes([9] * _DIMENSIONS)
    row: Any = world.connection.execute("SELECT id, hash FROM brain_cuts ORDER BY id LIMIT 1").fetchone()
    old, text = row
    with Transaction(world.connection):
        rechunking.begin(world.connection, world.space.layout, old, text, "code")
        following = rechunking.following(world.space)
        spans = [(0, end + 1, spaces.PIECE) for end in range(_CHUNKS)]
        new = vectors.put_cut(world.connection, following, text, spans)
        vectors.add(world.connection, following, new, 0, [question] * (_CHUNKS // 2))
    assert knn.scan(world.connection, world.space, question, 1)[0][0] // SPAN == new
    assert world.agree(question=question) == knn.DEPTH
    # Documents that are gone: their vectors are found as where no cut is under way.
    world.connection.execute("UPDATE documents SET active = 0 WHERE id % 3 = 0")
    for limit in (10, 100_000):
        for asked in (question, *(world.vector() for _ in range(5))):
            world.agree(question=asked, limit=limit)
    assert world.agree(limit=100_000) == _DOCUMENTS * _CHUNKS
    left: Any = world.connection.execute("SELECT count(*) FROM documents WHERE active = 1").get
    assert world.agree(Filters(until=1 << 40), limit=100_000) == left * _CHUNKS


def test_spaces_that_are_too_large_are_left_to_the_index(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    it = look(world.connection, world.space, Filters())
    assert coarse.keep(world.connection, world.space, least=1)
    assert world.matrix.nearest(it, world.vector()) is None
    with Transaction(world.connection):
        coarse.drop(world.connection, world.space)
    assert world.matrix.nearest(it, world.vector()) is not None
    monkeypatch.setattr(matrix, "_MOST_BYTES", 1)
    assert Matrix().nearest(it, world.vector()) is None


def test_another_index_in_the_same_place_is_another_one(world: World, tmp_path: Path) -> None:
    it = look(world.connection, world.space, Filters())
    before = world.matrix.nearest(it, bytes(_DIMENSIONS))
    (tmp_path / "other").mkdir()
    other = World(tmp_path / "other")
    other.connection.execute(f'DELETE FROM "{other.space.table}" WHERE rowid % 3 = 0')
    expected = knn.scan(other.connection, other.space, bytes(_DIMENSIONS), knn.DEPTH)
    path = str(other.connection.filename)
    other.connection.close()
    world.connection.close()
    for end in ("-wal", "-shm"):
        Path(it["index"] + end).unlink(missing_ok=True)
    os.replace(path, it["index"])
    assert world.matrix.nearest(it, bytes(_DIMENSIONS)) == expected != before
    os.unlink(it["index"])
    with pytest.raises((EngineMissing, OSError)):
        world.matrix.nearest(it, bytes(_DIMENSIONS))
    world.matrix.close()


def test_a_table_of_another_form_is_refused(world: World) -> None:
    it = look(world.connection, world.space, Filters())
    with pytest.raises(ValueError, match="reshape"):
        world.matrix.nearest({**it, "dimensions": 7}, bytes(7))
    with pytest.raises(apsw.SQLError):
        world.matrix.nearest({**it, "table": "brain_vec_none"}, bytes(_DIMENSIONS))


def test_distances_are_exact_at_full_length() -> None:
    vectors_ = np.array([[127, -127] * 192, [-127, 127] * 192], np.int8)
    held = Matrix()
    held._blocks, held._ids = [vectors_], np.array([1, 2], np.int64)
    held._squares = np.square(vectors_, dtype=np.float32).sum(axis=1)
    (same, nothing), (opposite, far) = held._best(vectors_[0].astype(np.float32), None, 2)
    assert (same, nothing, opposite) == (1, 0.0, 2)
    assert far == float(np.sqrt(np.float32(384 * 254**2)))
