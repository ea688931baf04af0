"""``brain injected``: what agents were given, and a way to reject it."""

from __future__ import annotations

import json

import pytest

from core.home import Home
from runtime.injections import ledger
from tests.cli.hooked import indexed, patient
from tests.conftest import Brain

__all__ = ["indexed", "patient"]


def test_an_empty_ledger_is_a_valid_answer(brain: Brain, home: Home) -> None:
    done = brain("injected", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]) == (67, "no_results")


@pytest.mark.parametrize("env", [{"BRAIN_SURFACE": "claude-code"}, {"CLAUDECODE": "1"}])
def test_what_a_command_showed_an_agent_is_listed(brain: Brain, indexed: Home, env: dict[str, str]) -> None:
    assert brain("ask", "walrus", env={**env, "CLAUDE_CODE_SESSION_ID": "s9"}).returncode == 0
    (item,) = json.loads(brain("injected", "--session", "s9", "--json").stdout)["items"]
    assert (item["event"], item["reason"]) == ("ask", "asked: ask")
    assert item["uri"] == "qmd://brain/0aaaaaaa-0000-4000-8000-000000000001.md"
    assert "not judged" in brain("injected").stdout


def test_what_a_person_asked_is_not_listed(brain: Brain, indexed: Home) -> None:
    brain("ask", "walrus")
    assert brain("injected").returncode == 67


def test_a_rejected_text_is_listed_as_wrong(brain: Brain, indexed: Home) -> None:
    (ident,) = ledger.add(indexed, "s1", "hook", "prompt", [ledger.Item("x\x1b[31my", uri="qmd://brain/a.md")])
    done = brain("injected", "wrong", ident[:6], "--json")
    assert json.loads(done.stdout)["rejected"]["wrong"] is True
    listing = brain("injected").stdout
    assert "wrong 1" in listing
    assert "\x1b" not in listing
    assert brain("injected", "wrong", "nothing").returncode == 64
    assert "Not rejected any more" in brain("injected", "wrong", "--undo", ident).stdout
    assert "wrong 0" in brain("injected").stdout
