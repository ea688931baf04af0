"""``--llm claude`` with the real Claude Code: that it can do nothing but answer, and what its failures look like."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import EngineMissing
from core.home import Home
from runtime import distill_queue
from runtime.distill import contract
from runtime.distill.models import Claude, Failed
from runtime.distill_queue import PendingQueue
from tests import claude_code
from tests.claude_code import Behaviour, ClaudeCode, refuses, streams
from tests.conftest import Brain
from tests.qmd.embedding.endpoint import closes, hangs, says
from tests.runtime.distill.session import REFRESH, body
from tests.runtime.index_fixture import Shelf

GOOD = {
    "goals": [{"text": "Fix the token refresh race", "turns": [1]}],
    "rejected": [{"text": "Keep the token in localStorage", "turns": [3], "why": "XSS reads it"}],
}


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[ClaudeCode]:
    found = ClaudeCode(tmp_path / "real", claude_code.program())
    yield found
    found.api.close()


@pytest.fixture
def shelf(home: Home) -> Shelf:
    found = Shelf(home)
    text = body(REFRESH).partition("\n\n")[2]
    found.put("brain", "one.md", text, session_id="one", source="claude", project="/home/me/api")
    PendingQueue(home).add("brain", "one.md")
    return found


def ask(claude: ClaudeCode, timeout_s: float = 40) -> Any:
    return Claude("", claude.environ).ask(contract.SYSTEM, "the record\n", timeout_s)


def test_a_session_is_distilled_by_it_and_its_cost_is_read(shelf: Shelf, brain: Brain, claude: ClaudeCode) -> None:
    claude.api.always = streams(json.dumps(GOOD))
    done = brain("distill", "--from-pending", "--llm", "claude", "--json", env=claude.environ)
    report = json.loads(done.stdout)
    assert (report["distilled"], report["dead"], report["tokens"]) == (1, 0, 1200), done.stdout
    assert report["cost_usd"] > 0
    text = Path(shelf.home.path("distilled"), "one.md").read_text()
    assert "- Keep the token in localStorage Why: XSS reads it [3]" in text
    (request,) = claude.requests()
    assert request["tools"] == []
    assert request["model"] in text, "the model that answered stands in the frontmatter"
    assert contract.SYSTEM in json.dumps(request["system"])
    assert "BroadcastChannel" in json.dumps(request["messages"])


def test_nothing_of_the_users_set_up_reaches_it_and_it_leaves_no_session(
    claude: ClaudeCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs(name: str) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": f"touch {claude.project / name}"}]}

    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    elsewhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    settings = json.dumps({"hooks": {event: [runs(f"ran-{event}")] for event in events}, "env": elsewhere})
    servers = {"mcpServers": {"own": {"command": "touch", "args": [str(claude.project / "ran-server")]}}}
    temporary = claude.project / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))  # a temporary folder within a project
    (claude.project / ".claude").mkdir()
    skill = claude.config / "skills" / "own" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    for file, text in (
        (claude.config / "settings.json", settings),
        (claude.project / ".claude" / "settings.json", settings),
        (claude.config / ".claude.json", json.dumps(servers)),
        (claude.project / ".mcp.json", json.dumps(servers)),
        (claude.config / "CLAUDE.md", "the canary of the user"),
        (claude.project / "CLAUDE.md", "the canary of the project"),
        (skill, "---\nname: own\ndescription: the canary of a skill\n---\ntext"),
    ):
        file.write_text(text)
    before = claude.written()
    assert ask(claude).text == "hello there"
    assert "canary" not in json.dumps(claude.requests())
    assert list(claude.project.glob("ran-*")) == []
    assert list(temporary.iterdir()) == [], "the folder that it ran in is gone"
    assert claude.written() - before <= {".claude.json", "backups"}, "state of its own, and no transcript"


def test_a_tool_that_the_model_calls_all_the_same_is_not_run(claude: ClaudeCode) -> None:
    target = claude.project / "pwned"
    for name, given in (
        ("Bash", {"command": f"touch {target}"}),
        ("Write", {"file_path": str(target), "content": "x"}),
    ):
        claude.api.always = streams("I do it now.", tool={"name": name, "input": given}, stop="tool_use")
        with pytest.raises(Failed) as failure:
            ask(claude)
        assert failure.value.tokens > 0, "what it has cost is counted"
    assert not target.exists()


@pytest.mark.long
def test_old_transcripts_outlive_it(claude: ClaudeCode) -> None:
    """Claude Code deletes old transcripts ten seconds after its start, by settings that ours is not shown."""
    old = claude.config / "projects" / "-work" / "0aaaaaaa-0000-4000-8000-000000000001.jsonl"
    old.parent.mkdir(parents=True)

    def slow(handler: Any, body: Any) -> bool:
        time.sleep(14)
        return streams("done")(handler, body)

    claude.api.always = slow
    (claude.config / "settings.json").write_text('{"cleanupPeriodDays": 3650}')
    old.write_text('{"type": "user"}\n')
    os.utime(old, (0, time.time() - 400 * 86_400))
    assert ask(claude).text == "done"
    assert old.exists()


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (streams("half an ans", cut=True), "malformed response"),
        (says(b"<html>a gateway's page</html>"), "malformed response"),
        (streams('{"goals', stop="max_tokens"), "16000 output token maximum"),
        (streams("", stop="refusal"), "unable to respond"),
        (refuses(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), "too long"),
    ],
    ids=["cut", "html", "endless", "refusal", "too-long"],
)
def test_an_answer_that_is_none_fails_the_session_it_is_about(
    claude: ClaudeCode, behaviour: Behaviour, reason: str
) -> None:
    claude.api.always = behaviour
    with pytest.raises(Failed, match=reason):
        ask(claude)


@pytest.mark.parametrize(
    "behaviour",
    [
        refuses(403, "permission_error", "not for you"),
        refuses(404, "not_found_error", "model: x"),
        refuses(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        refuses(529, "overloaded_error", "Overloaded"),
    ],
    ids=["forbidden", "no-model", "no-credit", "overloaded"],
)
def test_what_meets_every_session_is_no_sessions_fault(claude: ClaudeCode, behaviour: Behaviour) -> None:
    claude.api.always = behaviour
    with pytest.raises(EngineMissing, match="cannot be used now"):
        ask(claude)


@pytest.mark.long
@pytest.mark.parametrize(
    "behaviour",
    [
        refuses(401, "authentication_error", "invalid x-api-key"),
        refuses(429, "rate_limit_error", "This request would exceed your rate limit"),
        closes,
    ],
    ids=["key", "limit", "closes"],
)
def test_what_is_tried_again_and_again_ends_soon(claude: ClaudeCode, behaviour: Behaviour) -> None:
    claude.api.always = behaviour
    with pytest.raises(EngineMissing, match="cannot be used now"):
        ask(claude)
    assert len(claude.requests()) <= 5


def test_with_nobody_there_nothing_becomes_a_dead_letter(shelf: Shelf, brain: Brain, claude: ClaudeCode) -> None:
    environ = claude.environ | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    done = brain("distill", "--from-pending", "--llm", "claude", "--json", env=environ)
    assert (done.returncode, json.loads(done.stdout)["error"]) == (65, "qmd_missing")
    assert (len(distill_queue.read(shelf.home)), distill_queue.dead(shelf.home)) == (1, [])


def test_without_a_login_it_says_so(claude: ClaudeCode) -> None:
    environ = {name: value for name, value in claude.environ.items() if name != "ANTHROPIC_API_KEY"}
    with pytest.raises(EngineMissing, match=re.compile("log ?in", re.IGNORECASE)):
        Claude("", environ).ask(contract.SYSTEM, "the record\n", 40)


def test_an_answer_that_does_not_come_is_not_waited_for(claude: ClaudeCode) -> None:
    claude.api.always = hangs(claude.api.stopped)
    with pytest.raises(Failed, match="within 3 s"):
        ask(claude, 3)
