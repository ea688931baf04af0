"""Sessions of Claude Code, and the payloads of its hooks."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from tests.conftest import Brain


def transcript(root: Path, session: str, *texts: str, cwd: str = "/Users/ana/api") -> Path:
    """A session of alternating prompts and answers in Claude Code's form."""
    records = []
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        content: Any = [{"type": "text", "text": text}] if number % 2 else text
        message = {"role": role, "content": content} | ({"id": f"m{number}", "model": "claude-x"} if number % 2 else {})
        records.append(
            {
                "type": role,
                "uuid": f"{session}-{number}",
                "parentUuid": f"{session}-{number - 1}" if number else None,
                "timestamp": f"2026-05-02T08:00:{number:02}.000Z",
                "sessionId": session,
                "cwd": cwd,
                "version": "2.1.98",
                "isSidechain": False,
                "message": message,
            }
        )
    path = root / "projects" / "-Users-ana-api" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def payload(path: Path, session: str, event: str = "Stop", **more: Any) -> str:
    return json.dumps(
        {
            "session_id": session,
            "transcript_path": str(path),
            "hook_event_name": event,
            "cwd": "/Users/ana/api",
            "permission_mode": "default",
            **more,
        }
    )


def rows(home: Home) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in Path(home.usage).read_text("utf-8").splitlines() if line]
    return [row for row in found if row["event"] == "hook"]


def silent(done: subprocess.CompletedProcess[str]) -> bool:
    return (done.returncode, done.stdout) == (0, "")


def asked(brain: Brain, question: str) -> list[str]:
    return [hit["uri"] for hit in json.loads(brain("ask", "--json", question).stdout).get("hits", [])]


def eventually(check: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: what is recalled is the question here, and not how fast."""
    monkeypatch.setenv("BRAIN_RECALL_S", "30")


@pytest.fixture
def indexed(brain: Brain, home: Home, claude_root: Path) -> Home:
    """A home that has seen one whole run, over one session."""
    transcript(claude_root, "0aaaaaaa-0000-4000-8000-000000000001", "where is the walrus", "in the north")
    assert brain("index").returncode == 0
    return home
