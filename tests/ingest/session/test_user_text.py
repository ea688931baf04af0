"""Blocks between tags: which of them are cut out, and which a person's own words may hold."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.session.user_text import is_whole, trimmed

NOTES = (("<note>", "</note>"), ('<file name="', "</file>"))
NOTE, FILE = "<note>\nx\n</note>", '<file name="a.py">\nx = 1\n</file>'


@pytest.mark.parametrize(("text", "kept"), [
    (f"{NOTE}\n\nWhy?", "Why?"), (f"{FILE}{NOTE}\nWhy?\n\n{NOTE}\n{FILE}\n", "Why?"), (NOTE, ""), ("Why?", "Why?"),
    ("Why?\n <note>x</note>", "Why?"),
    *((text, text) for text in (
        f"See:\n{NOTE}\nWhy?", f"See:\n{FILE}\nWhy?", "<note> is a tag", "See </note>", "<file>\nmine\n</file>\nWhy?",
        "What is <note>x</note>", "<note>\nis never closed", f"See:\n{FILE}\n{NOTE}\nWhy?"))])  # fmt: skip
def test_blocks_at_the_ends_are_cut_and_those_in_the_midst_are_a_persons(text: str, kept: str) -> None:
    assert trimmed(text, NOTES) == kept


@pytest.mark.parametrize(("text", "is_theirs"), [
    ("<note>x</note>", True), ("<note>See </note> there.</note>", True),
    ("<note a='b'>\n<note> is </note>\n</note>", True),
    ("<note><note> opens it.</note>", True), ("<note>x</note>\n<file>y</file>", True), ("<note></note></note>", True),
    ("<note>x</note>\nWhy?", False), ("<note>x</note>\nWhy?\n<note>y</note>", False), ("Why?\n<note>x</note>", False),
    ("<note>x</note> is <note> and </note>", False), ("<note>See </note> there.</note>\nWhy?", False),
    ("<note> is a tag", False), ("<notes>x</notes>", False), ("", False)])  # fmt: skip
def test_a_block_that_quotes_its_own_tag_is_whole_and_words_next_to_blocks_are_not(text: str, is_theirs: bool) -> None:
    assert is_whole(text, ("note", "file")) is is_theirs


@given(st.lists(st.sampled_from(("<note>", "</note>", '<file name="', "</file>", "\n", " ", "Why?"))))
def test_only_blocks_are_cut(parts: list[str]) -> None:
    text = "".join(parts)
    assert trimmed(text, NOTES) in text
    assert "Here." in trimmed(f"Here.\n{text}\nHere.", NOTES)


@pytest.mark.parametrize(
    "part", ["<note>x</note>", "<note>", "</note>", "\n</note>", "<note></note>\n", '<file name="']
)
def test_a_long_text_takes_time_in_proportion(part: str) -> None:
    began = time.perf_counter()
    trimmed(part * (1_000_000 // len(part)), NOTES)
    trimmed(f"Why?\n{part * (1_000_000 // len(part))}", NOTES)
    is_whole(part * (1_000_000 // len(part)), ("note", "file"))
    assert time.perf_counter() - began < 3
