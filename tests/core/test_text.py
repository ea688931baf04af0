from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import clean, encodable, one_line, printable

_ANY = st.text(
    st.characters(exclude_categories=[])
    | st.sampled_from("\x1b[]0;m\x07\\\r\n\t\x9b\x00\x7f\u202e\ud83d\ude00\u2028\x85 (B")
)


@given(_ANY)
def test_cleaning_once_is_cleaning(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(_ANY)
def test_clean_text_encodes_and_holds_no_controls(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert [c for c in cleaned if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"] == []


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n\t")))
def test_text_without_controls_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(B\x1b[mplain", "plain"),
        ("\x1b7save\x1b8", "save"),
        ("\x1b=keypad\x1b>", "keypad"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\ud83d\ude00", "😀"),
        ("\ud800x", "\ufffdx"),
        ("nul\x00 bell\x07 del\x7f c1\x9b", "nul bell del c1"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_escape_sequences_and_controls_go(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_an_escape_that_nothing_ends_costs_no_more_than_its_line() -> None:
    assert clean("before\x1b]0;never ends\nthe rest\nof the document") == "before\nthe rest\nof the document"


@given(_ANY)
def test_a_line_is_one_line(text: str) -> None:
    line = one_line(text)
    assert line.splitlines() in ([line], [])
    assert line == line.strip()


@given(_ANY, st.integers(1, 50))
def test_a_line_is_as_long_as_allowed(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line == one_line(text) or line.endswith("…")


def test_marks_that_deceive_a_reader_are_not_printed() -> None:
    assert printable("a\u202eb\u2066c\ufeffd\x1b[2Je") == "abcde"


@given(_ANY)
def test_encodable_text_differs_in_surrogates_only(text: str) -> None:
    result = encodable(text)
    result.encode()
    if not any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert result == text


@given(st.text(st.sampled_from("ab \t\n\r\x1b[0m\x00\x7f\u00a0\u3000\u2028\ud800\u200b·é😀"), max_size=12))
def test_a_line_is_the_same_whether_or_not_it_looks_like_one_already(text: str) -> None:
    line = one_line(text)
    assert line == " ".join(clean(text).split())
    assert one_line(line) == line
