from __future__ import annotations

from array import array
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase, digits

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core import document
from qmd.index.derived import WORDS, bodies, cut, inner_words, inner_words_of
from tests.examples import examples
from tests.scanned import Scanned

_WORD = st.text(st.characters(exclude_characters=" \n"), min_size=1, max_size=8)
_LINE = st.builds(
    lambda word, count, gap: gap.join([word] * count),
    _WORD,
    st.integers(0, 700),
    st.sampled_from([" ", "", "\t", "  "]),
)
_TEXT = st.lists(_LINE | st.text(), max_size=8).map("\n".join)
_HEAD = st.sampled_from(["", "---\na: 1\n---\n", "---\n---\n", "---\nopen\n"])


@given(_HEAD, _TEXT)
@example("", "a " * 1000)
@example("---\na: 1\n---\n", "")
@settings(max_examples=examples(300))
def test_passages_are_the_text_after_the_frontmatter_in_order(head: str, body: str) -> None:
    text = head + body
    bounds = cut(text)
    if not bounds:
        assert not bodies(text, bounds)
        return
    assert all(first < second for first, second in pairwise(bounds))
    found = document.bounds(text)
    assert bounds[0] == (found[2] if found else 0)
    assert bounds[-1] == len(text)
    assert "".join(bodies(text, bounds)) == text[bounds[0] :]


@given(_TEXT)
@example("a " * 599)
@example("a " * 301 + "\n" + "b " * 199)
@example(("x" * 4000 + " " + "w " * 190) * 3)
@settings(max_examples=examples(300))
def test_no_passage_is_much_longer_than_the_others(text: str) -> None:
    for passage in bodies(text, cut(text)):
        assert passage.count(" ") <= 1.5 * WORDS
        assert len(passage) <= 2 * 24 * WORDS


@pytest.mark.parametrize("count", [299, 301, 399, 401, 599, 601, 1000])
def test_a_line_of_short_words_is_cut_like_any_other(count: int) -> None:
    for tail in ("", "\n" + "b " * 150):
        text = "a " * count + tail
        assert max(passage.count(" ") for passage in bodies(text, cut(text))) <= 301


def test_passages_end_at_line_ends_where_there_are_any() -> None:
    text = "".join(f"line {number} has six words here\n" for number in range(200))
    found = bodies(text, cut(text))
    assert len(found) > 5
    assert all(passage.endswith("\n") for passage in found)
    assert all(WORDS - 10 <= len(passage.split()) <= WORDS for passage in found[:-1])


def test_a_line_without_spaces_is_cut() -> None:
    assert len(bodies("x" * 50_000, cut("x" * 50_000))) >= 10


@pytest.mark.parametrize("unit", ["a", "a ", "\n", "a\n", "a\t", "漢", "x" * 5000 + " ", "w " * 190 + "x" * 4000])
def test_cutting_looks_at_a_text_a_few_times_however_long_it_is(unit: str) -> None:
    text = Scanned(unit * (120_000 // len(unit)))
    cut(text)
    assert 0 < text.looked[0] < 8 * len(text)


@pytest.mark.parametrize("unit", ["a", "aB", "A", "aB1", "a" * 150 + "B", "Ab", "HTTPs", "é", "aB "])
def test_inner_words_look_at_a_text_a_few_times_and_are_not_longer_than_two_of_it(unit: str) -> None:
    text = Scanned(unit * (60_000 // len(unit)))
    assert len(inner_words(text)) <= 2 * len(text)
    assert text.looked[0] < 6 * len(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getUserName", "get User Name"),
        ("call getUserName() twice", "get User Name"),
        ("HTTPServer", "HTTP Server"),
        ("parseURL", "parse URL"),
        ("getHTTPResponse2", "get HTTP Response 2"),
        ("sha256Sum", "sha 256 Sum"),
        ("two camelCase inOne", "camel Case in One"),
        ("plain snake_case UPPER Capital IDs URLs", ""),
        ("", ""),
    ],
)
def test_the_words_inside_an_identifier_are_found(text: str, words: str) -> None:
    assert inner_words(text) == words


@given(st.text(st.characters() | st.sampled_from("aBcD1E "), max_size=300))
def test_inner_words_are_parts_of_the_text(text: str) -> None:
    for word in inner_words(text).split():
        assert word in text


@given(st.text(st.sampled_from("aBcDE1 _é語ß"), max_size=12))
def test_no_word_inside_an_identifier_is_passed_over(text: str) -> None:
    humps = [
        at
        for at in range(1, len(text))
        if text[at] in ascii_uppercase
        and (text[at - 1] in ascii_lowercase + digits or (text[at - 1] in ascii_uppercase and _small(text, at + 1)))
    ]
    assert bool(inner_words(text)) == bool(humps)


def _small(text: str, at: int) -> bool:
    return len(text) > at + 1 and all(each in ascii_lowercase for each in text[at : at + 2])


@given(st.text(st.sampled_from("aAbB0_ \xe9\u6d77\n"), max_size=40), st.sets(st.integers(1, 39), max_size=5))
@settings(max_examples=examples(300))
def test_the_inner_words_of_a_passage_depend_on_no_other(text: str, cuts: set[int]) -> None:
    bounds = array("I", sorted({0, len(text), *(each for each in cuts if each < len(text))}))
    assert inner_words_of(text, bounds) == list(map(inner_words, bodies(text, bounds)))
