from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.runs.metrics import DEPTH, NAMES, interval, mean, measures, percentile


def test_measures_are_what_they_are_by_hand() -> None:
    # Relevant at 2 (grade 1) and 6 (grade 3); a third one (grade 2) is not found.
    ranked = ["x", "a", "y", "z", "w", "b"]
    row = measures(ranked, {"a": 1, "b": 3, "c": 2, "no": 0})
    assert (row["hit@1"], row["hit@5"], row["hit@10"]) == (0, 1, 1)
    assert [row["recall@1"], row["recall@5"], row["recall@10"]] == pytest.approx([0, 1 / 3, 2 / 3])
    assert row["mrr@10"] == 0.5
    gained = 1 / math.log2(3) + 3 / math.log2(7)
    ideal = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert row["ndcg@10"] == pytest.approx(gained / ideal)


def test_one_relevant_document_at_rank_three() -> None:
    row = measures(["x", "y", "a"], {"a": 1})
    assert row == {
        "hit@1": 0.0, "hit@5": 1.0, "hit@10": 1.0, "recall@1": 0.0, "recall@5": 1.0, "recall@10": 1.0,
        "mrr@10": pytest.approx(1 / 3), "ndcg@10": 0.5,
    }  # fmt: skip


def test_the_eleventh_place_is_out_of_sight() -> None:
    assert set(measures([str(number) for number in range(DEPTH)] + ["a"], {"a": 1}).values()) == {0.0}


def test_with_more_relevant_documents_than_places_the_best_order_is_still_perfect() -> None:
    relevant = {str(number): 1 for number in range(20)}
    row = measures([str(number) for number in range(10)], relevant)
    assert [row["ndcg@10"], row["recall@10"]] == pytest.approx([1, 0.5])


def test_a_question_without_an_answer_has_no_measures() -> None:
    for relevant in ({}, {"a": 0}, {"a": -1}):
        with pytest.raises(ValueError, match="no relevant document"):
            measures(["a"], relevant)


_DOCUMENTS = st.sampled_from([f"d{number}" for number in range(15)])
_RELEVANT = st.dictionaries(_DOCUMENTS, st.integers(1, 4), min_size=1)


@given(st.lists(_DOCUMENTS, max_size=20), _RELEVANT)
def test_every_measure_is_a_share_and_grows_with_depth(ranked: list[str], relevant: dict[str, int]) -> None:
    row = measures(ranked, relevant)
    assert tuple(row) == NAMES
    assert all(0 <= value <= 1 + 1e-12 for value in row.values())
    assert row["hit@1"] <= row["hit@5"] <= row["hit@10"]
    assert row["recall@1"] <= row["recall@5"] <= row["recall@10"] <= row["hit@10"]
    assert row["hit@1"] <= row["mrr@10"] <= row["hit@10"]
    assert row == measures(list(dict.fromkeys(ranked)), relevant), "a repeated document counts once"


@given(_RELEVANT, st.lists(_DOCUMENTS, max_size=5))
def test_the_best_order_is_perfect_and_what_follows_it_changes_nothing(
    relevant: dict[str, int], more: list[str]
) -> None:
    best = sorted(relevant, key=lambda document: -relevant[document])
    assert measures(best + more, relevant)["ndcg@10"] == pytest.approx(1)


@given(st.lists(_DOCUMENTS, min_size=2, max_size=10, unique=True), _RELEVANT, st.data())
def test_moving_a_better_document_up_never_lowers_ndcg(
    ranked: list[str], relevant: dict[str, int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(ranked) - 2))
    if relevant.get(ranked[place], 0) < relevant.get(ranked[place + 1], 0):
        swapped = [*ranked]
        swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
        assert measures(swapped, relevant)["ndcg@10"] > measures(ranked, relevant)["ndcg@10"]


@given(st.lists(_DOCUMENTS, max_size=12), _DOCUMENTS)
def test_with_one_relevant_document_recall_is_hit(ranked: list[str], document: str) -> None:
    row = measures(ranked, {document: 2})
    for depth in (1, 5, 10):
        assert row[f"recall@{depth}"] == row[f"hit@{depth}"]


def test_the_mean_is_of_each_measure() -> None:
    assert mean([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 0.0}]) == {"a": 0.5, "b": 0.0}
    assert mean([]) == {}


def test_an_interval_is_the_same_each_time_and_holds_its_mean() -> None:
    differences = [1.0] * 30 + [-1.0] * 10 + [0.0] * 60
    first = interval(differences)
    assert first == interval(differences)
    average, low, high = first
    assert average == pytest.approx(0.2)
    # By the normal approximation: 0.2 ± 1.96 · 0.6 / 10.
    assert [low, high] == pytest.approx([0.2 - 0.1176, 0.2 + 0.1176], abs=0.02)


def test_differences_that_are_all_alike_leave_no_doubt() -> None:
    assert interval([0.5] * 7) == (0.5, 0.5, 0.5)
    assert interval([0.0] * 7) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="no differences"):
        interval([])


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=30))
def test_an_interval_lies_within_what_was_seen_and_turns_with_its_sign(differences: list[float]) -> None:
    average, low, high = interval(differences, resamples=200)
    assert min(differences) - 1e-9 <= low <= high <= max(differences) + 1e-9
    turned = interval([-value for value in differences], resamples=200)
    assert turned == pytest.approx((-average, -high, -low), abs=1e-9)


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([5, 1, 3], 0.5) == 3
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([7], 0.95) == 7
