from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.work.outcomes import outcome, verdict
from runtime.work.tongues import spoken, tongues

CASES = [json.loads(line) for line in (Path(__file__).parent / "data/outcomes.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["said"] for case in CASES])
def test_a_sentence_says_what_came_of_an_attempt(case: dict[str, Any]) -> None:
    if "verdict" in case:
        assert verdict(case["said"]) == case["verdict"]
    else:
        assert outcome(case["said"], by_person=case["by_person"]) == case["outcome"]


ABROAD = [
    json.loads(line) for line in (Path(__file__).parent / "data/outcomes_of_tongues.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("case", ABROAD, ids=[f"{case['tongue']}: {case['said']}" for case in ABROAD])
def test_other_languages_say_what_came_of_an_attempt(case: dict[str, Any]) -> None:
    tongue = [tongues()[case["tongue"]]]
    if "verdict" in case:
        assert verdict(case["said"], tongue) == case["verdict"]
    else:
        assert outcome(case["said"], by_person=case["by_person"], tongues=tongue) == case["outcome"]


def test_each_language_of_the_vocabulary_has_cases() -> None:
    assert {case["tongue"] for case in ABROAD} == set(tongues())


def test_a_session_is_in_the_languages_that_its_words_show() -> None:
    known = {tongue: name for name, tongue in tongues().items()}
    assert spoken(case["said"] for case in CASES) == []
    german = ["Das ist noch nicht fertig, aber wir haben jetzt Zeit.", "Please look at the pool."]
    assert [known[each] for each in spoken(german)] == ["de"]
    assert "zh" in {known[each] for each in spoken(["现在可以用了"])}
    # Words in a language that nobody speaks there count for nothing.
    assert outcome("Das geht nicht", by_person=False, tongues=spoken(["The word nicht is German."])) == ""
