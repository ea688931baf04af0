"""The doctor's long look: questions find their documents, and the archive makes documents as they are."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from evals.questions import drawing
from ops.checks import deep
from ops.checks.finding import CheckContext, Finding
from runtime.capture import indexing
from tests.ingest.transcripts import Script, save, tool

WORDS = "walrus ocelot heron puffin lynx badger".split()


@pytest.fixture
def asked(home: Home) -> Home:
    """A home of six sessions in two folders, with a question that finds each of them."""
    questions: list[dict[str, object]] = []
    for number, word in enumerate(WORDS):
        name = f"{'sub/' * (number % 2)}s{number}.md"
        path = Path(home.path("brain", name))
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f"---\nsession_id: s{number}\nsource: claude\ndate: 2026-05-0{number + 1}T08:00:00Z\n---\n\n"
        path.write_text(f"{head}# Session {number}\n\n## [1] user\n\nwhere does the {word} sleep in winter\n")
        question = {"id": str(number), "text": f"where does the {word} sleep", "type": "title"}
        questions.append({**question, "relevant": [f"brain/{name}"]})
    indexing.index(home, load(home))
    _keep(home, questions)
    return home


def _keep(home: Home, questions: list[dict[str, object]]) -> None:
    path = Path(drawing.path(home))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": 1, "version": 1, "questions": questions}))


def _found(home: Home) -> list[Finding]:
    context = CheckContext(home, os.environ, time.time(), deep=True)
    try:
        return list(deep.answers_hold(context))
    finally:
        context.close()


def test_questions_that_find_their_documents_are_no_finding(asked: Home) -> None:
    assert _found(asked) == []


def test_questions_that_no_longer_find_their_documents_are_counted(asked: Home) -> None:
    kept = json.loads(Path(drawing.path(asked)).read_text())["questions"]
    for question in kept[:4]:
        question["text"] = "who plays the bassoon"
    _keep(asked, kept)
    (found,) = _found(asked)
    assert (found.id, found.severity) == ("recall", "warning")
    assert "4 of 6" in found.evidence


def test_the_archive_makes_a_document_that_its_session_or_a_companion_describes(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deep, "_SAMPLE", 1)
    script, agent = Script("parent"), Script("parent", prefix="a", agentId="a1", isSidechain=True)
    call = tool("Task", "t1", description="Count them", subagent_type="counter", prompt="Count")
    done = script.result("t1", outcome={"agentId": "a1", "status": "completed"})
    claude, droid = tmp_path / "claude", tmp_path / "droid"
    save(claude / "parent.jsonl", script.user("Go"), script.assistant(call), done)
    save(claude / "parent/subagents/agent-a1.jsonl", agent.user("Count"), agent.assistant(tool("Bash", command="wc")))
    said = {"type": "message", "id": "m1", "message": {"role": "user", "content": "Mend the lock"}}
    save(droid / "s1.jsonl", {"type": "session_start", "id": "s1", "cwd": "/x"}, said)
    (droid / "s1.settings.json").write_text('{"model": "opus"}')
    for source in (claude, droid):
        indexing.index(home, load(home), source=source.name, roots=[str(source)])
    now = time.time()
    for day in range(8):
        context = CheckContext(home, os.environ, now + day * 86_400, deep=True)
        assert list(deep.archive_makes_the_corpus(context)) == []
        context.close()
