"""A document is read in pieces that together are the document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.explaining import reading
from runtime.explaining.reading import PIECE

_LINES = st.sampled_from(
    ["", "words", "word " * 900, "## [1] user · 2026-03-12 09:14", "## [2] assistant", "```", "  note", "- Bash: make"]
)


@given(st.lists(_LINES, max_size=60), st.booleans())
def test_pieces_follow_each_other_and_none_is_left_out(lines: list[str], described: bool) -> None:
    text = ["---", "title: x", "---", *lines, "end"] if described else [*lines, "end"]
    first = reading.cut(text, 0)
    begins, piece = [first.first], first
    while piece.next:
        following = reading.cut(text, piece.next)
        assert (following.first, following.previous) == (piece.last + 1, piece.first)
        piece = following
        begins.append(piece.first)
    assert (piece.last, piece.number, len(begins)) == (len(text), first.of, first.of)
    assert all(reading.cut(text, line).first == begin for begin in begins for line in (begin,))


def test_a_piece_begins_with_a_turn_where_turns_are_short_and_at_a_blank_line_where_one_is_long() -> None:
    turns = [line for number in range(1, 60) for line in (f"## [{number}] user", "", "word " * 100, "")]
    starts = {reading.cut(turns, line).first for line in range(1, len(turns) + 1)}
    assert len(starts) > 2
    assert all(turns[start - 1].startswith("## [") for start in starts)
    long = ["## [1] user", "", *(line for _ in range(60) for line in ("word " * 100, ""))]
    pieces = {reading.cut(long, line).first: reading.cut(long, line) for line in range(1, len(long) + 1)}
    sizes = [sum(len(line) + 1 for line in long[each.first - 1 : each.last]) for each in pieces.values()]
    assert max(sizes) < PIECE + 600


def test_code_is_not_cut() -> None:
    code = ["## [1] assistant", "", "```", *(line for _ in range(80) for line in ("word " * 100, "")), "```", "", "end"]
    assert reading.cut(code, 0).last == len(code) - 2


def test_prompts_are_the_turns_of_persons_and_every_nth_of_many() -> None:
    turns = [
        line for number in range(1, 1001) for line in (f"## [{number}] {('assistant', 'user')[number % 2]}", "say")
    ]
    found = reading.prompts(turns, most=100)
    assert len(found) == 100
    assert found[1] == (21, 11, "say")
