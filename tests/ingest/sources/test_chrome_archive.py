"""Days come back from the archive of visits alone; a damaged archive is named and never replaced by an empty one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import brain
from core.config import load
from core.errors import Internal
from core.home import Home
from ingest import forgetting
from ingest.archive import archive
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.chrome import archive as chrome_archive
from ingest.sources.chrome import source as chrome
from ingest.sources.chrome.archive import examine, way_out
from ops.backup import backup
from tests.ingest.history import MORNING, History, configure, days
from tests.ingest.sources.test_chrome import DAY, every_domain, ingest

__all__ = ["every_domain"]

SIX_DAYS = [f"2026-04-{day}" for day in range(25, 31)]


@pytest.fixture
def browsed(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Six days, a visit each and one more, in Berlin's days."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
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


def test_a_text_that_only_a_hidden_visit_has_is_found(browsed: Home) -> None:
    configure(browsed, "{mode: allow, allow: [a.test]}")
    from_archive(browsed)
    assert "zebra" not in "".join(days(browsed).values())
    assert forgetting.archived_with(browsed, lambda data: b"zebra" in data) == {("chrome", "2026-04-28")}


def test_the_visits_count_towards_the_size_of_the_archive(browsed: Home) -> None:
    assert archive.size(browsed) == (0, os.path.getsize(browsed.path("raw", "chrome.sqlite")))


def test_a_run_with_nothing_new_moves_nothing_and_writes_nothing(browsed: Home, tmp_path: Path) -> None:
    path = Path(browsed.path("raw", "chrome.sqlite"))
    before = path.read_bytes()
    ledger = ingest(browsed, tmp_path / "browser")
    assert (ledger.unchanged, ledger.written) == (1, 0)
    assert path.read_bytes() == before


@pytest.fixture
def browser(home: Home, tmp_path: Path) -> str:
    """A browser that dropped one of the two visits of a day. The archive has both."""
    path = tmp_path / "browser" / "Default" / "History"
    history = History(path)
    history.visit("https://a.test/", "Page a", MORNING)
    history.visit("https://b.test/", "Page b", MORNING + 60)
    ingest(home, history.save())
    path.unlink()
    history = History(path)
    history.visit("https://b.test/", "Page b", MORNING + 60)
    history.visit("https://b.test/other", "Page b", MORNING + 90)
    history.visit("https://c.test/", "Page c", MORNING + DAY)
    return history.save()


def _zeroed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + bytes(len(data) - 4096))


def _garbled(path: Path) -> None:
    path.write_bytes(os.urandom(5000))


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [_zeroed, _garbled, _emptied])
def test_a_damaged_archive_is_named_with_a_backup_for_a_way_out(
    home: Home, browser: str, damage: Callable[[Path], None]
) -> None:
    path = Path(chrome_archive.place(home))
    damage(path)
    before, data = days(home), path.read_bytes()
    asked: tuple[Callable[[], Any], ...] = (
        lambda: ingest(home, browser),
        lambda: chrome_archive.days_with(home, lambda _: True),
        lambda: forgetting.forget(home, "chrome", ["2026-04-28"], ()),
        lambda: backup.make(home, load(home)),
    )
    for ask in asked:
        with pytest.raises(Internal, match=f"{path} is damaged") as failure:
            ask()
        assert f"-C {home.root} raw/chrome.sqlite" in failure.value.fix
    assert days(home) == before
    assert path.read_bytes() == data


def test_a_rehearsal_names_it_too(home: Home, browser: str) -> None:
    _garbled(Path(chrome_archive.place(home)))
    assert brain.main(["index", "--source", "chrome", "--from", str(browser), "--dry-run"]) == 99


def test_a_day_that_shows_more_than_browsers_still_have_stays_where_the_archive_is_lost(
    home: Home, browser: str
) -> None:
    before = days(home)
    os.unlink(chrome_archive.place(home))
    for _ in range(2):
        ingest(home, browser)
        now = days(home)
        assert {name: now[name] for name in before} == before
        assert len(now) == len(before) + 1


def test_a_restored_archive_takes_the_visits_that_the_browser_still_has(home: Home, browser: str) -> None:
    path = Path(chrome_archive.place(home))
    backed_up = backup.make(home, load(home))["path"]
    path.unlink()
    ingest(home, browser)
    assert examine(home, str(path)) == {"2026-04-28"}
    aside, unpack = (
        way_out(str(path)).partition("; then add")[0].split("; then take it out of a backup, if there is one: ")
    )
    way = f"{aside}; {unpack}"
    subprocess.run(["/bin/sh", "-c", way.replace("FILE", backed_up)], check=False, stderr=subprocess.DEVNULL)
    ingest(home, browser, rebuild=True)
    assert not examine(home, str(path))
    assert all(each in days(home)["2026-04-28"] for each in ("https://a.test/", "https://b.test/other"))


def test_a_day_with_fewer_visits_than_the_browser_is_made_again(home: Home, browser: str) -> None:
    os.unlink(chrome_archive.place(home))
    os.unlink(browser)
    history = History(Path(browser))
    history.visit("https://a.test/", "Page a", MORNING)
    history.visit("https://b.test/", "Page b", MORNING + 60)
    history.visit("https://c.test/", "Page c", MORNING + 120)
    ingest(home, history.save())
    (day,) = days(home).values()
    assert "c.test" in str(day)


def test_an_empty_file_where_there_are_no_days_is_filled(home: Home, tmp_path: Path) -> None:
    os.makedirs(home.path("raw"), mode=0o700)
    Path(chrome_archive.place(home)).touch()
    history = History(tmp_path / "browser" / "Default" / "History")
    history.visit("https://a.test/", "Page a", MORNING)
    assert ingest(home, history.save()).documents == 1
    assert chrome.SOURCE.is_archived(home)
