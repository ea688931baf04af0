"""Ages are counted in calendar days of the user's zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.asking import envelope
from tests.runtime.zones import at, zone

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        ("2026-11-21 00:00", "2026-11-21 23:59", (0, "today")),
        ("2026-11-20 23:59", "2026-11-21 00:00", (1, "yesterday")),
        ("2026-11-19 23:59", "2026-11-21 00:00", (2, "2 days ago")),
        # Clocks go forward on 29 March 2026 and back on 25 October 2026.
        ("2026-03-28 12:00", "2026-03-29 12:00", (1, "yesterday")),
        ("2026-03-28 23:30", "2026-03-30 00:10", (2, "2 days ago")),
        ("2026-10-24 23:30", "2026-10-25 23:30", (1, "yesterday")),
        ("2026-10-25 00:10", "2026-10-25 23:50", (0, "today")),
        ("2025-12-31 23:00", "2026-01-01 01:00", (1, "yesterday")),
        ("2024-02-28 12:00", "2024-03-01 12:00", (2, "2 days ago")),
        ("2025-11-21 12:00", "2026-11-21 12:00", (365, "365 days ago")),
    ],
)
def test_calendar_dates_count_not_hours(then: str, now: str, expected: tuple[int, str]) -> None:
    with zone(BERLIN):
        assert envelope.age(at(then, BERLIN), at(now, BERLIN)) == expected


def test_the_same_instants_are_today_in_one_zone_and_yesterday_in_another() -> None:
    then, now = at("2026-11-20 22:00"), at("2026-11-21 06:00")
    with zone("UTC"):
        assert envelope.age(then, now) == (1, "yesterday")
    with zone("Asia/Tokyo"):
        assert envelope.age(then, now) == (0, "today")


def test_an_instant_in_the_future_is_today() -> None:
    with zone("UTC"):
        assert envelope.age(at("2026-11-25 00:00"), at("2026-11-21 00:00")) == (0, "today")


@pytest.mark.parametrize(("days", "stale"), [(0, False), (1, False), (2, True), (400, True)])
def test_the_warning_appears_only_past_one_day(days: int, stale: bool) -> None:
    assert envelope.age_warning(days) == (f"{days} days old: verify before you act on it" if stale else "")


@given(st.integers(0, 2_000_000_000), st.integers(0, 300_000_000), st.sampled_from([BERLIN, "America/New_York", "UTC"]))
def test_the_age_is_the_difference_of_the_dates(then: int, later: int, name: str) -> None:
    with zone(name):
        info = ZoneInfo(name)
        dates = [datetime.fromtimestamp(instant, info).date() for instant in (then, then + later)]
        assert envelope.age(then, then + later)[0] == (dates[1] - dates[0]).days


@pytest.mark.parametrize(
    ("scores", "clear"),
    [
        ([], 0),
        ([0.4], 1),
        ([1.0, 1.0, 1.0], 3),
        ([0.63, 0.34, 0.31], 1),
        ([0.59, 0.55, 0.23, 0.19], 2),
        ([0.5, 0.41, 0.33, 0.27], 4),
        ([0.0, 0.0], 2),
    ],
)
def test_the_clear_hits_end_where_the_scores_fall_off(scores: list[float], clear: int) -> None:
    assert envelope.clear(scores) == clear


@given(st.lists(st.floats(0, 1), max_size=10).map(lambda scores: sorted(scores, reverse=True)))
def test_a_best_hit_is_always_clear(scores: list[float]) -> None:
    assert min(1, len(scores)) <= envelope.clear(scores) <= len(scores)
