"""Local days, in zones that are written down."""

from __future__ import annotations

import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.zones import Zones, clock, day_number, is_zone, iso_day, system_zone


@given(
    st.integers(0, 4_000_000_000),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "UTC"]),
)
def test_days_and_times_are_the_calendars(instant: int, name: str) -> None:
    found = Zones([(0, name)]).local(instant)
    there = datetime.fromtimestamp(instant, ZoneInfo(name))
    assert f"{iso_day(found.day)} {clock(found.minute)}" == f"{there:%Y-%m-%d %H:%M}"
    assert found.zone == name
    assert day_number(iso_day(found.day)) == found.day


def test_a_zone_holds_from_its_instant_on() -> None:
    zones = Zones([(0, "Europe/Berlin"), (1_777_400_100, "Asia/Tokyo")])
    assert [zones.local(at).zone for at in (-5, 1_777_400_099, 1_777_400_100)] == [
        "Europe/Berlin",
        "Europe/Berlin",
        "Asia/Tokyo",
    ]


def test_an_offset_is_a_zone_too() -> None:
    assert Zones([(0, "UTC-03:30")]).local(0)[:2] == (-1, 20 * 60 + 30)
    assert not is_zone("Europe/Nowhere")
    assert not is_zone("../../etc/passwd")
    with pytest.raises(LookupError):
        Zones([(0, "Europe/Nowhere")])


def test_the_machines_zone_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for given_name, name in (
        (":America/New_York", "America/New_York"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
    ):
        monkeypatch.setenv("TZ", given_name)
        assert system_zone() == name
    monkeypatch.setenv("TZ", "XYZ-5:30")
    time.tzset()
    try:
        assert system_zone() == "UTC+05:30"
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
