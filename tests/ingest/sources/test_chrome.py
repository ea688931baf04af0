"""Browsing becomes one document a day, from an archive that outlives the browser's memory."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import time
from pathlib import Path

import apsw
import pytest

from core.document import split
from core.errors import BadInput, Internal
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.chrome import source as chrome
from ingest.sources.chrome.history import EPOCH_US
from ingest.sources.chrome.source import folders
from tests.ingest.history import (
    CLIENT_REDIRECT,
    END,
    GENERATED,
    MORNING,
    RELOAD,
    SERVER_REDIRECT,
    START,
    SUBFRAME,
    TYPED,
    WHOLE,
    History,
    configure,
    days,
)

DAY = 86_400


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "browser" / "Default" / "History")


def ingest(home: Home, *places: str | Path, rebuild: bool = False, trust_stat: bool = True) -> Ledger:
    return run(home, "chrome", [str(place) for place in places], trust_stat=trust_stat, rebuild=rebuild)


@pytest.fixture(autouse=True)
def every_domain(home: Home) -> None:
    """Keep every domain unless a test says otherwise."""
    configure(home, "{mode: all}")


def body(home: Home, day: str = "2026-04-28") -> str:
    return split(days(home)[day])[1]


def recent(days_ago: float) -> float:
    return int(time.time()) - days_ago * DAY


def test_a_day_groups_visits_by_sittings_and_searches(home: Home, history: History) -> None:
    configure(home, "{mode: all, time_zone: Europe/Berlin}")
    search = history.visit(
        "https://www.google.com/search?q=hot+journal&ei=1",
        "hot journal - Google",
        term="hot journal",
        transition=GENERATED | WHOLE,
    )
    start = history.visit("http://sqlite.org/tempfiles", at=MORNING + 60, transition=START, parent=search)
    page = history.visit(
        "https://sqlite.org/tempfiles.html", "Temporary Files", MORNING + 60, SERVER_REDIRECT | END, 300, parent=start,
        foreground=90, label="“sqlite journal”",
    )  # fmt: skip
    history.visit(
        "https://sqlite.org/tempfiles.html", at=MORNING + 200, transition=RELOAD | WHOLE, parent=page, foreground=30
    )
    history.visit("https://ads.test/frame", at=MORNING + 61, transition=SUBFRAME | WHOLE)
    history.visit("https://sqlite.org/tempfiles.html#rollback", "Temporary Files", MORNING + 260, parent=page)
    history.visit("https://missing.test/", "404", MORNING + 300, hidden=True)
    history.visit("https://news.test/", "News", MORNING + 7200, TYPED | WHOLE, 4000)
    ledger = ingest(home, history.save())
    meta, text = split(days(home)["2026-04-28"])
    assert meta == {
        "session_id": "2026-04-28",
        "source": "chrome",
        "title": "Browsing on 2026-04-28: sqlite.org, news.test, google.com",
        "date": "2026-04-28T07:14:00Z",
        "ended": "2026-04-28T09:14:00Z",
        "time_zone": "Europe/Berlin",
        "visits": 5,
        "pages": 2,
        "searches": 1,
        "dwell_s": 4120,
        "domains": ["sqlite.org", "news.test", "google.com"],
    }
    assert text == (
        "# Browsing on Tuesday, 2026-04-28\n\n"
        "## 09:14–09:18\n\n"
        "- 09:14 search: hot journal · google.com\n"
        "  https://www.google.com/search?q=hot+journal\n"
        "  - 09:15 Temporary Files · sqlite.org · 2 min · 2× · topic: sqlite journal\n"
        "    https://sqlite.org/tempfiles.html\n\n"
        "## 11:14\n\n"
        "- 11:14 News · news.test · 1 h 07 min\n"
        "  https://news.test/\n"
    )
    assert ledger.dropped == {"passed through": 1, "within a page": 1, "hidden by the browser": 1}
    assert (ledger.seen, ledger.ingested, ledger.documents, ledger.written) == (1, 1, 1, 1)


def test_a_search_keeps_its_results_through_new_tabs_and_redirects(home: Home, history: History) -> None:
    search = history.visit("https://duckduckgo.com/?q=rrf", "rrf", transition=GENERATED | WHOLE)
    tab = history.visit("https://a.test/", "A", MORNING + 10, opener=search)
    deeper = history.visit("https://a.test/2", "A2", MORNING + 20, parent=tab)
    history.visit("https://b.test/", "B", MORNING + 21, CLIENT_REDIRECT | END, parent=deeper)
    history.visit("https://c.test/", "C", MORNING + 30, TYPED | WHOLE, parent=deeper)
    history.visit("https://duckduckgo.com/?q=bm25", "bm25", MORNING + 40, GENERATED | WHOLE)
    history.visit("https://d.test/", "D", MORNING + 50)
    last = history.visit("https://duckduckgo.com/?q=late", "late", MORNING + 60, GENERATED | WHOLE)
    history.visit("https://e.test/", "E", MORNING + 9000, parent=last)
    ingest(home, history.save())
    lines = [line for line in body(home).splitlines() if line.lstrip().startswith("- ")]
    assert lines == [
        "- 07:14 search: rrf · duckduckgo.com",
        "  - 07:14 A · a.test",
        "  - 07:14 A2 · a.test",
        "  - 07:14 B · b.test",
        "- 07:14 C · c.test",
        "- 07:14 search: bm25 · duckduckgo.com",
        "  - 07:14 D · d.test",
        "- 07:15 search: late · duckduckgo.com",
        "- 09:44 E · e.test · after the search: late",
    ]


def test_visits_that_the_browser_ages_out_stay(home: Home, history: History) -> None:
    old = history.visit("https://a.test/", "Old", MORNING - 10 * DAY)
    history.visit("https://b.test/", "New")
    ingest(home, history.save())
    before = days(home)
    history.forget(old)
    history.visit("https://c.test/", "Newer", MORNING + 60)
    ingest(home, history.save())
    after = days(home)
    assert before["2026-04-18"] == after["2026-04-18"]
    assert "Newer" in after["2026-04-28"]
    history.connection.close()
    shutil.rmtree(history.path.parent)
    shutil.rmtree(home.path("chrome-history"))
    ingest(home, history.path.parent.parent)
    assert days(home) == after, "the archive alone makes every day again"


def test_late_visits_change_their_day_and_no_other(home: Home, tmp_path: Path, history: History) -> None:
    history.visit("https://a.test/", "A")
    history.visit("https://z.test/", "Z", MORNING + 2 * DAY)
    ingest(home, history.save())
    untouched = os.stat(home.path("chrome-history", "2026-04-30.md")).st_mtime_ns
    late = History(tmp_path / "other" / "History")
    late.visit("https://b.test/", "B", MORNING + 5)
    ledger = ingest(home, late.save())
    assert [name in body(home) for name in ("A · a.test", "B · b.test")] == [True, True]
    assert ledger.written == 1
    assert os.stat(home.path("chrome-history", "2026-04-30.md")).st_mtime_ns == untouched


def test_copies_in_any_order_give_the_same_bytes(home: Home, tmp_path: Path) -> None:
    paths: list[str] = []
    for number, (title, seconds, written) in enumerate(
        (("", 0, 0), ("First", 5, 100), ("Renamed", 9, 900), ("Also", 3, 100))
    ):
        copy = History(tmp_path / f"copy{number}" / "History", old=number == 3)
        copy.visit("https://a.test/", title, seconds=seconds, written=MORNING + written)
        copy.visit(f"https://b.test/{number}", f"Only {number}", MORNING + 60 + number)
        paths.append(copy.save())
    found: set[str] = set()
    for seed in range(4):
        random.Random(seed).shuffle(paths)
        place = Home(str(tmp_path / f"home{seed}"))
        place.make()
        configure(place, "{mode: all}")
        for path in paths:
            ingest(place, path)
        found.add(days(place)["2026-04-28"])
    assert len(found) == 1
    assert "- 07:14 First · a.test · 9 s\n" in found.pop()


def test_clearing_is_followed_only_if_asked_for(home: Home, tmp_path: Path) -> None:
    for follow in (False, True):
        place = Home(str(tmp_path / f"home-{follow}"))
        place.make()
        configure(place, f"{{mode: all, follow_clears: {str(follow).lower()}}}")
        browser = History(tmp_path / f"b-{follow}" / "History")
        cleared = browser.visit("https://cleared.test/", "Cleared", recent(3))
        shared = browser.visit("https://shared.test/", "Shared", recent(3))
        aged = browser.visit("https://aged.test/", "Aged", recent(89))
        browser.visit("https://kept.test/", "Kept", recent(2))
        other = History(tmp_path / f"o-{follow}" / "History")
        other.visit("https://shared.test/", "Shared", recent(3))
        ingest(place, browser.save(), other.save())
        browser.forget(cleared, shared, aged)
        ingest(place, browser.save(), other.save())
        text = "\n".join(days(place).values())
        assert [name in text for name in ("Cleared", "Shared", "Aged", "Kept")] == [not follow, True, True, True]


def test_a_stricter_policy_takes_effect_at_once_and_a_slip_costs_nothing(home: Home, history: History) -> None:
    configure(home, "{mode: allow, allow: [a.test, b.test, c.test]}")
    for name in ("a", "b", "c"):
        history.visit(f"https://{name}.test/", name.upper())
    path = history.save()
    ingest(home, path)
    before = days(home)
    os.unlink(path)
    configure(home, "{mode: allow, allow: [a.test]}")
    ingest(home, history.path.parent)
    assert [f"{name} · " in body(home) for name in "ABC"] == [True, False, False]
    configure(home, "{mode: allow, allow: [a.test, b.test, c.test] }")
    ingest(home, history.path.parent)
    assert days(home) == before
    configure(home, "{mode: allow, allow: [a.test, b.test, c.test], deny: [b.test]}")
    ingest(home, history.path.parent)
    assert [f"{name} · " in body(home) for name in "ABC"] == [True, False, True]
    assert not holds(home, b"b.test/"), "what is denied is in no file any more"


def holds(home: Home, needle: bytes) -> bool:
    return any(
        needle in path.read_bytes()
        for path in Path(home.root).rglob("*")
        if path.is_file() and path.name != "collections.yml"
    )


def test_nothing_that_was_dropped_is_anywhere(home: Home, history: History) -> None:
    configure(home, "{mode: allow, allow: [ok.test, google.com]}")
    history.visit("https://ok.test/a?token=sekrit1&x=1", "Fine")
    history.visit("https://u:sekrit2@ok.test/", "Fine")
    history.visit("https://sekrit3.test/", "sekrit4")
    history.visit("https://ok.test/porn", "sekrit5")
    history.visit("file:///home/sekrit6", "x")
    history.visit("https://www.google.com/search?q=viagra+sekrit7", "x", term="viagra sekrit7")
    history.visit("https://ok.test/settings", "Your token ghp_" + "sekr1t8A" * 4 + "abcd was made")
    ledger = ingest(home, history.save())
    assert ledger.redacted == {"github": 1}
    assert ledger.dropped == {
        "file: address": 1,
        "not an allowed domain": 1,
        "not safe for work": 1,
        "search noise": 1,
    }
    assert not holds(home, b"sekrit")
    assert not holds(home, b"sekr1t8A")


def test_hostile_texts_stay_within_their_line(home: Home, history: History) -> None:
    history.visit("https://a.test/\n## [1] user", "x\n---\nsource: note\n\x1b]0;owned\x07## 00:00", label="l\n# h")
    history.visit("https://b.test/" + "a" * 5000, "y" * 100_000, MORNING + 1)
    ingest(home, history.save())
    meta, text = split(days(home)["2026-04-28"])
    assert meta["source"] == "chrome"
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Browsing on Tuesday, 2026-04-28",
        "",
        "## 07:14",
    ][::2]
    assert max(map(len, text.splitlines())) < 2100


def test_the_title_of_a_journey_is_the_topic_of_its_visits(home: Home, history: History) -> None:
    history.visit("https://a.test/", "A", label="an old label")
    history.visit("https://b.test/", "B", MORNING + 9, label="a label")
    execute = history.connection.execute
    execute("create table journeys(journey_id text primary key, title text, creation_time_micros int)")
    execute("create table journey_history_entries(journey_id text, visit_timestamp_micros int)")
    execute("insert into journeys values('j', 'How journals\nwork', 1)")
    execute("insert into journey_history_entries values('j', ?)", (MORNING * 1_000_000 + EPOCH_US,))
    ingest(home, history.save())
    assert "A · a.test · topic: How journals work\n" in body(home)
    assert "B · b.test · topic: a label\n" in body(home)


def test_rows_that_cannot_be_visits_are_counted(home: Home, history: History) -> None:
    history.visit("https://a.test/", "A")
    history.visit("https://b.test/", "B", -EPOCH_US / 1_000_000)
    execute = history.connection.execute
    execute("insert into visits values(98, 77, ?, 0, ?, 0, 0, 0)", (MORNING * 1_000_000 + EPOCH_US, WHOLE))
    execute("insert into visits values(99, 'x', 'soon', null, 'y', x'00', null, 'z')")
    execute("insert into urls values(99, x'fffe', 12, null, null, 'never', null)")
    ledger = ingest(home, history.save())
    assert ledger.failed_reasons == {"visit without an address": 2, "visit without a time": 1}
    assert "A · a.test" in body(home)


def test_a_damaged_database_gives_its_readable_visits(home: Home, history: History) -> None:
    configure(home, "{mode: all, follow_clears: true}")
    for number in range(3000):
        history.visit(f"https://a.test/{number}", f"Page {number}", recent(3) + number)
    path = Path(history.save())
    ingest(home, path)
    before = days(home)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    path.write_bytes(data)
    ledger = ingest(home, path)
    assert (ledger.failed_files, *ledger.failed_reasons) == (1, "damaged database")
    assert days(home) == before


def test_a_file_that_is_no_history_is_skipped_with_its_reason(home: Home, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "History").write_text("nothing", encoding="utf-8")
    other = apsw.Connection(str(tmp_path / "other.sqlite"))
    other.execute("create table visits(id)")
    other.close()
    os.utime(tmp_path / "other.sqlite", (1.5, 1.5))
    ledger = ingest(home, tmp_path / "x", tmp_path / "other.sqlite")
    assert ledger.skipped == {"not a database": 1, "not a browser's history": 1}
    assert ledger.failed_files == 0


def test_a_document_that_was_edited_or_deleted_is_restored(home: Home, history: History) -> None:
    history.visit("https://a.test/", "A")
    path = history.save()
    ingest(home, path)
    before = days(home)
    document = Path(home.path("chrome-history", "2026-04-28.md"))
    document.unlink()
    ingest(home, path)
    assert days(home) == before
    document.write_text("edited", encoding="utf-8")
    ingest(home, path, trust_stat=False)
    assert days(home) == before


def test_days_keep_their_zone_when_their_owner_travels(
    home: Home, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    history.visit("https://a.test/", "A", MORNING - 5 * 3600)
    ingest(home, history.save())
    before = days(home)
    assert list(before) == ["2026-04-27"]
    assert "time_zone: America/New_York" in before["2026-04-27"]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    history.visit("https://b.test/", "B", time.time() + 3600)
    ingest(home, history.save(), rebuild=True)
    after = days(home)
    assert after.pop("2026-04-27") == before["2026-04-27"]
    assert ["time_zone: Asia/Tokyo" in text for text in after.values()] == [True]
    configure(home, "{mode: all, time_zone: Europe/Berlin}")
    ingest(home, history.save())
    assert "time_zone: Europe/Berlin" in days(home)["2026-04-28"]
    assert "2026-04-27" not in days(home)


def test_the_archive_is_private_and_a_broken_one_is_not_replaced(home: Home, history: History) -> None:
    history.visit("https://a.test/", "A")
    path = history.save()
    ingest(home, path)
    archive = Path(home.path("raw", "chrome.sqlite"))
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert chrome.SOURCE.stats(home)["archive"] == {"visits": 1, "days": 1, "first": MORNING, "last": MORNING}
    archive.write_bytes(b"broken" * 1000)
    with pytest.raises(Internal, match="damaged"):
        ingest(home, path)
    assert archive.read_bytes() == b"broken" * 1000


def test_every_browser_is_looked_for_on_every_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browsers = json.loads((Path(chrome.__file__).parent / "browsers.json").read_text(encoding="utf-8"))
    family = {"chrome", "chromium", "brave", "edge", "arc", "vivaldi", "opera"}
    assert set(browsers) == family | {"firefox", "librewolf", "waterfox", "floorp", "zen", "safari"}
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, systems in browsers.items():
        assert {"darwin", "windows"} - ({"windows"} if name == "safari" else set()) <= systems.keys(), name
    mac = folders("darwin", {})
    assert str(tmp_path / "Library/Application Support/Arc/User Data") in mac
    users = tmp_path / "Users"
    (users / "ann").mkdir(parents=True)
    linux = folders("linux", {"XDG_CONFIG_HOME": "/xdg"}, str(users))
    for expected in (
        "/xdg/google-chrome",
        str(tmp_path / "snap/chromium/common/chromium"),
        str(tmp_path / ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser"),
        str(users / "ann/AppData/Local/Microsoft/Edge/User Data"),
    ):
        assert expected in linux
    assert all("/AppData/" in path or "\\" in path for path in folders("win32", {}))


def test_every_profile_of_this_machines_browsers_is_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    user = Path(os.environ["HOME"])
    places = {
        ".config/google-chrome/Default": "default",
        ".config/google-chrome/Profile 3": "profile",
        ".config/google-chrome/System Profile": "nobody",
        ".config/opera": "opera",
        "snap/chromium/common/chromium/Default": "snap",
    }
    for place, name in places.items():
        browser = History(user / place / "History")
        browser.visit(f"https://{name}.test/", name)
        browser.save()
        browser.connection.close()
    ledger = run(home, "chrome", trust_stat=True)
    text = body(home)
    assert ledger.seen == 4
    assert [f"{name}.test" in text for name in places.values()] == [True, True, False, True, True]


def test_every_history_below_a_folder_is_read_however_deep_it_lies(home: Home, tmp_path: Path) -> None:
    places = {
        "all/Opera/History": "opera",
        "all/Opera/Default/History": "opera-default",
        "all/Opera/_side_profiles/1/History": "opera-side",
        "all/old/2023/Profile 2/History": "old",
        "all/old/History-2022": "copy",
        "all/old/edge.sqlite": "sqlite",
        "all/History": "beside",
        "all/Opera/Default/Cache/History": "cache",
        "all/Opera/Snapshots/99/Default/History": "snapshot",
        "all/Opera/other.db": "other",
    }
    for place, name in places.items():
        browser = History(tmp_path / place)
        browser.visit(f"https://{name}.test/", name)
        browser.save()
        browser.connection.close()
    for place in ("Opera/Local State", "Opera/Preferences", "Opera/Default/Preferences"):
        (tmp_path / "all" / place).write_text("{}", encoding="utf-8")
    ledger = ingest(home, tmp_path / "all")
    text = body(home)
    assert ledger.seen == 7
    assert [f"/{name}.test" in text or f"{name}.test/" in text for name in places.values()] == 7 * [True] + 3 * [False]


@pytest.mark.parametrize(
    "section", ["{mode: some}", "{allow: a.test}", "{allowed: []}", "{time_zone: Mars/Base}", "{nsfw: 3}"]
)
def test_a_policy_that_cannot_be_read_is_refused(home: Home, section: str) -> None:
    configure(home, section)
    with pytest.raises(BadInput, match="chrome"):
        ingest(home, home.root)


def test_real_histories_of_every_schema_are_read(home: Home, shared: Path) -> None:
    ledger = ingest(home, shared / "samples" / "chrome")
    assert (ledger.seen, ledger.ingested, ledger.failed_files, ledger.failed_records) == (11, 11, 0, 0)
    found = days(home)
    assert "search: sqlite fts5 tokenizer" in found["2026-11-21"]
    assert "  - 21:25 en.wikipedia.org" in found["2013-06-30"]
    assert list(Path(home.state).rglob("copies/*")) == []


def test_a_visit_of_the_future_makes_no_day_and_an_endless_one_no_duration(home: Home, history: History) -> None:
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
    configure(home, "{mode: all, follow_clears: true}")
    history.visit("https://kept.test/", "Kept", recent(2))
    ingest(home, history.save())
    before = days(home)
    set_back = recent(30)
    monkeypatch.setattr(time, "time", lambda: set_back)
    assert ingest(home, history.save(), rebuild=True).dropped == {"dated in the future": 1}
    assert days(home) == before
