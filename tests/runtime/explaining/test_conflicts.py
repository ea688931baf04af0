"""Contradictions between notes are found by their words and relations, and settled by their user."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import BadInput
from core.home import Home
from runtime.capture import entries, inbox
from runtime.capture.capture import capture
from runtime.explaining.conflicts import conflicts, decide, settle
from tests.runtime.index_fixture import Shelf


def note(home: Home, text: str, kind: str, project: str = "ferry", **fields: Any) -> str:
    """Write an entry; return its id."""
    return inbox.write(home, text, type=kind, project=project, **fields).entry_id


CASES: list[tuple[str, Any, Any]] = [
    ("rejected", ("Redis for the job queue", "decision", {}), ("Redis for the job queue", "rejected", {})),
    (
        "alternative",
        ("Keep jobs in SQLite", "decision", {"alternatives": ["Redis for jobs"]}),
        ("Use Redis for jobs that may be lost", "decision", {}),
    ),
    ("", ("Redis for the job queue", "decision", {}), ("Kafka between harbours", "rejected", {})),
    ("", ("Redis for the job queue", "rejected", {}), ("Redis for the job queue", "rejected", {})),
    ("", ("Redis for jobs", "note", {}), ("Redis for jobs", "rejected", {})),
    (
        "",
        ("Keep jobs in SQLite", "decision", {"alternatives": ["Redis for jobs"]}),
        ("Redis for jobs", "rejected", {}),
    ),
    ("opposite", ("Always squash commits", "preference", {}), ("Never squash commits", "preference", {})),
    ("replaced", ("The timeout is 30 seconds", "decision", {}), ("The timeout is 90 seconds", "decision", {})),
    ("", ("The timeout of reads is 30 s", "decision", {}), ("The timeout of writes is 90 s", "decision", {})),
]


@pytest.mark.parametrize(("rule", "one", "other"), CASES)
def test_what_contradicts_is_found_and_nothing_else(home: Home, rule: str, one: Any, other: Any) -> None:
    Shelf(home)
    ids = {note(home, text, kind, **fields) for text, kind, fields in (one, other)}
    found = conflicts(home)
    assert [each["rule"] for each in found] == ([rule] if rule else [])
    for each in found:
        assert {side["entry_id"] for side in each["sides"]} == ids


def test_other_projects_and_superseded_entries_do_not_contradict(home: Home) -> None:
    Shelf(home)
    first = capture(home, "Redis for the job queue", type="decision", project="ferry", why="it is there")
    note(home, "Redis for the job queue", "rejected", project="harbour")
    assert conflicts(home) == []
    note(home, "Redis for the job queue", "rejected")
    assert len(conflicts(home)) == 1
    capture(home, "SQLite for jobs", supersedes=first.entry_id, why="one file")
    assert conflicts(home) == []


def test_two_successors_of_one_entry_are_a_conflict(home: Home) -> None:
    Shelf(home)
    first = note(home, "Keep tides in a table", "decision")
    note(home, "Compute tides when asked", "decision", supersedes=first)
    note(home, "Ask the harbour for levels", "decision", supersedes=first)
    assert [each["rule"] for each in conflicts(home)] == ["fork"]


def test_settling_says_so_in_both_entries(home: Home) -> None:
    Shelf(home)
    kept, gone = note(home, "Redis for jobs", "rejected"), note(home, "Redis for jobs", "decision")
    assert settle(home, kept, gone) == ""
    assert entries.find(home, gone).field("superseded_by") == kept
    assert entries.find(home, kept).field("supersedes") == gone
    assert conflicts(home) == []
    with pytest.raises(BadInput):
        settle(home, kept, gone)
    with pytest.raises(BadInput):
        settle(home, kept, kept)


@pytest.mark.parametrize("keep", ["newer", "older", "both"])
def test_a_conflict_is_settled_by_its_id_and_does_not_come_back(home: Home, keep: str) -> None:
    Shelf(home)
    older, newer = note(home, "Redis for jobs", "rejected"), note(home, "Redis for jobs", "decision")
    (found,) = conflicts(home)
    assert found["id"] == conflicts(home)[0]["id"]
    done = decide(home, found["id"], keep)
    assert (done["kept"], [side["entry_id"] for side in done["sides"]]) == (keep, [newer, older])
    gone = {"newer": [older], "older": [newer], "both": []}[keep]
    assert [each for each in (older, newer) if entries.find(home, each).field("superseded_by")] == gone
    assert conflicts(home) == []
    with pytest.raises(BadInput):
        decide(home, found["id"], keep)


def test_two_that_hold_both_may_contradict_a_third(home: Home) -> None:
    Shelf(home)
    note(home, "Redis for jobs", "rejected")
    note(home, "Redis for jobs", "decision")
    decide(home, conflicts(home)[0]["id"], "both")
    third = note(home, "Redis for jobs", "rejected")
    (found,) = conflicts(home)
    assert third in {side["entry_id"] for side in found["sides"]}
    decide(home, found["id"], "both")
    assert conflicts(home) == []
