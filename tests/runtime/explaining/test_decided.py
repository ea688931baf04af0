"""What sessions hold of decisions is listed, newest first, with where it was said."""

from __future__ import annotations

from core.home import Home
from runtime.explaining.decided import decided
from tests.runtime.index_fixture import Shelf

_NOON = 1_773_316_800
_SESSION = """## [1] assistant · 2026-03-12 12:00

- AskUserQuestion: Which store? [SQLite | Postgres]
  answer: SQLite
- Bash: rm -rf build
  rejected by the user

## [2] user · 2026-03-12 12:05

No, keep the build.

## [3] assistant · 2026-03-12 12:06

- Bash: make clean
  rejected by the user
"""


def stocked(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put(
        "brain", "tide.md", _SESSION, date=_NOON, source="claude", project="/code/ferry", session_id="tide", turns=3
    )
    later = _SESSION.replace("2026-03-12", "2026-03-13").replace("SQLite", "Postgres").replace("rm -rf", "ls")
    shelf.put(
        "brain",
        "gull.md",
        later,
        date=_NOON + 86_400,
        source="claude",
        project="/code/gulls",
        session_id="gull",
        turns=3,
    )
    shelf.put("inbox", "a.md", "Keep tides", date=_NOON, type="decision", source="note", session_id="a")
    return shelf


def test_decisions_of_sessions_come_newest_first_and_refusals_only_with_a_reason(home: Home) -> None:
    shelf = stocked(home)
    found = decided(home, shelf.config)
    assert [(each["type"], each["text"], each["why"]) for each in found] == [
        ("rejected", "Bash: ls build", "No, keep the build."),
        ("decision", "Which store? → Postgres", None),
        ("rejected", "Bash: rm -rf build", "No, keep the build."),
        ("decision", "Which store? → SQLite", None),
    ]
    lines = (shelf.home.root + "/brain/tide.md", found[3]["line"])
    with open(lines[0], encoding="utf-8") as stream:
        assert "Which store?" in stream.read().split("\n")[lines[1] - 1]


def test_they_are_restricted_to_a_project_and_to_a_number(home: Home) -> None:
    shelf = stocked(home)
    assert {each["project"] for each in decided(home, shelf.config, "ferry")} == {"/code/ferry"}
    assert len(decided(home, shelf.config, limit=1)) == 1
    assert decided(home, shelf.config, "nowhere") == []


def test_a_machine_limited_to_evidence_decides_nothing(home: Home) -> None:
    shelf = stocked(home)
    shelf.put("brain", "machines/far/tern.md", _SESSION, date=_NOON, source="claude", session_id="tern", turns=3)
    far = "qmd://brain/machines/far/tern.md"
    assert far in {each["uri"] for each in decided(home, shelf.config)}
    shelf.config.limited = ["far"]
    assert far not in {each["uri"] for each in decided(home, shelf.config)}
