"""The demo set's days: documents as every source makes them, on one line of time, that leave nothing behind."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from core.redaction import shown
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.capture.init import setup
from runtime.explaining import activity
from runtime.explaining.conflicts import conflicts
from runtime.forgetting import forget
from tests.runtime.capture import demo_days

# Days with a session, and what they show of each kind.
BUSY = {
    "2026-03-12": {"session": 1, "commit": 2, "shell": 10, "browsing": 6, "note": 1},
    "2026-03-25": {"session": 1, "commit": 1, "shell": 3, "browsing": 5, "note": 1},
    "2026-03-30": {"session": 1, "commit": 1, "shell": 8, "browsing": 3, "note": 2},
    "2026-04-28": {"session": 2, "commit": 2, "shell": 8, "browsing": 4, "note": 1},
    "2026-05-19": {"session": 1, "commit": 1, "shell": 6, "browsing": 2, "note": 1},
    "2026-06-02": {"session": 1, "commit": 1, "shell": 5, "browsing": 3},
}


@pytest.fixture
def filled(home: Home) -> Home:
    setup(home, demo=True)
    return home


def test_its_documents_are_those_that_the_sources_make_today() -> None:
    there = {str(path.relative_to(demo_days.DOCUMENTS)): path for path in demo_days.DOCUMENTS.rglob("*.md")}
    made = demo_days.made()
    assert there.keys() == made.keys()
    for name, data in made.items():
        assert there[name].read_bytes() == data, name
        assert shown(data.decode()) == data.decode(), name


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Australia/Sydney"])
def test_its_days_show_every_kind_of_work_on_one_line(
    home: Home, zone: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    import time

    request.addfinalizer(time.tzset)
    with monkeypatch.context() as context:
        context.setenv("TZ", zone)
        time.tzset()
        setup(home, demo=True)
        year = activity.year(home, load(home), 2026)
        found = Counter[str]()
        for counts in year["days"].values():
            found.update(counts)
        assert found == {"session": 7, "commit": 29, "shell": 52, "browsing": 28, "note": 12}
        assert len(year["days"]) >= 25
        if zone == "UTC":
            for day, counts in BUSY.items():
                assert activity.day(home, load(home), day)["counts"] == counts, day
                of_project = activity.day(home, load(home), day, "/Users/mira/code/ferrypost")["counts"]
                assert of_project == {kind: count for kind, count in counts.items() if kind != "browsing"}
    time.tzset()


def test_its_notes_have_a_successor_and_a_conflict_to_settle(filled: Home) -> None:
    notes = [path.read_text() for path in Path(filled.inbox).rglob("*.md")]
    assert sum("\nsuperseded_by:" in note for note in notes) == 1
    (found,) = conflicts(filled, load(filled))
    assert {each["title"].partition(" through")[0] for each in found["sides"]} == {"Mails go out"}


def test_a_document_that_was_forgotten_or_changed_is_not_brought_back(filled: Home) -> None:
    config = load(filled)
    gone = "git/ferrypost/2026-03-12.md"
    chosen = Selection(references=[f"qmd://{gone}"])
    forget.carry_out(filled, forget.plan(filled, config, chosen))
    edited = filled.path("chrome-history", "ferrypost-2026-03-12.md")
    Path(edited).write_text(Path(edited).read_text() + "\nmine\n")
    os.unlink(os.path.join(filled.state, "demo"))
    setup(filled, demo=True)
    assert not os.path.exists(filled.path(gone))
    assert Path(edited).read_text().endswith("mine\n")
    assert os.path.exists(filled.path("git/ferrypost/2026-03-10.md"))


def test_browsing_is_read_although_a_day_of_the_demo_set_was_forgotten(filled: Home) -> None:
    from ingest.sources.chrome.archive import Archive

    config = load(filled)
    Archive(filled).close()
    chosen = Selection(references=["qmd://chrome-history/ferrypost-2026-03-12.md"])
    outcome = forget.carry_out(filled, forget.plan(filled, config, chosen))
    assert (outcome.documents, outcome.left) == (1, [])
    Archive(filled).close()


def test_copying_that_was_cut_short_goes_on(filled: Home) -> None:
    mark = Path(filled.state, "demo")
    assert mark.read_bytes() == b"whole"
    mark.write_bytes(b"")
    lost = Path(filled.path("git", "ferrypost", "2026-03-12.md"))
    data = lost.read_bytes()
    lost.unlink()
    index(filled, load(filled), source="claude", roots=[str(demo_days.ROOT / "demo")])
    assert lost.read_bytes() == data
    lost.unlink()
    index(filled, load(filled), source="claude", roots=[str(demo_days.ROOT / "demo")])
    assert not lost.exists(), "a person removed it"


def test_an_inbox_outside_the_home_gets_no_note(tmp_path: Path) -> None:
    home = Home(str(tmp_path / "home"), str(tmp_path / "vault"))
    setup(home, demo=True)
    assert not (tmp_path / "vault").exists()
    assert os.path.exists(home.path("git", "ferrypost", "2026-03-12.md"))


def test_each_event_is_a_row_in_order_of_time() -> None:
    rows = [json.loads(line) for line in demo_days.EVENTS.read_text("utf-8").splitlines()]
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
