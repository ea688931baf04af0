"""``brain why`` says of each decision if it still holds: by later words, and by the files that it names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from runtime.explaining.standing import named_files
from runtime.explaining.why import why
from tests.runtime.index_fixture import Shelf

DAY = 86_400
OLD, NEW = 20_000 * DAY, 20_060 * DAY


def note(shelf: Shelf, name: str, title: str, date: int, project: str, **meta: object) -> None:
    given: dict[str, Any] = {"type": "decision", "title": title, "project": project, "source": "note", **meta}
    shelf.put("inbox", f"{name}.md", title, date=date, session_id=name, **given)


def states(shelf: Shelf, topic: str) -> dict[str, str]:
    found = why(shelf.home, shelf.config, topic)
    return {each["entry_id"]: each["validity"]["state"] for each in found["decisions"]}


def test_a_decision_is_superseded_by_its_successor_or_by_later_words(home: Home) -> None:
    shelf = Shelf(home)
    note(shelf, "n1", "The login timeout is 30 seconds", OLD, "/srv/api")
    note(shelf, "n2", "The login timeout is 90 seconds", NEW, "/srv/api")
    note(shelf, "n3", "Sign the login with HS256", OLD, "/srv/api", superseded_by="n4")
    note(shelf, "n4", "Sign the login with EdDSA", NEW, "/srv/api", supersedes="n3")
    assert states(shelf, "login") == {"n1": "superseded", "n2": "current", "n3": "superseded", "n4": "current"}


def git(folder: Path, *words: str, at: int) -> None:
    date = f"@{at} +0000"
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    environ = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *names, *words], cwd=folder, env=environ, check=True, capture_output=True)


@pytest.mark.parametrize(("changed", "state"), [(True, "code changed"), (False, "current")])
def test_a_decision_about_a_file_says_if_the_file_was_changed_since(
    home: Home, tmp_path: Path, changed: bool, state: str
) -> None:
    project = tmp_path / "api"
    project.mkdir()
    git(project, "init", "-q", at=OLD)
    file = project / "Client.py"
    file.write_text("retries = 3\n")
    git(project, "add", ".", at=OLD)
    git(project, "commit", "-qm", "first", at=OLD - DAY)
    if changed:
        file.write_text("retries = 8\n")
        git(project, "commit", "-qam", "second", at=NEW)
    shelf = Shelf(home)
    note(shelf, "n1", "Retry three times in Client.py", OLD, str(project))
    found = why(shelf.home, shelf.config, "retry")["decisions"][0]["validity"]
    assert found["state"] == state
    assert found.get("files", []) == ([str(file)] if changed else [])


def test_only_files_that_are_there_or_that_the_session_touched_are_named(home: Home, tmp_path: Path) -> None:
    shelf = Shelf(home)
    (tmp_path / "a.py").write_text("")
    from qmd.index.store import open_index

    connection = open_index(shelf.home.index)
    try:
        text = "Keep a.py, b.py, ../../etc/passwd, v1.2 and e.g. example.org as they are."
        assert named_files(connection, text, str(tmp_path)) == [str(tmp_path / "a.py")]
    finally:
        connection.close()


def test_decisions_that_a_person_let_hold_together_are_both_current(home: Home) -> None:
    shelf = Shelf(home)
    note(shelf, "n1", "The login timeout is 30 seconds", OLD, "/srv/api")
    note(shelf, "n2", "The login timeout is 90 seconds", NEW, "/srv/api", holds_with=["n1"])
    assert states(shelf, "login") == {"n1": "current", "n2": "current"}
    assert {hit["validity"]["state"] for hit in shelf.ask("login timeout")["hits"]} == {"current"}


ANSWERED = """## [1] user · 2026-03-12 12:00

How does the client retry?

## [2] assistant · 2026-03-12 12:01

- AskUserQuestion: How often do we retry?
  answer to “How often do we retry?”: Retry {times} times

All right.
"""


@pytest.mark.parametrize(("project", "expected"), [("/srv/api", {"superseded", "current"}), ("", {"current"})])
def test_sessions_without_a_project_have_none_in_common(home: Home, project: str, expected: set[str]) -> None:
    shelf = Shelf(home)
    for name, times, date in (("a", 3, OLD), ("b", 8, NEW)):
        day = "2026-03-12" if name == "a" else "2026-03-14"
        body = ANSWERED.format(times=times).replace("2026-03-12", day)
        shelf.put("brain", f"{name}.md", body, date=date, session_id=name, source="claude", turns=2, project=project)
    said = [each for found in why(home, shelf.config, "retry")["evidence"] for each in found["statements"]]
    assert len(said) == 2
    assert {each["validity"]["state"] for each in said} == expected
