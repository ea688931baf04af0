"""Scores: BM25, spans, evidence, and the rarity of words in general."""

from __future__ import annotations

from collections import Counter

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.index.terms import STOP, Analyzer, Terms
from qmd.search import scoring
from qmd.search.scoring import K1, SPAN_AVERAGE, SPAN_MAX, SPAN_PAD, B, best_span, bm25, evidence, idf
from qmd.search.stems import RARITY, UNKNOWN

_MATCHES = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 4)), max_size=20).map(sorted)
_WEIGHTS = st.lists(st.floats(0.01, 10), min_size=5, max_size=5)


def _span_score(run: list[tuple[int, int]], weights: list[float]) -> float:
    norm = K1 * (1 - B + B * (run[-1][0] - run[0][0] + SPAN_PAD) / SPAN_AVERAGE)
    return sum(weights[term] * count * (K1 + 1) / (count + norm) for term, count in Counter(t for _, t in run).items())


@given(_MATCHES, _WEIGHTS)
def test_the_best_span_is_the_best_of_all_spans(matches: list[tuple[int, int]], weights: list[float]) -> None:
    runs = [matches[i : j + 1] for i in range(len(matches)) for j in range(i, len(matches))]
    scores = [_span_score(run, weights) for run in runs if run[-1][0] - run[0][0] <= SPAN_MAX]
    score, first, last = best_span(matches, weights)
    assert score == pytest.approx(max(scores, default=0.0))
    if matches:
        chosen = [match for match in matches if first <= match[0] <= last]
        assert last - first <= SPAN_MAX
        assert _span_score(chosen, weights) <= score * (1 + 1e-9)
        assert {first, last} <= {position for position, _ in matches}


def test_no_matches_have_no_span() -> None:
    assert best_span([], []) == (0.0, 0, 0)


def test_terms_together_beat_the_same_terms_apart() -> None:
    near, far = ([(0, 0), (distance, 1)] for distance in (1, 60))
    assert best_span(near, [1.0, 1.0])[0] > best_span(far, [1.0, 1.0])[0] > best_span([(0, 0)], [1.0])[0]


def test_one_word_over_and_over_is_looked_at_in_part() -> None:
    score, first, last = best_span([(position, 0) for position in range(100_000)], [1.0])
    assert 0 < score < K1 + 1
    assert last - first <= SPAN_MAX


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_rarer_terms_weigh_more_and_none_weighs_nothing(rows: int, one: int, other: int) -> None:
    rare, common = sorted((min(one, rows), min(other, rows)))
    assert idf(rows, rare) >= idf(rows, common) > 0
    if rare < common:
        assert idf(rows, rare) > idf(rows, common)


def test_a_frequency_above_the_rows_counts_as_all_rows() -> None:
    assert idf(10, 50) == idf(10, 10)


@given(st.lists(st.floats(0, 50), min_size=1, max_size=6), st.floats(0, 20), st.data())
def test_more_of_a_term_in_less_text_scores_higher(
    frequencies: list[float], length: float, data: st.DataObject
) -> None:
    weights = [1.0] * len(frequencies)
    score = bm25(frequencies, weights, length)
    index = data.draw(st.integers(0, len(frequencies) - 1))
    more = [*frequencies[:index], frequencies[index] + 1, *frequencies[index + 1 :]]
    assert bm25(more, weights, length) > score
    assert bm25(frequencies, weights, length + 1) <= score
    assert 0 <= score <= (K1 + 1) * sum(weights)


def test_the_formula_is_robertsons() -> None:
    assert bm25([2, 0, 1], [3.0, 5.0, 1.0], 1.0) == pytest.approx(3 * 2 * 2.2 / (2 + 1.2) + 2.2 / (1 + 1.2))


def test_a_share_says_less_in_more_passages() -> None:
    found = [evidence(0.2, passages, None, None) for passages in (10, 100, 1_000, 100_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] - found[1] == pytest.approx(found[1] - found[2])
    assert evidence(0.0, 0, 0.4, 0.28) == pytest.approx(0.12), "where no word matches, none matches by chance"


def test_matching_words_are_an_answer_whatever_the_vector() -> None:
    near, nearer = (evidence(0.3, 100, cosine, 0.28) for cosine in (0.2, 0.5))
    assert near < evidence(0.3, 100, None, None) < nearer
    assert evidence(0.3, 100, -1.0, 0.28) == near > 0.16


@given(st.floats(0, 1), st.integers(0, 10**6), st.floats(-1, 1), st.floats(-1, 1))
def test_a_document_without_its_vector_is_judged_by_words_at_least(
    share: float, passages: int, cosine: float, level: float
) -> None:
    words = evidence(share, passages, None, None)
    both = evidence(share, passages, cosine, level)
    assert evidence(share, passages, cosine, level, whole=False) == max(words, both)
    assert 0 <= both <= 1


def test_a_word_of_every_text_weighs_least_and_one_that_nobody_says_most() -> None:
    ranked = [RARITY.get(stem, UNKNOWN) for stem in ("return", "list", "map", "walrusgearbox")]
    assert ranked == sorted(ranked)
    assert 0 < ranked[0] < ranked[-1] / 3


def test_its_words_are_those_that_the_index_would_store() -> None:
    analyzer = Analyzer(apsw.Connection(":memory:"))
    stems = set(RARITY)
    said = {"argument", "directory", "returns", "values", "parsing"}
    assert {stem for stem, _ in analyzer.tokens(" ".join(said))} <= stems
    assert stems.isdisjoint(STOP)


def _covered(stems: list[list[str]], term: list[int], count: list[float], held: list[set[int]]) -> float:
    terms = Terms()
    terms.stems, terms.term, terms.count = stems, term, count
    return scoring.covered(terms, held)


def test_the_share_is_the_best_documents_by_weight() -> None:
    stems, term, count = [["list"], ["map"], ["go"], ["went"]], [0, 1, 2, 2], [1.0, 1.0, 1.0]
    weights = [RARITY["list"], RARITY["map"], min(RARITY["go"], UNKNOWN)]
    found = _covered(stems, term, count, [{0}, {1, 2}, {0, 2}])
    assert found == pytest.approx((weights[1] + weights[2]) / sum(weights))
    assert _covered(stems, term, count, []) == 0
    assert _covered([], [], [], [set()]) == 0


@pytest.mark.parametrize("stems", [["haproxi"], ["海", "象"], ["src", "qx"]], ids=["name", "pair", "phrase"])
def test_a_long_rare_word_is_enough(stems: list[str]) -> None:
    others = [[f"wort{number}"] for number in range(9)]
    found = _covered([stems, *others], list(range(10)), [1.0] * 10, [{0}])
    assert found == pytest.approx(0.3)
    assert _covered([stems], [0], [1.0], [{0}]) == 1
    assert _covered([["как"], *others], list(range(10)), [1.0] * 10, [{0}]) == pytest.approx(0.1)
    assert _covered([["qx"], *others], list(range(10)), [1.0] * 10, [{0}]) == pytest.approx(0.1)
    assert _covered([["argument"], *others], list(range(10)), [1.0] * 10, [{0}]) < 0.1


@given(st.lists(st.lists(st.sampled_from(["list", "walrus", "swim"]), min_size=1, max_size=3), min_size=1, max_size=5))
def test_all_terms_are_the_whole(stems: list[list[str]]) -> None:
    terms = list(range(len(stems)))
    assert _covered(stems, terms, [1.0] * len(stems), [set(terms)]) == pytest.approx(1)
