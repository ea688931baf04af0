"""Contradictions between notes are found by their words and relations, and settled by their user."""

from __future__ import annotations

import os
from typing import Any

import pytest

from core.config import load
from core.errors import BadInput
from core.home import Home
from runtime.capture import entries, inbox
from runtime.capture.capture import capture
from runtime.explaining.conflicts import conflicts, decide, settle
from runtime.explaining.why import why
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
    found = conflicts(home, load(home))
    assert [each["rule"] for each in found] == ([rule] if rule else [])
    for each in found:
        assert {side["entry_id"] for side in each["sides"]} == ids


def test_other_projects_and_superseded_entries_do_not_contradict(home: Home) -> None:
    Shelf(home)
    first = capture(home, "Redis for the job queue", type="decision", project="ferry", why="it is there")
    note(home, "Redis for the job queue", "rejected", project="harbour")
    assert conflicts(home, load(home)) == []
    note(home, "Redis for the job queue", "rejected")
    assert len(conflicts(home, load(home))) == 1
    capture(home, "SQLite for jobs", supersedes=first.entry_id, why="one file")
    assert conflicts(home, load(home)) == []


def test_two_successors_of_one_entry_are_a_conflict(home: Home) -> None:
    Shelf(home)
    first = note(home, "Keep tides in a table", "decision")
    note(home, "Compute tides when asked", "decision", supersedes=first)
    note(home, "Ask the harbour for levels", "decision", supersedes=first)
    assert [each["rule"] for each in conflicts(home, load(home))] == ["fork"]


def test_settling_says_so_in_both_entries(home: Home) -> None:
    Shelf(home)
    kept, gone = note(home, "Redis for jobs", "rejected"), note(home, "Redis for jobs", "decision")
    assert settle(home, kept, gone) == ""
    assert entries.find(home, gone).field("superseded_by") == kept
    assert entries.find(home, kept).field("supersedes") == gone
    assert conflicts(home, load(home)) == []
    with pytest.raises(BadInput):
        settle(home, kept, gone)
    with pytest.raises(BadInput):
        settle(home, kept, kept)


@pytest.mark.parametrize("keep", ["newer", "older", "both"])
def test_a_conflict_is_settled_by_its_id_and_does_not_come_back(home: Home, keep: str) -> None:
    Shelf(home)
    older, newer = note(home, "Redis for jobs", "rejected"), note(home, "Redis for jobs", "decision")
    (found,) = conflicts(home, load(home))
    assert found["id"] == conflicts(home, load(home))[0]["id"]
    done = decide(home, load(home), found["id"], keep)
    assert (done["kept"], [side["entry_id"] for side in done["sides"]]) == (keep, [newer, older])
    gone = {"newer": [older], "older": [newer], "both": []}[keep]
    assert [each for each in (older, newer) if entries.find(home, each).field("superseded_by")] == gone
    assert conflicts(home, load(home)) == []
    with pytest.raises(BadInput):
        decide(home, load(home), found["id"], keep)


def test_two_that_hold_both_may_contradict_a_third(home: Home) -> None:
    Shelf(home)
    note(home, "Redis for jobs", "rejected")
    note(home, "Redis for jobs", "decision")
    decide(home, load(home), conflicts(home, load(home))[0]["id"], "both")
    third = note(home, "Redis for jobs", "rejected")
    (found,) = conflicts(home, load(home))
    assert third in {side["entry_id"] for side in found["sides"]}
    decide(home, load(home), found["id"], "both")
    assert conflicts(home, load(home)) == []


def answered(shelf: Shelf, name: str, question: str, answer: str, date: int, project: str = "/u/x/ferry") -> None:
    """Put a session into the index in which a person answered an agent's question."""
    body = f"## [1] assistant\n\n- AskUserQuestion: {question}\n  answer to “{question}”: {answer}\n"
    given = {"session_id": name, "source": "claude", "project": project, "turns": 1}
    shelf.put("brain", f"{name}.md", body, date=date, ended=date, **given)


MARCH, APRIL = 1_772_400_000, 1_775_100_000


def distilled(shelf: Shelf, name: str, text: str, date: int) -> None:
    """Put a distillate with one decision into the index."""
    given = {"session_id": name, "source": "claude", "project": "/u/x/ferry", "distiller": "extractive"}
    shelf.put("distilled", f"{name}.md", f"## Decisions\n\n- {text} [1]\n", date=date, ended=date, **given)


@pytest.mark.parametrize("keep", ["newer", "older", "both"])
def test_decisions_of_sessions_contradict_each_other_until_their_user_settles_it(home: Home, keep: str) -> None:
    shelf = Shelf(home)
    distilled(shelf, "s1", "The timeout of the client is 30 seconds.", MARCH)
    distilled(shelf, "s2", "The timeout of the client is 90 seconds.", APRIL)
    (found,) = conflicts(home, load(home))
    newer, older = found["sides"]
    assert (newer["uri"], older["uri"]) == ("qmd://distilled/s2.md", "qmd://distilled/s1.md")
    assert "90 seconds" in newer["title"]
    assert newer["entry_id"] is None
    decide(home, load(home), found["id"], keep)
    assert conflicts(home, load(home)) == []
    notes = [stored.title for stored in entries.entries(home)]
    wanted = {"newer": [newer["title"]], "older": [older["title"]], "both": []}
    assert notes == wanted[keep]
    os.unlink(home.index)
    Shelf(home)
    distilled(Shelf(home), "s1", "The timeout of the client is 30 seconds.", MARCH)
    distilled(Shelf(home), "s2", "The timeout of the client is 90 seconds.", APRIL)
    assert conflicts(home, load(home)) == []  # whatever becomes of the index


def test_a_session_that_decides_otherwise_than_a_note_is_a_conflict_and_the_reverse_is_none(home: Home) -> None:
    shelf = Shelf(home)
    said = note(home, "The timeout of the client is 30 seconds", "decision", project="/u/x/ferry")
    distilled(shelf, "s1", "The timeout of the client is 60 seconds.", MARCH)  # long before the note
    assert conflicts(home, load(home)) == []
    distilled(shelf, "s2", "The timeout of the client is 90 seconds.", 4_000_000_000)
    found = [each for each in conflicts(home, load(home)) if said in {side["entry_id"] for side in each["sides"]}]
    assert [side["uri"] for side in found[0]["sides"]] == ["qmd://distilled/s2.md", None]
    decide(home, load(home), found[0]["id"], "older")
    (kept,) = [stored for stored in entries.entries(home) if not stored.field("superseded_by")]
    assert kept.title == "The timeout of the client is 30 seconds"
    assert kept.field("supersedes") == said


def spoken(shelf: Shelf, name: str, text: str, date: int, role: str = "user", **fields: Any) -> None:
    """Put a session into the index in which somebody said something, undistilled."""
    body = f"## [1] user\n\nGood morning.\n\n## [2] {role}\n\n{text}\n\n## [3] assistant\n\nAll right.\n"
    given = {"session_id": name, "source": "claude", "project": "/u/x/ferry", "turns": 3}
    shelf.put("brain", f"{name}.md", body, date=date, ended=date, **given | fields)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Go on. I prefer tabs over spaces here.", "I prefer spaces over tabs here."),
        ("From now on never use moment.js for dates.", "Thanks. From now on use moment.js for dates."),
        ("Always squash commits.", "Please never squash commits."),
    ],
)
def test_preferences_that_persons_said_in_sessions_contradict_each_other(home: Home, older: str, newer: str) -> None:
    shelf = Shelf(home)
    spoken(shelf, "s1", older, MARCH)
    spoken(shelf, "s2", newer, APRIL)
    (found,) = conflicts(home, load(home))
    assert [(side["uri"], side["line"], side["type"]) for side in found["sides"]] == [
        ("qmd://brain/s2.md", 16, "decision"),
        ("qmd://brain/s1.md", 16, "decision"),
    ]
    distilled(shelf, "s1", older.removeprefix("Go on. "), MARCH)
    assert len(conflicts(home, load(home))) == 1  # once, though a distillate has it, too
    (found,) = conflicts(home, load(home))
    decide(home, load(home), found["id"], "newer")
    assert conflicts(home, load(home)) == []
    (kept,) = entries.entries(home)
    assert kept.title == found["sides"][0]["title"]
    shown = why(home, load(home), kept.title)["decisions"]
    assert [each["entry_id"] for each in shown] == [kept.entry_id]  # the answer on the topic from then on


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("I prefer spaces over tabs here.", {"role": "assistant"}),
        ("I prefer spaces over tabs here.", {"parent": "s9"}),
        ("Would I prefer spaces over tabs here?", {}),
        ("> I prefer spaces over tabs here.", {}),
        ("I prefer spaces over tabs here.", {"project": "/u/x/harbour"}),
        ("I prefer small modules here.", {}),
    ],
    ids=["an agent", "a subagent's prompt", "a question", "a quotation", "another project", "something else"],
)
def test_what_is_no_preference_of_a_person_contradicts_none(home: Home, text: str, fields: dict[str, Any]) -> None:
    shelf = Shelf(home)
    spoken(shelf, "s1", "I prefer tabs over spaces here.", MARCH)
    spoken(shelf, "s2", text, APRIL, **fields)
    assert conflicts(home, load(home)) == []


def test_answers_to_agents_are_compared_within_their_project_alone(home: Home) -> None:
    shelf = Shelf(home)
    answered(shelf, "a1", "Which database should the client use?", "sqlite", MARCH)
    answered(shelf, "a2", "Which database should the client use?", "postgres", APRIL, "/u/x/harbour")
    assert conflicts(home, load(home)) == []


def test_without_an_index_notes_are_compared_all_the_same(home: Home) -> None:
    Shelf(home)
    note(home, "Always squash commits", "preference")
    note(home, "Never squash commits", "preference")
    os.unlink(home.index)
    assert len(conflicts(home, load(home))) == 1
