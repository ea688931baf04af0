"""Hooks of every agent are understood by one set of names, and answered in the form that the agent reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.capture import hook

CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"session_id": "a", "cwd": "/p"}, {"session_id": "a", "cwd": "/p"}),
    ({"sessionId": "a", "prompt": "x y z"}, {"session_id": "a", "prompt": "x y z"}),
    ({"conversation_id": "a", "workspace_roots": ["/p", "/q"]}, {"session_id": "a", "cwd": "/p"}),
    ({"hook_event_name": "BeforeAgent"}, {"hook_event_name": "UserPromptSubmit"}),
    ({"prompt": [{"type": "text", "text": "a b"}, {"type": "image"}, {"text": "c"}]}, {"prompt": "a b c"}),
    ({"session_id": "a", "sessionId": "b"}, {"session_id": "a"}),
    (
        {"hookEventName": "pre_tool_use", "hook_event_name": "PreToolUse", "toolName": "grep", "toolInput": {"a": 1}},
        {"hook_event_name": "PreToolUse", "tool_name": "grep", "tool_input": {"a": 1}},
    ),
    ({"event": "Stop", "working_dir": "/p", "message": "x"}, {"hook_event_name": "Stop", "cwd": "/p", "prompt": "x"}),
    ({"workspace_roots": "no list", "sessionId": None}, {}),
]
NAMES = "sessionId prompt workspace_roots hook_event_name tool_input cwd".split()


@pytest.mark.parametrize(("entered", "understood"), CASES)
def test_the_names_of_other_agents_are_understood(entered: dict[str, Any], understood: dict[str, Any]) -> None:
    found = hook.understood(entered)
    names = ("session_id", "cwd", "prompt", "tool_name", "tool_input", "hook_event_name")
    assert {name: found[name] for name in names if found.get(name) is not None} == understood


@given(st.dictionaries(st.sampled_from(NAMES), st.none() | st.text() | st.lists(st.none() | st.text())))
def test_any_input_is_understood_without_an_error(entered: dict[str, Any]) -> None:
    found = hook.understood(entered)
    assert all(found[name] == value for name, value in entered.items() if name in ("tool_input", "sessionId"))


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        ("nested", {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "a\nb"}}),
        ("camel", {"additionalContext": "a\nb"}),
        ("snake", {"additional_context": "a\nb"}),
        ("context", {"context": "a\nb"}),
    ],
)
def test_an_answer_is_one_line_in_the_agents_form(form: str, answer: dict[str, Any]) -> None:
    line = hook.answer(form, "prompt", {"hook_event_name": "BeforeAgent"}, "a\nb")
    assert line.count("\n") == 1
    assert json.loads(line) == answer


def test_an_event_without_a_name_is_named_and_text_is_text() -> None:
    line = hook.answer("nested", "session-start", {}, "a")
    assert json.loads(line)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert hook.answer("text", "prompt", {}, "a") == "a\n"


def test_the_prompt_of_hermes_is_found_in_its_extra_fields() -> None:
    given = {"hook_event_name": "pre_llm_call", "session_id": "s", "cwd": "/w", "extra": {"user_message": "where"}}
    found = hook.understood(given)
    assert (found["prompt"], found["hook_event_name"]) == ("where", "UserPromptSubmit")


def test_the_event_of_crush_is_known_by_its_short_name() -> None:
    assert hook.understood({"event": "PreToolUse", "tool_name": "bash"})["hook_event_name"] == "PreToolUse"
