from __future__ import annotations

from pathlib import Path

from runtime.work.files import files, lines
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.sessions import did


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
