"""The time that is left holds on a machine of changing speed; others count where nothing is left for a run."""

from __future__ import annotations

import random
import time

import pytest

from core.processes import speed
from core.processes.speed import Pace


class Run:
    """A run of ``total`` steps against a clock of its own."""

    def __init__(self, total: float) -> None:
        self.now = 1000.0
        self.done = 0.0
        self.total = total
        self.pace = Pace(lambda: self.now)
        self.pace.at(0)

    def work(self, seconds: float, speed: float, every: float) -> None:
        """Work for so long at so many steps a second, with news ``every`` so many seconds."""
        end = self.now + seconds
        while self.now < end:
            step = min(every, end - self.now)
            self.now += step
            self.done += step * speed
            self.pace.at(self.done)

    def left(self) -> float:
        left = self.pace.left(self.total)
        assert left is not None
        return left


@pytest.mark.parametrize("every", [0.001, 0.3, 7.0])
def test_it_follows_a_machine_that_becomes_slow_within_a_minute(every: float) -> None:
    run = Run(100_000)
    run.work(600, 100, every)
    assert run.left() == pytest.approx(400, rel=0.05)
    run.work(65, 25, every)
    assert run.left() == pytest.approx((100_000 - run.done) / 25, rel=0.1)


@pytest.mark.parametrize("every", [0.001, 0.3])
def test_it_stays_steady_while_the_speed_changes_each_second(every: float) -> None:
    run = Run(100_000)
    run.work(60, 100, every)
    draw = random.Random(1)
    for _ in range(200):
        speed = draw.choice((10, 190))
        run.work(1, speed, every)
        assert run.left() == pytest.approx((100_000 - run.done) / 100, rel=0.35)


def test_nothing_is_said_before_anything_is_known() -> None:
    run = Run(10)
    assert (run.pace.speed(), run.pace.left(10)) == (0.0, None)
    run.now += 5
    run.pace.at(0)
    assert run.pace.left(10) is None
    run.work(5, 1, 1)
    assert run.left() == pytest.approx(10)


def test_what_is_done_has_no_time_left() -> None:
    run = Run(10)
    run.work(10, 2, 1)
    assert run.left() == 0


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
    monkeypatch.setattr(speed, "_times", lambda: next(times))
    monkeypatch.setattr(time, "process_time", lambda: next(process))
    assert speed.Load().others() == pytest.approx(others)


def test_this_machine_says_what_it_does() -> None:
    assert 0.0 <= speed.Load().others() <= 1.0
