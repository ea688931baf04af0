from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.embedding import cutting
from qmd.embedding.cutting import Sizes, Tokens
from qmd.index.semantic.spaces import EXCHANGE, PIECE
from qmd.index.semantic.vectors import chunk_text

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
    for start, end, kind in cut(text):
        most = SIZES.chunk * (1.5 if kind == EXCHANGE else 1)
        assert len(tokenize(chunk_text(text, start, end, kind)).offsets) <= most


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


TALK = (
    "# Talk\n\n## [1] user · 2026-04-28 09:14\n\nWhy?\n\n## [2] assistant\n\nLet me look.\n\n- Read: a.py\n"
    "- Bash: make\n  ! Error 2\n\nBecause.\n\n### reasoning\n\nHm.\n\n## [3] user\n\nThanks.\n\n## [4] user\n\n \n"
)


def gists(text: str) -> list[str]:
    return [chunk_text(text, *chunk) for chunk in cut(text, Sizes(200, 20, 40)) if chunk[2] == EXCHANGE]


def test_each_exchange_is_a_chunk_of_its_prompt_and_of_what_came_of_it() -> None:
    assert gists(TALK) == ["Why?\nBecause.", "Thanks."]


def test_of_a_long_exchange_the_beginning_of_the_prompt_and_both_ends_of_the_outcome_are_embedded() -> None:
    prompt, reply = "p" * 700, "first " + "r" * 900 + " last"
    (gist,) = gists(f"## [1] user\n\n{prompt}\n\n## [2] assistant\n\n{reply}\n")
    begin, middle, end = gist.split("\n")
    assert begin == "p" * 200
    assert middle.startswith("first ")
    assert end.endswith(" last")
    assert len(gist) == 200 + 1 + 300 + 1 + 100
    (alone,) = gists(f"## [1] user\n\n{prompt}\n")
    assert alone == "p" * 600
    (dense,) = gists("## [1] user\n\n" + "海" * 700)
    assert len(dense) == 200, "a character is a token"


def test_a_text_in_which_nobody_asks_has_no_exchanges() -> None:
    assert gists("## [1] Scope\n\nshort\n\n## [2] Terms\n\nshort\n") == []


def test_a_provider_gets_the_parts_of_an_exchange_as_it_may_see_them() -> None:
    chunk = next(chunk for chunk in cut(TALK) if chunk[2] == EXCHANGE)
    assert chunk_text(TALK, *chunk, piece=lambda start, end: TALK[start:end].upper()) == "WHY?\nBECAUSE."


@pytest.mark.parametrize("text", ["海" * 500, "😀 " * 300, "a\x00b " * 200])
def test_positions_are_characters_whatever_they_take_elsewhere(text: str) -> None:
    chunks = body(text)
    assert chunks[0][0] == 0
    assert len(text.rstrip()) <= chunks[-1][1] <= len(text)
