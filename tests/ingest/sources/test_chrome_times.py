"""Clocks of browsers are wrong at times: what they say then makes no day, and clears none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from core.document import split
from core.home import Home
from tests.ingest.history import MORNING, History
from tests.ingest.sources.test_chrome import body, configure, days, holds, ingest, recent


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "browser" / "Default" / "History")


def test_a_visit_of_the_future_makes_no_day_and_an_endless_one_no_duration(home: Home, history: History) -> None:
    configure(home, "    {mode: all}\n")
    history.visit("https://later.test/", "Later", 4_070_908_800)
    history.visit("https://ahead.test/", "Ahead", recent(-0.5))
    history.visit("https://endless.test/", "Endless", seconds=10**9)
    history.visit("https://long.test/", "Long", MORNING + 60, seconds=80_000)
    history.visit("https://shown.test/", "Shown", MORNING + 120, seconds=9, foreground=10**9)
    ledger = ingest(home, history.save())
    assert ledger.dropped == {"dated in the future": 1, "duration longer than a day": 2}
    assert len(days(home)) == 2
    assert not holds(home, b"later.test")
    text = body(home)
    assert "Endless · endless.test\n" in text
    assert "Long · long.test · 22 h 13 min\n" in text
    assert "Shown · shown.test\n" in text
    assert split(days(home)["2026-04-28"])[0]["dwell_s"] == 80_000


def test_a_clock_that_was_set_back_clears_nothing(
    home: Home, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(home, "    {mode: all, follow_clears: true}\n")
    history.visit("https://kept.test/", "Kept", recent(2))
    ingest(home, history.save())
    before = days(home)
    set_back = recent(30)
    monkeypatch.setattr(time, "time", lambda: set_back)
    assert ingest(home, history.save(), rebuild=True).dropped == {"dated in the future": 1}
    assert days(home) == before
