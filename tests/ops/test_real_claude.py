"""Plugin, hooks, skills and tools as the real Claude Code takes them, with a model on loopback."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ops.install import hooks, program, skills
from runtime.hooks import due
from runtime.mcp.tools import TOOLS
from tests import claude_code
from tests.claude_code import ClaudeCode, streams
from tests.conftest import Brain

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def claude(tmp_path: Path, home: Home) -> Iterator[ClaudeCode]:
    """Claude Code, with a ``brain`` where an installation for one user puts it."""
    found = ClaudeCode(tmp_path / "real", claude_code.program())
    script = found.user / ".local" / "bin" / "brain"
    script.parent.mkdir(parents=True)
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\nimport brain\nbrain.entry()\n"
    )
    script.chmod(0o755)
    found.environ |= {"BRAIN_HOME": home.root, "BRAIN_RECALL_S": "30"}
    yield found
    found.api.close()


@pytest.fixture
def plugged(claude: ClaudeCode, brain: Brain, tmp_path: Path) -> ClaudeCode:
    """The plugin installed from a marketplace on disk, as docs/agents.md says."""
    assert brain("index", env=claude.environ).returncode == 0
    for words in (("marketplace", "add", str(plugin(tmp_path))), ("install", "brain@brain")):
        done = claude.run("plugin", *words)
        assert done.returncode == 0, done.stdout + done.stderr
    return claude


def plugin(folder: Path) -> Path:
    """The parts of the checkout that make the plugin."""
    copy = folder / "checkout"
    copy.mkdir()
    for name in (".claude-plugin", "hooks", "skills", "bin"):
        shutil.copytree(ROOT / name, copy / name)
    shutil.copy(ROOT / ".mcp.json", copy)
    return copy


def rows(home: Home, event: str = "hook") -> list[dict[str, Any]]:
    found = [json.loads(line) for line in Path(home.usage).read_text("utf-8").splitlines() if line]
    return [row for row in found if row["event"] == event]


def settled(home: Home) -> bool:
    deadline = time.monotonic() + 20
    while due.waiting(home):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def found(brain: Brain, claude: ClaudeCode, question: str) -> list[str]:
    answer = json.loads(brain("ask", "--json", question, env=claude.environ).stdout)
    return [hit["title"] for hit in answer["hits"]]


def test_the_manifests_are_valid_to_the_letter(claude: ClaudeCode, tmp_path: Path) -> None:
    done = claude.run("plugin", "validate", "--strict", str(plugin(tmp_path)))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_indexes_a_turn_and_gives_the_model_skills_and_tools(
    plugged: ClaudeCode, brain: Brain, home: Home
) -> None:
    done = plugged.run("-p", "where does the walrus sleep")
    assert done.stdout.strip() == "hello there", done.stderr
    assert settled(home)
    assert found(brain, plugged, "walrus") == ["where does the walrus sleep"]
    events = [(row["hook"], row["hook_event"]) for row in rows(home) if row["hook"] != "drain"]
    assert events[:2] == [("session-start", "SessionStart"), ("stop", "Stop")]
    assert not [row for row in rows(home) if "error" in row]
    request = plugged.requests()[-1]
    offered = {tool["name"] for tool in request["tools"]}
    assert {f"mcp__plugin_brain_brain__{name}" for name in TOOLS} <= offered
    said = json.dumps(request["messages"])
    assert all(f"brain:{name}" in said for name in skills.names())
    assert "Brain: " not in said, "there was no miss, so nothing is said of one"


def test_a_model_that_asks_the_memory_gets_the_answer(plugged: ClaudeCode, brain: Brain, home: Home) -> None:
    noted = ("inbox", "--type", "decision", "We keep kelp in the blue tank because the red one leaks")
    assert brain(*noted, env=plugged.environ).returncode == 0
    call: dict[str, Any] = {"name": "mcp__plugin_brain_brain__brain_ask", "input": {"question": "kelp tank"}}
    asks, answers = streams(tool=call, stop="tool_use"), streams("it is the blue one")

    def behave(handler: Any, body: Any) -> bool:
        return (answers if "tool_result" in json.dumps(body["messages"]) else asks)(handler, body)

    plugged.api.always = behave
    done = plugged.run("-p", "which tank is it", "--allowedTools", call["name"])
    assert done.stdout.strip() == "it is the blue one", done.stderr
    assert "blue tank because the red one leaks" in json.dumps(plugged.requests()[-1]["messages"])


def test_a_skill_with_a_scope_is_offered_once_a_file_was_touched(claude: ClaudeCode, home: Home) -> None:
    skills.install(home, str(claude.config / "skills"), skills.scopes(["ask=~/work/**", "recent=**/*.never"]))
    file = claude.project / "a.ts"
    file.write_text("let a = 1\n")
    reads, answers = streams(tool={"name": "Read", "input": {"file_path": str(file)}}, stop="tool_use"), streams("done")

    def behave(handler: Any, body: Any) -> bool:
        return (answers if "tool_result" in json.dumps(body["messages"]) else reads)(handler, body)

    claude.api.always = behave
    assert claude.run("-p", "read it", "--allowedTools", "Read").stdout.strip() == "done"
    first, second = (json.dumps(request["messages"]) for request in claude.requests())
    assert "- brain-inbox: " in first, "it has no scope"
    assert "- brain-ask: " not in first
    assert "- brain-ask: " in second
    assert "Only when working below ~/work/**." in second
    assert "- brain-recent: " not in second


def test_installed_hooks_fire_speak_of_misses_and_recall(
    claude: ClaudeCode, brain: Brain, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "command", lambda: [str(claude.user / ".local" / "bin" / "brain")])
    brain("index", env=claude.environ)
    hooks.install(home, str(claude.config / "settings.json"), ["stop", "prompt"])
    assert claude.run("-p", "where does the walrus sleep at night").stdout.strip() == "hello there"
    assert settled(home)
    assert found(brain, claude, "walrus") == ["where does the walrus sleep at night"]
    missed = claude.config / "projects" / "-elsewhere" / "0aaaaaaa-0000-4000-8000-000000000001.jsonl"
    key = due.add(home, str(missed), "0aaaaaaa", "/elsewhere")
    note = Path(home.state, "hooks", "due", f"{key}.json")
    note.write_text(json.dumps({**json.loads(note.read_text()), "at": time.time() - 3600}))
    assert claude.run("-p", "tell me where the walrus sleeps").stdout.strip() == "hello there"
    said = json.dumps(claude.requests()[-1]["messages"])
    assert "Brain: A session that ended was not indexed" in said
    assert "Quoted from memory" in said
    assert "where does the walrus sleep at night" in said
    assert settled(home)
