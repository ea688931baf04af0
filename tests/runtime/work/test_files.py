from __future__ import annotations

from pathlib import Path

from core import clock
from runtime.work.files import files, lines
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.sessions import DAY, did


def test_files_of_a_topic_are_those_its_sessions_changed(shelf: Shelf, tmp_path: Path) -> None:
    source = tmp_path / "api" / "src" / "a.py"
    source.parent.mkdir(parents=True)
    source.write_text("one\n")
    project = str(source.parents[1])
    calls = f"The token refresh races.\n\n- Read: {project}/README.md\n- Edit: {source}\n- Edit: {source}\n"
    did(shelf, "s", calls, project=project)
    did(shelf, "t", "The walrus swims.\n\n- Edit: walrus.py\n")
    envelope = files(shelf.home, shelf.config, "token refresh")
    assert [(each["subject"], each["edits"], each["exists"]) for each in envelope["files"]] == [
        ("src/a.py", 2, True),
        ("README.md", 0, False),
    ]
    assert f"{source}" in lines(envelope)
    assert files(shelf.home, shelf.config, "rotary encoder")["error"] == "no_results"


def test_a_secret_in_a_topic_is_not_repeated(shelf: Shelf) -> None:
    did(shelf, "s", "The token refresh races.\n\n- Edit: a.py\n")
    assert "hunter2Xy" not in str(files(shelf.home, shelf.config, "token password=hunter2Xy"))


def test_since_leaves_out_what_an_overlapping_session_did_before(shelf: Shelf) -> None:
    now = clock.now()
    days = [clock.iso(now - ago * DAY) for ago in (9, 1)]
    turns = [f"## [{at}] assistant · {day[:10]} {day[11:16]}\n\n" for at, day in enumerate(days, 1)]
    body = f"{turns[0]}The token refresh races.\n\n- Edit: old.py\n\n{turns[1]}The token refresh.\n\n- Edit: new.py\n"
    given = {"session_id": "s", "source": "claude", "project": "/u/x/api", "turns": 2}
    shelf.put("brain", "s.md", body, date=now - 9 * DAY, ended=now - DAY, **given)
    found = files(shelf.home, shelf.config, "token refresh", since=now - 3 * DAY)
    assert [each["subject"] for each in found["files"]] == ["new.py"]
