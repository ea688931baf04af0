"""A forked subagent of Codex repeats nothing of its parent, if its file separates the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ingest.sources.codex.parser import FORKED
from tests.ingest.sources.test_codex import OTHER, SESSION, Record, Rollout, document, ingest, save
from tests.ingest.transcripts import corpus, from_the_archive_alone

# Made in this order: the parent's thread and its turns, the agent's thread and its turns.
PARENT, EARLIER, SPAWNING = (f"019a0000-000{n}-7000-8000-00000000000a" for n in (1, 2, 3))
CHILD, TURN, LATER = (f"019a0000-000{n}-7000-8000-00000000000b" for n in (4, 5, 6))
SOURCE = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1, "agent_role": "explorer"}}}


def turn(make: Rollout, name: str | None, asked: str, said: str) -> list[Record]:
    started = {} if name is None else {"turn_id": name}
    return [make.event("task_started", **started), *make.asked(asked), *make.said(said)]


def forked(make: Rollout, source: Any = SOURCE, turns: tuple[str | None, ...] = (EARLIER, SPAWNING)) -> list[Record]:
    copied = [record for name in turns for record in turn(make, name, "The parent's prompt", "The parent's answer")]
    return [make.meta(CHILD, source=source), make.meta(PARENT, source="cli", cwd="/parents"), *copied]


def place(folder: Path) -> Path:
    return folder / f"there/rollout-2026-04-28T09-00-00-{CHILD}.jsonl"


def test_a_forked_agent_begins_with_its_own_first_turn(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    own = turn(make, TURN, "Find the lock", "Here."), turn(make, LATER, "And the key?", "There.")
    save(place(tmp_path), forked(make), *own)
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home, CHILD)
    assert (meta["parent"], meta["forked_from"], meta["project"]) == (PARENT, PARENT, "/home/me/api")
    assert (meta["title"], meta["agent_type"]) == ("Find the lock", "explorer")
    assert "parent's" not in body
    assert [body.count(text) for text in ("\nFind the lock", "Here.", "And the key?", "There.")] == [1, 1, 1, 1]
    before = corpus(home)
    assert from_the_archive_alone(home, "codex", tmp_path / "there") == before


@pytest.mark.parametrize("output", [FORKED, {"content": FORKED, "success": True}])
def test_the_first_versions_mark_the_end_of_the_copy(home: Home, tmp_path: Path, output: Any) -> None:
    make = Rollout()
    mark = make.item("function_call_output", call_id="spawn", output=output)
    save(place(tmp_path), forked(make, turns=(None,)), mark, make.asked("Find the lock"), make.said("Here."))
    ingest(home, tmp_path)
    body = document(home, CHILD)[1]
    assert "parent's" not in body
    assert "Find the lock" in body


@pytest.mark.parametrize("turns", [(None,), ("0",), (TURN.replace("-7", "-4"),)], ids=["none", "number", "version 4"])
def test_if_nothing_separates_the_copy_everything_stays(
    home: Home, tmp_path: Path, turns: tuple[str | None, ...]
) -> None:
    make = Rollout()
    save(place(tmp_path), forked(make, turns=turns), turn(make, None, "Find the lock", "Here."))
    ingest(home, tmp_path)
    body = document(home, CHILD)[1]
    assert "The parent's prompt" in body
    assert "Find the lock" in body


def test_a_persons_own_fork_keeps_what_it_repeats(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    save(place(tmp_path), forked(make, source="cli"), turn(make, TURN, "Again", "Other."))
    ingest(home, tmp_path)
    assert "The parent's prompt" in document(home, CHILD)[1]


def test_an_agent_that_was_not_forked_keeps_all(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    save(place(tmp_path), make.meta(CHILD, source=SOURCE), make.asked("Find the lock"), turn(make, TURN, "And?", "So."))
    ingest(home, tmp_path)
    assert "Find the lock" in document(home, CHILD)[1]


def test_an_agent_that_was_read_before_its_first_turn_is_composed_again(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    copied = forked(make)
    save(place(tmp_path), copied)
    ingest(home, tmp_path)
    assert "The parent's prompt" in document(home, CHILD)[1]
    save(place(tmp_path), copied, turn(make, TURN, "Find the lock", "Here."))
    ingest(home, tmp_path)
    assert "parent's" not in document(home, CHILD)[1]
    before = corpus(home)
    assert from_the_archive_alone(home, "codex", tmp_path / "there") == before


def test_the_parent_keeps_its_own_words(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    mark = make.item("function_call_output", call_id="c", output=FORKED)
    path = tmp_path / f"there/rollout-2026-04-28T09-00-00-{SESSION}.jsonl"
    save(path, make.meta(SESSION), make.asked("Why?"), mark, make.meta(OTHER), turn(make, TURN, "And?", "So."))
    ingest(home, tmp_path)
    assert "Why?" in document(home, SESSION)[1]
