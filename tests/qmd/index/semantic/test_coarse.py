from __future__ import annotations

import itertools
import os
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.errors import EngineMissing
from qmd.index import cleanup, store
from qmd.index.catalogue import Filters
from qmd.index.rebuilding import Rebuild
from qmd.index.schema import SPAN
from qmd.index.semantic import coarse, spaces, vectors
from qmd.index.semantic.spaces import Space
from qmd.index.store import Transaction, open_index
from qmd.index.update import update
from qmd.vectors import knn
from tests.qmd.corpus import Folder, indexed

DIMENSIONS = 64
_CHUNKS = 5


def rows(count: int, seed: int) -> NDArray[np.int8]:
    """``count`` vectors in clusters of a dozen, of length 127."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((-(-count // 12), DIMENSIONS))
    drawn = np.repeat(centres, 12, axis=0)[:count] + 0.8 * random.standard_normal((count, DIMENSIONS))
    scaled: NDArray[np.int8] = np.rint(127 * drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.int8)
    return scaled


def made(connection: apsw.Connection, name: str = "m") -> Space:
    with Transaction(connection):
        return vectors.ensure(connection, "local", name, DIMENSIONS, "f", "1")


def put(connection: apsw.Connection, space: Space, found: NDArray[np.int8]) -> None:
    """Give every four of ``found`` a cut of their own, from 1 on."""
    with Transaction(connection):
        for cut, first in enumerate(range(0, len(found), 4), start=1):
            connection.execute("INSERT INTO brain_cuts(id, hash, layout, chunks) VALUES(?, ?, '1', 4)", (cut, str(cut)))
            vectors.add(connection, space, cut, 0, [row.tobytes() for row in found[first : first + 4]])


def embed(connection: apsw.Connection, space: Space, chunks: int = _CHUNKS, seed: int = 1) -> None:
    """Give every waiting text vectors of its own."""
    waiting = vectors.waiting(connection, space)
    found = rows(len(waiting) * chunks, seed)
    with Transaction(connection):
        for number, each in enumerate(waiting):
            spans = [(0, end + 1, spaces.PIECE) for end in range(chunks)]
            cut = vectors.put_cut(connection, space, each.hash, spans)
            own = [row.tobytes() for row in found[number * chunks : (number + 1) * chunks]]
            assert vectors.add(connection, space, cut, 0, own)


def chunks_of(connection: apsw.Connection, table: str) -> list[int]:
    return [int(str(chunk)) for (chunk,) in connection.execute(f'SELECT rowid FROM "{table}" ORDER BY rowid')]


def agree(connection: apsw.Connection, space: Space) -> bool:
    """Whether both tables have the same chunks, and the same vectors for them."""
    plain = connection.execute(f'SELECT rowid, embedding FROM "{space.table}" ORDER BY rowid').fetchall()
    return plain == connection.execute(f'SELECT rowid, vector FROM "{coarse.table(space)}" ORDER BY rowid').fetchall()


def notes(count: int) -> dict[str, str | bytes]:
    return {f"{number}.md": f"text {number}" for number in range(count)}


@pytest.fixture
def brain(tmp_path: Path) -> tuple[apsw.Connection, Folder, Space]:
    """An index of 12 texts with 5 vectors each, and their table of signs."""
    connection, folder = indexed(tmp_path, notes(12))
    space = made(connection)
    embed(connection, space)
    assert coarse.keep(connection, space, least=60)
    return connection, folder, space


@given(st.lists(st.integers(-127, 127), min_size=2, max_size=70))
def test_a_code_is_the_signs_of_the_numbers_and_of_their_sums_and_differences(values: list[int]) -> None:
    half = len(values) // 2
    pairs = list(zip(values[:half], values[half:], strict=False))
    wanted = [*values, *(a + b for a, b in pairs), *(a - b for a, b in pairs)]
    packed = np.packbits(np.array(wanted) > 0).tobytes()
    assert coarse.code(np.array(values, dtype=np.int8).tobytes()) == packed


def test_what_is_nearest_is_found_among_thousands_with_its_exact_distance(tmp_path: Path) -> None:
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    space = made(connection)
    put(connection, space, rows(6000, 3))
    assert coarse.keep(connection, space, least=6000)
    assert agree(connection, space)
    shares = []
    for question in rows(6000, 3)[::300] + rows(20, 4) // 4:
        vector = question.astype(np.int8).tobytes()
        exact = knn.scan(connection, space, vector, 10)
        near = coarse.nearest(connection, space, vector, 10)
        assert [distance for _, distance in near] == sorted(distance for _, distance in near)
        distances = dict(exact)
        assert all(distances[chunk] == pytest.approx(far) for chunk, far in near if chunk in distances)
        shares.append(len({chunk for chunk, _ in near} & distances.keys()) / 10)
    assert sum(shares) / len(shares) >= 0.97


@pytest.mark.parametrize("opens", [True, False])
def test_several_connections_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opens: bool) -> None:
    path = str(tmp_path / "index.sqlite")
    connection = open_index(path, write=True)
    space = made(connection)
    with Transaction(connection):
        for cut, row in enumerate(rows(3000, 1), start=1):
            connection.execute("INSERT INTO brain_cuts(id, hash, layout, chunks) VALUES(?, ?, '1', 1)", (cut, str(cut)))
            vectors.add(connection, space, cut, 0, [row.tobytes()])
    assert coarse.keep(connection, space, least=0)
    asked = rows(5, seed=2)
    alone = [coarse.nearest(connection, space, row.tobytes(), 40) for row in asked]
    monkeypatch.setattr(coarse, "_FEW_BLOCKS", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    opened: list[str] = []

    def open_again(path: str) -> apsw.Connection:
        opened.append(path)
        if not opens:
            raise EngineMissing("it cannot be opened", "")
        return open_index(path)

    monkeypatch.setattr(store, "open_index", open_again)
    assert [coarse.nearest(connection, space, row.tobytes(), 40) for row in asked] == alone
    assert opened == [path] * 15


@pytest.mark.parametrize("different", [0, 1, 3000])
def test_as_many_as_wanted_are_found_where_vectors_are_equal(tmp_path: Path, different: int) -> None:
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    space = made(connection)
    one = rows(1, 5)
    found = np.concatenate([rows(max(different, 1), 6)[:different], np.repeat(one, 6000 - different, axis=0)])
    put(connection, space, found)
    assert coarse.keep(connection, space, least=6000)
    near = coarse.nearest(connection, space, one[0].tobytes(), 100)
    assert [far for _, far in near] == [0.0] * 100
    # The nearest ones are found behind those that are equally far.
    other = found[0] if different else -one[0]
    ((_, far),) = coarse.nearest(connection, space, other.tobytes(), 1)
    assert far == pytest.approx(0 if different else 254, abs=2)


def test_candidates_are_found_where_the_sampled_shards_are_empty(tmp_path: Path) -> None:
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    space = made(connection)
    found = rows(6000, 3)
    put(connection, space, found)
    assert coarse.keep(connection, space, least=6000)
    connection.execute(f'DELETE FROM "{coarse.table(space)}" WHERE shard < 2')
    ((chunk, far),) = coarse.nearest(connection, space, found[-1].tobytes(), 1)
    assert (chunk // SPAN, far) == (1500, 0.0)


def test_few_vectors_are_looked_at_one_by_one(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, notes(12))
    space = made(connection)
    embed(connection, space)
    assert not coarse.keep(connection, space, least=61)
    assert not coarse.exists(connection, space)
    assert len(knn.nearest(connection, space, rows(1, 1)[0].tobytes(), Filters(), 10, restricted=False).documents) == 12


def test_questions_of_everything_go_by_signs_and_restricted_ones_by_the_plain_scan(
    brain: tuple[apsw.Connection, Folder, Space],
) -> None:
    connection, _, space = brain
    vector = rows(60, 1)[0].tobytes()
    signs, plain = (knn.nearest(connection, space, vector, Filters(), 10, restricted=only) for only in (False, True))
    assert {key: near.chunk for key, near in signs.documents.items()} == {
        key: near.chunk for key, near in plain.documents.items()
    }
    assert all(near.cosine == pytest.approx(plain.documents[key].cosine) for key, near in signs.documents.items())
    connection.execute(f'DELETE FROM "{space.table}"')
    assert knn.nearest(connection, space, vector, Filters(), 10, restricted=False).top == pytest.approx(1, abs=0.01)
    assert knn.nearest(connection, space, vector, Filters(), 10, restricted=True).documents == {}


def test_what_is_embedded_later_is_found_and_what_leaves_takes_its_signs_along(
    brain: tuple[apsw.Connection, Folder, Space],
) -> None:
    connection, folder, space = brain
    Path(folder.path, "late.md").write_text("a later text")
    Path(folder.path, "3.md").unlink()
    update(connection, [folder])
    assert agree(connection, space)
    embed(connection, space, seed=9)
    assert agree(connection, space)
    assert len(chunks_of(connection, coarse.table(space))) == 60
    near, _ = coarse.nearest(connection, space, rows(1, 9)[0].tobytes(), 2)
    assert near[0] == chunks_of(connection, space.table)[-_CHUNKS]


def test_what_is_forgotten_is_in_no_byte_of_the_file(
    brain: tuple[apsw.Connection, Folder, Space], tmp_path: Path
) -> None:
    connection, _, space = brain
    own: list[bytes] = []
    for table, column in ((space.table, "embedding"), (coarse.table(space), "bits")):
        found = connection.execute(
            f'SELECT v.{column} FROM documents d JOIN brain_cuts t ON t.hash = d.hash JOIN "{table}" v'
            f" ON v.rowid BETWEEN t.id * {SPAN} AND t.id * {SPAN} + 9 WHERE d.path = '3.md'"
        ).fetchall()
        own += [value for (value,) in found if isinstance(value, bytes)]
    assert len(own) == 2 * _CHUNKS
    cleanup.compact(connection)
    before = (tmp_path / "index.sqlite").read_bytes()
    assert all(value in before for value in own)
    cleanup.erase(connection, [("notes", "3.md")])
    after = b"".join(path.read_bytes() for path in tmp_path.glob("index.sqlite*"))
    assert not any(value in after for value in own)
    assert agree(connection, space)
    assert len(chunks_of(connection, coarse.table(space))) == 55


def test_a_table_that_is_not_whole_is_not_asked_and_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, folder = indexed(tmp_path, notes(12))
    space = made(connection)
    embed(connection, space)
    monkeypatch.setattr(coarse, "_CUTS", 3)
    late = itertools.chain([False, False], itertools.repeat(True))
    assert not coarse.keep(connection, space, least=1, late=lambda: next(late))
    assert len(chunks_of(connection, coarse.table(space))) == 6 * _CHUNKS
    vector = rows(60, 1)[-1].tobytes()
    assert knn.nearest(connection, space, vector, Filters(), 10, restricted=False).top == pytest.approx(1, abs=0.01)
    # Meanwhile one text leaves that is in, one that is not, and another comes.
    for name in ("0.md", "11.md"):
        Path(folder.path, name).unlink()
    Path(folder.path, "late.md").write_text("a later text")
    update(connection, [folder])
    embed(connection, space, seed=9)
    assert coarse.keep(connection, space, least=10**9)
    assert agree(connection, space)


def test_an_incomplete_table_is_made_again(brain: tuple[apsw.Connection, Folder, Space]) -> None:
    connection, _, space = brain
    connection.execute(f'DELETE FROM "{coarse.table(space)}" WHERE rowid = (SELECT max(id) FROM brain_chunks)')
    assert not agree(connection, space)
    coarse.drop_incomplete(connection, space)
    assert not coarse.exists(connection, space)
    assert coarse.keep(connection, space, least=1)
    coarse.drop_incomplete(connection, space)
    assert agree(connection, space)


@pytest.mark.parametrize("way", ["dropped", "cleared"])
def test_a_space_that_goes_takes_its_signs_along(brain: tuple[apsw.Connection, Folder, Space], way: str) -> None:
    connection, _, space = brain
    other = made(connection, "other")
    embed(connection, other)
    assert coarse.keep(connection, other, least=1)
    with Transaction(connection):
        (vectors.drop if way == "dropped" else vectors.clear)(connection, space)
    assert not coarse.exists(connection, space)
    assert connection.execute("SELECT key FROM brain_state WHERE key GLOB 'coarse:*'").fetchall() == [
        (coarse.key(other),)
    ]
    assert agree(connection, other)


def test_after_a_rebuild_of_the_lexical_half_the_signs_are_whole_again(
    brain: tuple[apsw.Connection, Folder, Space],
) -> None:
    connection, folder, space = brain
    with Rebuild(connection.filename, 5000) as new:
        update(new.connection, [folder])
        new.finish()
    assert coarse.keep(connection, space, least=1)
    assert agree(connection, space)
