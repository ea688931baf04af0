from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.home import Home
from runtime import distill_queue
from runtime.distill_queue import PendingQueue


def waiting(home: Home) -> list[str]:
    return [row["path"] for row in distill_queue.read(home)]


def test_what_is_done_waits_no_longer_until_it_changes_again(home: Home) -> None:
    queue = PendingQueue(home)
    assert queue.add("brain", "a.md")
    assert not queue.add("brain", "a.md")
    assert queue.end("brain", "a.md", "done")
    assert waiting(home) == []
    assert not queue.end("brain", "a.md", "done"), "it did not wait"
    assert queue.add("brain", "a.md")
    assert waiting(home) == ["a.md"]


_STEPS = st.lists(st.tuples(st.sampled_from(["add", "done", "dead"]), st.sampled_from(["a.md", 'é"b.md', "a.md.md"])))


@given(_STEPS)
def test_adding_one_alone_adds_what_adding_among_many_does(steps: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        homes = Home(one), Home(other)
        homes[1].make()
        among = PendingQueue(homes[0])
        for step, name in steps:
            if step == "add":
                assert distill_queue.add(homes[1], "brain", name) == among.add("brain", name)
            else:
                among.end("brain", name, step)
                PendingQueue(homes[1]).end("brain", name, step)
        assert waiting(homes[0]) == waiting(homes[1])


def test_a_journal_of_what_is_done_is_kept_short(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distill_queue, "_COMPACT_BYTES", 2000)
    for _ in range(50):
        assert distill_queue.add(home, "brain", "a.md")
        assert PendingQueue(home).end("brain", "a.md", "done")
    assert distill_queue.add(home, "brain", "b.md")
    assert waiting(home) == ["b.md"]
    assert os.path.getsize(distill_queue.path(home)) < 2300


def test_however_much_waits_adding_one_parses_no_more_than_its_own_rows(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distill_queue, "_COMPACT_BYTES", 2000)
    among = PendingQueue(home)
    for number in range(300):
        among.add("brain", f"{number}.md")
    parsed: list[bytes] = []
    fold = distill_queue._fold

    def counted(data: bytes) -> Any:
        parsed.extend(data.splitlines())
        return fold(data)

    monkeypatch.setattr(distill_queue, "_fold", counted)
    assert distill_queue.add(home, "brain", "new.md")
    assert not distill_queue.add(home, "brain", "7.md")
    assert [json.loads(row)["path"] for row in parsed] == ["7.md"]


def test_a_queue_that_only_grows_is_seldom_gone_through_again(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distill_queue, "_COMPACT_BYTES", 2000)
    looked: list[int] = []
    compact = PendingQueue._compact

    def counted(queue: PendingQueue, size: int) -> None:
        looked.append(size)
        compact(queue, size)

    monkeypatch.setattr(PendingQueue, "_compact", counted)
    queue = PendingQueue(home)
    for number in range(1000):
        queue.add("brain", f"{number}.md")
    assert 1 <= len(looked) <= 8
    assert len(waiting(home)) == 1000


def test_a_document_that_changed_meanwhile_goes_on_waiting(home: Home) -> None:
    queue = PendingQueue(home)
    queue.add("brain", "a.md")
    assert not queue.end("brain", "a.md", "done", lambda: False)
    assert waiting(home) == ["a.md"]


def test_what_another_writer_ended_can_be_added_again(home: Home) -> None:
    mine, other = PendingQueue(home), PendingQueue(home)
    mine.add("brain", "a.md")
    assert not other.add("brain", "a.md"), "it waits already"
    mine.end("brain", "a.md", "done")
    assert other.add("brain", "a.md")
    assert waiting(home) == ["a.md"]


def test_a_dead_letter_keeps_its_reason_until_the_document_is_added_again(home: Home) -> None:
    queue = PendingQueue(home)
    queue.add("brain", "a.md")
    queue.end("brain", "a.md", "dead", reason="no JSON", attempts=3)
    assert waiting(home) == []
    assert [(row["path"], row["reason"], row["attempts"]) for row in distill_queue.dead(home)] == [
        ("a.md", "no JSON", 3)
    ]
    queue.add("brain", "a.md")
    assert (waiting(home), distill_queue.dead(home)) == (["a.md"], [])


def test_clearing_the_queue_leaves_the_dead_letters_and_the_other_way_round(home: Home) -> None:
    queue = PendingQueue(home)
    for name in ("a.md", "b.md", "c.md"):
        queue.add("brain", name)
    queue.end("brain", "c.md", "dead", reason="x")
    assert queue.clear() == 2
    assert (waiting(home), len(distill_queue.dead(home))) == ([], 1)
    assert queue.clear(letters=True) == 1
    assert distill_queue.dead(home) == []


def test_a_long_journal_is_rewritten_as_what_it_adds_up_to(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distill_queue, "_COMPACT_BYTES", 4000)
    queue = PendingQueue(home)
    queue.add("brain", "first.md")
    for number in range(200):
        queue.add("brain", f"{number}.md")
        queue.end("brain", f"{number}.md", "done")
    assert Path(distill_queue.path(home)).stat().st_size < 5000
    assert waiting(home) == ["first.md"]
    assert (Path(distill_queue.path(home)).stat().st_mode & 0o777) == 0o600


def test_a_rewrite_that_fails_and_short_writes_lose_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = PendingQueue(home)
    really = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: really(descriptor, data[:7]))
        for number in range(20):
            queue.add("brain", f"{number}.md")
            queue.end("brain", f"{number}.md", "done")
        queue.add("brain", "first.md")

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(distill_queue, "_COMPACT_BYTES", 2000)
    with monkeypatch.context() as patch:
        patch.setattr(distill_queue, "write_atomic", full)
        with pytest.raises(OSError, match="full"):
            queue.add("brain", "second.md")
    assert waiting(home) == ["first.md", "second.md"]
    assert queue.add("brain", "third.md")
    assert Path(distill_queue.path(home)).stat().st_size < 1000
    assert waiting(home) == ["first.md", "second.md", "third.md"]


def test_torn_rows_and_strangers_are_passed_over(home: Home) -> None:
    rows = ['{"path": "a.md", "collection": "brain"}', '{"path": 3}', "[1]", '{"pa', '{"path":"b.md","state":"future"}']
    Path(distill_queue.path(home)).write_text("\n".join(rows))
    assert waiting(home) == ["a.md"]
    PendingQueue(home).add("brain", "c.md")
    assert waiting(home) == ["a.md", "c.md"]


events = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "done", "dropped", "dead"])))


@given(events, st.integers(0, 30))
def test_a_rewrite_that_was_cut_short_adds_up_to_the_same(given_events: list[tuple[str, Any]], cut: int) -> None:
    lines = []
    for name, state in given_events:
        row = {"collection": "brain", "path": name, **({"state": state} if state else {})}
        lines.append(json.dumps(row).encode() + b"\n")
    before = b"".join(lines)
    waits, dead = distill_queue._fold(before)
    kept = b"".join(json.dumps(row).encode() + b"\n" for row in [*waits.values(), *dead.values()])
    written = kept[: len(before)] + before[len(kept) :]
    again = distill_queue._fold(written)
    assert (set(again[0]), set(again[1])) == (set(waits), set(dead))
