"""An answer says how far it can be behind, also where a tool appeared after the last index run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from runtime.mcp.server import Service
from tests.conftest import Brain
from tests.ingest.transcripts import OTHER, SESSION, Script, save
from tests.qmd.mcp.world import talk


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder without any tool's files."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HISTFILE"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "user").mkdir()
    return tmp_path / "user"


def _codex(user: Path) -> None:
    for name in (SESSION, OTHER):
        save(user / f".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{name}.jsonl", {"type": "session_meta"})


def _claude(user: Path) -> None:
    for name in (SESSION, OTHER):
        save(user / f".claude/projects/-p/{name}.jsonl", Script(name).user("where do fulmars nest"))


def _ask(brain: Brain, question: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(brain("ask", question, "--json").stdout)
    return found


def _tools(home: Home, question: str) -> list[str]:
    """Return the answer of each tool that searches, as text."""

    async def conversation(client: Any) -> list[str]:
        found = []
        for name, given in (
            ("brain_ask", {"question": question}),
            ("search_sessions", {"query": question}),
            ("semantic_search", {"query": question}),
            ("brain_why", {"topic": question}),
            ("brain_recent", {"since": "2099-01-01"}),
        ):
            answer = await client.call_tool(name, given)
            found.append("\n".join(block.text for block in answer.content))
        return found

    return talk(Service(home).server, conversation)


@pytest.mark.parametrize(
    ("first", "appears"), [(["index"], _codex), (["init", "--demo"], _claude)], ids=["codex", "after the demo"]
)
def test_a_tool_that_appears_after_the_last_run_makes_every_answer_stale(
    brain: Brain, home: Home, user: Path, first: list[str], appears: Any
) -> None:
    assert brain(*first).returncode == 0
    before = _ask(brain, "zzyzx")["freshness"]["lexical"]
    assert before["pending"] == 0
    appears(user)
    found = _ask(brain, "zzyzx")
    assert found["error"] == "no_results"
    assert (found["freshness"]["lexical"]["fresh"], found["freshness"]["lexical"]["pending"]) == (False, 2)
    assert "may hold it" in found["route"]["reason"]
    assert "2 transcripts" in brain("ask", "zzyzx").stdout
    report = json.loads(brain("explain", "--json").stdout)
    assert report["transcripts"]["waiting"] == 2
    for words in (["why", "zzyzx"], ["recent", "--since", "1h", "-c", "kb-wiki"]):
        assert "At least 2 transcripts changed since" in brain(*words).stdout, (
            "what finds nothing says what it has not read"
        )
        assert json.loads(brain(*words, "--json").stdout)["freshness"]["lexical"]["pending"] == 2
    for text in _tools(home, "zzyzx"):
        assert "2 transcripts wait to be indexed" in text
    assert brain("index").returncode == 0
    assert _ask(brain, "zzyzx")["freshness"]["lexical"]["fresh"]
