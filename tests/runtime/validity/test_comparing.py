"""Two statements: the newer takes the place of the older, both contradict each other, or both can hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.validity import statements
from runtime.validity.comparing import relation
from tests.examples import examples

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "data" / "pairs.jsonl").read_text().splitlines()]
WORDS = st.lists(
    st.sampled_from("the cache is never Redis to 30 in , instead of from not moved use a ' 7.2 İ \x00".split(" ")),
    max_size=14,
).map(" ".join)


def relations(older: str, newer: str) -> set[str]:
    """Return what any statement of one text is to any of the other."""
    pairs = ((one, other) for one in statements.read(older) for other in statements.read(newer))
    return {relation(one, other) for one, other in pairs} - {""}


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["name"] for pair in PAIRS])
def test_a_newer_statement_is_known_for_what_it_does_to_the_older(pair: dict[str, str]) -> None:
    assert relations(pair["older"], pair["newer"]) == ({pair["is"]} if pair["is"] else set())


@settings(max_examples=examples(300))
@given(WORDS | st.text(max_size=80))
def test_no_text_contradicts_or_replaces_itself(text: str) -> None:
    for each in statements.read(text):
        assert relation(each, each) == ""


@settings(max_examples=examples(200))
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_read(older: str, newer: str) -> None:
    assert relations(older, newer) <= {"superseded", "contradicted"}
