"""Completion: what a shell is given works in it, and its questions are answered from the commands' tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brain import COMMANDS
from cli.completion import SHELLS
from tests.conftest import ROOT, Brain


def asked(brain: Brain, tmp_path: Path, line: str) -> set[str]:
    """What a shell is offered for ``line``."""
    said = tmp_path / "said"
    environ = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(said),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "",
    }
    done = brain(env=environ)
    assert (done.returncode, done.stdout) == (0, "")
    return {each.strip() for each in said.read_text().split("\n")}


def test_commands_are_offered(brain: Brain, tmp_path: Path) -> None:
    assert asked(brain, tmp_path, "brain ") >= set(COMMANDS)
    assert asked(brain, tmp_path, "brain acc") == {"acceptance"}


def test_subcommands_options_and_their_values_are_offered(brain: Brain, tmp_path: Path) -> None:
    assert asked(brain, tmp_path, "brain schedule ") >= {"install", "status", "uninstall", "run"}
    assert asked(brain, tmp_path, "brain schedule install --sch") == {"--scheduler"}
    assert asked(brain, tmp_path, "brain schedule install --scheduler ") == {"launchd", "systemd", "cron"}


@pytest.mark.parametrize("line", ["brain nonsense --x", "brain ask 'unclosed", "brain ../core ", "brain 'a b' \\"])
def test_a_line_that_is_no_command_is_offered_no_option_of_one_and_fails_nothing(
    brain: Brain, tmp_path: Path, line: str
) -> None:
    assert asked(brain, tmp_path, line) <= {"", "-h", "--help", "-V", "--version", *COMMANDS}


def test_a_question_of_a_shell_is_no_use_of_the_memory(brain: Brain, tmp_path: Path) -> None:
    asked(brain, tmp_path, "brain ask ")
    assert not Path(os.environ["BRAIN_HOME"], "logs").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_code_of_a_shell_is_its_own(brain: Brain, shell: str) -> None:
    done = brain("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True, timeout=20)
    assert "_ARGCOMPLETE" in done.stdout


def test_another_shell_is_refused(brain: Brain) -> None:
    assert brain("completion", "csh").returncode == 64
    assert brain("completion").returncode == 64


def test_bash_completes(brain: Brain, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import brain; brain.entry()"
    program = tmp_path / "brain"
    program.write_text(f"#!{sys.executable}\n{code}\n")
    program.chmod(0o755)
    script = (
        brain("completion", "bash").stdout
        + "COMP_LINE='brain sched'; COMP_POINT=${#COMP_LINE}; _python_argcomplete brain; echo ${COMPREPLY[@]}\n"
    )
    environ = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["/bin/bash", "-c", script], env=environ, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["schedule"]
