"""The slowest tests run first, and at the same time."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.ordering import SLOWEST, spread

SLOW = [["a1"], ["b1", "b2"], ["c1"], ["d1"]]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("others", [0, 1, 10, 100])
def test_every_test_runs_once_and_the_slow_ones_of_a_module_together(workers: int, others: int) -> None:
    rest = [f"{number}" for number in range(others)]
    order = spread(SLOW, rest, workers)
    assert sorted(order) == sorted([*rest, *(each for group in SLOW for each in group)])
    assert [each for each in order if each in rest] == rest
    assert order.index("b2") == order.index("b1") + 1


def test_each_share_starts_with_a_slow_test() -> None:
    order = spread(SLOW, [f"{number}" for number in range(25)], 3)
    assert [order[start] for start in (0, 10, 20)] == ["a1", "b1", "c1"]
    assert order[1] == "d1"


def test_the_modules_that_are_slow_are_there() -> None:
    assert [name for name in SLOWEST if not (ROOT / name).is_file()] == []
