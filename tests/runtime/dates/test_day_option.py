"""The values of ``--since`` and ``--until``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from runtime.dates.day_option import parse_day
from tests.runtime.zones import at, zone

NOW = "2026-11-21 15:30"


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("24h", "2026-11-20 15:30", "2026-11-20 15:30"),
        ("90min", "2026-11-21 14:00", "2026-11-21 14:00"),
        ("7d", "2026-11-14 15:30", "2026-11-14 15:30"),
        ("3w", "2026-10-31 15:30", "2026-10-31 15:30"),
        ("2 weeks", "2026-11-07 15:30", "2026-11-07 15:30"),
        ("3mo", "2026-08-21 15:30", "2026-08-21 15:30"),
        ("1y", "2025-11-21 15:30", "2025-11-21 15:30"),
        ("now", NOW, NOW),
        ("2026-05-01", "2026-05-01 00:00", "2026-05-02 00:00"),
        ("2026-05-01T14:00", "2026-05-01 14:00", "2026-05-01 14:00"),
        ("2026-05-01 14:00:00+02:00", "2026-05-01 12:00", "2026-05-01 12:00"),
        ("2026-05-01T14:00:00Z", "2026-05-01 14:00", "2026-05-01 14:00"),
        ("01.05.2026", "2026-05-01 00:00", "2026-05-02 00:00"),
        ("13/5/2026", "2026-05-13 00:00", "2026-05-14 00:00"),
        ("today", "2026-11-21 00:00", "2026-11-22 00:00"),
        ("yesterday", "2026-11-20 00:00", "2026-11-21 00:00"),
        ("last monday", "2026-11-16 00:00", "2026-11-17 00:00"),
        ("Tuesday", "2026-11-17 00:00", "2026-11-18 00:00"),
        ("last week", "2026-11-09 00:00", "2026-11-16 00:00"),
        ("2 weeks ago", "2026-11-07 00:00", "2026-11-08 00:00"),
        ("march", "2026-03-01 00:00", "2026-04-01 00:00"),
        ("March 2024", "2024-03-01 00:00", "2024-04-01 00:00"),
        ("2024-03", "2024-03-01 00:00", "2024-04-01 00:00"),
        ("2024", "2024-01-01 00:00", "2025-01-01 00:00"),
        ("Q3 2024", "2024-07-01 00:00", "2024-10-01 00:00"),
    ],
)
def test_a_day_begins_a_range_and_its_end_ends_one(text: str, since: str, until: str) -> None:
    with zone("UTC"):
        now = at(NOW)
        assert parse_day(text, now, end=False) == at(since)
        assert parse_day(text, now, end=True) == at(until)


def test_days_are_local_and_times_without_a_zone_too() -> None:
    with zone("Europe/Berlin"):
        now = at(NOW, "Europe/Berlin")
        assert parse_day("2026-03-29", now, end=False) == at("2026-03-28 23:00")
        assert parse_day("2026-03-29", now, end=True) == at("2026-03-29 22:00")
        assert parse_day("2026-05-01T14:00", now, end=False) == at("2026-05-01 12:00")


@pytest.mark.parametrize(
    "text",
    ["", "garbage", "tomorrow", "2026-13-01", "2026-02-30", "-3d", "3 d ago or so", "24", "99:99", "2026-05-01T25:00",
     "since march", "yesterday and today", "\0", "²d"],
)  # fmt: skip
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with zone("UTC"), pytest.raises(BadInput) as caught:
        parse_day(text, at(NOW), end=False)
    assert caught.value.fix


def test_ambiguous_values_are_refused_with_both_readings() -> None:
    with zone("UTC"):
        with pytest.raises(BadInput) as caught:
            parse_day("3/5/2024", at(NOW), end=False)
        assert caught.value.fix == "write 2024-03-05 or 2024-05-03"
        with pytest.raises(BadInput) as caught:
            parse_day("5m", at(NOW), end=False)
        assert caught.value.fix == "write 5min or 5mo"


def test_a_duration_longer_than_time_reaches_to_its_beginning() -> None:
    with zone("UTC"):
        assert parse_day("999999999999d", at(NOW), end=False) == 0
        assert parse_day("999999999999y", at(NOW), end=False) == 0


@given(st.one_of(st.text(max_size=30), st.from_regex(r"[0-9]{1,12} ?[a-z]{1,6}", fullmatch=True)), st.booleans())
def test_a_value_is_an_instant_or_bad_input(text: str, end: bool) -> None:
    with zone("UTC"):
        try:
            found = parse_day(text, at(NOW), end=end)
        except BadInput:
            return
        assert isinstance(found, int)
