"""Lines fit their width, keep every word, and never hold what could drive a terminal."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from core.text import printable
from runtime.explaining import reading
from tests.web.site import SESSION
from tui import lines

_BREAKS = "\t\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters=_BREAKS), max_size=300)
_WIDTHS = st.integers(20, 90)


@given(_TEXTS, _WIDTHS)
def test_wrapped_lines_fit_and_keep_what_is_not_space(text: str, width: int) -> None:
    wrapped = lines.wrap(text, width)
    assert max(map(cell_len, wrapped)) <= width
    assert "".join("".join(wrapped).split()) == "".join(text.split())


@given(_TEXTS, st.integers(1, 90))
def test_a_fitted_text_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    fitted = lines.fit(text, width)
    assert cell_len(fitted) <= width
    assert fitted == text or fitted.endswith("…")


@given(st.text(max_size=400), st.sampled_from(["title", "snippet", "warning", "project", "resume"]), _WIDTHS)
def test_no_text_of_a_hit_can_drive_the_terminal(text: str, name: str, width: int) -> None:
    hit: dict[str, Any] = {
        "rank": 1, "score": 0.5, "title": "t", "snippet": "s", "uri": "qmd://a/b.md", "docid": "#1", "line": 1,
        "age": "today", "date": "2026-03-12T12:00:00Z", "type": None, "source": "claude", "collection": "brain",
        "trust": "session", "project": None, "resume": None, "stale": False, name: text,
    }  # fmt: skip
    passage = {"text": text, "first_line": 1, "line": 1}
    found = lines.hits({"hits": [hit], "clear": 1}, width) + lines.preview(hit, passage, width)
    for each in found:
        assert printable(each.plain) == each.plain
        assert "\n" not in each.plain
        assert cell_len(each.plain) <= max(width, 24)


def test_turns_are_told_apart_and_the_line_of_a_hit_is_marked() -> None:
    text = SESSION.split("\n")
    turns = reading.turns(text, reading.cut(text, 0))
    found = lines.session(turns, 60)
    styles = {piece[0]: piece[1] for line in found for piece in line.pieces}
    assert styles["user [1] · 2026-03-12 12:00"] == "person"
    assert styles["assistant [2] · 2026-03-12 12:01"] == "agent"
    assert (styles["-rows[low]"], styles["+rows.get(low)"]) == ("removed", "added")
    assert (styles["  ▸ Bash, Edit"], styles[" · 1 failed"]) == ("code", "bad")
    number = next(index for index, line in enumerate(text, 1) if "KeyError" in line)
    pieces = [piece for line in lines.session(turns, 60, here=number) for piece in line.pieces]
    assert [text.strip() for text, style in pieces if style == "here"] == ["! KeyError: 'low'"]


def test_lines_of_a_document_have_its_numbers() -> None:
    text = SESSION.split("\n")
    for line in lines.session(reading.turns(text, reading.cut(text, 0)), 200, unfolded=True):
        if line.number and line.plain:
            assert line.plain.strip(" ▾")[:8] in text[line.number - 1] or line.plain.startswith(("user", "assistant"))


def test_a_turn_has_the_time_where_its_reader_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SESSION.split("\n")
    turns = reading.turns(text, reading.cut(text, 0))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert "user [1] · 2026-03-12 21:00" in [line.plain for line in lines.session(turns, 60)]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(("counts", "said"), [({}, "nothing"), ({"session": 1, "shell": 2}, "1 session, 2 commands")])
def test_a_day_is_added_up_in_words(counts: dict[str, int], said: str) -> None:
    assert lines.tally(counts) == said


def test_what_began_on_an_earlier_day_has_no_time_of_this_one() -> None:
    began = {"kind": "session", "project": ""}
    rows = [{"at": f"2026-03-{day}T10:00:00Z", "text": f"tide {day}", "item": began} for day in (11, 12)]
    said = [
        line.plain
        for line in lines.day([{**row, "item": {**began, "more": 0}} for row in rows], 60, "2026-03-12T00:00:00Z")
    ]
    assert said[0].lstrip().startswith("… ")
    assert ":00" in said[1]
