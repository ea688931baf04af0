"""``brain`` alone: one screen for a person, JSON for everyone else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.ask.brief import ago
from cli.render import cells
from core import clock, telemetry
from core.home import Home
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.terminal import on_terminal

DAY = 86_400
HOSTILE = "Fix \u202eevil\x1b[31m\x07 <memory>\nthe race"


def _screen(*words: str) -> list[str]:
    code, said = on_terminal(*words, NO_COLOR="1")
    assert code == 0, said
    return said.splitlines()


def _brief(brain: Brain) -> dict[str, Any]:
    done = brain()
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> int:
    """The present, in a zone where it is about noon: "an hour ago" is then the same day."""
    now = clock.now()
    offset = 12 - (now // 3600) % 24
    monkeypatch.setenv("TZ", f"<noon>{-offset:+d}")
    return now


@pytest.fixture
def busy(shelf: Shelf, noon: int) -> Shelf:
    """A home with more of everything than a screen has rows."""
    for number in range(40):
        day = number % 2
        shelf.put(
            "brain",
            f"s{number}.md",
            session_id=f"s{number}",
            source="claude",
            title=f"{HOSTILE} {number} " + "long " * 40,
            project=f"/u/x/project-{number % 9}-with-a-rather-long-name",
            date=noon - day * DAY - 60 * number,
        )
        shelf.put("inbox", f"d{number}.md", session_id=f"d{number}", type="decision", title=f"{HOSTILE} {number}")
    for _ in range(3):
        telemetry.record(shelf.home, "ask", "terminal", exit_code=67, query=f"{HOSTILE} " + "why " * 40)
    log = Path(shelf.home.logs, "doctor.log")
    stamp = clock.iso(noon - 3 * 3600)
    log.write_text(f"{stamp} warning source-silent:chrome: {'silent ' * 30} fix: brain index\n", encoding="utf-8")
    return shelf


def test_a_full_brief_fits_a_screen_of_80_by_24(busy: Shelf) -> None:
    lines = _screen()
    assert len(lines) <= 23, "one row is for the shell's prompt"
    assert max(map(cells, lines)) <= 80
    assert any(line.startswith("Today: 20 sessions") for line in lines)
    assert any(line.startswith("Yesterday: 20 sessions") for line in lines)
    assert any(line.startswith("Next: ") for line in lines)


def test_hostile_titles_do_not_drive_the_terminal(busy: Shelf, brain: Brain) -> None:
    code, said = on_terminal()
    assert code == 0
    assert "\x1b[31m" not in said
    assert "\x07" not in said
    assert "\u202e" not in said
    assert sum(line.strip().startswith("the race") for line in said.splitlines()) == 0, "a title is one line"
    assert "\u202e" not in brain().stdout


def test_sessions_are_listed_by_project_the_newest_first(shelf: Shelf, noon: int, brain: Brain) -> None:
    for name, project, date in (
        ("old", "/u/x/api", noon - 7200),
        ("new", "/u/x/api", noon - 3600),
        ("web", "/u/x/web", noon - 60),
        ("before", "/u/x/api", noon - DAY),
        ("history", "/u/x/web", noon - 3 * DAY),
    ):
        shelf.put("brain", f"{name}.md", session_id=name, source="claude", title=name, project=project, date=date)
    shelf.put("brain", "machine.md", session_id="machine", synthetic=True, date=noon)
    shelf.put("brain", "shell.md", session_id="shell", source="shell", commands=3, date=noon)
    days = _brief(brain)["days"]
    today = [(each["project"], [item["title"] for item in each["items"]]) for each in days["today"]["projects"]]
    assert today == [("/u/x/web", ["web"]), ("/u/x/api", ["new", "old"])]
    assert [each["sessions"] for each in days["yesterday"]["projects"]] == [1]
    assert days["today"]["sessions"] == 3


def test_without_a_recent_session_the_last_one_is_named(shelf: Shelf, noon: int) -> None:
    shelf.put("brain", "a.md", session_id="a", source="claude", title="Fix the race", date=noon - 9 * DAY)
    assert "Last session, 9 days ago: Fix the race" in _screen()


def test_open_decisions_are_those_that_nothing_supersedes(shelf: Shelf, noon: int, brain: Brain) -> None:
    shelf.put("inbox", "a.md", session_id="a", type="decision", title="first", superseded_by="b", date=noon - 30)
    shelf.put("inbox", "b.md", session_id="b", type="decision", title="second", date=noon - 20)
    shelf.put("inbox", "c.md", session_id="c", type="question", title="which", date=noon - 10)
    shelf.put("inbox", "d.md", session_id="d", type="idea", title="idea", date=noon - 5)
    found = _brief(brain)["open"]
    assert (found["count"], [item["title"] for item in found["items"]]) == (2, ["which", "second"])
    assert sum("second" in line for line in _screen()) == 1


def test_a_question_asked_twice_in_vain_is_named_until_it_is_answered(shelf: Shelf, brain: Brain) -> None:
    def ask(text: str, code: int) -> None:
        telemetry.record(shelf.home, "ask", "terminal", exit_code=code, query=text)

    ask("How do we rotate keys?", 67)
    ask("once", 67)
    assert _brief(brain)["in_vain"] == {"asked": 2, "nothing": 2, "questions": []}
    ask("how do we  rotate keys?", 67)
    assert _brief(brain)["in_vain"]["questions"] == [{"query": "how do we  rotate keys?", "count": 2}]
    assert "Asked in vain 2 times: how do we rotate keys?" in _screen()
    ask("how do we rotate keys?", 0)
    assert _brief(brain)["in_vain"]["questions"] == []


def test_the_doctors_last_run_is_one_line_and_is_not_run_again(shelf: Shelf, brain: Brain) -> None:
    shelf.put("inbox", "a.md", session_id="a", title="a")
    log = Path(shelf.home.logs, "doctor.log")
    assert _brief(brain)["attention"] is None
    assert _brief(brain)["next"]["command"] != "brain doctor --fix"
    assert not log.exists()
    stamp = clock.iso(clock.now() - 5 * 3600)
    log.write_text(
        "2026-01-01T00:00:00Z error old: long ago  fix: nothing\n"
        f"{stamp} warning backup-old: the last is of May  fix: brain backup\n"
        f"{stamp} error index-damaged: page 3: torn  fix: brain doctor --fix\nnonsense\n"
    )
    found = _brief(brain)
    assert (found["attention"]["findings"], found["attention"]["worst"]["id"]) == (2, "index-damaged")
    assert found["attention"]["worst"]["evidence"] == "page 3: torn"
    assert found["next"]["command"] == "brain doctor --fix"
    assert "Error 5 h ago (and 1 more): page 3: torn" in _screen()
    with log.open("a") as stream:
        stream.write(f"{clock.iso(clock.now())} healthy: 80 checks\n")
    assert _brief(brain)["attention"]["worst"] is None


def test_a_home_that_is_not_there_is_told_what_to_run_and_not_made(tmp_path: Path, brain: Brain) -> None:
    nowhere = str(tmp_path / "none")
    done = brain("--json", env={"BRAIN_HOME": nowhere})
    assert done.returncode == 0
    assert json.loads(done.stdout)["next"]["command"] == "brain init"
    code, said = on_terminal(BRAIN_HOME=nowhere, NO_COLOR="1")
    assert code == 0
    assert "Next: brain init" in said
    assert not os.path.exists(nowhere)


def test_the_next_command_is_the_most_urgent(home: Home, shelf: Shelf, brain: Brain) -> None:
    shelf.put("inbox", "a.md", session_id="a", title="a")
    assert _brief(brain)["next"]["command"] == "brain embed"
    shelf.sql("DELETE FROM brain_state WHERE key = 'complete'")
    assert _brief(brain)["next"]["command"] == "brain index"


@pytest.mark.damages_full_text
def test_damage_and_bad_configuration_are_failures_with_a_fix(shelf: Shelf, brain: Brain) -> None:
    Path(shelf.home.path("collections.yml")).write_text("collections: [\n")
    assert brain("--json").returncode == 64
    os.unlink(shelf.home.path("collections.yml"))
    for name in ("", "-wal", "-shm"):
        Path(shelf.home.index + name).unlink(missing_ok=True)
    Path(shelf.home.index).write_bytes(b"no database" * 1000)
    assert brain("--json").returncode == 65


def test_ask_without_a_question_prompts_on_a_terminal(shelf: Shelf) -> None:
    shelf.put("inbox", "a.md", "The walrus sings.", session_id="a", title="Walrus")
    code, said = on_terminal("ask", typed="walrus sings\n", NO_COLOR="1")
    assert code == 0, said
    assert "Question: " in said
    assert "1. Walrus" in said
    row = telemetry.last(shelf.home, "ask")
    assert row is not None
    assert row["query_len"] == len("walrus sings")


def test_ask_without_a_question_fails_where_nobody_can_type_one(shelf: Shelf, brain: Brain) -> None:
    done = brain("ask", stdin="walrus\n")
    assert (done.returncode, done.stdout) == (64, "")
    assert "fix: brain ask" in done.stderr
    assert brain("ask", "--json").returncode == 64
    code, said = on_terminal("ask", typed="\n", NO_COLOR="1")
    assert code == 64
    assert "the question is empty" in said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "just now"), (59, "just now"), (60, "1 min ago"), (7199, "1 h ago"), (172_800, "2 days ago")],
)
def test_a_span_is_named_by_its_largest_unit(seconds: float, said: str) -> None:
    assert ago(seconds) == said
