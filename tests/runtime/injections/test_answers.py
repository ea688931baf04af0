"""Answers that an agent got are recorded, whichever command gave them; a person's are not."""

from __future__ import annotations

import os
from typing import Any

import pytest

from core.home import Home
from runtime.injections import answers, ledger


@pytest.mark.parametrize(
    ("envelope", "texts"),
    [
        ({"hits": [{"uri": "qmd://brain/a.md", "title": "A", "snippet": "s", "line": 3}]}, ["A\ns"]),
        ({"commands": [{"uri": "qmd://brain/a.md", "title": "A", "command": "pnpm fix"}]}, ["A\npnpm fix"]),
        ({"uri": "qmd://brain/a.md", "title": "A", "text": "whole"}, ["A\nwhole"]),
        ({"evidence": 0.4, "hits": [], "names": ["x"], "sections": [{"heading": "Goal"}]}, []),
    ],
)
def test_each_document_of_an_answer_is_recorded(home: Home, envelope: dict[str, Any], texts: list[str]) -> None:
    home.make()
    answers.record(home, {"CLAUDE_CODE_SESSION_ID": "s1"}, "mcp", "brain_ask", envelope)
    rows = ledger.listed(home, "s1")
    assert [row["text"] for row in rows] == texts
    assert all(row["reason"] == "asked: brain_ask" for row in rows)


@pytest.mark.parametrize(
    ("surface", "environ", "agents"),
    [
        ("mcp", {}, True),
        ("claude-code", {}, True),
        ("terminal", {"CLAUDECODE": "1"}, True),
        ("terminal", {}, False),
        ("launchd", {"CLAUDECODE": "1"}, False),
    ],
)
def test_who_counts_as_an_agent(surface: str, environ: dict[str, str], agents: bool) -> None:
    assert answers.is_agents(surface, environ) is agents


def test_a_ledger_that_cannot_be_written_fails_no_answer(home: Home) -> None:
    home.make()
    os.mkdir(ledger.path(home))
    answers.record(home, {}, "mcp", "brain_ask", {"hits": [{"uri": "qmd://brain/a.md", "title": "A"}]})
    assert os.listdir(ledger.path(home)) == []
