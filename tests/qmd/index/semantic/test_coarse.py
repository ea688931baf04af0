from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from qmd.index import cleanup
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


def put(connection: apsw.Connection, space: Space, found: NDArray[np.int8], first: int = 1) -> None:
    """Give every four of ``found`` a cut of their own, from ``first`` on."""
    with Transaction(connection):
        for cut, at in enumerate(range(0, len(found), 4), start=first):
            connection.execute("INSERT INTO brain_cuts(id, hash, layout, chunks) VALUES(?, ?, '1', 4)", (cut, str(cut)))
            vectors.add(connection, space, cut, 0, [row.tobytes() for row in found[at : at + 4]])


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
    vector = np.array(values, dtype=np.int8)
    assert coarse.code(vector.tobytes()) == packed
    assert coarse._codes(vector[np.newaxis].astype(np.float32)) == [packed]


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


def test_vectors_of_later_subjects_are_found_by_the_centres_of_the_first(tmp_path: Path) -> None:
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    space = made(connection)
    put(connection, space, np.concatenate([rows(2000, 3), np.repeat(rows(1, 8), 6, axis=0)])[:2004])
    assert coarse.keep(connection, space, least=2000)
    later = rows(600, 4)
    with Transaction(connection):
        for cut, row in enumerate(later, start=1000):
            connection.execute("INSERT INTO brain_cuts(id, hash, layout, chunks) VALUES(?, ?, '1', 1)", (cut, str(cut)))
            vectors.add(connection, space, cut, 0, [row.tobytes()])
    assert agree(connection, space)
    found = [coarse.nearest(connection, space, row.tobytes(), 1)[0] for row in later[::20]]
    assert [(chunk // SPAN, far) for chunk, far in found] == [(cut, 0.0) for cut in range(1000, 1600, 20)]


def test_a_vector_that_is_like_no_other_is_no_centre(tmp_path: Path) -> None:
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    space = made(connection)
    found = np.repeat(rows(500, 3)[::12], 24, axis=0)[:1000]
    found[0] = rows(1, 77)[0]
    put(connection, space, found)
    assert coarse.keep(connection, space, least=1000)
    centres = coarse.centres_table(space)
    assert connection.execute(f'SELECT count(*) FROM "{centres}"').get > 5
    alone = found[0].tobytes()
    assert connection.execute(f'SELECT count(*) FROM "{centres}" WHERE centre = ?', (alone,)).get == 0
    assert coarse.nearest(connection, space, alone, 1) == [(SPAN, 0.0)]


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


def test_candidates_are_found_where_the_nearest_lists_are_empty(tmp_path: Path) -> None:
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    space = made(connection)
    put(connection, space, rows(6000, 3))
    assert coarse.keep(connection, space, least=6000)
    asked = rows(1, 3)[0].tobytes()
    ranked = (
        f'SELECT list FROM "{coarse.centres_table(space)}"'
        " ORDER BY vec_distance_L2(vec_int8(centre), vec_int8(?)) LIMIT 20"
    )
    for (number,) in connection.execute(ranked, (asked,)).fetchall():
        connection.execute(f'DELETE FROM "{coarse.table(space)}" WHERE list = ?', (number,))
    assert len(coarse.nearest(connection, space, asked, 10)) == 10


def test_all_are_looked_at_if_fewer_than_wanted_are_found_by_signs(
    brain: tuple[apsw.Connection, Folder, Space],
) -> None:
    connection, _, space = brain
    connection.execute(f'DELETE FROM "{coarse.table(space)}" WHERE rowid < {9 * SPAN}')
    vector = rows(60, 1)[0].tobytes()
    near = knn.nearest(connection, space, vector, Filters(), 10, restricted=False)
    assert near.top == pytest.approx(1, abs=0.01)
    assert len(near.documents) == 12


def test_few_vectors_are_looked_at_one_by_one(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, notes(12))
    space = made(connection)
    embed(connection, space)
    assert not coarse.keep(connection, space, least=61)
    assert not coarse.exists(connection, space)
    assert len(knn.nearest(connection, space, rows(1, 1)[0].tobytes(), Filters(), 10, restricted=False).documents) == 12


def test_questions_of_everything_go_by_signs_and_restricted_ones_by_the_plain_scan(
    brain: tuple[apsw.Connection, Folder, Space], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _, space = brain
    monkeypatch.setattr(knn, "DEPTH", 20)
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


def test_what_is_forgotten_is_in_no_table_of_an_older_form(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, notes(3))
    space = made(connection)
    embed(connection, space)
    connection.execute(
        f'CREATE VIRTUAL TABLE "{coarse.table(space)}" USING vec0('
        "shard INTEGER PARTITION KEY, bits bit[128], +vector BLOB)"
    )
    vector = rows(3 * _CHUNKS, 1)[0].tobytes()
    (chunk, *_) = chunks_of(connection, space.table)
    connection.execute(
        f'INSERT INTO "{coarse.table(space)}"(rowid, shard, bits, vector) VALUES(?, 1, vec_bit(?), ?)',
        (chunk, bytes(16), vector),
    )
    cleanup.erase(connection, [("notes", f"{number}.md") for number in range(3)])
    assert vector not in b"".join(path.read_bytes() for path in tmp_path.glob("index.sqlite*"))


def test_no_centre_shows_the_vector_of_a_text_with_many_alike_chunks(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, notes(1))
    space = made(connection)
    found = rows(4_000, 3)
    random = np.random.default_rng(5)
    own = rows(1, 7)[0]
    alike = np.clip(own + np.rint(2 * random.standard_normal((40, DIMENSIONS))), -127, 127).astype(np.int8)
    put(connection, space, found)
    with Transaction(connection):
        connection.execute("INSERT INTO brain_cuts(id, hash, layout, chunks) VALUES(5000, 'alike', '1', 40)")
        vectors.add(connection, space, 5_000, 0, [row.tobytes() for row in alike])
    assert coarse.keep(connection, space, least=1)
    stored: Any = connection.execute(f'SELECT centre FROM "{coarse.centres_table(space)}"').fetchall()
    centres = np.array([np.frombuffer(centre, np.int8) for (centre,) in stored], np.float32)
    likeness = centres @ own / (np.linalg.norm(centres, axis=1) * np.linalg.norm(own.astype(np.float32)))
    assert likeness.max() < 0.9


def test_lists_are_found_again_once_a_space_has_four_times_the_vectors(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, notes(1))
    space = made(connection)
    found = rows(10_000, 3)

    def lists() -> int:
        return int(str(connection.execute(f'SELECT count(*) FROM "{coarse.centres_table(space)}"').get))

    put(connection, space, found[:2_000])
    assert coarse.keep(connection, space, least=1)
    few = lists()
    put(connection, space, found[2_000:8_000], first=501)
    assert coarse.keep(connection, space, least=1)
    assert lists() == few
    put(connection, space, found[8_000:], first=2_001)
    assert coarse.keep(connection, space, least=1)
    assert lists() > 2 * few
    assert agree(connection, space)


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
    assert connection.execute("SELECT key FROM brain_state WHERE key GLOB 'lists:*'").fetchall() == [
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
