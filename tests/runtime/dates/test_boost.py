from __future__ import annotations

import pytest

from core.clock import DAY, parse_iso
from runtime.dates.question import DateBoost
from runtime.dates.span import Span


def _at(text: str) -> int:
    instant = parse_iso(text)
    assert instant is not None
    return instant


def _boost(since: str, until: str, yearly: bool = False) -> DateBoost:
    return DateBoost(Span(_at(since), _at(until), "boost", "", "", yearly))


def _match(boost: DateBoost, day: str) -> float:
    return boost.match(_at(day), _at(day) + 3600)


def test_the_days_named_lift_fully_and_a_document_that_spans_them_too() -> None:
    march = _boost("2026-03-01", "2026-04-01")
    assert _match(march, "2026-03-15") == 1.0
    assert _match(march, "2026-04-02") == 0.0
    assert march.match(_at("2026-02-20"), _at("2026-03-02")) == 1.0


def test_one_day_is_still_talked_about_after_and_planned_before() -> None:
    day = _boost("2026-03-10", "2026-03-11")
    after = [_match(day, f"2026-03-{number}") for number in (11, 12, 20)]
    assert after == sorted(after, reverse=True)
    assert after[0] == pytest.approx(0.5)
    assert _match(day, "2026-03-09") == 0.3
    assert _match(day, "2026-03-05") == 0.0
    assert _match(day, "2026-05-01") == 0.0


def test_a_whole_year_lifts_little() -> None:
    assert _match(_boost("2025-01-01", "2026-01-01"), "2025-06-01") == 0.2


def test_without_a_year_the_same_days_of_earlier_years_lift_half() -> None:
    june = _boost("2026-06-01", "2026-07-01", yearly=True)
    assert _match(june, "2026-06-10") == 1.0
    assert _match(june, "2023-06-10") == 0.5
    assert _match(june, "2023-07-10") == 0.0


def test_every_match_lies_in_a_period_that_is_looked_at() -> None:
    for boost in (_boost("2026-03-10", "2026-03-11"), _boost("2026-06-01", "2026-07-01", yearly=True)):
        for day in range(_at("2024-01-01"), _at("2026-12-31"), DAY):
            if boost.match(day, day):
                assert any(day >= since and day < until for since, until in boost.periods)
