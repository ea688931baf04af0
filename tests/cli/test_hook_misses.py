"""A transcript that a hook could not index is noted, reported, and indexed later."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import EngineMissing
from core.home import Home
from ingest.raw import store
from runtime.capture import tidying, transcripts
from runtime.hooks import due, hooks
from tests.cli.hooked import asked, eventually, indexed, patient, payload, silent, transcript
from tests.conftest import Brain

__all__ = ["indexed", "patient"]


def test_a_miss_is_heard_of_once_it_is_one(brain: Brain, indexed: Home, claude_root: Path) -> None:
    session = "0aaaaaaa-0000-4000-8000-000000000008"
    path = transcript(claude_root, session, "where do fulmars nest", "on ledges")
    key = due.add(indexed, str(path), session, "/Users/ana/api")
    note = Path(indexed.state, "hooks", "due", f"{key}.json")
    given = payload(path, "another", "SessionStart", source="startup", transcript_path="/elsewhere/new.jsonl")
    os.utime(path, (time.time(), time.time()))
    assert silent(brain("hook", "session-start", "--misses", stdin=given))
    found = json.loads(note.read_text())
    note.write_text(json.dumps({**found, "at": found["at"] - 3600}))
    done = brain("hook", "session-start", "--misses", stdin=given)
    said = json.loads(done.stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == "SessionStart"
    assert "was not indexed" in said["additionalContext"]
    assert "\n" not in said["additionalContext"]
    assert eventually(lambda: due.waiting(indexed) == [])
    assert asked(brain, "fulmars ledges") == [f"qmd://brain/{session}.md"]


def test_a_hook_that_never_ran_is_a_miss_too(brain: Brain, indexed: Home, claude_root: Path) -> None:
    path = transcript(claude_root, "0aaaaaaa-0000-4000-8000-000000000009", "do skuas steal", "they do")
    elsewhere = {"transcript_path": "/elsewhere/new.jsonl"}
    assert hooks.misses(indexed, elsewhere, time.time()) == ""
    assert "was not indexed" in hooks.misses(indexed, elsewhere, time.time() + 120)
    assert hooks.misses(indexed, {"transcript_path": str(path)}, time.time() + 120) == ""


def test_one_transcript_that_fails_keeps_no_other_waiting(
    indexed: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"0aaaaaaa-0000-4000-8000-0000000000{number}" for number in ("b1", "b2", "b3")]
    paths = [str(transcript(claude_root, name, f"auk {name[-2:]}", "noted")) for name in names]
    for path in paths:
        due.add(indexed, path, "s", "")
    whole = transcripts.index_transcript

    def failing(home: Home, source: str, path: str, **given: Any) -> str:
        if path == paths[0]:
            raise ValueError("what nobody thought of")
        return whole(home, source, path, **given)

    monkeypatch.setattr(transcripts, "index_transcript", failing)
    with pytest.raises(ValueError, match="nobody thought of"):
        hooks.drain(indexed)
    assert [note["path"] for _, note in due.waiting(indexed)] == [paths[0]]


def test_a_failure_is_reported_also_if_another_note_follows(
    indexed: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"0aaaaaaa-0000-4000-8000-0000000000{number}" for number in ("c1", "c2")]
    broken, sound = [str(transcript(claude_root, name, f"auk {name[-2:]}", "noted")) for name in names]
    due.add(indexed, broken, "s", "")
    whole = transcripts.index_transcript
    asked: list[bool] = []

    def failing(home: Home, source: str, path: str, **given: Any) -> str:
        if path == broken:
            raise ValueError("what nobody thought of")
        return whole(home, source, path, **given)

    def interrupted(_home: Home, stop: Callable[[], bool]) -> bool:
        if not asked:
            due.add(indexed, sound, "s", "")
        asked.append(stop())
        return not asked[-1]

    monkeypatch.setattr(transcripts, "index_transcript", failing)
    monkeypatch.setattr(tidying, "tidy", interrupted)
    with pytest.raises(ValueError, match="nobody thought of"):
        hooks.drain(indexed)
    assert asked == [True, False]
    assert [note["path"] for _, note in due.waiting(indexed)] == [broken]


def test_a_transcript_that_cannot_be_read_stays_missed(
    indexed: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(transcript(claude_root, "0aaaaaaa-0000-4000-8000-0000000000b4", "dovekie", "noted"))
    key = due.add(indexed, path, "s", "")

    def refused(paths: list[str], *_: Any) -> list[store.SourceFile]:
        return [store.SourceFile(paths[0], 0, 0, 0, "unreadable: Permission denied")]

    with monkeypatch.context() as patched:
        patched.setattr(store, "walk", refused)
        with pytest.raises(EngineMissing):
            hooks.settle(indexed, key, wait_s=0)
    assert due.read(indexed, key) is not None
    assert hooks.settle(indexed, key, wait_s=0) == "indexed"


def test_a_run_repairs_what_a_session_hears_of(brain: Brain, indexed: Home, claude_root: Path) -> None:
    path = transcript(claude_root, "0aaaaaaa-0000-4000-8000-0000000000b5", "where do puffins dig", "in turf")
    due.add(indexed, str(path), "s", "")
    assert brain("index", "--new").returncode == 0
    assert due.waiting(indexed) == []
    assert hooks.misses(indexed, {}, time.time() + 3600) == ""


def test_the_child_waits_for_a_message_that_comes_after_a_silence(
    indexed: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = "0aaaaaaa-0000-4000-8000-0000000000b6"
    path = transcript(claude_root, session, "what is a noddy")
    key = due.add(indexed, str(path), session, "", beyond=path.stat().st_size)
    note = Path(indexed.state, "hooks", "due", f"{key}.json")
    note.write_text(json.dumps({**json.loads(note.read_text()), "at": time.time() - 5}))
    os.utime(path, (time.time() - 5, time.time() - 5))

    def written(_seconds: float) -> None:
        transcript(claude_root, session, "what is a noddy", "A tern of the tropics.")
        os.utime(path, (time.time() - 5, time.time() - 5))

    monkeypatch.setattr("runtime.hooks.hooks.time.sleep", written)
    assert hooks.drain(indexed) == 1
    assert "tropics" in Path(indexed.path("brain", f"{session}.md")).read_text()


def test_a_hook_says_what_its_transcript_is_to_outgrow(
    indexed: Home, claude_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = transcript(claude_root, "0aaaaaaa-0000-4000-8000-0000000000b7", "what is a booby")
    given = json.loads(payload(path, "s", last_assistant_message="A gannet of the south."))
    monkeypatch.setattr(hooks, "detach", lambda *_: None)
    assert hooks.stop(indexed, given, {})["outcome"] == "detached"
    ((_, note),) = due.waiting(indexed)
    assert note["beyond"] == path.stat().st_size
