from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.document import bounds


@pytest.mark.parametrize(
    ("text", "head", "rest"),
    [
        ("---\na: 1\n---\nbody", "a: 1\n", "body"),
        ("---\r\na: 1\r\n---\r\nbody", "a: 1\r\n", "body"),
        ("\ufeff---\na: 1\n---\nbody", "a: 1\n", "body"),
        ("---\na: 1\n---", "a: 1\n", ""),
        ("---  \na: 1\n---\t\nbody", "a: 1\n", "body"),
        ("---\n---\nbody", "", "body"),
        ("---\na: |\n ---\n---\nbody", "a: |\n ---\n", "body"),
        ("---\na: 1\n----\n---\nbody", "a: 1\n----\n", "body"),
    ],
)
def test_the_fields_stand_between_two_lines_of_dashes_at_the_top(text: str, head: str, rest: str) -> None:
    found = bounds(text)
    assert found is not None
    start, end, after = found
    assert (text[start:end], text[after:]) == (head, rest)


@pytest.mark.parametrize(
    "text",
    ["", "---", "---\n", "a: 1\n---\n", "---\na: 1\n", "----\na: 1\n----\n", "\n---\na: 1\n---\n", "---\nprose\n---\n"],
)
def test_what_only_looks_like_it_is_text(text: str) -> None:
    assert bounds(text) is None


@given(st.text("-a: \n\r\ufeff", max_size=40))
def test_the_three_places_are_in_order_whatever_the_text(text: str) -> None:
    found = bounds(text)
    if found is not None:
        start, end, after = found
        assert 0 < start <= end <= after <= len(text)
