"""The text that edits replaced: chosen, listed, and never written over a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.config import load
from core.errors import BadInput
from core.home import Home
from runtime.work.restore_span import lines, restore_span
from tests.conftest import Brain
from tests.runtime.work.edited import Transcript, remember

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def memory(home: Home, tmp_path: Path) -> Home:
    """Three edits in two sessions: a write over a file that was there, a replaced line, an insertion."""
    path = tmp_path / "api" / "a.py"
    path.parent.mkdir()
    path.write_text("now\n")
    early = Transcript("early", path.parent, 3).asked("Rewrite it")
    early.called(
        "Write", file_path=str(path), content="second\n", details={"filePath": str(path), "originalFile": "first\r\n"}
    )
    late = Transcript("late", path.parent, 5).asked("Go on").edited(path, f"key = '{TOKEN}'\x07\n", "key = read()\n")
    late.edited(path, "", "import os\n")
    remember(home, tmp_path / "claude", early, late)
    return home


def asked(memory: Home, tmp_path: Path, **given: Any) -> tuple[dict[str, Any], str | None]:
    return restore_span(memory, load(memory), str(tmp_path / "api" / "a.py"), **given)


def test_edits_are_listed_newest_first(memory: Home, tmp_path: Path) -> None:
    envelope, text = asked(memory, tmp_path, only_list=True)
    assert text is None
    assert [(each["number"], each["before"]["lines"], each["whole_file"]) for each in envelope["edits"]] == [
        (1, 0, False), (2, 1, False), (3, 1, True),
    ]  # fmt: skip
    said = "\n".join(lines(envelope))
    assert "inserted, nothing was replaced" in said
    assert "replaced the whole file: 1 line → 1" in said


def test_the_newest_replaced_text_comes_back_without_its_secret(memory: Home, tmp_path: Path) -> None:
    envelope, text = asked(memory, tmp_path)
    assert envelope["chosen"] == 2
    assert text is not None
    assert text.startswith("key = '[redacted:")
    assert TOKEN not in json.dumps(envelope)


def test_a_number_or_a_session_chooses_the_edit(memory: Home, tmp_path: Path) -> None:
    assert asked(memory, tmp_path, number=3)[1] == "first\r\n"
    envelope, text = asked(memory, tmp_path, session="ear")
    assert (text, envelope["edits"][0]["number"]) == ("first\r\n", 1)
    assert asked(memory, tmp_path, session="nobody")[0]["error"] == "no_results"
    with pytest.raises(BadInput, match="there are 3"):
        asked(memory, tmp_path, number=4)


def test_the_archive_stands_in_for_a_raw_file_that_is_gone(memory: Home, tmp_path: Path) -> None:
    for each in (tmp_path / "claude" / "-project").iterdir():
        each.unlink()
    assert asked(memory, tmp_path, number=3)[1] == "first\r\n"


def test_no_file_is_written_over(memory: Home, tmp_path: Path, brain: Brain) -> None:
    path = tmp_path / "api" / "a.py"
    done = brain("restore-span", str(path), "-o", str(path))
    assert done.returncode not in (0, 67)
    assert path.read_text() == "now\n"
    copy = tmp_path / "before.py"
    assert brain("restore-span", str(path), "--at", "3", "-o", str(copy)).returncode == 0
    assert copy.read_bytes() == b"first\r\n"
    assert brain("restore-span", str(path), "--at", "3", "-o", str(copy)).returncode != 0


def test_output_has_no_control_characters(memory: Home, tmp_path: Path, brain: Brain) -> None:
    done = brain("restore-span", str(tmp_path / "api" / "a.py"))
    assert done.returncode == 0
    assert "\x07" not in done.stdout
    assert "key = '[redacted:" in done.stdout


def test_a_log_without_the_text_says_so(home: Home, tmp_path: Path, brain: Brain) -> None:
    path = tmp_path / "api" / "b.py"
    new = Transcript("new", path.parent, 3).asked("Write it").called("Write", file_path=str(path), content="all\n")
    remember(home, tmp_path / "claude", new)
    done = brain("restore-span", str(path))
    assert done.returncode == 67
    assert "the text before is not in the log" in done.stdout
    with pytest.raises(BadInput, match="no text from before"):
        restore_span(home, load(home), str(path), number=1)
