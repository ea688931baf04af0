"""Visits lie with the rest of the archive: days come back from it alone, also from where earlier versions had them."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from core.errors import Internal
from core.home import Home
from core.tombstones import Tombstones
from ingest import _chrome_moving, archive, chrome, forgetting
from ingest._chrome_archive import Archive
from ingest.ledger import Ledger
from ingest.run import run
from tests.ingest.history import MORNING, History
from tests.ingest.test_chrome import DAY, configure, days, ingest

FORMER = ("state", "chrome.sqlite")
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


def as_it_was(home: Home) -> None:
    """Have the archive lie where an earlier version kept it, with what was written last in its log alone."""
    target = Path(home.path(*FORMER))
    shutil.move(home.path("raw", "chrome.sqlite"), target)
    connection = apsw.Connection(str(target))
    connection.execute("pragma journal_mode=wal; pragma wal_autocheckpoint=0").fetchall()
    connection.execute("update visits set title = 'Renamed' where url like '%zebra%'")
    copies = {suffix: Path(f"{target}{suffix}").read_bytes() for suffix in ("", "-wal")}
    connection.close()
    for suffix, data in copies.items():
        Path(f"{target}{suffix}").write_bytes(data)
    Path(f"{target}-shm").unlink(missing_ok=True)
    assert b"Renamed" not in copies[""]


def in_state(home: Home) -> list[str]:
    return [name for name in os.listdir(home.state) if name.startswith("chrome.sqlite")]


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
    monkeypatch.setattr(chrome, "discover", None)  # would raise if called
    assert from_archive(browsed).written == 0


def test_what_an_earlier_version_kept_in_state_moves(browsed: Home, tmp_path: Path) -> None:
    before = days(browsed)
    as_it_was(browsed)
    assert chrome.is_archived(browsed)
    ingest(browsed, tmp_path / "browser")
    after = days(browsed)
    assert after.pop("2026-04-28") == before.pop("2026-04-28").replace("Late at night", "Renamed")
    assert after == before
    assert in_state(browsed) == []
    assert stat.S_IMODE(os.stat(browsed.path("raw", "chrome.sqlite")).st_mode) == 0o600
    assert chrome.stats(browsed)["archive"] == {
        "visits": 7,
        "days": 6,
        "first": MORNING - 3 * DAY,
        "last": MORNING + 2 * DAY,
    }


class Killed(BaseException):
    """The process ends here."""


def _die(*_: object) -> None:
    raise Killed


@pytest.mark.parametrize(
    ("where", "what"),
    [(_chrome_moving, "_fold"), (Archive, "take_in"), (Archive, "remove_days"), (os, "unlink")],
)
def test_a_move_that_is_killed_is_done_again_and_loses_nothing(
    browsed: Home, monkeypatch: pytest.MonkeyPatch, where: object, what: str
) -> None:
    before = days(browsed)
    as_it_was(browsed)
    with monkeypatch.context() as patch:
        patch.setattr(where, what, _die)
        with pytest.raises(Killed):
            _chrome_moving.opened(browsed)
    assert in_state(browsed)
    shutil.rmtree(browsed.path("chrome-history"))
    from_archive(browsed)
    assert {day: text.replace("Renamed", "Late at night") for day, text in days(browsed).items()} == before
    assert in_state(browsed) == []


def test_visits_in_both_places_are_put_together(browsed: Home, tmp_path: Path) -> None:
    as_it_was(browsed)
    former = [Path(browsed.path(*FORMER[:-1], FORMER[-1] + suffix)) for suffix in ("", "-wal")]
    held = [path.read_bytes() for path in former]
    for path in former:
        path.unlink()
    shutil.rmtree(browsed.path("chrome-history"))
    other = History(tmp_path / "other" / "History")
    other.visit("https://b.test/", "B", MORNING + 9)
    ingest(browsed, other.save())
    for path, data in zip(former, held, strict=True):
        path.write_bytes(data)
    from_archive(browsed)
    assert list(days(browsed)) == SIX_DAYS
    assert "Renamed" in days(browsed)["2026-04-28"]
    assert "B · b.test" in days(browsed)["2026-04-28"]


def test_what_another_policy_let_through_is_judged_by_the_present_one(browsed: Home, tmp_path: Path) -> None:
    as_it_was(browsed)
    configure(browsed, "    {mode: all, deny: [zebra.test]}\n")
    from_archive(browsed)
    assert list(days(browsed)) == SIX_DAYS
    assert "zebra" not in "".join(days(browsed).values())


def test_what_was_forgotten_does_not_come_along(browsed: Home) -> None:
    as_it_was(browsed)
    Tombstones(browsed).add([("chrome", "2026-04-28")])
    shutil.rmtree(browsed.path("chrome-history"))
    from_archive(browsed)
    assert list(days(browsed)) == [day for day in SIX_DAYS if day != "2026-04-28"]
    assert b"zebra" not in everything(browsed)


def everything(home: Home) -> bytes:
    return b"".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())


@pytest.mark.parametrize("prepare", [lambda home: None, as_it_was])
def test_forgetting_a_day_reaches_the_bytes_wherever_they_lie(browsed: Home, prepare: Callable[[Home], None]) -> None:
    prepare(browsed)
    forgetting.forget_days(browsed, ["2026-04-28"])
    os.unlink(browsed.path("chrome-history", "2026-04-28.md"))
    assert b"zebra" not in everything(browsed)
    assert b"a.test/2" in everything(browsed)


@pytest.mark.parametrize("prepare", [lambda home: None, as_it_was])
def test_a_text_that_only_a_hidden_visit_has_is_found(browsed: Home, prepare: Callable[[Home], None]) -> None:
    configure(browsed, "    {mode: allow, allow: [a.test]}\n")
    from_archive(browsed)
    assert "zebra" not in "".join(days(browsed).values())
    prepare(browsed)
    assert forgetting.archived_with(browsed, lambda data: b"zebra" in data) == {("chrome", "2026-04-28")}


def test_a_broken_one_stays_where_it_is_and_is_named(browsed: Home) -> None:
    shutil.move(browsed.path("raw", "chrome.sqlite"), browsed.path(*FORMER))
    Path(browsed.path(*FORMER)).write_bytes(b"broken" * 1000)
    with pytest.raises(Internal, match=r"state/chrome\.sqlite is damaged"):
        from_archive(browsed)
    assert Path(browsed.path(*FORMER)).read_bytes() == b"broken" * 1000


def test_the_visits_count_towards_the_size_of_the_archive(browsed: Home) -> None:
    assert archive.size(browsed) == (0, os.path.getsize(browsed.path("raw", "chrome.sqlite")))


def test_a_run_with_nothing_new_moves_nothing_and_writes_nothing(browsed: Home, tmp_path: Path) -> None:
    path = Path(browsed.path("raw", "chrome.sqlite"))
    before = path.read_bytes()
    time.sleep(0.01)
    ledger = ingest(browsed, tmp_path / "browser")
    assert (ledger.unchanged, ledger.written) == (1, 0)
    assert path.read_bytes() == before
