"""A second connection in a thread: what it finds, what it refuses, and how it ends."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from core.errors import EngineMissing
from qmd.index import parallel_read as module
from qmd.index.catalogue import Filters
from qmd.index.parallel_read import Later, SecondReader
from qmd.index.store import Deadline
from qmd.search.search import Searcher
from tests.qmd.corpus import indexed

_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def path(tmp_path: Path) -> str:
    connection, _ = indexed(tmp_path, {f"{number}.md": f"walrus {number} swam" for number in range(40)})
    found = str(connection.filename)
    connection.close()
    return found


def test_a_task_has_a_connection_and_thread_of_its_own_and_its_outcome_can_be_asked_for_twice(path: str) -> None:
    reader = SecondReader(path)
    mine = threading.get_ident()
    begun = reader.begin(lambda other: (threading.get_ident(), other.execute("SELECT count(*) FROM documents").get))
    assert begun is not None
    assert begun() == begun()
    assert begun()[0] != mine
    assert begun()[1] == 40
    reader.close()


def test_a_second_task_at_the_same_time_is_for_the_caller(path: str) -> None:
    reader = SecondReader(path)
    go = threading.Event()
    first = reader.begin(lambda _: go.wait(20))
    assert reader.begin(lambda _: 1) is None
    go.set()
    assert first is not None
    assert first()
    second = reader.begin(lambda _: 2)
    assert second is not None
    assert second() == 2
    reader.close()


def test_a_task_for_later_is_done_after_the_one_before_it(path: str) -> None:
    reader = SecondReader(path)
    done: list[str] = []
    go, begun = threading.Event(), threading.Event()

    def task(name: str, wait: bool = False) -> int:
        if wait:
            go.wait(20)
        done.append(name)
        return len(done)

    def second(_: apsw.Connection) -> int:
        begun.set()
        return task("later")

    first = reader.begin(lambda _: task("first", wait=True))
    assert first is not None
    later = Later(reader, second)
    go.set()
    assert begun.wait(20)
    assert later.outcome() == later.outcome() == 2
    assert done == ["first", "later"]
    reader.close()


def test_a_task_that_has_not_begun_is_left_to_whoever_wants_its_outcome_and_not_done_twice(path: str) -> None:
    reader = SecondReader(path)
    go = threading.Event()
    done: list[str] = []
    first = reader.begin(lambda _: go.wait(20))
    assert first is not None
    later = Later(reader, lambda _: done.append("reader"))
    assert later.outcome() is None
    go.set()
    assert first()
    last = reader.begin(lambda _: "after what was queued", queued=True)
    assert last is not None
    assert last() == "after what was queued"
    assert later.outcome() is None
    reader.close()
    assert done == []


def test_what_goes_wrong_is_raised_where_the_outcome_is_waited_for(path: str, tmp_path: Path) -> None:
    reader = SecondReader(path)
    begun = reader.begin(lambda other: other.execute("SELECT nothing"))
    assert begun is not None
    with pytest.raises(apsw.SQLError):
        begun()
    reader.close()
    missing = SecondReader(str(tmp_path / "none.sqlite"))
    begun = missing.begin(lambda other: other.execute("SELECT 1"))
    assert begun is not None
    with pytest.raises(EngineMissing):
        begun()
    missing.close()


def test_a_task_past_the_deadline_is_interrupted_and_so_is_one_that_nobody_waits_for(path: str) -> None:
    connection = apsw.Connection(path)
    reader = SecondReader(path)
    reader.deadline = Deadline(connection, 0.05)
    begun = reader.begin(lambda other: other.execute(_ENDLESS).get)
    assert begun is not None
    with pytest.raises(apsw.InterruptError):
        begun()
    reader.close()
    abandoned = SecondReader(path)
    started = threading.Event()

    def endless(other: apsw.Connection) -> object:
        started.set()
        return other.execute(_ENDLESS).get

    assert abandoned.begin(endless) is not None
    assert started.wait(20)
    abandoned.close()
    connection.close()


def test_the_end_waits_for_nothing_that_cannot_be_interrupted_and_lets_nothing_queued_wait_for_ever(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_END_S", 0.01)
    reader = SecondReader(path)
    started, go = threading.Event(), threading.Event()

    def slow(_: apsw.Connection) -> bool:
        started.set()
        return go.wait(20)

    first = reader.begin(slow)
    assert first is not None
    assert started.wait(20)
    later = reader.begin(lambda _: "done", queued=True)
    assert later is not None
    reader.close()
    go.set()
    assert first()
    with pytest.raises(apsw.InterruptError):
        later()
    after = reader.begin(lambda _: "done", queued=True)
    assert after is not None
    with pytest.raises(apsw.InterruptError):
        after()
    reader.close()


def test_a_parallel_read_changes_no_answer_even_if_it_cannot_open_the_index(path: str) -> None:
    connection = apsw.Connection(path)
    reader = SecondReader(path)

    def found(searcher: Searcher) -> list[tuple[int, float, str]]:
        hits = searcher.search("walrus 7", limit=10, filters=Filters())
        searcher.show(hits)
        return [(hit.id, hit.score, hit.snippet) for hit in hits]

    alone = found(Searcher(connection))
    assert len(alone) == 10
    assert found(Searcher(connection, reader)) == alone
    reader.close()
    unopened = SecondReader(path + ".gone")
    assert found(Searcher(connection, unopened)) == alone
    assert Later(unopened, lambda other: other.execute("SELECT 1").get).outcome() is None
    unopened.close()
    connection.close()
