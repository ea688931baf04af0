"""Local days, in zones that are written down."""

from __future__ import annotations

import time
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.session.zones import Zones, day_number, is_zone, iso_day, system_zone


@given(
    st.integers(0, 4_000_000_000),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "UTC"]),
)
def test_days_and_times_are_the_calendars(instant: int, name: str) -> None:
    zones = Zones([(0, name)])
    day = zones.day(instant)
    there = datetime.fromtimestamp(instant, ZoneInfo(name))
    assert f"{iso_day(day)} {zones.clock(instant)}" == f"{there:%Y-%m-%d %H:%M}"
    assert zones.names([instant]) == [name]
    assert day_number(iso_day(day)) == day


def test_a_zone_holds_from_its_instant_on() -> None:
    zones = Zones([(0, "Europe/Berlin"), (1_777_400_100, "Asia/Tokyo")])
    berlin, tokyo = "Europe/Berlin", "Asia/Tokyo"
    assert [zones.names([at]) for at in (-5, 1_777_400_099, 1_777_400_100)] == [[berlin], [berlin], [tokyo]]
    assert zones.names([1_777_400_100, -5, 1_777_400_099, -6]) == [tokyo, berlin]


def test_an_offset_is_a_zone_too() -> None:
    zones = Zones([(0, "UTC-03:30")])
    assert (zones.day(0), zones.clock(0)) == (-1, "20:30")
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
