"""The doctor's long look at answers: the questions about one's own memory find their documents."""

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
