from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.work.outcomes import outcome, verdict

CASES = [json.loads(line) for line in (Path(__file__).parent / "data/outcomes.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["said"] for case in CASES])
def test_a_sentence_says_what_came_of_an_attempt(case: dict[str, Any]) -> None:
    if "verdict" in case:
        assert verdict(case["said"]) == case["verdict"]
    else:
        assert outcome(case["said"], by_person=case["by_person"]) == case["outcome"]
