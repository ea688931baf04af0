"""Amp: one document a thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.document import split
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from tests.ingest.transcripts import corpus

Record = dict[str, Any]


def ingest(home: Home, folder: Path) -> Ledger:
    return run(home, "amp", [str(folder)], trust_stat=False)


def document(home: Home) -> tuple[Record, str]:
    return split(corpus(home)["amp__T-1.md"].decode())


def thread(path: Path, *messages: Record, **fields: Any) -> Path:
    tree = {"uri": "file:///home/me/my%20api", "repository": {"ref": "refs/heads/main"}}
    given: Record = {"v": 9, "id": "T-1", "created": 1_777_367_643_000, "title": "The race", "messages": list(messages)}
    given["env"] = {"initial": {"trees": [tree], "platform": {"clientVersion": "0.1"}}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**given, **fields}), encoding="utf-8")
    return path


def test_a_thread_becomes_a_document(home: Home, tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"cmd": "npm test"}}
    run_ = {"status": "done", "result": {"output": "FAIL", "exitCode": 1}}
    thread(
        tmp_path / "T-1.json",
        {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Why?"}],
         "meta": {"sentAt": 1_777_367_650_000}},
        {"role": "assistant", "messageId": 1, "content": [{"type": "thinking", "thinking": "Hm."}, use],
         "usage": {"model": "claude", "outputTokens": 3}},
        {"role": "user", "messageId": 2, "content": [{"type": "tool_result", "toolUseID": "c1", "run": run_}]},
        {"role": "assistant", "messageId": 3, "content": [{"type": "text", "text": "So."}]},
    )  # fmt: skip
    ledger = ingest(home, tmp_path)
    assert (ledger.unknown, ledger.ingested) == ({}, 1)
    meta, body = document(home)
    assert (meta["title"], meta["project"], meta["git_branch"]) == ("The race", "/home/me/my api", "main")
    assert (meta["models"], meta["output_tokens"], meta["ended"]) == (["claude"], 3, "2026-04-28T09:14:10Z")
    assert "Why?\n\n## [2] assistant\n\n- Bash: npm test\n  ! Exit code 1\n  ! FAIL\n\nSo.\n" in body


def test_a_subagents_words_in_a_thread_are_nobodys_and_what_waits_in_the_queue_is_the_persons(
    home: Home, tmp_path: Path
) -> None:
    use = {"type": "tool_use", "id": "c2", "name": "Grep", "input": {"pattern": "race"}}
    refused = {"type": "tool_result", "toolUseID": "c2", "status": "error", "output": "no such folder"}
    thread(
        tmp_path / "T-1.json",
        {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Why?"}]},
        {"role": "user", "messageId": 1, "parentToolUseId": "c1", "content": [{"type": "text", "text": "Find races"}]},
        {"role": "assistant", "messageId": 2, "parentToolUseId": "c1",
         "content": [{"type": "text", "text": "Looking"}, use]},
        {"role": "user", "messageId": 3, "parentToolUseId": "c1", "content": [refused]},
        queuedMessages=[{"id": "q-1", "interrupt": False, "queuedMessage": {
            "role": "user", "messageId": 9, "content": [{"type": "text", "text": "And the other?"}]}}],
        omens=3,
    )  # fmt: skip
    assert set(ingest(home, tmp_path).unknown) == {"thread: field omens"}
    body = document(home)[1]
    assert "Why?" in body
    assert "And the other?" in body
    assert "! no such folder" in body
    assert "Find races" not in body
    assert "Looking" not in body


def test_what_another_thread_sent_is_not_the_persons(home: Home, tmp_path: Path) -> None:
    def said(role: str, *texts: str | Record, **fields: Any) -> Record:
        parts = [{"type": "text", "text": text} if isinstance(text, str) else text for text in texts]
        return {"role": role, "content": parts, "createdAt": "2026-04-28T09:20:00Z", **fields}

    made = {"type": "tool_use", "id": "c1", "name": "create_thread", "input": {"prompt": "Look"}}
    done = {"type": "tool_result", "toolUseID": "c1", "run": {"status": "done", "result": {"threadID": "T-2"}}}
    thread(
        tmp_path / "T-1.json",
        said("user", "Find it", meta={"fromExecutorThreadID": "T-0"}),
        said("assistant", "I look.", made, meta={"openAIResponsePhase": "commentary"}),
        said("user", done),
        said(
            "user",
            {"type": "text", "text": "For the model", "hidden": True},
            "It is here",
            meta={"fromAutomation": True},
        ),
        said("assistant", "Found.", meta={"openAIResponsePhase": "final_answer"}),
        said("user", "Thanks"),
        title="",
    )
    assert ingest(home, tmp_path).unknown == {}
    meta, body = document(home)
    heads = [line.split(" · ")[0].partition("] ")[2] for line in body.split("\n") if line.startswith("## [")]
    assert heads == ["teammate", "commentary", "teammate", "assistant", "user"]
    assert (meta["title"], meta["forked_from"], meta["ended"]) == ("Thanks", "T-0", "2026-04-28T09:20:00Z")
    assert "→ amp__T-2" in body
    assert "For the model" not in body


def test_what_a_person_said_to_a_call_of_a_thread_that_they_refused_is_theirs(home: Home, tmp_path: Path) -> None:
    error = {"message": "Tool execution rejected by user with feedback: Keep the file."}
    refused = {"type": "tool_result", "toolUseID": "c1", "run": {"status": "error", "error": error}}
    thread(
        tmp_path / "T-1.json",
        {"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Go"}]},
        {"role": "assistant", "messageId": 1, "content": [{"type": "tool_use", "id": "c1", "name": "a", "input": {}}]},
        {"role": "user", "messageId": 2, "content": [refused]},
    )
    ingest(home, tmp_path)
    assert "- a\n  rejected by the user\n\n## [3] user\n\nKeep the file.\n" in document(home)[1]


def test_a_file_of_another_tool_is_no_thread(home: Home, tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text(json.dumps({"sessionId": "x", "messages": []}))
    (tmp_path / "torn.json").write_text('{"id": "T-2", "mess')
    ledger = ingest(home, tmp_path)
    assert (ledger.skipped, ledger.failed_files) == ({"not an Amp thread": 1}, 1)
