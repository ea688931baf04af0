"""Blocks between tags: which of them are cut out, and which a person's own words may hold."""

from __future__ import annotations

from typing import Any, SupportsIndex

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


class Counted(str):
    """A text that counts the characters that are looked at or copied."""

    looked = 0

    def find(self, sub: str, start: SupportsIndex | None = None, end: SupportsIndex | None = None, /) -> int:
        found = super().find(sub, start, end)
        first, last, _ = slice(start, end).indices(len(self))
        Counted.looked += (found if found >= 0 else last) - first + len(sub)
        return found

    def rfind(self, sub: str, start: SupportsIndex | None = None, end: SupportsIndex | None = None, /) -> int:
        found = super().rfind(sub, start, end)
        first, last, _ = slice(start, end).indices(len(self))
        Counted.looked += last - (found if found >= 0 else first) + len(sub)
        return found

    def __getitem__(self, key: SupportsIndex | slice[Any, Any, Any]) -> str:
        part = super().__getitem__(key)
        Counted.looked += len(part)
        return part

    def strip(self, chars: str | None = None, /) -> Counted:
        Counted.looked += len(self)
        return Counted(super().strip(chars))


@pytest.mark.parametrize(
    "part", ["<note>x</note>", "<note>", "</note>", "\n</note>", "<note></note>\n", '<file name="']
)
def test_a_long_text_takes_time_in_proportion(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "looked", 0)
    text = Counted(part * (1_000_000 // len(part)))
    trimmed(text, NOTES)
    trimmed(Counted(f"Why?\n{text}"), NOTES)
    is_whole(text, ("note", "file"))
    assert len(text) < Counted.looked < 12 * len(text)
