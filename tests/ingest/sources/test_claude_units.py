"""Claude Code's format: agents, copies and forks, and which document their records belong to."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.home import Home
from tests.ingest.transcripts import (
    OTHER,
    SESSION,
    Script,
    corpus,
    document,
    ingest,
    save,
    text,
    tool,
)


def agent_file(folder: Path, agent: str = "a881341", session: str = SESSION, where: str = "subagents") -> Path:
    s = Script(session, prefix=agent, isSidechain=True, agentId=agent)
    place = folder / "projects/-p" / (f"{session}/subagents" if where else "") / f"agent-{agent}.jsonl"
    return save(place, s.user("look for hooks"), s.assistant(tool("Grep", pattern="hook", path="src"), text("found")))


def parent_file(folder: Path, agent: str = "a881341") -> Path:
    s = Script()
    return save(
        folder / "projects/-p" / f"{SESSION}.jsonl",
        s.user("research it"),
        s.assistant(
            tool("Agent", "t9", subagent_type="Explore", description="Find the hooks", prompt="look for hooks")
        ),
        s.result("t9", outcome={"agentId": agent, "status": "completed", "content": [text("SECRET")]}),
        s.assistant(text("done")),
    )


@pytest.mark.parametrize("where", ["", "subagents"])
def test_a_subagent_is_a_document_of_its_own_linked_both_ways(home: Home, tmp_path: Path, where: str) -> None:
    agent_file(tmp_path, where=where)
    parent_file(tmp_path)
    ingest(home, tmp_path)
    assert list(corpus(home)) == [f"{SESSION}.md", "agent-a881341.md"]
    meta, made = document(home, "agent-a881341.md")
    assert meta["parent"] == SESSION
    assert meta["agent_id"] == "a881341"
    assert meta["agent_type"] == "Explore"
    assert meta["task"] == meta["title"] == "Find the hooks"
    assert meta["session_id"] == "agent-a881341"
    assert "## [1] task · 2026-04-28 09:00\n\nlook for hooks\n" in made
    assert "- Agent (Explore): Find the hooks: look for hooks\n  → agent-a881341\n" in document(home)[1]
    assert "SECRET" not in document(home)[1]


def test_a_subagent_learns_of_its_task_when_its_parent_appears_later(home: Home, tmp_path: Path) -> None:
    agent_file(tmp_path)
    ingest(home, tmp_path)
    assert document(home, "agent-a881341.md")[0]["title"] == "look for hooks"
    parent_file(tmp_path)
    ledger = ingest(home, tmp_path, trust_stat=True)
    assert document(home, "agent-a881341.md")[0]["agent_type"] == "Explore"
    assert ledger.written == 2
    assert ingest(home, tmp_path).written == 0


def test_compaction_and_warm_up_agents_are_skipped_with_their_reason(home: Home, tmp_path: Path) -> None:
    agent_file(tmp_path, "acompact-ff")
    s = Script(prefix="w", isSidechain=True, agentId="w1")
    save(tmp_path / "projects/-p/agent-w1.jsonl", s.user("Warmup"), s.assistant(text("I am ready to help!")))
    ledger = ingest(home, tmp_path)
    assert corpus(home) == {}
    assert ledger.skipped == {"compaction agent": 1, "warm-up agent": 1}


# Pitfall 8: orphans, two sessions in a file, copies.


def test_a_record_belongs_to_the_session_it_names(home: Home, tmp_path: Path) -> None:
    first, second = Script(SESSION), Script(OTHER, prefix="v")
    save(tmp_path / "projects/-p/x.jsonl", first.user("in the first"), second.user("in the second"))
    save(tmp_path / "projects/-p" / f"{SESSION}.jsonl", Script(SESSION).user("in the first"))
    ingest(home, tmp_path)
    assert list(corpus(home)) == [f"{SESSION}.md", f"{OTHER}.md"]
    assert "in the second" not in document(home)[1]
    assert "in the first" not in document(home, f"{OTHER}.md")[1]


def test_copies_of_one_session_make_one_document(home: Home, tmp_path: Path) -> None:
    s = Script()
    records = [s.user("one"), s.assistant(text("two")), s.user("three"), s.assistant(text("four"))]
    save(tmp_path / "projects/-a" / f"{SESSION}.jsonl", *records[:2])
    save(tmp_path / "projects/-b" / f"{SESSION}.jsonl", *records)
    save(tmp_path / "elsewhere/full.jsonl", *records[1:3])
    ledger = ingest(home, tmp_path)
    assert ledger.ingested == 3
    assert ledger.documents == 1
    together = corpus(home)
    other = Home(str(tmp_path / "h2"))
    other.make()
    save(tmp_path / "alone" / f"{SESSION}.jsonl", *records)
    ingest(other, tmp_path / "alone")
    assert corpus(other) == together
    assert str(tmp_path).encode() not in together[f"{SESSION}.md"]


def test_copies_that_have_diverged_are_united_in_order_of_time(home: Home, tmp_path: Path) -> None:
    s = Script()
    records = [s.user(f"number {n}") for n in range(6)]
    save(tmp_path / "a/x.jsonl", *records[:2], *records[4:])
    save(tmp_path / "b/x.jsonl", *records[:4])
    ingest(home, tmp_path)
    found = [line for line in document(home)[1].splitlines() if line.startswith("number")]
    assert found == [f"number {n}" for n in range(6)]


def test_a_fork_under_another_session_id_is_a_document_of_its_own(home: Home, tmp_path: Path) -> None:
    save(tmp_path / f"{SESSION}.jsonl", Script().user("the start"))
    fork = Script(OTHER, forkedFrom={"sessionId": SESSION, "messageUuid": "u1"})
    save(tmp_path / f"{OTHER}.jsonl", fork.user("the start"))
    ingest(home, tmp_path)
    assert len(corpus(home)) == 2
    assert document(home, f"{OTHER}.md")[0]["forked_from"] == SESSION


def test_a_record_repeated_in_one_file_counts_once(home: Home, tmp_path: Path) -> None:
    record = Script().user("said once")
    save(tmp_path / "x.jsonl", record, record)
    assert ingest(home, tmp_path).recovered == {"repeated records passed over": 1}
    assert document(home)[0]["turns"] == 1


# Pitfall 9 is test_records.py's; here: through the whole path.


def test_a_task_is_known_if_its_call_and_its_result_are_repeated(home: Home, tmp_path: Path) -> None:
    script = Script()
    call = script.assistant(tool("Task", "t1", description="Count them", subagent_type="counter", prompt="Count"))
    done = script.result("t1", outcome={"agentId": "a1", "status": "completed"})
    folder = tmp_path / "projects/-home-me-api"
    save(folder / f"{SESSION}.jsonl", script.user("Go"), call, done, done)
    agent = Script(prefix="a", agentId="a1", isSidechain=True)
    save(
        folder / SESSION / "subagents/agent-a1.jsonl", agent.user("Count"), agent.assistant(tool("Bash", command="wc"))
    )
    ingest(home, tmp_path)
    assert document(home, "agent-a1.md")[0]["task"] == "Count them"
