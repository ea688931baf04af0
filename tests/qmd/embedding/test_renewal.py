from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.errors import Internal, Refused
from qmd.embedding import embedder
from qmd.embedding.embedder import embed
from qmd.embedding.provider import quantise
from qmd.embedding.wire import TextRefused
from qmd.index.schema import SPAN
from qmd.index.semantic import coarse, renewal, spaces, vectors
from qmd.index.semantic.spaces import Space
from qmd.index.store import open_index
from qmd.index.update import update
from qmd.index.writer import drop
from qmd.search.semantic import Semantic
from tests.qmd.corpus import Folder, indexed, write
from tests.qmd.embedding.fake import Fake, Words

CHANGED = {"fingerprint": "g", "dimensions": 16}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[apsw.Connection, Folder]:
    """Twelve notes, embedded; four chunks between two commits."""
    monkeypatch.setattr(embedder, "_GROUP", 4)
    connection, folder = indexed(tmp_path, {f"{n:02}.md": f"note n{n}" for n in range(12)})
    embed(connection, Fake())
    return connection, folder


def space(connection: apsw.Connection) -> Space:
    (found,) = spaces.listed(connection)
    return found


def stored(connection: apsw.Connection) -> int:
    """How many vectors answer; each is accounted for, and nothing is left of any other table."""
    of = space(connection)
    ids: Any = connection.execute(f'SELECT rowid FROM "{of.table}"').fetchall()
    assert len(ids) == spaces.count(connection, of)
    return len(ids)


def tables(connection: apsw.Connection) -> int:
    return len(connection.execute("SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%vec0%'").fetchall())


def broken(at: int, **state: Any) -> Fake:
    provider = Fake(**state)
    provider.breaks_at = at
    return provider


@pytest.mark.parametrize("state", [{}, CHANGED])
@pytest.mark.parametrize("again", [False, True])
def test_the_old_vectors_answer_until_the_new_are_whole_and_nothing_is_made_twice(
    world: tuple[apsw.Connection, Folder], tmp_path: Path, state: dict[str, Any], again: bool
) -> None:
    connection, _ = world
    before = space(connection)
    killed = broken(3, **state)
    with pytest.raises(Internal):
        embed(connection, killed, force=True)
    connection.close()
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    spaces.load(connection)
    of = space(connection)
    assert (of.table, of.fingerprint, stored(connection)) == (before.table, "f", 12)
    assert vectors.pending(connection, of) == {}
    assert renewal.pending(connection, of) == {"notes": 4}
    rest = Fake(**state)
    report = embed(connection, rest, force=again)
    assert sorted(killed.seen[:8] + rest.seen) == [f"note n{n}" for n in sorted(range(12), key=str)]
    of = space(connection)
    assert (of.fingerprint, of.dimensions) == (state.get("fingerprint", "f"), state.get("dimensions", 8))
    assert (stored(connection), tables(connection), report.renewing, report.pending) == (12, 1, {}, {})
    assert report.space.table == of.table != before.table
    width = connection.execute(f'SELECT length(embedding) FROM "{of.table}" LIMIT 1').get
    assert width == of.dimensions


def test_a_dead_endpoint_and_one_that_takes_nothing_cost_no_vector(world: tuple[apsw.Connection, Folder]) -> None:
    connection, folder = world
    with pytest.raises(Internal):
        embed(connection, broken(1), force=True)
    assert stored(connection) == 12
    refusing = Fake()
    refusing.refused = "note"
    with pytest.raises(TextRefused):
        embed(connection, refusing, force=True)
    for number in range(3, 12):
        drop(connection, folder.name, f"{number:02}.md")
    assert len(embed(connection, refusing, force=True).failed) == 3, "too few to end the run"
    assert stored(connection) == 3


def test_a_budget_renews_as_much_as_fits_each_time(world: tuple[apsw.Connection, Folder]) -> None:
    connection, _ = world
    provider = Fake()
    left = [
        sum(embed(connection, provider, force=not n, deadline=time.monotonic()).renewing.values()) for n in range(3)
    ]
    assert (left, len(provider.seen), stored(connection)) == ([8, 4, 0], 12, 12)


def test_what_is_new_meanwhile_answers_at_once_and_what_goes_is_gone_from_both(
    world: tuple[apsw.Connection, Folder],
) -> None:
    connection, folder = world
    with pytest.raises(Internal):
        embed(connection, broken(3), force=True)
    write(Path(folder.path), {"new.md": "written meanwhile"})
    Path(folder.path, "00.md").unlink()
    Path(folder.path, "11.md").unlink()
    update(connection, [folder])
    last = broken(2)
    with pytest.raises(Internal):
        embed(connection, last)
    assert last.seen[0] == "written meanwhile"
    assert vectors.pending(connection, space(connection)) == {}
    assert stored(connection) == 11
    rest = Fake()
    embed(connection, rest)
    assert "written meanwhile" not in rest.seen
    assert (stored(connection), tables(connection)) == (11, 1)


def test_by_collection_the_others_keep_their_vectors(world: tuple[apsw.Connection, Folder]) -> None:
    connection, _ = world
    connection.execute("UPDATE documents SET collection = 'other' WHERE path < '05.md'")
    with pytest.raises(Internal):
        embed(connection, broken(2), force=True, collections=["other"])
    assert renewal.pending(connection, space(connection)) == {"other": 1}
    idle = Fake()
    assert embed(connection, idle, collections=["notes"]).renewing == {"other": 1}
    assert idle.seen == []
    rest = Fake()
    assert embed(connection, rest).renewing == {}
    assert (len(rest.seen), stored(connection), tables(connection)) == (1, 12, 1)


def test_a_text_that_is_refused_keeps_its_vectors_unless_the_model_has_changed(
    world: tuple[apsw.Connection, Folder],
) -> None:
    connection, _ = world
    picky = Fake()
    picky.refused = "n7"
    report = embed(connection, picky, force=True)
    assert (len(report.failed), report.pending, stored(connection)) == (1, {}, 12)
    picky = Fake(**CHANGED)  # type: ignore[arg-type]
    picky.refused = "n7"
    report = embed(connection, picky, force=True)
    assert (report.pending, stored(connection)) == ({"notes": 1}, 11)


def test_force_follows_an_endpoint_with_another_length_whatever_waits(
    world: tuple[apsw.Connection, Folder],
) -> None:
    connection, folder = world
    write(Path(folder.path), {"new.md": "written meanwhile"})
    update(connection, [folder])
    with pytest.raises(Refused, match="vectors of 4 numbers, where its others have 8") as refused:
        embed(connection, Fake(dimensions=4))
    assert refused.value.fix.startswith("brain embed -f ")
    with pytest.raises(Internal):
        embed(connection, broken(2, dimensions=4), force=True)
    assert (space(connection).dimensions, stored(connection)) == (8, 12), "the old ones answer until then"
    with pytest.raises(Refused, match="8 numbers, where those that are being made in place of its others have 4"):
        embed(connection, Fake())
    some = embed(connection, Fake(dimensions=4), deadline=time.monotonic())
    assert (some.dimensions, some.space.dimensions, sum(some.renewing.values()) > 0) == (4, 8, True)
    report = embed(connection, Fake(dimensions=4))
    assert (report.pending, report.renewing, report.failed) == ({}, {}, {})
    assert (space(connection).dimensions, stored(connection), tables(connection)) == (4, 13, 1)


def test_who_goes_back_to_the_model_of_before_gives_the_new_vectors_up(world: tuple[apsw.Connection, Folder]) -> None:
    connection, _ = world
    with pytest.raises(Internal):
        embed(connection, broken(3, **CHANGED), force=True)
    with pytest.raises(Refused, match="another model or endpoint"):
        embed(connection, Fake(fingerprint="h"))
    idle = Fake()
    assert embed(connection, idle).renewing == {}
    assert (idle.seen, stored(connection), tables(connection)) == ([], 12, 1)
    with pytest.raises(Refused, match="another model or endpoint"):
        embed(connection, Fake(fingerprint="g"))


def test_a_new_way_to_cut_takes_over_once_all_is_cut_by_it(world: tuple[apsw.Connection, Folder]) -> None:
    connection, _ = world

    def other(breaks_at: int) -> Fake:
        provider = broken(breaks_at)
        provider.layout = Words()
        provider.layout.name = "words:another"
        return provider

    with pytest.raises(Internal):
        embed(connection, other(2))
    assert (space(connection).layout, stored(connection)) == ("words:10", 12)
    rest = other(0)
    embed(connection, rest)
    assert (space(connection).layout, stored(connection), len(rest.seen)) == ("words:another", 12, 8)
    assert connection.execute("SELECT count(*), count(DISTINCT layout) FROM brain_cuts").fetchone() == (12, 1)


def test_the_search_by_signs_is_of_the_vectors_that_answer(
    world: tuple[apsw.Connection, Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = world
    of = space(connection)
    assert coarse.keep(connection, of, least=1)
    monkeypatch.setattr(coarse, "LEAST", 1)
    monkeypatch.setattr(coarse.keep, "__defaults__", (1, None))
    embed(connection, Fake(**CHANGED), force=True)  # type: ignore[arg-type]
    of = space(connection)
    assert coarse.exists(connection, of)
    vector = bytes([127] + [0] * 15)
    assert {chunk % SPAN for chunk, _ in coarse.nearest(connection, of, vector, 12)} == {0}
    assert tables(connection) == 2


@pytest.mark.parametrize("state", [{}, CHANGED])
def test_vectors_renewed_while_a_question_is_encoded_answer_it_if_they_can(
    world: tuple[apsw.Connection, Folder], state: dict[str, Any]
) -> None:
    connection, _ = world

    def encode(lines: Sequence[tuple[str, bool]]) -> list[bytes]:
        embed(connection, Fake(**state), force=True)
        return quantise(Fake().embed([text for text, _ in lines]))

    asked = Semantic(connection, space(connection), encode, lambda: None)
    if state:
        with pytest.raises(Refused, match="recomputed by another state"):
            asked.search("note n3", 5)
    else:
        assert len(asked.search("note n3", 5)) == 5
