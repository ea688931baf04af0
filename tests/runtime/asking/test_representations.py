from __future__ import annotations

from core.home import Home
from runtime.distill.distiller import Extractive
from runtime.distill.run import Asked, run
from runtime.distill_queue import PendingQueue
from runtime.explaining.corpus import distillation
from runtime.explaining.explain import report
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf

TEXT = body(REFRESH).partition("\n\n")[2]
DAY = 86_400


def ask(shelf: Shelf, limit: int = 5, *collections: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = shelf.ask("HttpOnly cookie token refresh", limit=limit, collections=collections)[
        "hits"
    ]
    return found


def filled(home: Home, sessions: int = 3) -> Shelf:
    shelf = Shelf(home)
    for number in range(sessions):
        shelf.put("brain", f"{number}.md", TEXT, date=1_777_629_600, session_id=str(number), source="claude")
    run(home, shelf.config, Extractive(), Asked())
    return shelf


def test_a_session_and_its_distillate_are_one_hit_with_two_representations(home: Home) -> None:
    hits = ask(filled(home))
    assert len(hits) == 3
    for hit in hits:
        places = hit["representations"]
        assert isinstance(places, list)
        assert [place["trust"] for place in places] in (["distilled", "session"], ["session", "distilled"])
        assert places[0]["uri"] == hit["uri"]
        assert all(place["line"] >= 1 for place in places)


def test_as_many_memories_are_found_as_were_asked_for(home: Home) -> None:
    shelf = filled(home, 4)
    hits = ask(shelf, 3)
    assert [hit["rank"] for hit in hits] == [1, 2, 3]
    assert len({str(hit["uri"]).rpartition("/")[2] for hit in hits}) == 3


def test_a_collection_that_is_asked_alone_answers_alone(home: Home) -> None:
    shelf = filled(home)
    for name in ("distilled", "brain"):
        hits = ask(shelf, 5, name)
        assert {hit["collection"] for hit in hits} == {name}
        assert not any("representations" in hit for hit in hits)


def test_another_session_of_the_same_name_stays_another_hit(home: Home) -> None:
    shelf = filled(home, 1)
    shelf.put("distilled", "0.md", TEXT, session_id="somebody else")
    assert len(ask(shelf)) == 2


def test_lag_is_counted(home: Home) -> None:
    shelf = filled(home, 2)
    before = distillation(home)
    assert (before["sessions"], before["distilled"], before["stale"], before["missing"]) == (2, 2, 0, 0)
    assert (before["waiting"], before["oldest"], before["behind_days"]) == (0, None, 0)
    shelf.put("brain", "0.md", TEXT + "\nmore", session_id="0", date=1_777_629_600)
    shelf.put("brain", "2.md", TEXT, session_id="2", date=1_777_629_600 + 6 * DAY)
    PendingQueue(home).add("brain", "2.md")
    after = distillation(home)
    assert (after["sessions"], after["distilled"], after["stale"], after["missing"]) == (3, 2, 1, 1)
    assert (after["waiting"], after["oldest_days"], after["behind_days"]) == (1, 0, 6)


def test_a_queue_that_nobody_works_off_is_a_finding(home: Home) -> None:
    shelf = filled(home, 1)
    with open(f"{home.state}/queue.jsonl", "w", encoding="utf-8") as stream:
        stream.write('{"collection": "brain", "path": "0.md", "ts": "2020-01-01T00:00:00Z"}\n')
    shelf.put("brain", "0.md", TEXT + "\nmore", session_id="0")
    found = report(home, "terminal", {})
    messages = [problem["message"] for problem in found["problems"] if problem["part"] == "distillation"]
    assert len(messages) == 2
    assert "1 session to be distilled, the oldest for" in messages[0]
    assert found["distillation"]["stale"] == 1


def test_where_nobody_distils_there_is_no_finding(home: Home) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "0.md", TEXT, session_id="0")
    assert not [problem for problem in report(home, "terminal", {})["problems"] if problem["part"] == "distillation"]
