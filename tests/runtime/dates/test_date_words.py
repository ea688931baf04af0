"""Tokens of a question keep what belongs together together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.dates.words import tokens


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What's new, Bob?", ["what", "new", "bob", ""]),
        ("last week,as mentioned", ["last", "week", "as", "mentioned"]),
        ("src/may/march.py v2024.1.3", ["src/may/march.py", "v2024.1.3"]),
        ("Sept. 3. Next", ["sept", "3", "", "next"]),
        ('say "last week" now', ["say", "", "now"]),
        ('an open "quote', ["an", "open", "", "quote"]),
        ("mid-March 3-5 2–3", ["mid", "march", "3", "-", "5", "2", "-", "3"]),
        ("2024-03-01..2024-03-05", ["2024-03-01", "-", "2024-03-05"]),
        ("'yesterday' (today)", ["yesterday", "", "today", ""]),
        ("well-known e-mail", ["well-known", "e-mail"]),
        ("...", [""]),
    ],
)
def test_words_and_barriers(question: str, expected: list[str]) -> None:
    assert [token.text for token in tokens(question)] == expected


@given(st.text(max_size=120))
def test_tokens_stand_where_they_say_in_order(question: str) -> None:
    end = 0
    for token in tokens(question):
        assert end <= token.start <= token.end <= len(question) or token.text == ""
        if token.text and token.text != "-" and not token.possessive:
            assert question[token.start : token.end].lower() == token.text
        end = max(end, token.start)
