"""A hit of another member of a team: where it came from, how it was ranked, and what contradicts it."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench.postgres import Server
from core import clock
from core.engine import Engine
from core.errors import EngineMissing
from qmd.index.store import open_index
from qmd.team.connection import open_writer
from runtime.capture import entries, inbox
from runtime.explaining.conflicts import BOTH, NEWER, answer, decide
from runtime.explaining.hit import explain
from runtime.explaining.trace import lines, trace
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.runtime.two_members import NOWHERE, PATIENCE_S, PATIENT, Members
from tests.runtime.work.sessions import DAY, did
from tests.web.site import Browser

_HIT = "team://mira/brain/a.md"


class Team(Members):
    """``mira`` shares a session that changed files; ``bob`` has the same files."""

    def __init__(self, server: Server, place: Path) -> None:
        super().__init__(server, place)
        self.project = place / "api"
        self.project.mkdir()
        (self.project / "walrus.py").write_text("changed since")
        calls = "The walrus cache is cold.\n\n- Edit: walrus.py\n- Edit: gone.py\n"
        did(self.theirs, "a", calls, ago=3, project=str(self.project))
        did(self.theirs, "b", "Nothing but penguins.\n", ago=3)
        self.share()
        did(self.shelf, "c", "A walrus, a walrus.\n", ago=1)

    def trace(self, reference: str, engine: Engine | None = None) -> dict[str, Any]:
        with closing(open_index(self.home.index)) as index:
            return trace(self.home, self.config(engine), index, reference, now=2_000_000_000)

    def explain(self, reference: str, question: str, engine: Engine | None = None) -> dict[str, Any]:
        return explain(self.home, self.config(engine), reference, question)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.asking.team._PATIENCE_S", PATIENCE_S)


@pytest.fixture(scope="module")
def team(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Team:
    return Team(postgres, tmp_path_factory.mktemp("team"))


def test_the_trace_of_a_members_hit_says_where_its_raw_record_is_and_looks_at_nothing_here(team: Team) -> None:
    found = team.trace(f"{_HIT}:13")
    assert (found["uri"], found["owner"], found["sources"], found["resume"]) == (_HIT, "mira", [], None)
    assert found["elsewhere"] == {"owner": "mira", "command": "brain trace qmd://brain/a.md:13"}
    assert found["turn"]["role"] == "assistant"
    # The same paths are here, and are not the member's.
    assert [each["state"] for each in found["files"]["items"]] == ["unknown", "unknown"]
    assert (found["files"]["changed"], found["summary"]) == (0, "it wrote to 2 files on a machine of mira")
    said = lines(found)
    assert any("mira · " in line for line in said)
    assert "   the raw record is on a machine of mira; there: brain trace qmd://brain/a.md:13" in said
    with pytest.raises(EngineMissing, match="cannot be reached"):
        team.trace(_HIT, NOWHERE)


def test_a_name_of_a_members_document_is_one_word_of_the_command(postgres: Server, tmp_path: Path) -> None:
    team = Team(postgres, tmp_path)
    with team.space.superuser() as root:
        root.execute("UPDATE documents SET path = 'a; rm -r ~.md' WHERE path = 'a.md'")
    found = team.trace("team://mira/brain/a; rm -r ~.md")
    assert found["elsewhere"]["command"] == "brain trace 'qmd://brain/a; rm -r ~.md'"


def test_explain_shows_how_a_members_hit_was_ranked_among_the_hits_of_both(team: Team) -> None:
    found = team.explain(_HIT, "walrus cache")
    assert (found["verdict"], found["uri"], found["owner"], found["rank"]) == ("answers", _HIT, "mira", 1)
    assert found["parts"]["document"] > 0
    assert found["candidates"] == 2
    counted = {term["term"]: (term["passages"], term["in_document"]) for term in found["terms"]}
    assert (counted["cache"], counted["walrus"][0]) == ((1, 1), 2)
    assert found["freshness"]["team"]["members"] == ["mira"]
    own = team.explain("c.md", "walrus cache")
    assert [(hit["uri"], own["rank"]) for hit in own["above"]] == [(_HIT, 2)]


def test_explain_says_why_a_members_document_does_not_appear(team: Team) -> None:
    found = team.explain("team://mira/brain/b.md", "walrus cache")
    assert (found["verdict"], found["rank"]) == ("no_common_term", None)
    assert team.explain("team://mira/brain/none.md", "walrus")["verdict"] == "not_indexed"


def test_a_members_document_of_a_collection_that_is_new_here_is_explained_as_it_is_asked(
    postgres: Server, tmp_path: Path
) -> None:
    team = Team(postgres, tmp_path)
    with team.space.superuser() as root:
        root.execute("UPDATE units SET collection = 'elsewhere'")
    found = team.explain("team://mira/elsewhere/a.md", "walrus cache")
    assert (found["verdict"], found["rank"]) == ("answers", 1)


def test_without_the_server_an_own_hit_is_explained_and_what_is_missing_is_said(team: Team) -> None:
    found = team.explain("c.md", "walrus cache", NOWHERE)
    assert (found["rank"], found["freshness"]["team"]["missing"]) == (1, "the team's server cannot be reached")


def test_the_command_and_the_page_say_the_same(team: Team, brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in team.space.env("bob").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BRAIN_HOME", team.home.root)
    said = brain("explain", "--hit", _HIT, "walrus cache", code=PATIENT).stdout
    assert "owner       mira" in said
    assert json.loads(brain("trace", _HIT, "--json", code=PATIENT).stdout)["elsewhere"]["owner"] == "mira"
    resumed = brain("resume", _HIT, "--print", code=PATIENT)
    assert (resumed.returncode, "on a machine of mira" in resumed.stderr) == (64, True)
    assert json.loads(brain("share", _HIT, "--json", code=PATIENT).stdout)["uri"] == _HIT
    page = Browser(team.home).get(f"/trace/{_HIT}")
    assert "It is on a machine of mira." in page
    assert "walrus.py" in page
    assert "Forget it" not in Browser(team.home).get(f"/s/{_HIT}")


def test_what_is_revoked_has_neither_trace_nor_rank(postgres: Server, tmp_path: Path) -> None:
    team = Team(postgres, tmp_path)
    server = open_writer(team.space.engine("mira"), 10)
    server.execute("DELETE FROM grants WHERE unit IN (SELECT id FROM units WHERE owner = session_user)")
    server.close()
    assert team.explain(_HIT, "walrus cache")["verdict"] == "not_indexed"
    assert team.explain("c.md", "walrus cache")["candidates"] == 1


class Decided(Members):
    """``mira`` shares notes, and a distillate, that say otherwise than the sessions and notes of ``bob``."""

    def __init__(self, server: Server, place: Path) -> None:
        super().__init__(server, place)
        theirs, now = self.theirs, clock.now()
        self._note(theirs, "d", "Redis for the job queue", "rejected", now - 3 * DAY, project="/m/ferry")
        self._note(theirs, "gone", "Never squash commits", "preference", now, project="/m/ferry", superseded_by="d")
        self._note(theirs, "other", "Always squash commits", "preference", now, project="/m/harbour")
        self.share("note")
        told = "- AskUserQuestion: Which queue?\n  answer: Redis for the job queue\n"
        did(self.shelf, "s", told, ago=9, project="/b/ferry")
        did(self.shelf, "t", "- AskUserQuestion: How?\n  answer: Always squash commits\n", ago=9, project="/b/ferry")

    def _note(self, shelf: Shelf, name: str, title: str, kind: str, date: int, **meta: object) -> None:
        given = {"type": kind, "title": title, "session_id": name, "source": "note", **meta}
        shelf.put("inbox", f"{name}.md", title, date=date, ended=date, **given)

    def answer(self, engine: Engine | None = None, project: str = "") -> dict[str, Any]:
        return answer(self.home, self.config(engine), project)


def test_what_a_member_rejected_contradicts_what_an_own_session_decided(postgres: Server, tmp_path: Path) -> None:
    team = Decided(postgres, tmp_path)
    found = team.answer()
    (conflict,) = found["conflicts"]
    theirs, own = conflict["sides"]
    assert (theirs["owner"], theirs["trust"], theirs["uri"]) == ("mira", "note", "team://mira/inbox/d.md")
    assert (theirs["entry_id"], own.get("owner"), own["uri"]) == (None, None, "qmd://brain/s.md")
    # The folders of both projects have one name: the user's own is shown.
    assert (conflict["rule"], conflict["project"]) == ("rejected", "/b/ferry")
    assert found["freshness"]["team"]["members"] == ["mira"]
    assert [len(team.answer(project=name)["conflicts"]) for name in ("ferry", "harbour")] == [1, 0]
    known = team.space.engine("bob")
    evidence = Engine(known.kind, known.dsn, known.space, ("mira",))
    assert team.answer(evidence)["conflicts"] == []
    away = team.answer(NOWHERE)
    assert (away["conflicts"], away["freshness"]["team"]["fresh"]) == ([], False)


@pytest.mark.parametrize("keep", [NEWER, BOTH])
def test_a_conflict_with_a_member_is_settled_by_a_note_of_ones_own(postgres: Server, tmp_path: Path, keep: str) -> None:
    team = Decided(postgres, tmp_path)
    (conflict,) = team.answer()["conflicts"]
    decide(team.home, team.config(), conflict["id"], keep)
    assert team.answer()["conflicts"] == []
    made = list(entries.entries(team.home))
    if keep == BOTH:
        assert made == []
    else:
        assert [(each.type, each.field("project"), each.title) for each in made] == [
            ("rejected", "/b/ferry", "Redis for the job queue")
        ]


def test_an_own_note_holds_against_what_a_member_said_before(postgres: Server, tmp_path: Path) -> None:
    team = Decided(postgres, tmp_path)
    inbox.write(team.home, "Redis for the job queue", type="decision", project="/b/ferry")
    assert [each["rule"] for each in team.answer()["conflicts"]] == ["rejected"]
    assert all("owner" in each["sides"][0] for each in team.answer()["conflicts"])


def test_conflicts_with_a_member_are_on_the_page_and_in_the_terminal_with_the_owner(
    postgres: Server, tmp_path: Path, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Decided(postgres, tmp_path)
    for name, value in team.space.env("bob").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BRAIN_HOME", team.home.root)
    assert "   newer: mira · rejected of " in brain("why", "--conflicts", code=PATIENT).stdout
    assert '<span class="owner">mira</span>' in Browser(team.home).get("/why")
    monkeypatch.setenv("BRAIN_ENGINE", f"{NOWHERE.dsn}#t")
    assert "Without what the team shares" in brain("why", "--conflicts").stdout
    assert "Without what the team shares" in Browser(team.home).get("/why")
