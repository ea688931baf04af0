"""A run says that it is slow because of others only where that is so."""

from __future__ import annotations

import time

import pytest

from core import load


@pytest.mark.parametrize(
    ("own", "idle", "total", "others"),
    [
        (90, 5, 100, 0.0),  # alone
        (30, 2, 100, 0.68),
        (30, 50, 100, 0.0),  # others are at work, and there is room for all
        (80, 5, 100, 0.0),  # others take little
        (0, 0, 0, 0.0),
    ],
)
def test_others_count_where_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, own: float, idle: float, total: float, others: float
) -> None:
    times = iter([(1000.0, 400.0), (1000.0 + total, 400.0 + idle)])
    process = iter([7.0, 7.0 + own])
    monkeypatch.setattr(load, "_times", lambda: next(times))
    monkeypatch.setattr(time, "process_time", lambda: next(process))
    assert load.Load().others() == pytest.approx(others)


def test_this_machine_says_what_it_does() -> None:
    assert 0.0 <= load.Load().others() <= 1.0
