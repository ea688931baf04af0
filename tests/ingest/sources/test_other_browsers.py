"""Histories of Firefox and Safari become the same days as Chrome's."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import apsw
import pytest

from core.home import Home
from ingest.pipeline.run import run
from ingest.sources.chrome.source import SOURCE
from tests.ingest.history import MORNING, History, configure

# As of Firefox 140: the columns that are read, and one that is not.
_FIREFOX = """
create table moz_places(id integer primary key, url longvarchar, title longvarchar, rev_host longvarchar,
  hidden integer default 0 not null, last_visit_date integer);
create table moz_historyvisits(id integer primary key, from_visit integer, place_id integer, visit_date integer,
  visit_type integer, session integer);
create table moz_places_metadata(id integer primary key, place_id integer, created_at integer, total_view_time integer);
"""
_SAFARI = """
create table history_items(id integer primary key autoincrement, url text not null unique, visit_count integer);
create table history_visits(id integer primary key autoincrement, history_item integer not null,
  visit_time real not null, title text, load_successful boolean not null default 1, redirect_source integer,
  redirect_destination integer,
  origin integer not null default 0);
"""
_LINK, _TYPED, _EMBED, _PERMANENT, _TEMPORARY, _FRAMED, _RELOAD = 1, 2, 4, 5, 6, 8, 9


class Firefox:
    """A ``places.sqlite`` at ``path``."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.connection = path, apsw.Connection(str(path))
        self.connection.execute(_FIREFOX)
        self._pages: dict[str, int] = {}

    def visit(self, url: str, title: str = "", at: float = MORNING, kind: int = _LINK, parent: int = 0) -> int:
        if url not in self._pages:
            self._pages[url] = len(self._pages) + 1
            row = (self._pages[url], url, title or None, int(at * 1_000_000))
            self.connection.execute("insert into moz_places(id, url, title, last_visit_date) values(?, ?, ?, ?)", row)
        self.connection.execute(
            "insert into moz_historyvisits(from_visit, place_id, visit_date, visit_type) values(?, ?, ?, ?)",
            (parent, self._pages[url], int(at * 1_000_000), kind),
        )
        return self.connection.last_insert_rowid()

    def looked(self, url: str, at: float, seconds: float) -> None:
        row = (self._pages[url], int(at * 1000), int(seconds * 1000))
        self.connection.execute(
            "insert into moz_places_metadata(place_id, created_at, total_view_time) values(?, ?, ?)", row
        )

    def save(self) -> str:
        self.connection.close()
        return aged(self.path)


class Safari:
    """A ``History.db`` at ``path``."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.connection = path, apsw.Connection(str(path))
        self.connection.execute(_SAFARI)

    def visit(self, url: str, title: str = "", at: float = MORNING, *, loaded: bool = True, source: int = 0) -> int:
        self.connection.execute("insert or ignore into history_items(url, visit_count) values(?, 1)", (url,))
        item = self.connection.execute("select id from history_items where url = ?", (url,)).get
        row = (item, at - 978_307_200, title or None, loaded, source or None)
        self.connection.execute(
            "insert into history_visits(history_item, visit_time, title, load_successful, redirect_source)"
            " values(?, ?, ?, ?, ?)",
            row,
        )
        number = self.connection.last_insert_rowid()
        if source:
            self.connection.execute("update history_visits set redirect_destination = ? where id = ?", (number, source))
        return number

    def save(self) -> str:
        self.connection.close()
        return aged(self.path)


def aged(path: Path) -> str:
    """Make a database look a minute old: a younger one may still be written to."""
    past = time.time() - 60.5
    os.utime(path, (past, past))
    return str(path)


def day(home: Home, *roots: str) -> str:
    """The document of the one day at the roots, once they were read."""
    configure(home, "{mode: all, time_zone: UTC}")
    run(home, "chrome", list(roots), trust_stat=True)
    (document,) = Path(home.path("chrome-history")).glob("*.md")
    return document.read_text(encoding="utf-8")


def lines(text: str) -> list[str]:
    """The lines of entries."""
    return re.findall(r"^ *- \d\d:\d\d (.*)$", text, re.MULTILINE)


@pytest.fixture
def firefox(tmp_path: Path) -> Firefox:
    return Firefox(tmp_path / "firefox" / "x.default" / "places.sqlite")


@pytest.fixture
def safari(tmp_path: Path) -> Safari:
    return Safari(tmp_path / "Safari" / "History.db")


def test_firefox_pages_are_told_with_titles_and_the_time_spent_on_them(home: Home, firefox: Firefox) -> None:
    firefox.visit("https://a.test/tables", "B-tree tables", kind=_TYPED)
    firefox.visit("https://a.test/tables", at=MORNING + 600)
    firefox.looked("https://a.test/tables", MORNING + 1, 30)
    firefox.looked("https://a.test/tables", MORNING + 601, 90)
    text = day(home, firefox.save())
    assert lines(text) == ["B-tree tables · a.test · 2 min · 2×"]
    assert "visits: 2\n" in text


def test_firefox_redirects_are_told_once_where_they_ended(home: Home, firefox: Firefox) -> None:
    first = firefox.visit("http://a.test/old", "Old")
    second = firefox.visit("https://a.test/old", "Old", MORNING + 1, _PERMANENT, first)
    firefox.visit("https://a.test/new", "New", MORNING + 2, _TEMPORARY, second)
    assert lines(day(home, firefox.save())) == ["New · a.test"]


def test_what_firefox_embedded_is_no_visit_and_a_reload_counts_once(home: Home, firefox: Firefox) -> None:
    page = firefox.visit("https://a.test/", "Page")
    firefox.visit("https://frame.test/", "Frame", MORNING + 1, _EMBED, page)
    firefox.visit("https://frame.test/2", "Frame", MORNING + 2, _FRAMED, page)
    firefox.visit("https://a.test/", "Page", MORNING + 3, _RELOAD, page)
    assert lines(day(home, firefox.save())) == ["Page · a.test"]


def test_a_search_in_firefox_has_the_pages_that_it_led_to_below_it(home: Home, firefox: Firefox) -> None:
    search = firefox.visit("https://duckduckgo.com/?q=write-ahead+log", "write-ahead log at DuckDuckGo", kind=_TYPED)
    firefox.visit("https://sqlite.org/wal.html", "Write-Ahead Logging", MORNING + 9, _LINK, search)
    text = day(home, firefox.save())
    assert lines(text) == ["search: write-ahead log · duckduckgo.com", "Write-Ahead Logging · sqlite.org"]
    assert "\n  - 07:14 Write-Ahead" in text


def test_safari_s_visits_are_told_without_redirects_and_pages_that_did_not_load(home: Home, safari: Safari) -> None:
    first = safari.visit("http://a.test/", "")
    safari.visit("https://a.test/", "Home of A", MORNING + 1, source=first)
    safari.visit("https://down.test/", "", MORNING + 5, loaded=False)
    safari.visit("https://b.test/", "Draft", MORNING + 60)
    safari.visit("https://b.test/", "Final", MORNING + 90)
    assert lines(day(home, safari.save())) == ["Home of A · a.test", "Final · b.test · 2×"]


def test_all_browsers_of_a_day_are_one_document(home: Home, firefox: Firefox, safari: Safari, tmp_path: Path) -> None:
    chrome = History(tmp_path / "chrome" / "History")
    chrome.visit("https://chrome.test/", "In Chrome", MORNING)
    firefox.visit("https://firefox.test/", "In Firefox", MORNING + 60)
    safari.visit("https://safari.test/", "In Safari", MORNING + 120)
    text = day(home, chrome.save(), firefox.save(), safari.save())
    assert [line.partition(" ·")[0] for line in lines(text)] == ["In Chrome", "In Firefox", "In Safari"]


def test_a_profile_of_firefox_is_a_history_and_nothing_else(tmp_path: Path, firefox: Firefox) -> None:
    path = firefox.save()
    root = tmp_path / "firefox"
    (root / "profiles.ini").write_text("[Profile0]\n", encoding="utf-8")
    profile = root / "x.default"
    (profile / "prefs.js").write_text("", encoding="utf-8")
    for other in ("cookies.sqlite", "storage/default/https+++a.test/ls/data.sqlite"):
        place = profile / other
        place.parent.mkdir(parents=True, exist_ok=True)
        apsw.Connection(str(place)).execute("create table t(x)")
    assert [file.path for file in SOURCE.discover([str(root)])] == [path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "Safari"
    closed.mkdir(mode=0)
    try:
        assert [file.skip for file in SOURCE.discover([str(closed)])] == ["unreadable: Permission denied"]
    finally:
        closed.chmod(0o700)


def test_a_database_of_another_program_is_no_history(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    apsw.Connection(str(path)).execute("create table moz_places(id integer primary key, url text)")
    ledger = run(home, "chrome", [aged(path)], trust_stat=True)
    assert (ledger.ingested, ledger.skipped) == (0, {"not a browser's history": 1})
