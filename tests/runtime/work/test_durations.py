"""How long commands took is derived from the raw records, and cached without a word of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.config import load
from core.home import Home
from ingest.session.edits import Log
from ingest.sources.codex.user_text import duration
from runtime.capture.indexing import index
from runtime.work.durations import words
from runtime.work.how import how, lines
from tests.runtime.work.edited import Transcript, remember


def told(home: Home, tool: str) -> dict[str, int | None]:
    return {each["command"]: each["took_ms"] for each in how(home, load(home), [tool])["commands"]}


@pytest.fixture
def memory(home: Home, tmp_path: Path) -> Home:
    """A session with a command whose log has the duration, one that has the times alone, and one without a result."""
    project = tmp_path / "api"
    project.mkdir()
    session = Transcript("s1", project, 4).asked("Run it.")
    session.called("Bash", command="make fast", details={"durationMs": 1500})
    session.called("Bash", command="make slow")
    session.called("Bash", command="make twice", failed=True)
    session.called("Bash", command="make twice", details={"durationMs": 2000})
    session.add(
        "assistant",
        {"id": "m", "content": [{"type": "tool_use", "id": "open", "name": "Bash", "input": {"command": "make open"}}]},
    )
    remember(home, tmp_path / "claude", session)
    return home


def test_a_duration_is_the_logs_or_the_time_between_call_and_result(memory: Home) -> None:
    assert told(memory, "make") == {"make fast": 1500, "make slow": 60_000, "make twice": 2000, "make open": None}
    assert any("took 1.5 s" in line for line in lines(how(memory, load(memory), ["make"])))


def test_durations_are_cached_with_the_document_and_hold_no_text(memory: Home, tmp_path: Path) -> None:
    before = told(memory, "make")
    connection = apsw.Connection(memory.index)
    ((data,),) = connection.execute("SELECT took FROM brain_durations")
    connection.close()
    assert b"make" not in data
    shutil.rmtree(tmp_path / "claude")
    shutil.rmtree(memory.path("raw"))
    assert told(memory, "make") == before
    Path(memory.path("brain", "s1.md")).unlink()
    index(memory, load(memory), markdown_only=True)
    connection = apsw.Connection(memory.index)
    assert list(connection.execute("SELECT took FROM brain_durations")) == []
    connection.close()


def test_a_command_of_which_nothing_leads_to_the_record_has_none(memory: Home, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "claude")
    shutil.rmtree(memory.path("raw"))
    assert set(told(memory, "make").values()) == {None}


@pytest.mark.parametrize(
    ("output", "ms"),
    [
        ('{"output":"done","metadata":{"exit_code":0,"duration_seconds":0.2}}', 200),
        ("Chunk ID: 3a2a79\nWall time: 12.5000 seconds\nProcess exited with code 0\nOutput:\nok", 12_500),
        ([{"type": "input_text", "text": "Wall time: 2 seconds\nOutput:\nok"}], 2000),
        ("I waited. Wall time: 12 seconds they said", None),
        ('{"output":"\\"duration_seconds\\": 9 in a text"}', None),
        ("", None),
        (None, None),
    ],
)
def test_codex_says_how_long_a_command_ran(output: Any, ms: float | None) -> None:
    assert duration(output) == ms


@pytest.mark.parametrize("ms", [True, -1, float("nan"), float("inf"), "7", None, 10**15])
def test_what_is_no_duration_counts_for_nothing(ms: object) -> None:
    log = Log()
    log.record_end("c", "2026-05-04T08:00:00.000", ms)
    assert log.ends == {"c": ("2026-05-04T08:00:00.000", None)}


def test_a_duration_is_said_in_one_unit() -> None:
    assert [words(ms) for ms in (400, 41_000, 180_000, 7_200_000)] == ["0.4 s", "41 s", "3 min", "2 h"]
