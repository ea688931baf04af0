"""Each tool whose results have a time of their own tells when a command ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ingest import registry
from ingest.session.edits import logged
from tests.ingest.sources.cases import parsed
from tests.ingest.sources.journals import write

AT, END = "2026-05-04T08:00:00.000Z", "2026-05-04T08:00:07.000Z"
CALL = {"id": "c1", "name": "bash", "arguments": {"command": "make"}}
# Source → the file, and the records of a session that runs ``make``.
SESSIONS: dict[str, tuple[str, Any]] = {
    "claude": (
        "-p/s1.jsonl",
        [
            {"type": "user", "uuid": "1", "sessionId": "s1", "timestamp": AT, "message": {"content": "Run make"}},
            {"type": "assistant", "uuid": "2", "sessionId": "s1", "timestamp": AT, "message": {"id": "m", "content": [
                {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "make"}}]}},
            {"type": "user", "uuid": "3", "sessionId": "s1", "timestamp": END, "message": {"content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}},
        ],
    ),
    "qwen": (
        "chats/s1.jsonl",
        [
            {"uuid": "1", "sessionId": "s1", "timestamp": AT, "type": "user",
             "message": {"role": "user", "parts": [{"text": "Run make"}]}},
            {"uuid": "2", "sessionId": "s1", "timestamp": AT, "type": "assistant",
             "message": {"role": "model", "parts": [
                {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}}]}},
            {"uuid": "3", "sessionId": "s1", "timestamp": END, "type": "tool_result",
             "toolCallResult": {"callId": "c1", "status": "success"}, "message": {"role": "user", "parts": [
                 {"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": "ok"}}}]}},
        ],
    ),
    "copilot": (
        "s1.jsonl",
        [
            {"type": "session.start", "id": "1", "timestamp": AT, "data": {"sessionId": "s1"}},
            {"type": "user.message", "id": "2", "timestamp": AT, "data": {"content": "Run make"}},
            {"type": "tool.execution_start", "id": "3", "timestamp": AT,
             "data": {"toolCallId": "c1", "toolName": "bash", "arguments": {"command": "make"}}},
            {"type": "tool.execution_complete", "id": "4", "timestamp": END,
             "data": {"toolCallId": "c1", "success": True, "result": {"content": "ok"}}},
        ],
    ),
    "pi": (
        "s1.jsonl",
        [
            {"type": "session", "version": 3, "id": "s1", "timestamp": AT, "cwd": "/x"},
            {"type": "message", "id": "1", "timestamp": AT, "message": {"role": "user", "content": "Run make"}},
            {"type": "message", "id": "2", "timestamp": AT, "message": {
                "role": "assistant", "content": [{"type": "toolCall", **CALL}]}},
            {"type": "message", "id": "3", "timestamp": END, "message": {
                "role": "toolResult", "toolCallId": "c1", "toolName": "bash", "isError": False,
                "content": [{"type": "text", "text": "ok"}]}},
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", SESSIONS)
def test_a_command_ends_when_its_result_is_logged(tmp_path: Path, tool: str) -> None:
    name, records = SESSIONS[tool]
    with logged() as log:
        parsed(registry.source(tool), write(tmp_path / name, records))
    ((_, event),) = log.runs
    assert event.text.endswith(": make")
    assert (event.at, log.ends[event.call]) == (AT[:-1], (END[:-1], None))
