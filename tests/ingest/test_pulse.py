"""Has something new appeared? By stat alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.home import Home
from ingest import pulse
from ingest.run import run
from tests.ingest.transcripts import OTHER, SESSION, Script, ingest, lines, save


@pytest.fixture
def project(home: Home, claude_root: Path) -> Path:
    """A project folder with one session, ingested."""
    folder = claude_root / "projects/-p"
    save(folder / f"{SESSION}.jsonl", Script().user("one"))
    _age(claude_root)
    run(home, "claude", trust_stat=True)
    return folder


def _age(root: Path) -> None:
    """Move everything a minute into the past: file systems' clocks are coarse."""
    past = time.time() - 60
    for path in sorted(root.rglob("*"), reverse=True):
        os.utime(path, (past, past))
    os.utime(root, (past, past))


def test_before_the_first_run_nothing_is_known(home: Home) -> None:
    assert pulse.pending(home) == (0, None)


def test_with_nothing_new_nothing_is_pending(home: Home, project: Path) -> None:
    count, last = pulse.pending(home)
    assert count == 0
    assert last is not None
    assert abs(last - time.time()) < 60


def test_a_grown_session_a_new_one_and_a_new_project_are_noticed(home: Home, project: Path) -> None:
    with (project / f"{SESSION}.jsonl").open("ab") as stream:
        stream.write(lines(Script().user("two")))
    assert pulse.pending(home)[0] == 1
    save(project / f"{OTHER}.jsonl", Script(OTHER).user("x"))
    assert pulse.pending(home)[0] == 2
    save(project.parent / "-new/x.jsonl", Script("s3").user("x"))
    assert pulse.pending(home)[0] == 3
    run(home, "claude", trust_stat=True)
    assert pulse.pending(home)[0] == 0


def test_a_one_off_folder_leaves_the_pulse_alone(home: Home, project: Path, tmp_path: Path) -> None:
    before = Path(home.state, "pulse/claude").read_bytes()
    save(tmp_path / "elsewhere/x.jsonl", Script(OTHER).user("x"))
    ingest(home, tmp_path / "elsewhere")
    assert Path(home.state, "pulse/claude").read_bytes() == before


def test_a_pulse_that_is_torn_or_of_another_version_is_as_if_there_were_none(home: Home, project: Path) -> None:
    path = Path(home.state, "pulse/claude")
    for damage in (b"", b"torn", path.read_bytes()[:40]):
        path.write_bytes(damage)
        assert pulse.pending(home) == (0, None)


def test_the_hot_path_imports_nothing_heavy(home: Home) -> None:
    code = (
        "import sys; before = set(sys.modules); from core.home import resolve; from ingest.pulse import pending;"
        "pending(resolve()); print(*sorted(set(sys.modules) - before))"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {[root, *sys.path]!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {
        "re",
        "json",
        "argparse",
        "typing",
        "dataclasses",
        "pathlib",
        "enum",
        "datetime",
        "functools",
        "yaml",
        "rich",
    }
    assert not heavy.intersection(done.stdout.split())


def test_two_hundred_projects_cost_little(home: Home, claude_root: Path) -> None:
    for number in range(200):
        save(claude_root / f"projects/-p{number}/s{number}.jsonl", Script(f"s{number}").user("x"))
    _age(claude_root)
    run(home, "claude", trust_stat=True)
    took = []
    for _ in range(7):
        start = time.perf_counter()
        assert pulse.pending(home)[0] == 0
        took.append(time.perf_counter() - start)
    assert sorted(took)[3] < 0.010  # about 1 ms on an idle machine
