"""Day numbers agree with datetime, and days begin where the zone says they do."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import clock
from tests.runtime.zones import zone

EPOCH = date(1970, 1, 1)


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_day_numbers_are_datetimes_own(day: date) -> None:
    number = (day - EPOCH).days
    assert clock.day_number(day.year, day.month, day.day) == number
    assert clock.civil(number) == (day.year, day.month, day.day)
    assert clock.weekday(number) == day.weekday()
    assert clock.day_iso(number) == day.isoformat()


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.integers(0, 240))
def test_months_before_keep_the_date_or_take_the_months_last(day: date, count: int) -> None:
    there = date(*clock.civil(clock.months_before((day - EPOCH).days, count)))
    assert (day.year * 12 + day.month) - (there.year * 12 + there.month) == count
    assert there.day == min(day.day, clock.month_length(there.year, there.month))


def test_the_31st_of_january_a_month_back_is_in_december() -> None:
    assert clock.day_iso(clock.months_before(clock.day_number(2026, 1, 31), 1)) == "2025-12-31"
    assert clock.day_iso(clock.months_before(clock.day_number(2026, 3, 31), 1)) == "2026-02-28"
    assert clock.day_iso(clock.months_before(clock.day_number(2024, 2, 29), 12)) == "2023-02-28"


@pytest.mark.parametrize(
    "name",
    # Clocks changed at midnight in São Paulo, Havana and Cairo; Lord Howe's change is half an hour; Apia skipped a day.
    ["UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "Africa/Cairo",
     "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata", "Asia/Beirut"],
)  # fmt: skip
def test_a_day_starts_at_its_first_instant(name: str) -> None:
    with zone(name):
        info = ZoneInfo(name)
        day = date(2010, 1, 1)
        while day < date(2019, 1, 1):
            number = (day - EPOCH).days
            start = clock.day_start(number)
            if (name, day) != ("Pacific/Apia", date(2011, 12, 30)):
                assert datetime.fromtimestamp(start, info).date() == day
                assert datetime.fromtimestamp(start - 1, info).date() < day
                assert clock.day_of(start) == number
            day += timedelta(days=1)
