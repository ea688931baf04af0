"""Tokens of a question keep what belongs together together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.dates.words import tokens
from tests.cases import cases


@pytest.mark.parametrize(("question", "expected"), cases(__file__, "test_words_and_barriers"))
def test_words_and_barriers(question: str, expected: list[str]) -> None:
    assert [token.text for token in tokens(question)] == expected


@given(st.text(max_size=120))
def test_tokens_have_their_places_in_order(question: str) -> None:
    end = 0
    for token in tokens(question):
        assert end <= token.start <= token.end <= len(question) or token.text == ""
        if token.text and token.text != "-" and not token.possessive:
            assert question[token.start : token.end].lower() == token.text
        end = max(end, token.start)
