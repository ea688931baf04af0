"""The command that resumes a session is one that its transcript cannot change."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import BadInput
from runtime.explaining.resuming import Resume, missing_program, resume_of, run


def test_a_folder_of_this_machine_is_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "it's $(here); `x`"
    folder.mkdir()
    resume = resume_of({"resume": "claude --resume a1", "project": str(folder)})
    assert resume is not None
    assert shlex.split(resume.line) == ["cd", str(folder), "&&", "claude", "--resume", "a1"]


@pytest.mark.parametrize("name", ["a\x1b[201~b", "a\nb", "a\u202eb", "a\x9bb", "missing"])
def test_a_folder_that_hides_something_or_is_not_here_is_left_out(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    if name != "missing":
        folder.mkdir()
    resume = resume_of({"resume": "claude --resume a1", "project": str(folder)})
    assert resume == Resume("claude --resume a1", "")
    assert resume.line == "claude --resume a1"


@pytest.mark.parametrize("item", [{"resume": None, "project": "/"}, {"project": "/"}, {"resume": ""}])
def test_what_no_tool_resumes_has_no_command(item: dict[str, object]) -> None:
    assert resume_of(item) is None


def test_the_command_runs_in_its_folder_and_its_exit_code_is_returned(tmp_path: Path) -> None:
    code = "import pathlib,sys; pathlib.Path('was-here').touch(); sys.exit(3)"
    before = signal.getsignal(signal.SIGINT)
    assert run(Resume(shlex.join([sys.executable, "-c", code]), str(tmp_path))) == 3
    assert (tmp_path / "was-here").exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_is_for_the_program_that_runs(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getppid(), signal.SIGINT); print(signal.getsignal(signal.SIGINT))"
    words = shlex.join([sys.executable, "-c", code])
    program = f"from runtime.explaining.resuming import Resume, run; raise SystemExit(run(Resume({words!r}, '')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "default_int_handler" in done.stdout


def test_a_program_that_is_not_there_is_named() -> None:
    resume = Resume("no-such-program-at-all --resume a1", "")
    assert missing_program(resume) == "no-such-program-at-all"
    with pytest.raises(BadInput, match="not installed"):
        run(resume)
