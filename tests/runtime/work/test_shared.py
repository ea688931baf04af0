"""Commands about the work over the user's own sessions and those that other members of a team share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bench.postgres import Server
from core.engine import Engine
from qmd.team.connection import open_writer
from runtime.asking.wording import without_team
from runtime.mcp import work_tools
from runtime.work import blame, fix
from tests.runtime.two_members import NOWHERE, PATIENCE_S, Members
from tests.runtime.work.sessions import did

_LOCKED = "  ! Exit code 1\n  ! sqlite3.OperationalError: database is locked\n"
_ERROR = "sqlite3.OperationalError: database is locked"


class Team(Members):
    """``mira`` shares two sessions and a note; ``bob`` has a session with the same error."""

    def __init__(self, server: Server, place: Path) -> None:
        super().__init__(server, place)
        calls = f"I set a timeout.\n\n- Bash: pytest\n{_LOCKED}- Edit: src/retry.py\n- Bash: pytest\n"
        did(self.theirs, "a", calls, ago=3, project="/m/api")
        did(self.theirs, "b", "- Read: src/retry.py\n- Read: docs/retry.md\n", ago=2, project="/m/other")
        reasons: dict[str, Any] = {"type": "decision", "why": "a lock is short", "title": "retry.py waits 2 s"}
        self.theirs.put("inbox", "d.md", "Wait.", session_id="d", source="note", **reasons)
        self.share()
        did(self.shelf, "a", f"- Bash: make\n{_LOCKED}- Bash: ls\n", ago=1, project="/b/api")

    def fix(self, engine: Engine | None = None, error: str = _ERROR) -> dict[str, Any]:
        return fix.fix(self.home, self.config(engine), error)

    def blame(self, path: str, engine: Engine | None = None) -> dict[str, Any]:
        return blame.blame(self.home, self.config(engine), path)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.asking.team._PATIENCE_S", PATIENCE_S)


@pytest.fixture(scope="module")
def team(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Team:
    return Team(postgres, tmp_path_factory.mktemp("team"))


def test_the_fix_of_another_member_comes_with_its_owner(team: Team) -> None:
    found = team.fix()
    assert (found["match"], found["failures"], found["sessions"], found["fixed"]) == ("exact", 2, 2, 1)
    first = found["fixes"][0]
    assert (first["uri"], first["owner"], first["trust"]) == ("team://mira/brain/a.md", "mira", "session")
    assert [step["subject"] for step in first["steps"]] == ["src/retry.py"]
    assert first["validity"] == {"state": "unknown", "by": []}
    assert any(
        line.startswith("held · mira · 3 days ago · session · api · team://mira/brain/a.md:")
        for line in fix.lines(found)
    )
    assert found["freshness"]["team"]["members"] == ["mira"]
    assert found["freshness"]["team"]["fresh"] is True


def test_a_fix_of_ones_own_stands_beside_the_same_one_of_a_member_that_is_newer(
    postgres: Server, tmp_path: Path
) -> None:
    members = Members(postgres, tmp_path)
    calls = f"- Bash: pytest\n{_LOCKED}- Edit: src/retry.py\n- Bash: pytest\n"
    did(members.theirs, "a", calls, ago=1, project="/b/api")
    members.share()
    did(members.shelf, "own", calls, ago=9, project="/b/api")
    found = fix.fix(members.home, members.config(), _ERROR)["fixes"]
    assert [each["uri"] for each in found] == ["team://mira/brain/a.md", "qmd://brain/own.md"]


def test_an_error_like_that_of_another_member_is_found_by_its_words(team: Team) -> None:
    found = team.fix(error="database is locked")
    assert (found["match"], found["fixes"][0]["owner"]) == ("similar", "mira")


def test_without_the_server_the_own_sessions_answer_and_freshness_says_what_is_missing(team: Team) -> None:
    found = team.fix(NOWHERE)
    assert [each["uri"] for each in found["fixes"]] == ["qmd://brain/a.md"]
    assert found["freshness"]["team"]["missing"] == "the team's server cannot be reached"
    sessions = team.blame("/b/api/src/retry.py", NOWHERE)
    assert (sessions["error"], sessions["freshness"]["team"]["fresh"]) == ("no_results", False)


def test_a_member_who_is_evidence_only_comes_after_what_advises(postgres: Server, tmp_path: Path) -> None:
    team = Team(postgres, tmp_path)
    known = team.space.engine("bob")
    evidence = Engine(known.kind, known.dsn, known.space, ("mira",))
    did(team.shelf, "held", f"- Bash: make\n{_LOCKED}- Bash: sleep 2\n- Bash: make\n", ago=30, project="/b/api")
    found = team.fix(evidence)
    assert [(each.get("owner"), each["held"], each.get("trust")) for each in found["fixes"]] == [
        (None, True, None), ("mira", True, "evidence"),
    ]  # fmt: skip


def test_a_file_of_a_project_of_the_same_name_has_the_sessions_of_other_members(team: Team) -> None:
    found = team.blame("/b/api/src/retry.py")
    (session,) = [each for each in found["sessions"] if each["deed"] == "changed"]
    assert (session["uri"], session["owner"], session["said"]) == (
        "team://mira/brain/a.md", "mira", "I set a timeout.",
    )  # fmt: skip
    # Raw records are on the owner's machine: what became of the edit is not known.
    assert (session["state"], session["changes"][0]["spans"], found["same_path"]) == (None, [], True)
    assert [(each["owner"], each["text"]) for each in found["governing"]] == [("mira", "retry.py waits 2 s")]
    assert "team://mira/brain/b.md" not in {each["uri"] for each in found["sessions"] if each["deed"] != "mentioned"}


def test_a_file_of_another_project_is_one_that_ends_like_it(team: Team) -> None:
    found = team.blame("/b/web/docs/retry.md")
    assert [(each["uri"], each["deed"], found["same_path"]) for each in found["sessions"]][:1] == [
        ("team://mira/brain/b.md", "read", False)
    ]


def test_a_session_of_another_member_that_has_the_id_of_an_own_one_is_another(team: Team) -> None:
    assert (team.fix()["failures"], team.fix()["sessions"]) == (2, 2)


def test_nothing_of_the_team_is_written_to_the_index(team: Team) -> None:
    before = Path(team.home.index).read_bytes()
    team.fix()
    team.blame("/b/api/src/retry.py")
    assert Path(team.home.index).read_bytes() == before
    assert not [name for name in os.listdir(team.home.root) if "team" in name]


def test_what_is_more_text_than_one_answer_reads_is_left_out_and_counted(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = team.fix()["freshness"]["team"]
    assert (shared["read"], shared["left_out"]) == (2, 0)
    monkeypatch.setattr("runtime.asking.team._MOST_BYTES", 10)
    found = team.fix()
    shared = found["freshness"]["team"]
    assert (shared["read"], shared["left_out"], len(found["fixes"])) == (0, 2, 1)
    assert without_team(found["freshness"]) == [
        "Without 2 documents of the team: they are more text than one answer reads"
    ]


def test_the_tools_of_agents_answer_over_both(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in team.space.env("bob").items():
        monkeypatch.setenv(name, value)
    (row,) = [row for row in work_tools.ROWS if row[0] == "brain_fix"]
    said = "\n".join(row[7](row[5](team.home, _ERROR)))
    assert "mira · 3 days ago" in said


def test_what_is_revoked_answers_no_question(postgres: Server, tmp_path: Path) -> None:
    team = Team(postgres, tmp_path)
    server = open_writer(team.space.engine("mira"), 10)
    server.execute("DELETE FROM grants WHERE unit IN (SELECT id FROM units WHERE owner = session_user)")
    server.close()
    assert [each["uri"] for each in team.fix()["fixes"]] == ["qmd://brain/a.md"]
    assert team.fix()["freshness"]["team"]["members"] == []
