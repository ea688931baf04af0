"""Capture with judgment: refusals, twins, and one entry taking another's place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.config import load
from core.errors import BadInput, Refused
from core.home import Home
from qmd.index.store import open_index
from runtime.asking.ask import Asker, Request
from runtime.asking.documents import NotFound
from runtime.capture import entries, indexing
from runtime.capture.capture import capture
from runtime.explaining.why import why
from tests.runtime import notes

OLD = "Refresh the access token sixty seconds early, under one lock"
NEW = "Refresh the access token lazily, on the first rejected request"


@pytest.fixture
def indexed(home: Home) -> Home:
    """A home with an index, empty."""
    indexing.index(home, load(home))
    return home


def test_a_log_is_refused_unless_forced(home: Home) -> None:
    with pytest.raises(Refused) as refusal:
        capture(home, "Ran the tests and pushed the branch")
    assert "--force" in refusal.value.fix
    assert capture(home, "Ran the tests and pushed the branch", force=True).type == "note"


def test_grounds_tell_a_decision_from_a_log(home: Home) -> None:
    entry = capture(home, "Removed the retry loop", type="decision", why="hid 409s", alternatives=["a cap", "jitter"])
    stored = entries.read(entry.path)
    assert (stored.meta["why"], stored.meta["alternatives"]) == ("hid 409s", ["a cap", "jitter"])
    assert stored.body == (
        "# Decision: Removed the retry loop\n\nRemoved the retry loop\n\nWhy: hid 409s\n\n"
        "Alternatives:\n\n- a cap\n- jitter\n"
    )


def test_a_secret_is_refused_whatever_its_user_says(home: Home) -> None:
    secret = "ghp_" + "Ab3dE6gH9" * 4
    for text, fields in (
        (f"the token is {secret}", {}),
        ("x", {"why": f"it is {secret}"}),
        ("x", {"title": secret}),
        ("x", {"project": f"/p/{secret}"}),
    ):
        with pytest.raises(Refused) as refusal:
            capture(home, text, force=True, **fields)
        assert secret not in refusal.value.message + refusal.value.fix
    assert entries.paths(home) == []


def test_what_is_noted_already_is_refused_and_named(indexed: Home) -> None:
    first = capture(indexed, OLD, type="decision")
    with pytest.raises(Refused) as refusal:
        capture(indexed, OLD.lower() + ".")
    assert first.entry_id in refusal.value.message
    assert capture(indexed, OLD.replace("sixty", "ninety")).entry_id != first.entry_id
    assert capture(indexed, OLD, force=True).entry_id != first.entry_id


def test_a_successor_says_what_it_replaces_and_is_said_by_it(indexed: Home) -> None:
    first = capture(indexed, OLD, type="decision", project="/p")
    second = capture(indexed, NEW, supersedes=first.entry_id[-8:], why="the lock stalled cold starts")
    assert entries.read(second.path).meta["supersedes"] == first.entry_id
    assert (second.type, entries.read(second.path).meta["project"]) == ("decision", "/p")
    assert entries.read(first.path).meta["superseded_by"] == second.entry_id
    with pytest.raises(BadInput) as failure:
        capture(indexed, "Refresh never", supersedes=first.entry_id)
    assert second.entry_id in failure.value.fix


def test_a_superseded_entry_ranks_below_its_successor_and_says_so(indexed: Home) -> None:
    first = capture(indexed, OLD, type="decision")
    second = capture(indexed, NEW, supersedes=first.entry_id)
    with Asker(indexed, load(indexed)) as asker:
        hits = asker.ask("refresh the access token sixty seconds early under one lock", Request())["hits"]
    assert [hit["uri"].rpartition("/")[2] for hit in hits[:2]] == [f"{second.entry_id}.md", f"{first.entry_id}.md"]
    assert hits[1]["superseded_by"] == second.entry_id
    assert "superseded" in hits[1]["warning"]
    assert "superseded_by" not in hits[0]


def test_deleting_the_index_loses_no_supersession(indexed: Home) -> None:
    first = capture(indexed, OLD, type="decision")
    second = capture(indexed, NEW, supersedes=first.entry_id)
    Path(indexed.index).unlink()
    indexing.index(indexed, load(indexed))
    (newest, oldest) = why(indexed, load(indexed), "access token refresh")["decisions"]
    assert (newest["entry_id"], newest["standing"], newest["supersedes"]) == (second.entry_id, True, first.entry_id)
    assert (oldest["entry_id"], oldest["standing"], oldest["superseded_by"]) == (first.entry_id, False, second.entry_id)


def test_removing_an_entry_lets_what_it_superseded_stand_again(indexed: Home) -> None:
    first = capture(indexed, OLD, type="decision")
    second = capture(indexed, NEW, supersedes=first.entry_id)
    assert entries.remove(indexed, entries.find(indexed, second.entry_id)) == ""
    assert "superseded_by" not in entries.read(first.path).meta
    connection = open_index(indexed.index)
    rows = connection.execute("SELECT path FROM documents WHERE active = 1 AND collection = 'inbox'").fetchall()
    connection.close()
    assert [os.path.basename(str(path)) for (path,) in rows] == [f"{first.entry_id}.md"]


def test_an_entry_is_found_by_either_end_of_its_id(home: Home) -> None:
    entry = capture(home, "prefer flock")
    for name in (entry.entry_id, entry.entry_id[-8:], entry.entry_id[:20], f"qmd://inbox/2026/11/{entry.entry_id}.md"):
        assert entries.find(home, name).entry_id == entry.entry_id
    for nothing in ("", "ab", "zzzzzzzz", "../../etc/passwd"):
        with pytest.raises(NotFound):
            entries.find(home, nothing)


@pytest.mark.parametrize("text", ["no frontmatter", "---\nsession_id: other\n---\n\nx", "---\n: [\n---\n\nx"])
def test_an_edit_that_breaks_the_entry_is_refused(home: Home, text: str) -> None:
    stored = entries.read(capture(home, "prefer flock").path)
    with pytest.raises(BadInput):
        entries.replace(stored, text)


def test_what_holds_now_is_told_even_where_it_says_nothing_of_the_topic(indexed: Home) -> None:
    first = capture(indexed, "Guard the writer by flock", type="decision", now=1_780_000_000.0)
    second = capture(indexed, "A lease row", type="decision", supersedes=first.entry_id, now=1_780_100_000.0)
    third = capture(indexed, "One daemon alone", type="decision", supersedes=second.entry_id, now=1_780_200_000.0)
    capture(indexed, "Tea at four", type="decision", now=1_780_300_000.0)
    found = why(indexed, load(indexed), "flock writer")["decisions"]
    assert [(each["entry_id"], each["standing"]) for each in found] == [
        (third.entry_id, True),
        (second.entry_id, False),
        (first.entry_id, False),
    ]


def test_why_has_decisions_newest_first_then_evidence(indexed: Home) -> None:
    capture(indexed, "Postgres for the job queue", type="decision", now=1_770_000_000.0)
    capture(indexed, "SQLite for the job queue", type="rejected", why="two writers stalled it", now=1_780_000_000.0)
    capture(indexed, "the job queue has a dashboard", type="reference", now=1_790_000_000.0)
    session = Path(indexed.path("brain", "s1.md"))
    session.parent.mkdir(exist_ok=True)
    text = "# Queue\n\n## [1] user\n\nwhy does the job queue stall\n"
    session.write_text(f"---\nsession_id: s1\nsource: claude\n---\n\n{text}")
    indexing.index(indexed, load(indexed))
    found = why(indexed, load(indexed), "job queue")
    assert [(each["type"], each["why"]) for each in found["decisions"]] == [
        ("rejected", "two writers stalled it"),
        ("decision", None),
    ]
    assert [each["uri"] for each in found["evidence"]] == ["qmd://brain/s1.md"]
    assert why(indexed, load(indexed), "kubernetes helm chart")["error"] == "no_results"


@pytest.mark.parametrize("text", notes.SECRETS)
def test_a_note_with_a_secret_is_refused_even_by_force(home: Home, text: str) -> None:
    with pytest.raises(Refused):
        capture(home, text, force=True)


@pytest.mark.parametrize(("there", "said"), notes.SAID_AGAIN)
def test_the_entry_that_says_the_same_is_named(indexed: Home, there: str, said: str) -> None:
    first = capture(indexed, there)
    with pytest.raises(Refused) as refusal:
        capture(indexed, said)
    assert first.entry_id in refusal.value.message
    assert first.title in refusal.value.message


def test_an_entry_is_compared_without_its_grounds(indexed: Home) -> None:
    first = capture(indexed, "Refresh the token lazily", type="decision", alternatives=["early", "in a worker"])
    assert "Alternatives:" in Path(first.path).read_text()
    with pytest.raises(Refused) as refusal:
        capture(indexed, "refresh the token lazily")
    assert first.entry_id in refusal.value.message


def _chain(home: Home) -> list[str]:
    """Three decisions, each in the place of the one before; the last says nothing of the topic."""
    first = capture(home, OLD, type="decision")
    second = capture(home, NEW, supersedes=first.entry_id)
    third = capture(home, "Let the gateway do it, not the clients", supersedes=second.entry_id)
    return [first.entry_id, second.entry_id, third.entry_id]


def test_a_chain_closes_over_an_entry_that_is_removed(indexed: Home) -> None:
    first, second, third = _chain(indexed)
    assert entries.remove(indexed, entries.find(indexed, second)) == ""
    assert entries.find(indexed, first).field("superseded_by") == third
    assert entries.find(indexed, third).field("supersedes") == first
    told = {each["entry_id"]: each["standing"] for each in why(indexed, load(indexed), "access token")["decisions"]}
    assert told == {first: False, third: True}


def test_the_ends_of_a_chain_can_be_removed(indexed: Home) -> None:
    first, second, third = _chain(indexed)
    entries.remove(indexed, entries.find(indexed, first))
    assert "supersedes" not in entries.find(indexed, second).meta
    entries.remove(indexed, entries.find(indexed, third))
    assert "superseded_by" not in entries.find(indexed, second).meta


def test_who_supersedes_too_late_is_told_what_holds(indexed: Home) -> None:
    first, _, third = _chain(indexed)
    with pytest.raises(BadInput) as failure:
        capture(indexed, "Refresh never", supersedes=first)
    assert third in failure.value.fix
    assert "Let the gateway do it" in failure.value.message


def test_a_successor_that_was_deleted_by_hand_holds_no_longer(indexed: Home) -> None:
    first, second, third = _chain(indexed)
    for entry in (second, third):
        Path(entries.find(indexed, entry).path).unlink()
    indexing.index(indexed, load(indexed))
    (decision,) = why(indexed, load(indexed), "access token")["decisions"]
    assert (decision["entry_id"], decision["standing"]) == (first, True)
    assert capture(indexed, "Refresh in a worker instead", supersedes=first).supersedes == first


def test_a_loop_that_somebody_wrote_ends(indexed: Home) -> None:
    first, _, third = _chain(indexed)
    entries.mark_superseded(indexed, entries.find(indexed, third), first)
    assert entries.successor(indexed, entries.find(indexed, first)) is None
    assert len(why(indexed, load(indexed), "access token")["decisions"]) == 3
    with Asker(indexed, load(indexed)) as asker:
        assert asker.ask("refresh the access token sixty seconds early", Request())["hits"]
    fourth = capture(indexed, "Refresh in a worker instead", supersedes=third)
    assert entries.successor(indexed, entries.find(indexed, first)).entry_id == fourth.entry_id  # type: ignore[union-attr]
    assert entries.remove(indexed, entries.find(indexed, first)) == ""


@pytest.mark.parametrize("field", ["supersedes", "superseded_by"])
def test_an_edit_cannot_write_a_supersession_of_one_end(indexed: Home, field: str) -> None:
    first = capture(indexed, OLD, type="decision")
    text = Path(first.path).read_text().replace("schema: 1", f"schema: 1\n{field}: {first.entry_id}")
    with pytest.raises(BadInput, match=field):
        entries.replace(entries.read(first.path), text)
