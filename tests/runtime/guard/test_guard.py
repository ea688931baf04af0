"""The guard speaks one line when it is sure, and is silent otherwise: absent, superseded, contradictory, look-alike,
hostile."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ops.install import hooks
from qmd.index.actions import history
from runtime.guard import guard
from runtime.injections import ledger
from tests.conftest import Brain
from tests.runtime.guard.worlds import CASES, payload, remember

FAILING = next(case for case in CASES if case["name"].startswith("a first run that failed twice"))


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """How fast it is, is a question for bench/agents/guard.py."""
    monkeypatch.setenv("BRAIN_GUARD_S", "30")


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_each_moment_gets_its_line_or_none(home: Home, case: dict[str, Any]) -> None:
    home.make()
    remember(home, case["memory"])
    said = guard.speak(home, json.loads(payload(case["call"])))
    kind, _, part = case["says"].partition(": ")
    assert part in said if part else said == ""
    assert [row["kind"] for row in ledger.listed(home)] == ([kind] if kind else [])


@pytest.mark.parametrize("case", [case for case in CASES if case["says"]], ids=lambda case: case["name"])
def test_a_line_is_one_cited_and_at_most_400_characters(home: Home, case: dict[str, Any]) -> None:
    home.make()
    remember(home, case["memory"])
    said = guard.speak(home, json.loads(payload(case["call"])))
    assert "\n" not in said
    assert len(said) <= 400
    assert "(qmd://" in said


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["says"].startswith("fix")], ids=lambda case: case["name"]
)
def test_the_colours_of_a_terminal_hide_no_error(home: Home, case: dict[str, Any]) -> None:
    home.make()
    remember(home, case["memory"])
    given = json.loads(payload(case["call"]))
    given["error"] = "\n".join(f"\x1b[1m\x1b[31m{line}\x1b[0m" for line in given["error"].splitlines())
    assert case["says"].partition(": ")[2] in guard.speak(home, given) != ""


def test_a_line_comes_once_a_session_and_within_its_budget(home: Home) -> None:
    home.make()
    remember(home, FAILING["memory"])
    assert guard.speak(home, json.loads(payload(FAILING["call"])))
    assert guard.speak(home, json.loads(payload(FAILING["call"]))) == ""
    full = ledger.Item("x" * 1_450, uri="qmd://inbox/a.md")
    ledger.add(home, "other", "hook", "prompt", [full])
    assert guard.speak(home, json.loads(payload(FAILING["call"], "other"))) == ""
    assert guard.speak(home, json.loads(payload(FAILING["call"], "third")))


def test_a_rejected_line_and_its_document_are_silent(home: Home) -> None:
    home.make()
    remember(home, FAILING["memory"])
    guard.speak(home, json.loads(payload(FAILING["call"])))
    ledger.wrong(home, ledger.listed(home)[0]["id"])
    assert guard.speak(home, json.loads(payload(FAILING["call"], "other"))) == ""


def test_a_kind_that_was_ignored_five_times_is_mute(home: Home) -> None:
    home.make()
    remember(home, FAILING["memory"])
    items = [ledger.Item(f"line {number}", key=f"k{number}", kind="dead end") for number in range(5)]
    ledger.add(home, "earlier", "hook", "guard", items)
    ledger.settle(home, [(row, False, "") for row in ledger.listed(home)])
    assert guard.speak(home, json.loads(payload(FAILING["call"]))) == ""


def test_a_secret_and_markup_in_a_command_stay_out(home: Home) -> None:
    home.make()
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    command = f"GITHUB_TOKEN={secret} pnpm fix </memory>"
    turns = [f"- Bash: {command}\n  ! Exit code 1\n  ! Found 0 warnings\n- Bash: {command}"]
    remember(home, [{"turns": turns, "project": "/srv/api", "day": f"2026-05-0{day}"} for day in (1, 2)])
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/srv/api"}
    said = guard.speak(home, json.loads(payload(call)))
    assert secret not in said
    assert "</memory>" not in said


def test_a_changed_file_is_said_to_have_changed(home: Home, tmp_path: Path) -> None:
    home.make()
    file = tmp_path / "client.py"
    file.write_text("x = 1\n")
    turns = [f"- Edit: {file} (lines 3-9)\n  rejected by the user", {"user": "Never touch the retry loop."}]
    remember(home, [{"turns": turns, "project": str(tmp_path), "day": "2026-05-01"}])
    call = {"tool_name": "Edit", "tool_input": {"file_path": str(file)}, "cwd": str(tmp_path)}
    assert "the file was changed since)" in guard.speak(home, json.loads(payload(call)))
    file.unlink()
    assert "the file is gone since)" in guard.speak(home, json.loads(payload(call, "other")))


def test_newer_statements_about_other_files_do_not_hide_the_one_that_names_the_file(home: Home) -> None:
    home.make()
    note = {"type": "decision", "project": "/srv/api", "why": "", "day": "2026-04-01"}
    named = {**note, "session": "n0", "title": "src/client.py is generated, never edit it by hand"}
    others = [
        {**note, "session": f"n{number}", "title": f"Part {number} of src waits for a *", "day": "2026-05-01"}
        for number in range(1, history.MOST + 1)
    ]
    remember(home, [named, *others])
    call = {"tool_name": "Edit", "tool_input": {"file_path": "/srv/api/src/client.py"}, "cwd": "/srv/api"}
    assert "src/client.py is generated" in guard.speak(home, json.loads(payload(call)))


def test_the_hook_speaks_as_claude_code_documents_and_decides_nothing(brain: Brain, home: Home) -> None:
    home.make()
    remember(home, FAILING["memory"])
    done = brain("hook", "guard", stdin=payload(FAILING["call"]))
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert (done.returncode, set(output), output["hookEventName"]) == (
        0,
        {"hookEventName", "additionalContext"},
        "PreToolUse",
    )
    assert json.loads(brain("injected", "--json").stdout)["items"][0]["kind"] == "dead end"


@pytest.mark.parametrize(
    "given",
    [
        "",
        "[]",
        "{}",
        '{"hook_event_name": "PreToolUse"}',
        '{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": 7}}',
        '{"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "a\\u0000b"}, "cwd": 3}',
        '{"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "x"}, "error": [1]}',
        '{"hook_event_name": "Stop", "tool_name": "Bash", "tool_input": {"command": "pnpm fix"}}',
    ],
)
def test_whatever_comes_in_the_hook_ends_with_0_and_is_silent(brain: Brain, home: Home, given: str) -> None:
    home.make()
    remember(home, FAILING["memory"])
    done = brain("hook", "guard", stdin=given)
    assert (done.returncode, done.stdout) == (0, "")


def test_a_damaged_index_or_an_expired_time_is_silence(
    brain: Brain, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.make()
    remember(home, FAILING["memory"])
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock) * 100))
    assert guard.speak(home, json.loads(payload(FAILING["call"]))) == ""
    monkeypatch.undo()
    Path(home.index).unlink()
    done = brain("hook", "guard", stdin=payload(FAILING["call"]))
    assert (done.returncode, done.stdout) == (0, "")


def test_the_installed_hook_fires_at_commands_edits_and_tools_alone(home: Home, tmp_path: Path) -> None:
    home.make()
    settings = tmp_path / "settings.json"
    hooks.install(home, str(settings), ["stop", "guard"])
    written = json.loads(settings.read_text())["hooks"]
    for event in ("PreToolUse", "PostToolUseFailure"):
        (group,) = written[event]
        assert group["matcher"] == "Bash|Edit|MultiEdit|Write|NotebookEdit|mcp__.*"
        assert group["hooks"][0]["command"].endswith("hook guard")
    assert "matcher" not in written["Stop"][0]
    assert hooks.install(home, str(settings), ["stop", "guard"])["changed"] is False
    hooks.uninstall(home, str(settings))
    assert not settings.exists()
