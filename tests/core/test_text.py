from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import NAMES, at_home, clean, encodable, escaped, one_line, printable, printable_value
from tests.unseen import IGNORABLE, unseen

_ANY = st.text(
    st.characters(exclude_categories=[])
    | st.sampled_from("\x1b[]0;m\x07\\\r\n\t\x9b\x00\x7f\u202e\ud83d\ude00\u2028\x85 (B")
    | st.sampled_from("\u200c\u200d\ufe0e\ufe0f\u20e3#1❤🔥🏴\U000e0067\U000e007f\u094dकیه\u064e\u200b")
)


@pytest.mark.parametrize(
    ("user", "path", "shown"),
    [
        ("/home/ana", "/home/ana/code", "~/code"),
        ("/home/ana", "/home/ana", "~"),
        ("/home/ana", "/home/anabel/code", "/home/anabel/code"),
        ("/home/ana", "", ""),
        ("/", "/code", "/code"),
    ],
)
def test_the_users_folder_is_a_tilde(monkeypatch: pytest.MonkeyPatch, user: str, path: str, shown: str) -> None:
    monkeypatch.setenv("HOME", user)
    assert at_home(path) == shown


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


def test_no_hidden_character_of_any_category_is_printed() -> None:
    every = [*map(chr, range(0xD800)), *map(chr, range(0xE000, 0x110000))]
    assert unseen(printable(" ".join(every))) == []


def test_what_is_seen_is_printed() -> None:
    seen = "".join(c for c in map(chr, range(0xE000)) if c.isprintable() and c not in IGNORABLE)
    assert printable(seen) == seen


def test_marks_that_deceive_a_reader_are_not_printed() -> None:
    assert printable("a\u202eb\u2066c\ufeffd\x1b[2Je\u2028f") == "abcde f"


@pytest.mark.parametrize(
    "text",
    [
        "❤\ufe0f",
        "☎\ufe0e",
        "❤\ufe0f\u200d🔥",
        "👩🏽\u200d🚀",
        "👨\u200d👩\u200d👧",
        "🏳\ufe0f\u200d🌈",
        "1\ufe0f\u20e3 #\ufe0f\u20e3",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "مَ\u200cخ",
        "क्\u200dष र्\u200dय",
        "ক্\u200cষ র\u200d্য",
        "ශ්\u200dරී",
        "ന്\u200d",
    ],
)
def test_a_visible_character_keeps_the_joiner_or_selector_that_it_needs(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u200db", "ab"),
        ("का\u200dम", "काम"),
        ("❤\ufe0f\ufe0f\ufe01", "❤\ufe0f"),
        ("🔥\u200d\u200d🔥", "🔥🔥"),
        ("a\ufe0f 1\ufe0f", "a 1"),
        ("葛\U000e0100", "葛"),
        ("🏴\U000e0068\U000e0069\U000e007f", "🏴"),
        ("क्\u200d\u200c\u200dष", "क्\u200dष"),
        ("ه\u200c\u200cه", "هه"),
    ],
)
def test_no_place_holds_more_than_one_joiner_or_selector(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(_ANY)
def test_printing_once_is_printing(text: str) -> None:
    assert printable(printable(text)) == printable(text)


@given(_ANY)
def test_printing_keeps_the_numbers_of_lines(text: str) -> None:
    assert printable(text).count("\n") == clean(text).count("\n")


def test_the_texts_of_a_value_are_printable_and_its_names_stay_exact() -> None:
    hidden = "a\u200bb\x1b[2J"
    given_ = {"title": hidden, "hits": [{"path": hidden, "tags": [hidden, 1, None]}], "uri": hidden}
    assert printable_value(given_) == {
        "title": "ab",
        "hits": [{"path": hidden, "tags": ["ab", 1, None]}],
        "uri": hidden,
    }
    assert {"path", "uri", "resume"} <= NAMES


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\x7f\x85\u200d❤🔥\ufe0f\U000e0041\u2028")))
def test_an_escaped_line_of_json_is_the_same_value_and_hides_nothing(text: str) -> None:
    line = escaped(json.dumps(text, ensure_ascii=False))
    assert json.loads(line) == text
    assert unseen(line) == unseen(printable(line))


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
