from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.index.actions import command_forms, error_forms
from qmd.index.actions.action import key_of

DATA = Path(__file__).parent / "data"


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


@pytest.mark.parametrize("case", cases("commands.jsonl"), ids=lambda case: case["text"][:40])
def test_a_command_is_taken_apart(case: dict[str, Any]) -> None:
    found = command_forms.command(case.pop("text"))
    if "reads" in case:
        case["reads"] = tuple(case["reads"])
    assert {name: getattr(found, name) for name in case} == case


@pytest.mark.parametrize("case", cases("errors.jsonl"), ids=lambda case: case["error"][:40] or "nothing")
def test_an_error_is_the_same_whatever_its_paths_and_numbers(case: dict[str, Any]) -> None:
    assert error_forms.error(case["lines"]) == case["error"]


@given(st.text(max_size=300))
def test_any_text_has_a_normal_form(text: str) -> None:
    found = command_forms.command(text)
    assert found.normal == command_forms.command(text).normal
    assert 0 <= key_of(found.normal) < 2**63
    assert len(error_forms.error(text.split("\n"))) <= 160


@given(st.text(alphabet="ab c'\"|&;$()\\\n", max_size=60))
def test_a_shortened_output_is_the_same_command(text: str) -> None:
    if text.strip() and not any(mark in text for mark in "'\"|&;$()\\\n"):
        assert command_forms.command(f"{text} 2>&1 | tail -5").normal == command_forms.command(text).normal


def test_a_signature_is_its_own_signature() -> None:
    for case in cases("errors.jsonl"):
        assert error_forms.signature(case["error"]) == case["error"]
