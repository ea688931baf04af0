"""An answer puts the newer statement first and marks the older one with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from core.jsonb import pack
from core.version import REDACTION
from qmd.search.search import Hit
from runtime.asking import judging
from runtime.validity import SUPERSEDED
from runtime.validity.statements import stems, tokenize
from runtime.validity.validity import Claim, Side
from tests.runtime.explaining.test_trace import git
from tests.runtime.index_fixture import Shelf

DAY = 86_400
OLD, NEW = 20_000 * DAY, 20_060 * DAY
QUESTION = "what is the request timeout of the ingest client"
OLDER = "The request timeout of the ingest client is 30 seconds."
NEWER = "Set the request timeout of the ingest client to 90 seconds."


def session(shelf: Shelf, name: str, text: str, date: int, project: str = "/srv/api", **meta: Any) -> None:
    body = f"## [1] user · 2026-01-01 08:00\n\n{text}\n\n## [2] assistant · 2026-01-01 08:01\n\nAll right."
    shelf.put(
        "brain", f"{name}.md", body, date=date, ended=date, session_id=name, source="claude", turns=2,
        project=project, **meta,
    )  # fmt: skip


@pytest.fixture
def shelf(home: Home) -> Shelf:
    found = Shelf(home)
    for number in range(6):
        session(found, f"other{number}", f"Please rename helper {number} of the loader.", OLD)
    return found


def test_the_newer_statement_comes_first_and_the_older_is_marked(shelf: Shelf) -> None:
    session(shelf, "a", f"{OLDER} {OLDER}", OLD)
    session(shelf, "b", NEWER, NEW)
    hits = shelf.ask(QUESTION)["hits"]
    assert [hit["uri"] for hit in hits[:2]] == ["qmd://brain/b.md", "qmd://brain/a.md"]
    assert (hits[0]["validity"]["state"], hits[1]["validity"]["state"]) == ("current", "superseded")
    (side,) = hits[1]["validity"]["by"]
    assert (side["uri"], side["text"]) == ("qmd://brain/b.md", NEWER)
    assert hits[1]["warning"].startswith(f"superseded by “{NEWER}”")


@pytest.mark.parametrize(
    ("newer", "order"),
    [
        ("It was a long process, but now the kids are happy with the kitten.", [1, 2]),
        ("Now the kids like the zoo more than the museum.", [2, 1]),
    ],
)
def test_a_newer_statement_comes_first_only_if_both_are_about_what_is_asked(newer: str, order: list[int]) -> None:
    hits = [
        Hit((number, "brain", "a", "a", "0" * 64, date, date, 1, pack({}), REDACTION), score)
        for number, date, score in ((1, OLD, 0.9), (2, NEW, 0.3))
    ]
    claim = Claim(2, "qmd://brain/b.md", NEW, [(1, newer)])
    side = Side(SUPERSEDED, claim, 1, newer, "Yesterday I took the kids to the museum.")
    asked = stems(tokenize("when did we go to the museum"))
    assert [hit.id for hit in judging._newer_first(hits, {1: [side]}, asked)] == order


def test_the_same_in_another_project_is_left_alone(shelf: Shelf) -> None:
    session(shelf, "a", OLDER, OLD)
    session(shelf, "b", NEWER, NEW, project="/srv/web")
    assert {hit["validity"]["state"] for hit in shelf.ask(QUESTION)["hits"]} <= {"current", "unknown"}


def test_a_note_and_a_session_contradict_each_other(shelf: Shelf) -> None:
    session(shelf, "a", "Use GraphQL for the partner API.", OLD)
    shelf.put(
        "inbox", "2026/01/n1.md", "Use GraphQL for the partner API.", date=NEW, session_id="n1", source="note",
        type="rejected", title="Use GraphQL for the partner API.", project="/srv/api",
    )  # fmt: skip
    hits = {hit["uri"]: hit["validity"] for hit in shelf.ask("graphql for the partner api")["hits"]}
    assert hits["qmd://brain/a.md"]["state"] == "contradicted"
    assert hits["qmd://inbox/2026/01/n1.md"]["by"][0]["uri"] == "qmd://brain/a.md"


def test_a_secret_of_a_side_is_shown_nowhere(shelf: Shelf) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    session(shelf, "a", OLDER, OLD)
    session(shelf, "b", f"{NEWER[:-1]}, token {secret}.", NEW)
    assert secret not in str(shelf.ask(QUESTION))


def test_pages_and_articles_replace_nothing(shelf: Shelf) -> None:
    session(shelf, "a", OLDER, OLD)
    shelf.put("kb-raw", "x.md", NEWER, date=NEW, title="Timeouts", project="/srv/api")
    assert not [hit for hit in shelf.ask(QUESTION)["hits"] if hit["validity"]["by"]]


def test_a_persons_words_replace_what_an_agent_said_alone(shelf: Shelf) -> None:
    prompt = "Go on with everything else that we spoke about before lunch, please."
    body = f"## [1] user · 2026-01-01 08:00\n\n{prompt}\n\n## [2] assistant · 2026-01-01 08:01\n\n"
    shelf.put(
        "brain", "a.md", body + OLDER, date=OLD, ended=OLD, session_id="a", source="claude", turns=2,
        project="/srv/api",
    )  # fmt: skip
    session(shelf, "b", NEWER, NEW)
    hits = {hit["uri"]: hit["validity"] for hit in shelf.ask(QUESTION, limit=2, budget=100)["hits"]}
    assert hits["qmd://brain/a.md"]["state"] == "superseded"


@pytest.mark.parametrize(("kind", "state"), [("session", "current"), ("note", "superseded")])
def test_only_notes_without_a_project_are_compared(shelf: Shelf, kind: str, state: str) -> None:
    for name, text, date in (("a", OLDER, OLD), ("b", NEWER, NEW)):
        if kind == "session":
            session(shelf, name, text, date, project="")
        else:
            shelf.put("inbox", f"{name}.md", text, date=date, session_id=name, source="note", type="note", title=text)
    hits = {hit["uri"].rpartition("/")[2]: hit["validity"] for hit in shelf.ask(QUESTION)["hits"]}
    assert hits["a.md"]["state"] == state


def said_of_file(shelf: Shelf, project: Path, *, touched: bool = True, path: str = "a.md") -> dict[str, Any]:
    """Put a session that names src/pool.py into the index, ask about it, and return the validity of its hit."""
    call = "\n\n- Edit: src/pool.py" if touched else ""
    body = "## [1] user · 2026-01-01 08:00\n\nKeep the walrus pool in src/pool.py at five.\n\n## [2] assistant\n\nDone."
    shelf.put(
        "brain", path, f"{body}{call}\n", date=OLD, ended=OLD, session_id="a", source="claude", turns=2,
        project=str(project),
    )  # fmt: skip
    (hit,) = [each for each in shelf.ask("walrus pool")["hits"] if each["uri"] == f"qmd://brain/{path}"]
    found: dict[str, Any] = hit["validity"]
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "api"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "pool.py").write_text("FIVE = 5\n")
    return folder


def test_a_file_that_was_not_written_since_is_as_it_was(shelf: Shelf, project: Path) -> None:
    os.utime(project / "src" / "pool.py", (OLD - DAY, OLD - DAY))
    assert said_of_file(shelf, project)["state"] == "current"


def test_a_file_that_was_committed_since_is_said_to_have_changed(shelf: Shelf, project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "before", when=OLD - DAY)
    assert said_of_file(shelf, project)["state"] == "current"  # whatever the clone's time says
    (project / "src" / "pool.py").write_text("SIX = 6\n")
    git(project, "commit", "-q", "-a", "-m", "after", when=NEW)
    found = said_of_file(shelf, project)
    assert (found["state"], found["files"]) == ("code changed", [str(project / "src" / "pool.py")])


def test_without_git_a_later_time_says_nothing_and_a_file_that_is_gone_does(shelf: Shelf, project: Path) -> None:
    assert "files" not in said_of_file(shelf, project)
    (project / "src" / "pool.py").unlink()
    assert said_of_file(shelf, project)["state"] == "code changed"
    assert "files" not in said_of_file(shelf, project, touched=False)  # it may be another project's


@pytest.mark.parametrize("form", ["{elsewhere}/pool.py", "../elsewhere/pool.py", "src/../../elsewhere/pool.py"])
def test_no_path_outside_the_project_is_looked_at(
    shelf: Shelf, project: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pool.py").write_text("FIVE = 5\n")
    named = form.format(elsewhere=elsewhere)
    looked_at: list[str] = []

    def look(path: str) -> bool:
        looked_at.append(os.path.realpath(path))
        return os.path.isfile(path)

    monkeypatch.setattr("runtime.asking.files.isfile", look)
    body = f"## [1] user · 2026-01-01 08:00\n\nKeep the walrus pool in {named} and src/pool.py at five."
    shelf.put(
        "brain", "a.md", body, date=OLD, ended=OLD, session_id="a", source="claude", turns=1, project=str(project)
    )
    assert [each["uri"] for each in shelf.ask("walrus pool")["hits"]] == ["qmd://brain/a.md"]
    assert looked_at == [str(project / "src" / "pool.py")]


def test_nothing_is_known_of_files_of_another_machine(shelf: Shelf, project: Path) -> None:
    (project / "src" / "pool.py").unlink()
    assert said_of_file(shelf, project)["state"] == "code changed"
    assert said_of_file(shelf, project, path="machines/laptop/a.md")["state"] != "code changed"


def test_a_hook_before_a_prompt_has_no_time_for_git(
    shelf: Shelf, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "after", when=NEW)
    assert said_of_file(shelf, project)["state"] == "code changed"
    monkeypatch.setattr("runtime.asking.judging._GIT_S", 60.0)
    assert said_of_file(shelf, project)["state"] != "code changed"


@pytest.mark.parametrize(("collection", "state"), [("inbox", "superseded"), ("kb-raw", "unknown")])
def test_a_hit_alone_is_judged_like_one_of_several(home: Home, collection: str, state: str) -> None:
    shelf = Shelf(home)
    shelf.put(collection, "2026/01/a.md", "The ibis wades in the estuary.", date=OLD, superseded_by="20260101-b")
    (alone,) = shelf.ask("ibis estuary")["hits"]
    shelf.put("kb-raw", "c.md", "An ibis was seen at the estuary.", date=OLD)
    among = {hit["uri"]: hit for hit in shelf.ask("ibis estuary")["hits"]}
    assert len(among) == 2
    assert alone["validity"]["state"] == among[alone["uri"]]["validity"]["state"] == state
