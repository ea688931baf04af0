"""Words are weighed by how rare they are in general."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.index.terms import STOP, Analyzer
from qmd.search import scoring


def test_a_word_of_every_text_weighs_least_and_one_that_nobody_says_most() -> None:
    ranked = [scoring.rarity(stem) for stem in ("return", "list", "map", "walrusgearbox")]
    assert ranked == sorted(ranked)
    assert 0 < ranked[0] < ranked[-1] / 3


def test_its_words_are_those_that_the_index_would_store() -> None:
    analyzer = Analyzer(apsw.Connection(":memory:"))
    stems = set(scoring._powers())
    said = {"argument", "directory", "returns", "values", "parsing"}
    assert {stem for _, stem, _ in analyzer.tokens(" ".join(said))} <= stems
    assert stems.isdisjoint(STOP)


def test_the_share_is_the_best_documents_by_weight() -> None:
    stems, term, count = [["list"], ["map"], ["go"], ["went"]], [0, 1, 2, 2], [1.0, 1.0, 1.0]
    weights = [scoring.rarity("list"), scoring.rarity("map"), min(scoring.rarity("go"), scoring.rarity("went"))]
    found = scoring.covered(stems, term, count, [{0}, {1, 2}, {0, 2}])
    assert found == pytest.approx((weights[1] + weights[2]) / sum(weights))
    assert scoring.covered(stems, term, count, []) == 0
    assert scoring.covered([], [], [], [set()]) == 0


@pytest.mark.parametrize("stems", [["haproxi"], ["海", "象"], ["src", "qx"]], ids=["name", "pair", "phrase"])
def test_a_long_word_that_is_seldom_said_tells_enough(stems: list[str]) -> None:
    others = [[f"wort{number}"] for number in range(9)]
    found = scoring.covered([stems, *others], list(range(10)), [1.0] * 10, [{0}])
    assert found == pytest.approx(0.3)
    assert scoring.covered([stems], [0], [1.0], [{0}]) == 1
    assert scoring.covered([["как"], *others], list(range(10)), [1.0] * 10, [{0}]) == pytest.approx(0.1)
    assert scoring.covered([["qx"], *others], list(range(10)), [1.0] * 10, [{0}]) == pytest.approx(0.1)
    assert scoring.covered([["argument"], *others], list(range(10)), [1.0] * 10, [{0}]) < 0.1


@given(st.lists(st.lists(st.sampled_from(["list", "walrus", "swim"]), min_size=1, max_size=3), min_size=1, max_size=5))
def test_all_terms_are_the_whole(stems: list[list[str]]) -> None:
    terms = list(range(len(stems)))
    assert scoring.covered(stems, terms, [1.0] * len(stems), [set(terms)]) == pytest.approx(1)
