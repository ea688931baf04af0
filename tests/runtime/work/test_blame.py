"""The sessions behind a file and its lines, from transcripts that a run has read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from core import clock
from core.config import load
from core.errors import BadInput, BadQuery
from core.home import Home
from qmd.index.actions import history
from runtime.capture.capture import capture
from runtime.capture.indexing import index
from runtime.work.blame import blame, lines, place
from tests.conftest import Brain
from tests.runtime.explaining.test_trace import git
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.edited import Transcript, remember
from tests.runtime.work.sessions import DAY, did

OLD = "def retry(count):\n    return attempt(count)\n"
MIDDLE = "def retry(count):\n    return attempt_again(count)\n"
NEW = "def retry(count, pause=2):\n    return attempt_again(count)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one file, two lines of which two sessions wrote."""
    folder = tmp_path / "api"
    folder.mkdir()
    (folder / "retry.py").write_text(f"import time\n\n\n{NEW}")
    return folder


@pytest.fixture
def memory(home: Home, tmp_path: Path, project: Path) -> Home:
    """An earlier session that wrote the second line, a later one that wrote the first, one that only talked of it."""
    path = project / "retry.py"
    early = Transcript("early", project, 3).asked("Make the retry robust").said("A second attempt costs nothing.")
    early.edited(path, OLD, MIDDLE)
    late = Transcript("late", project, 5).asked("Pause between attempts").said("I add a pause, 2 s by default.")
    late.edited(path, "def retry(count):\n", "def retry(count, pause=2):\n")
    late.edited(path, "nothing like it\n", "never written\n", result="String to replace not found", failed=True)
    talk = Transcript("talk", project, 4).asked(f"What does {path} do?").said("It retries.")
    remember(home, tmp_path / "claude", early, late, talk)
    return home


def told(memory: Home, given: str, **within: Any) -> list[tuple[Any, ...]]:
    found = blame(memory, load(memory), given, **within)["sessions"]
    return [(each["uri"].rpartition("/")[2], each["deed"], each["state"], each["lines"]) for each in found]


def test_each_line_is_of_the_session_that_wrote_it_last(memory: Home, project: Path) -> None:
    assert told(memory, str(project / "retry.py")) == [
        ("late.md", "changed", "unchanged", [[4, 4]]),
        ("early.md", "changed", "unchanged", [[5, 5]]),
        ("talk.md", "mentioned", None, []),
    ]


def test_a_line_puts_its_session_first(memory: Home, project: Path) -> None:
    found = blame(memory, load(memory), f"{project / 'retry.py'}:5")
    first = found["sessions"][0]
    assert (first["uri"], first["wrote_line"]) == ("qmd://brain/early.md", True)
    assert (first["asked"], first["said"]) == ("Make the retry robust", "A second attempt costs nothing.")
    assert first["changes"][0]["spans"][0]["before"] == {
        "lines": 2,
        "hash": first["changes"][0]["spans"][0]["before"]["hash"],
    }
    assert [each["wrote_line"] for each in found["sessions"]] == [True, False, False]
    assert not blame(memory, load(memory), f"{project / 'retry.py'}:1-2")["sessions"][0]["wrote_line"]


def test_a_change_of_the_file_shows(memory: Home, project: Path) -> None:
    path = project / "retry.py"
    path.write_text("import time\n\n\ndef retry(count):\n    return attempt_again(count)\n")
    assert [each[2] for each in told(memory, str(path))] == ["gone", "unchanged", None]
    path.unlink()
    assert [each[2:] for each in told(memory, str(path))] == [(None, [])] * 3
    assert "no such file here" in lines(blame(memory, load(memory), str(path)))[0]


def test_a_path_from_elsewhere_finds_files_that_end_alike(
    memory: Home, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blame(memory, load(memory), "retry.py")
    assert not found["same_path"]
    assert {each["file"] for each in found["sessions"] if each["deed"] == "changed"} == {str(project / "retry.py")}
    monkeypatch.chdir(project)
    assert blame(memory, load(memory), "retry.py")["same_path"]


def test_a_renamed_file_keeps_its_sessions(memory: Home, project: Path) -> None:
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    git(project, "mv", "retry.py", "again.py")
    git(project, "commit", "-q", "-m", "second")
    assert [each[:3] for each in told(memory, str(project / "again.py"))][:2] == [
        ("late.md", "changed", "unchanged"),
        ("early.md", "changed", "unchanged"),
    ]


def test_an_edit_of_a_subagent_counts_for_its_session(home: Home, tmp_path: Path, project: Path) -> None:
    root = tmp_path / "claude"
    main = Transcript("main", project, 3).asked("Make the retry robust").said("An agent does it.").write(root)
    agent = Transcript("main", project, 3).asked("Edit retry.py").edited(project / "retry.py", OLD, MIDDLE)
    for each in agent.records:
        each |= {"isSidechain": True, "agentId": "a1", "uuid": f"a{each['uuid']}"}
    folder = root / "-project" / "main" / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_text("".join(json.dumps(each) + "\n" for each in agent.records))
    index(home, load(home), source="claude", roots=[str(root)])
    assert main.exists()
    found = blame(home, load(home), str(project / "retry.py"))
    assert [(each["edits"], each["lines"]) for each in found["sessions"]] == [(1, [[5, 5]])]


def test_the_archive_stands_in_for_a_raw_file_that_is_gone(memory: Home, project: Path, tmp_path: Path) -> None:
    before = told(memory, str(project / "retry.py"))
    for each in (tmp_path / "claude" / "-project").iterdir():
        each.unlink()
    assert told(memory, str(project / "retry.py")) == before


def test_traces_are_cached_with_the_document_and_go_with_it(memory: Home, project: Path, tmp_path: Path) -> None:
    def cached() -> list[str]:
        connection = apsw.Connection(memory.index)
        query = "SELECT d.path FROM brain_edits e JOIN documents d ON d.id = e.document_id ORDER BY 1"
        return [path for (path,) in connection.execute(query)]

    assert cached() == []
    before = told(memory, str(project / "retry.py"))
    assert cached() == ["early.md", "late.md"]
    for each in (tmp_path / "claude" / "-project").iterdir():
        each.unlink()
    shutil.rmtree(memory.path("raw"))
    assert told(memory, str(project / "retry.py")) == before
    Path(memory.path("brain", "early.md")).unlink()
    index(memory, load(memory), markdown_only=True)
    assert cached() == ["late.md"]


def test_an_index_that_another_writes_to_still_answers(memory: Home, project: Path) -> None:
    writer = apsw.Connection(memory.index)
    writer.execute("BEGIN IMMEDIATE")
    assert [each[2] for each in told(memory, str(project / "retry.py"))] == ["unchanged", "unchanged", None]
    writer.execute("ROLLBACK")


def test_a_decision_elsewhere_that_names_the_file_governs_it(memory: Home, project: Path) -> None:
    capture(memory, "retry.py never sleeps longer than 2 s", type="decision", why="the gateway gives up after 5 s")
    found = blame(memory, load(memory), str(project / "retry.py"))
    assert [(each["text"], each["why"]) for each in found["governing"]] == [
        ("retry.py never sleeps longer than 2 s", "the gateway gives up after 5 s")
    ]


def test_a_decision_about_a_file_with_a_longer_name_does_not_govern_it(memory: Home, project: Path) -> None:
    for name in ("my-retry.py", "no_retry.py", "retry.pyc", "retry.py.orig"):
        capture(memory, f"Keep {name} as it is", type="decision", why="it is generated")
    capture(memory, "Never sleep longer than 2 s", type="decision", why="see src/retry.py.")
    found = blame(memory, load(memory), str(project / "retry.py"))
    assert [each["text"] for each in found["governing"]] == ["Never sleep longer than 2 s"]


def test_a_decision_governs_however_many_other_projects_have_one_about_the_name(shelf: Shelf) -> None:
    now = clock.now()
    others = "\n".join(f"- retry.py never waits {number} s [1]" for number in range(history.MOST + 1))
    for project, said, ago in (("/u/x/api", "- retry.py waits [1]", 9), ("/u/x/other", others, 0)):
        name = f"{project[5:]}.md"
        shelf.put("inbox", name, f"## Decisions\n\n{said}", date=now - ago * DAY, distiller="d", project=project)
    did(shelf, "s", "- Edit: /u/x/api/retry.py\n", ago=3)
    found = blame(shelf.home, shelf.config, "/u/x/api/retry.py", project="api")
    assert [each["text"] for each in found["governing"]] == ["retry.py waits"]


def test_the_last_decisions_before_the_change_are_shown(shelf: Shelf) -> None:
    def asks(number: int, text: str) -> str:
        return f"- AskUserQuestion: Question {number}\n  answer: {text}\n"

    before = "\n".join(asks(number, f"choice {number}") for number in range(1, 6))
    after = "\n".join(asks(6 + at, text) for at, text in enumerate(("later", "later still", "retry.py stays")))
    did(shelf, "s", f"{before}\n- Edit: /u/x/api/retry.py\n\n{after}")
    (found,) = blame(shelf.home, shelf.config, "/u/x/api/retry.py")["sessions"]
    assert [each["text"].partition(" → ")[2] for each in found["decisions"]] == [
        "retry.py stays",
        "choice 4",
        "choice 5",
    ]


def test_nothing_known_is_an_answer(memory: Home, project: Path) -> None:
    found = blame(memory, load(memory), str(project / "other.py"))
    assert found["error"] == "no_results"
    assert lines(found) == [f"No session read, changed or named {project / 'other.py'}."]


@pytest.mark.parametrize("path", ["", "  ", "/"])
def test_no_file_is_refused(home: Home, path: str) -> None:
    with pytest.raises(BadQuery):
        blame(home, load(home), path)


HOSTILE = [
    "a\nb",
    "\x1b[31mred.py",
    "‮py.a",
    "'; DROP TABLE documents; --",
    "*?[",
    "ghp_" + "a1B2c3D4e5" * 4,
    "x" * 3000,
]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_path_is_looked_up_and_shown_harmless(memory: Home, brain: Brain, path: str) -> None:
    for options in ([], ["--json"]):
        done = brain("blame", *options, "--", path)
        assert done.returncode == 67, done.stderr
        assert not {"\x1b", "\u202e"} & set(done.stdout)
        assert "ghp_" not in done.stdout


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a.py", ("a.py", 0, 0)),
        ("a.py:12", ("a.py", 12, 12)),
        ("a.py:12-15", ("a.py", 12, 15)),
        ("C:\\a.py:3", ("C:\\a.py", 3, 3)),
        ("a:b.py", ("a:b.py", 0, 0)),
    ],
)
def test_a_place_has_a_path_and_lines(given: str, found: tuple[str, int, int]) -> None:
    assert place(given) == found


@pytest.mark.parametrize("given", ["a.py:0", "a.py:9-3"])
def test_lines_in_no_order_are_refused(given: str) -> None:
    with pytest.raises(BadInput):
        place(given)


def test_a_file_with_a_colon_in_its_name_has_no_line(tmp_path: Path) -> None:
    path = tmp_path / "a.py:12"
    path.write_text("")
    assert place(str(path)) == (str(path), 0, 0)
