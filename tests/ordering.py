"""The order of a run on several workers: each worker starts with some of the slowest tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")

# Modules with a test of ten seconds to a minute and a half, the slowest first. At the end of a run, such a test would
# leave the other workers idle.
SLOWEST = (
    "tests/test_bench_scale.py",
    "tests/test_kills.py",
    "tests/qmd/embedding/test_on_ray.py",
    "tests/runtime/team/test_leaks.py",
    "tests/test_team_demo.py",
)


def spread(slow: Sequence[Sequence[_T]], rest: Sequence[_T], workers: int) -> list[_T]:
    """Return all tests in an order in which each worker's share starts with some of the slow groups.

    Args:
        slow: The slow tests by module, which one worker runs together for their fixtures.
        rest: The other tests in their order.
        workers: xdist's ``worksteal`` gives each worker an equal share of neighbours at first.
    """
    total = len(rest) + sum(map(len, slow))
    order: list[_T] = []
    used = 0
    for worker in range(workers):
        end = len(order) + (total - len(order)) // (workers - worker)
        for group in slow[worker::workers]:
            order += group
        more = max(end - len(order), 0)
        order += rest[used : used + more]
        used += more
    return [*order, *rest[used:]]
