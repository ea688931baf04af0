"""Synthetic documents are listed only on request, and rank below those of a person."""

from __future__ import annotations

import json

import pytest

from core import clock
from qmd.search.search import Ranking
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf


def test_it_ranks_below_human_work(shelf: Shelf) -> None:
    now = clock.now()
    for number in range(6):
        shelf.put("brain", f"m{number}.md", "the gannet dives, the gannet dives", date=now, synthetic=True)
    shelf.put("brain", "human.md", "the gannet dives and other matters of the day", date=now)
    hits = shelf.ask("gannet dives", limit=3)["hits"]
    assert hits[0]["uri"] == "qmd://brain/human.md"
    assert len(hits) == 3
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


@pytest.mark.parametrize(("machines", "people", "searches"), [(6, 9, 1), (6, 2, 1), (40, 1, 2)])
def test_a_second_search_ranks_it_below_human_work_where_the_candidates_are_too_few(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, machines: int, people: int, searches: int
) -> None:
    now, asked, rank = clock.now(), list[str](), Ranking.rank
    for number in range(machines):
        shelf.put("brain", f"m{number}.md", "the gannet dives, the gannet dives", date=now, synthetic=True)
    for number in range(people):
        shelf.put("brain", f"h{number}.md", f"the gannet dives and other matters of day {number}", date=now)

    def counted(self: Ranking, question: str, drop: str = "") -> None:
        asked.append(question)
        rank(self, question, drop)

    monkeypatch.setattr(Ranking, "rank", counted)
    hits = shelf.ask("gannet dives", limit=3)["hits"]
    assert ["/h" in hit["uri"] for hit in hits] == [number < people for number in range(3)]
    assert len(asked) == searches


def test_it_comes_after_human_work_in_a_walk_through_the_days(shelf: Shelf) -> None:
    now = clock.now()
    for number in range(6):
        shelf.put("brain", f"m{number}.md", "a fixture", date=now, synthetic=True)
    for name, ago in (("old", 60), ("older", 120)):
        shelf.put("brain", f"{name}.md", "a day's work", date=now - ago)
    envelope = shelf.ask("what did I do last?", limit=3)
    assert envelope["route"]["mode"] == "time"
    assert [hit["uri"].rpartition("/")[2] for hit in envelope["hits"][:2]] == ["old.md", "older.md"]
    assert len(envelope["hits"]) == 3


def test_it_is_listed_only_when_asked_for(shelf: Shelf, brain: Brain) -> None:
    shelf.put("brain", "machine.md", "x", date=clock.now(), session_id="m", synthetic=True)
    shelf.put("brain", "human.md", "x", date=clock.now(), session_id="h")
    plain = json.loads(brain("recent", "--json").stdout)
    assert [item["session_id"] for item in plain["items"]] == ["h"]
    assert plain["synthetic"] == 1
    shown = json.loads(brain("recent", "--synthetic", "--json").stdout)
    assert {item["session_id"] for item in shown["items"]} == {"h", "m"}
