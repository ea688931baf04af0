"""The card of a year counts what a person did, and says nothing that a document says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import load
from core.home import Home
from core.text import printable
from ops.stats.card import OTHER, card, longest_streak
from ops.stats.card_svg import draw
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.terminal import on_terminal

_NOON = 1_773_316_800  # 2026-03-12 12:00 UTC
_DAY = 86_400
HOSTILE = (
    "</text><script>alert(1)</script>",
    "\x1b[31mred\x1b]0;title\x07",
    "[bold red]markup[/bold red]",
    "a&b<c>\"d'",
    "\u202egnp.exe",
    "]]>--><!--",
    "url(http://example.org/x)",
    "\ufffe\uffff",
    "木" * 200,
)


def _session(*stamps: str, words: str = "Why") -> str:
    return "\n\n".join(f"## [{number}] user · {stamp}\n\n{words} {stamp}" for number, stamp in enumerate(stamps, 1))


@pytest.fixture
def stocked(home: Home) -> Shelf:
    shelf = Shelf(home)
    put = shelf.put
    first = _session("2026-03-12 12:00", "2026-03-12 12:30", "2026-03-13 09:00")
    put("brain", "a.md", first, date=_NOON, source="claude", project="/home/ana/secret-ferry", title="Launch")
    # A fork: the origin's prompts, then one of its own.
    fork = first + "\n\n" + _session("2026-03-14 10:00")
    put("brain", "b.md", fork, date=_NOON, source="claude", project="/home/ana/secret-ferry", title="Fork")
    put("brain", "c.md", _session("2025-12-31 23:30"), date=_NOON - 80 * _DAY, source="codex", title="Old")
    put("brain", "d.md", _session("2026-03-20 10:00"), date=_NOON, source="evil <b>", project="/x/other", title="D")
    # Not a person's: synthetic, a subagent, a day of a shell.
    put("brain", "e.md", _session("2026-04-01 10:00"), date=_NOON, source="claude", synthetic=True)
    put("brain", "f.md", _session("2026-04-02 10:00"), date=_NOON, source="claude", parent="a")
    put("brain", "g.md", _session("2026-04-03 10:00"), date=_NOON, source="shell", commands=3)
    return shelf


def test_prompts_of_persons_are_counted_by_their_own_days(stocked: Shelf) -> None:
    found = card(stocked.home, stocked.config)
    assert found["year"] == 2026
    assert found["years"] == [2025, 2026]
    assert found["days"] == {"2026-03-12": 2, "2026-03-13": 1, "2026-03-14": 1, "2026-03-20": 1}
    assert (found["sessions"], found["prompts"], found["active_days"], found["n_projects"]) == (3, 5, 4, 2)
    assert found["longest_streak"] == {"days": 3, "since": "2026-03-12", "until": "2026-03-14"}
    assert found["busiest_day"] == {"day": "2026-03-12", "prompts": 2}


def test_a_source_that_no_tool_has_is_not_named(stocked: Shelf) -> None:
    tools = card(stocked.home, stocked.config)["tools"]
    assert tools == [
        {"name": "Claude Code", "sessions": 2, "prompts": 4},
        {"name": OTHER, "sessions": 1, "prompts": 1},
    ]


def test_days_of_commits_and_of_browsing_are_no_sessions(stocked: Shelf) -> None:
    before = card(stocked.home, stocked.config)
    commits: dict[str, Any] = {"source": "git", "project": "/x/gulls", "commits": 2}
    stocked.put("git", "gulls/2026-03-12.md", "## 14:30 tide: keep the low row", date=1_773_316_800, **commits)
    stocked.put("chrome-history", "2026-03-12.md", "- 09:14 tides", date=1_773_316_800, source="chrome", visits=1)
    assert card(stocked.home, stocked.config) == before


def test_projects_are_named_on_request_alone_and_without_their_folders(stocked: Shelf) -> None:
    assert card(stocked.home, stocked.config)["projects"] is None
    named = card(stocked.home, stocked.config, projects=True)["projects"]
    assert [each["name"] for each in named] == ["secret-ferry", "other"]


def test_the_picture_says_nothing_that_a_document_says(stocked: Shelf) -> None:
    picture = draw(card(stocked.home, stocked.config)).decode()
    for word in ("ferry", "ana", "Launch", "Why", "evil", "other<", "/x/"):
        assert word not in picture


def test_the_picture_names_projects_where_that_was_asked_for(stocked: Shelf) -> None:
    assert "secret-ferry" in draw(card(stocked.home, stocked.config, projects=True)).decode()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_of_a_project_stays_text(home: Home, name: str) -> None:
    shelf = Shelf(home)
    shelf.put("brain", "a.md", _session("2026-03-12 12:00"), date=_NOON, source="claude", project=f"/code/{name}")
    found = card(home, load(home), projects=True)
    picture = draw(found)
    tree = ElementTree.fromstring(picture)  # a picture of our own, without entities
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert tags <= {"svg", "title", "style", "rect", "text", "tspan", "circle", "clipPath"}
    said = "".join(tree.itertext())
    assert printable(said) == said


def test_the_picture_loads_nothing_and_runs_nothing(stocked: Shelf) -> None:
    picture = draw(card(stocked.home, stocked.config, projects=True)).decode()
    assert re.findall(r"url\(([^)]*)\)", picture) == ["#bar"] * picture.count("url(")
    assert "href" not in picture
    assert "@import" not in picture
    assert not re.search(r"\son\w+=", picture)
    assert "prefers-color-scheme: dark" in picture


def test_each_day_of_a_year_has_one_square(stocked: Shelf) -> None:
    for year, days in ((2024, 366), (2025, 365)):
        stocked.put("brain", f"{year}.md", _session(f"{year}-06-01 12:00"), date=_NOON, source="claude")
        squares = re.findall(r"<title>\d+ \w{3}: ", draw(card(stocked.home, stocked.config, year)).decode())
        assert len(squares) == len(set(squares)) == days


@given(st.sets(st.dates(), max_size=40))
def test_the_longest_streak_is_a_run_of_days_that_no_run_exceeds(days: set[Any]) -> None:
    found = longest_streak({day.isoformat(): 1 for day in days})
    runs = dict.fromkeys(days, 0)
    for day in sorted(days):
        runs[day] = 1 + runs.get(type(day).fromordinal(max(1, day.toordinal() - 1)), 0) * (day.toordinal() > 1)
    assert (found["days"] if found else 0) == max(runs.values(), default=0)
    if found:
        assert runs[type(next(iter(days))).fromisoformat(found["until"])] == found["days"]


def test_the_command_writes_a_file_or_shows_the_card(stocked: Shelf, brain: Brain, tmp_path: Path) -> None:
    file = tmp_path / "year.svg"
    written = json.loads(brain("stats", "--card", str(file), "--json").stdout)
    assert written["card"] == str(file)
    assert file.read_bytes().startswith(b"<svg ")
    told = brain("stats", "--card").stdout
    assert "2026 with coding agents" in told
    assert "Claude Code" in told
    assert "ferry" not in told
    assert "ferry" in brain("stats", "--card", "--projects").stdout


def test_a_year_without_sessions_is_an_empty_answer(stocked: Shelf, brain: Brain, tmp_path: Path) -> None:
    empty = brain("stats", "--card", str(tmp_path / "no.svg"), "--year", "2019")
    assert empty.returncode == 67
    assert "2025, 2026" in empty.stdout
    assert not (tmp_path / "no.svg").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("year.svg",),
        ("--year", "2026"),
        ("--projects",),
        ("--card", "year.png"),
        ("--card", "a.svg", "b.svg"),
        ("--card", "--year", "99999"),
        ("--card", "--svg", "x.svg"),
        ("--card", "/nowhere/at/all/x.svg"),
    ],
)
def test_what_does_not_go_together_is_refused(stocked: Shelf, brain: Brain, words: tuple[str, ...]) -> None:
    assert brain("stats", *words).returncode == 64


def test_colours_are_for_terminals_and_lines_fit_eighty_columns(stocked: Shelf, brain: Brain) -> None:
    assert "\x1b" not in brain("stats", "--card", "--projects").stdout
    code, coloured = on_terminal("stats", "--card", "--projects")
    assert code == 0
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert max(map(len, plain.splitlines())) <= 80
    assert "\x1b" not in on_terminal("stats", "--card", NO_COLOR="1")[1]
