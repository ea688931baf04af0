"""Visits are kept with the rest of the archive: days come back from it alone."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from core.home import Home
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.chrome import source as chrome
from tests.ingest.history import MORNING, History
from tests.ingest.sources.test_chrome import DAY, configure, days, ingest

SIX_DAYS = [f"2026-04-{day}" for day in range(25, 31)]


@pytest.fixture
def browsed(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Six days, a visit each and one more, in Berlin's days."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    configure(home, "    {mode: all}\n")
    history = History(tmp_path / "browser" / "Default" / "History")
    for number in range(-3, 3):
        history.visit(f"https://a.test/{number}", f"Page {number}", MORNING + number * DAY, seconds=60)
    history.visit("https://zebra.test/", "Late at night", MORNING + 14 * 3600)
    ingest(home, history.save())
    assert list(days(home)) == SIX_DAYS
    return home


def from_archive(home: Home) -> Ledger:
    return run(home, "chrome", trust_stat=False, from_archive=True)


def test_days_come_back_byte_for_byte_when_browser_documents_and_state_are_gone(
    browsed: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = days(browsed)
    shutil.rmtree(tmp_path / "browser")
    shutil.rmtree(browsed.path("chrome-history"))
    shutil.rmtree(browsed.state)
    browsed.make()
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    ledger = from_archive(browsed)
    assert days(browsed) == before
    assert (ledger.seen, ledger.ingested, ledger.documents, ledger.written) == (1, 1, 6, 6)
    assert from_archive(browsed).written == 0


def test_reading_the_archive_looks_at_no_browser(browsed: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome.SOURCE, "discover", None)  # would raise if called
    assert from_archive(browsed).written == 0


def everything(home: Home) -> bytes:
    return b"".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())


def test_forgetting_a_day_reaches_the_bytes(browsed: Home) -> None:
    forgetting.forget_days(browsed, ["2026-04-28"])
    os.unlink(browsed.path("chrome-history", "2026-04-28.md"))
    assert b"zebra" not in everything(browsed)
    assert b"a.test/2" in everything(browsed)


def test_a_text_that_only_a_hidden_visit_has_is_found(browsed: Home) -> None:
    configure(browsed, "    {mode: allow, allow: [a.test]}\n")
    from_archive(browsed)
    assert "zebra" not in "".join(days(browsed).values())
    assert forgetting.archived_with(browsed, lambda data: b"zebra" in data) == {("chrome", "2026-04-28")}


def test_the_visits_count_towards_the_size_of_the_archive(browsed: Home) -> None:
    assert archive.size(browsed) == (0, os.path.getsize(browsed.path("raw", "chrome.sqlite")))


def test_a_run_with_nothing_new_moves_nothing_and_writes_nothing(browsed: Home, tmp_path: Path) -> None:
    path = Path(browsed.path("raw", "chrome.sqlite"))
    before = path.read_bytes()
    time.sleep(0.01)
    ledger = ingest(browsed, tmp_path / "browser")
    assert (ledger.unchanged, ledger.written) == (1, 0)
    assert path.read_bytes() == before
