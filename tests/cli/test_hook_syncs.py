"""The files that a hook brings to the disk while an agent waits: those that a promise needs, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core import sqlite
from core.home import Home
from ingest.archive import archive
from runtime.capture import tidying, transcripts
from tests.cli.hooked import indexed, patient, payload, transcript

__all__ = ["indexed", "patient"]

ROOT = Path(__file__).resolve().parents[2]
_SESSION = "0aaaaaaa-0000-4000-8000-000000000002"
_SYNCED = re.compile(r"(?:fsync|fdatasync)\(\d+<([^>]*)>")
# A commit of the archive: an object, its name, the row that names it. Then the document, and its name.
_NEEDED = [r"raw/\w\w/\.[\w-]+\.tmp", r"raw/\w\w", r"raw/catalogue\.sqlite-wal", r"brain/\.[\w-]+\.tmp", "brain"]


@pytest.fixture
def traced(tmp_path: Path) -> str:
    """The path of strace, which can trace here."""
    try:
        done = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no strace here: apt-get install strace")
    if done.returncode:
        pytest.skip(f"strace may not trace here: {done.stderr.decode(errors='replace').strip()}")
    return str(tmp_path / "trace")


def _synced(trace: str, home: Home, *words: str, stdin: str = "") -> list[str]:
    """The files, relative to the home, that a command syncs, in order; not those of its child."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
    command = [
        "strace",
        "-y",
        "-o",
        trace,
        "-e",
        "trace=fsync,fdatasync",
        sys.executable,
        "-c",
        code,
        str(ROOT),
        *words,
    ]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [os.path.relpath(path, os.path.realpath(home.root)) for path in _SYNCED.findall(Path(trace).read_text())]


def _grown(claude_root: Path, *turns: str) -> str:
    return payload(transcript(claude_root, _SESSION, "why does the turnstile click", *turns), _SESSION)


def test_a_finished_turn_costs_five_syncs(traced: str, indexed: Home, claude_root: Path) -> None:
    _synced(traced, indexed, "hook", "stop", stdin=_grown(claude_root, "its rotary encoder bounces"))
    given = _grown(claude_root, "its rotary encoder bounces", "and then?", "a capacitor stops that")
    found = _synced(traced, indexed, "hook", "stop", stdin=given)
    assert len(found) == len(_NEEDED)
    assert [path for path, needed in zip(found, _NEEDED, strict=True) if not re.fullmatch(needed, path)] == []


@pytest.mark.parametrize(
    "words",
    [("ask", "rotary encoder"), ("recent", "--since", "2000-01-01"), ("hook", "prompt")],
    ids=lambda words: words[0],
)
def test_a_reader_syncs_nothing_and_leaves_the_log_to_writers(
    traced: str, indexed: Home, claude_root: Path, words: tuple[str, ...]
) -> None:
    _synced(traced, indexed, "hook", "stop", stdin=_grown(claude_root, "its rotary encoder bounces"))
    log = Path(f"{indexed.index}-wal")
    before = log.stat().st_size
    prompt = payload(claude_root, _SESSION, "UserPromptSubmit", prompt="does the rotary encoder bounce")
    assert _synced(traced, indexed, *words, stdin=prompt if words[0] == "hook" else "") == []
    assert log.stat().st_size == before > 0


def test_the_archives_log_is_written_back_once_it_is_long(indexed: Home) -> None:
    path = indexed.path(archive.FOLDER, archive.CATALOGUE)
    connection = archive.open_catalogue(path)
    sqlite.leave_log(connection)
    connection.execute("create table filler as select zeroblob(5000000) as held")
    connection.execute("drop table filler")
    connection.close()
    assert sqlite.is_log_long(path)
    assert transcripts.is_untidy(indexed)
    tidying.tidy(indexed, lambda: False)
    assert not transcripts.is_untidy(indexed)
