"""Completion: what a shell is given works in it, and its questions are answered from the commands' tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from brain import COMMANDS
from core.home import Home
from ops.install.completions import SHELLS
from tests.conftest import ROOT, Brain


def asked(brain: Brain, tmp_path: Path, line: str) -> set[str]:
    """Return the completions of ``line`` in a shell."""
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
    assert asked(brain, tmp_path, "brain completion ") >= {"install", "uninstall"}


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


@pytest.mark.parametrize(("shell", "first"), [("bash", ""), ("zsh", "#compdef brain\n"), ("fish", "")])
def test_the_code_of_a_shell_is_its_own(brain: Brain, shell: str, first: str) -> None:
    done = brain("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(first)
    assert "_ARGCOMPLETE" in done.stdout
    assert ("complete --command brain" in done.stdout) is (shell == "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_takes_the_file_that_is_installed(brain: Brain, home: Home, shell: str) -> None:
    path = installs(brain, shell)
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here: apt-get install {shell}, brew install {shell}")
    subprocess.run([shell, "-n", str(path)], check=True, timeout=20)


def installs(brain: Brain, shell: str) -> Path:
    done = brain("completion", "install", shell, "--json")
    assert done.returncode == 0, done.stdout
    return Path(json.loads(done.stdout)["path"])


def test_each_shell_gets_one_file_and_gives_it_back(brain: Brain, home: Home) -> None:
    user = Path(os.path.expanduser("~"))
    (user / ".bashrc").write_text("# mine\n")
    paths = [installs(brain, shell) for shell in SHELLS]
    assert [str(path.relative_to(user)) for path in paths] == [
        ".local/share/bash-completion/completions/brain",
        ".local/share/zsh/site-functions/_brain",
        ".config/fish/completions/brain.fish",
    ]
    assert [installs(brain, shell) for shell in SHELLS] == paths, "again is no other thing"
    assert f"fpath=({paths[1].parent} $fpath)" in brain("completion", "install", "zsh").stdout
    paths[2].write_text("# edited\n")
    removed = json.loads(brain("completion", "uninstall", "--json").stdout)
    assert removed == {"schema": 1, "ok": True, "removed": [str(paths[0]), str(paths[1])], "kept": [str(paths[2])]}
    assert [path.exists() for path in paths] == [False, False, True]
    assert (user / ".bashrc").read_text() == "# mine\n"
    assert "nothing was installed" in brain("completion", "uninstall").stdout


def test_a_file_of_somebody_else_is_left_and_said(brain: Brain, home: Home) -> None:
    path = installs(brain, "fish")
    path.write_text("# mine\n")
    done = brain("completion", "install", "fish")
    assert (done.returncode, path.read_text()) == (71, "# mine\n")
    assert f"mv {path} {path}.old" in done.stderr


def test_without_a_word_it_is_the_users_own_shell(brain: Brain, home: Home) -> None:
    done = brain("completion", "install", "--json", env={"SHELL": "/usr/local/bin/fish"})
    assert json.loads(done.stdout)["shell"] == "fish"
    assert brain("completion", "install", env={"SHELL": "/bin/tcsh"}).returncode == 64


def test_teardown_takes_it_out(brain: Brain, home: Home) -> None:
    path = installs(brain, "bash")
    assert brain("teardown", "--yes").returncode == 0
    assert not path.exists()


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
