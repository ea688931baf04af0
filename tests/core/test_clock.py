from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import clock


@given(st.integers(-30_610_224_000, 253_402_300_799))
def test_printing_and_parsing_an_instant_are_inverse(instant: int) -> None:
    assert clock.parse_iso(clock.iso(instant)) == instant


@given(st.text(max_size=40))
def test_any_text_is_an_instant_or_none(text: str) -> None:
    assert isinstance(clock.parse_iso(text), int | None)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-04-28T09:14:03Z", 1777367643),
        ("2026-04-28T11:14:03+02:00", 1777367643),
        ("2026-04-28T09:14:03.999Z", 1777367643),
        (" 2026-04-28 ", 1777334400),
        ("2026-04-31", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_no_zone_means_utc(text: str, instant: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert clock.parse_iso(text) == instant
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def test_now_is_now() -> None:
    assert abs(clock.now() - time.time()) < 5
