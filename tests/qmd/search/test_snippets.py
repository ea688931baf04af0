from __future__ import annotations

from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.index.terms import Analyzer
from qmd.search.snippets import around, find_any, locate

_TEXT = st.text(st.characters() | st.sampled_from(" \n.漢"), min_size=1, max_size=900)


@given(_TEXT, st.data())
def test_a_snippet_is_part_of_the_text_on_its_line(text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    position = data.draw(st.integers(start, len(text) - 1))
    line, snippet = around(text, start, position, is_clean=True)
    evidence = position + len(text[position:]) - len(text[position:].lstrip())
    assert line == text[:evidence].count("\n") + 1
    assert len(snippet) <= 301
    assert snippet.removesuffix("…") in text[start:]
    assert snippet == snippet.strip()


@given(st.lists(st.sampled_from(["word", "longer", "x" * 120]), min_size=1, max_size=200), st.data())
def test_a_snippet_shows_the_evidence(words: list[str], data: Any) -> None:
    at = data.draw(st.integers(0, len(words)))
    text = " ".join([*words[:at], "WALRUS", *words[at:]])
    assert "WALRUS" in around(text, 0, text.index("WALRUS"), is_clean=True)[1]


def test_a_snippet_begins_at_its_line() -> None:
    text = "first line\nsecond line with the walrus\nthird line"
    line, snippet = around(text, 0, text.index("walrus"), is_clean=True)
    assert (line, snippet) == (2, "second line with the walrus\nthird line")


def test_a_long_text_is_cut_at_a_word_and_says_so() -> None:
    _, snippet = around("walrus " * 100, 0, 0, is_clean=True)
    assert snippet.endswith("walrus…")
    assert len(snippet) <= 301


@pytest.mark.parametrize("tag", ["<private>", "<PRIVATE>", '<private why="x">', "\\<private\\>"])
def test_what_lies_in_a_private_span_is_left_out(tag: str) -> None:
    more = "one more line\n" * 50
    text = f"a heron\n{tag}\n{more}the walrus\n{more}</private>\na duck\n"
    line, snippet = around(text, 0, text.index("walrus"), is_clean=False)
    assert line == 53
    assert "walrus" not in snippet
    assert "more" not in snippet
    assert around(text, 0, text.index("a duck"), is_clean=False)[1] == "a duck"
    assert around(text, 0, 0, is_clean=False)[1].startswith("a heron")


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    """FTS5's tokenizers."""
    return Analyzer(apsw.Connection(":memory:"))


_VALUE = "".join("qX7f2LmZ9pKd4RvT"[number % 16] for number in range(7, 47))


def test_a_secret_that_a_cut_parts_from_its_name_is_not_shown() -> None:
    # The cut before the evidence falls between what announces the value and the value.
    text = f"# Notes\n\n{'so it went ' * 40}curl -H 'Authorization: Bearer {_VALUE}' then we saw the walrus there\n"

    snippet = around(text, 0, text.index("walrus"), is_clean=False)[1]

    assert "walrus" in snippet
    assert not any(_VALUE[start : start + 8] in snippet for start in range(len(_VALUE) - 8))


def test_what_a_cut_leaves_of_a_harmless_line_is_as_it_was() -> None:
    text = f"{'before ' * 100}the token of the walrus {'behind ' * 100}"

    snippet = around(text, 0, text.index("walrus"), is_clean=True)[1]

    assert snippet.removesuffix("…") in text
    assert snippet.endswith("…")


@given(
    st.lists(st.text(st.characters(categories=["Lu", "Ll"]), min_size=1, max_size=9), min_size=1, max_size=9), st.data()
)
def test_a_token_is_found_at_its_place(analyzer: Analyzer, words: list[str], data: Any) -> None:
    passage = " — ".join(words)
    starts = [len(passage.encode()[:first].decode()) for first, _, _ in analyzer.offsets(passage)]
    token = data.draw(st.integers(0, len(starts) + 2))
    assert locate(analyzer, passage, token) == (starts[token] if token < len(starts) else 0)


def test_the_first_of_the_words_is_found_whatever_its_case() -> None:
    assert find_any("one Two three", ["THREE", "two"]) == 4
    assert find_any("one", ["x"]) == 0
    assert find_any("one", []) == 0


def test_letters_that_grow_in_small_do_not_shift_the_place() -> None:
    assert find_any("İ" * 400 + " Walrus", ["walrus"]) == 401
