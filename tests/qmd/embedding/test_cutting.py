from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.embedding import cutting
from qmd.embedding.cutting import Sizes, Tokens
from qmd.index.spaces import PIECE, SECTION

SIZES = Sizes(20, 3, 5)
_WORD = re.compile(r"\w+|[^\w\s]")


def tokenize(text: str) -> Tokens:
    """Every four letters of a word are a token, as sub-words are."""
    offsets: list[tuple[int, int]] = []
    words: list[int | None] = []
    for number, match in enumerate(_WORD.finditer(text)):
        for start in range(match.start(), match.end(), 4):
            offsets.append((start, min(start + 4, match.end())))
            words.append(number)
    return Tokens(offsets, words)


def cut(text: str, sizes: Sizes = SIZES) -> list[tuple[int, int, int]]:
    return cutting.cut(text, tokenize, sizes)


def body(text: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end, kind in cut(text) if kind == PIECE]


TEXTS = st.lists(
    st.sampled_from(
        [
            "word",
            " ",
            "\n",
            "\n\n",
            "## [2] user\n\n",
            "# head\n",
            "```\n",
            "- item ",
            "海象",
            "😀",
            "\x00",
            "x" * 90,
            "é́",
            ".",
        ]
    ),
    max_size=120,
).map("".join)


@given(TEXTS)
def test_no_token_of_a_text_is_dropped_or_torn(text: str) -> None:
    chunks = body(text)
    for start, end in tokenize(text).offsets:
        if text[start:end].isspace():
            continue
        # A word longer than a chunk is torn: there is no other way.
        assert any(first <= start and end <= last for first, last in chunks) or "x" * 80 in text


@given(TEXTS)
def test_nothing_but_white_space_lies_outside_of_the_chunks(text: str) -> None:
    covered = [False] * len(text)
    for start, end in body(text):
        assert text[start:end].strip()
        covered[start:end] = [True] * (end - start)
    assert not "".join(letter for letter, is_in in zip(text, covered, strict=True) if not is_in).strip()


@given(TEXTS)
def test_every_chunk_fits(text: str) -> None:
    for start, end, _ in cut(text):
        assert len(tokenize(text[start:end]).offsets) <= SIZES.chunk


def test_an_endless_line_is_cut_without_looking_at_all_of_it_at_once() -> None:
    longest = 0

    def watch(text: str) -> Tokens:
        nonlocal longest
        longest = max(longest, len(text))
        return tokenize(text)

    chunks = cutting.cut("y" * 200_000 + " end", watch, SIZES)
    assert longest <= SIZES.chunk * 64
    assert chunks[0][0] == 0
    assert chunks[-1][1] == 200_004
    assert all(before[1] >= after[0] for before, after in pairwise(chunks))


def test_a_chunk_ends_before_a_heading_rather_than_in_a_sentence() -> None:
    text = "one two three four five six seven eight nine ten eleven twelve\n## Next\nand more and more of it all here"
    assert body(text)[0][1] == text.index("\n## Next")


def test_a_fence_is_not_cut_where_another_place_is_near() -> None:
    text = "a b c d e f g h i j k l m n\n\n```\n# not a heading\nx y z\n```\n" + "word " * 30
    assert body(text)[0][1] not in (text.index("\n# not"), text.index("\nx y"))


def test_frontmatter_belongs_to_no_chunk() -> None:
    text = "---\nsource: claude\n---\nbody"
    assert cut(text) == [(text.index("body"), len(text), PIECE)]
    assert cut("---\nsource: claude\n---\n") == []
    assert cut("") == cut(" \n\t ") == []


def test_each_turn_of_a_conversation_that_shares_its_chunk_is_one_of_its_own() -> None:
    text = "# Talk\n\n## [1] user · 2026-04-28 09:14\n\nWhy?\n\n## [2] assistant\n\nBecause.\n\n## [3] user\n\n \n"
    turns = [text[start:end].strip() for start, end, kind in cut(text, Sizes(100, 10, 20)) if kind == SECTION]
    assert turns == ["Why?", "Because."]


def test_a_turn_that_has_its_chunks_to_itself_is_not_embedded_twice() -> None:
    assert [kind for _, _, kind in cut("## [1] user\n\nshort")] == [PIECE]
    long = "## [1] user\n\n" + "word " * 100
    assert {kind for _, _, kind in cut(long)} == {PIECE}


@pytest.mark.parametrize("text", ["海" * 500, "😀 " * 300, "a\x00b " * 200])
def test_positions_are_characters_whatever_they_take_elsewhere(text: str) -> None:
    chunks = body(text)
    assert chunks[0][0] == 0
    assert len(text.rstrip()) <= chunks[-1][1] <= len(text)
