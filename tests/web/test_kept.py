"""What was counted is kept until the index changes."""

from __future__ import annotations

from contextlib import closing
from threading import Event, Thread
from typing import Any

import pytest

from core.errors import BadInput
from core.home import Home
from qmd.index.store import open_index
from tests.runtime.index_fixture import Shelf
from web.kept import Kept


def test_an_answer_is_kept_until_the_index_is_written_to(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "a.md", date=1_773_316_800)
    made: list[str] = []

    def make() -> dict[str, Any]:
        made.append("answer")
        return {"number": len(made)}

    kept = Kept()
    for _ in range(3):
        with closing(open_index(home.index)):
            assert kept.get(home, "a year", make) == {"number": 1}
        assert kept.get(home, "a year", make) == {"number": 1}
    assert kept.get(home, "another", make) == {"number": 2}
    shelf.put("brain", "b.md", date=1_773_316_800)
    assert kept.get(home, "a year", make) == {"number": 3}


def test_a_look_soon_after_a_change_does_not_wait_for_a_slow_count(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "a.md", date=1_773_316_800)
    counted = Event()

    def slow() -> dict[str, Any]:
        assert counted.wait(20)
        return {"number": 2}

    kept = Kept(patience_s=0.01)
    assert kept.get(home, "a year", lambda: {"number": 1}) == {"number": 1}
    shelf.put("brain", "b.md", date=1_773_316_800)
    assert kept.get(home, "a year", slow) == {"number": 1}
    counted.set()
    while kept.get(home, "a year", slow) != {"number": 2}:
        pass
    kept.close()


def test_a_first_look_waits_for_its_answer_and_gets_its_failure(home: Home) -> None:
    Shelf(home).put("brain", "a.md", date=1_773_316_800)

    def fails() -> dict[str, Any]:
        raise BadInput("no", "yes")

    kept = Kept(patience_s=0)
    with pytest.raises(BadInput):
        kept.get(home, "a year", fails)
    assert kept.get(home, "a year", lambda: {"number": 1}) == {"number": 1}


def test_whoever_changed_something_sees_it_at_once(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "a.md", date=1_773_316_800)
    kept = Kept(patience_s=0)
    assert kept.get(home, "a year", lambda: {"number": 1}) == {"number": 1}
    shelf.put("brain", "b.md", date=1_773_316_800)
    kept.clear()
    assert kept.get(home, "a year", lambda: {"number": 2}) == {"number": 2}


def test_a_count_in_flight_during_a_change_is_neither_kept_nor_in_the_way(home: Home) -> None:
    Shelf(home).put("brain", "a.md", date=1_773_316_800)
    kept = Kept(patience_s=0.01)

    def look(number: int) -> tuple[Thread, Event]:
        begun, counted = Event(), Event()

        def slow() -> dict[str, Any]:
            begun.set()
            assert counted.wait(20)
            return {"number": number}

        thread = Thread(target=kept.get, args=(home, "a year", slow))
        thread.start()
        assert begun.wait(20)
        return thread, counted

    def again() -> dict[str, Any]:
        raise AssertionError("it is being counted")

    older, older_counted = look(1)
    kept.clear()
    newer, newer_counted = look(2)
    older_counted.set()
    older.join(20)
    assert kept.get(home, "a year", again, spare={}) == {}
    newer_counted.set()
    newer.join(20)
    assert kept.get(home, "a year", again) == {"number": 2}
    kept.close()


def test_a_spare_answer_is_given_while_the_first_is_made(home: Home) -> None:
    Shelf(home).put("brain", "a.md", date=1_773_316_800)
    counted = Event()

    def slow() -> dict[str, Any]:
        assert counted.wait(20)
        return {"number": 1}

    kept = Kept(patience_s=0.01)
    assert kept.get(home, "a year", slow, spare={}) == {}
    counted.set()
    assert kept.get(home, "a year", slow) == {"number": 1}
    kept.close()
