"""The way into qmd and out of it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import Refused
from qmd import launcher
from qmd.app.main import main
from tests.conftest import Brain
from tests.qmd.app.world import Qmd, write


@pytest.mark.parametrize(
    ("words", "code", "stream"),
    [
        ([], 1, "out"),
        (["--help"], 0, "out"),
        (["search", "-h"], 0, "out"),
        (["zzz"], 1, "err"),
        (["--version"], 0, "out"),
    ],
)
def test_usage_goes_where_qmd_puts_it(qmd: Qmd, words: list[str], code: int, stream: str) -> None:
    done = qmd(*words)
    assert done.code == code
    assert bool(done.out) == (stream == "out")
    assert bool(done.err) == (stream == "err")


def test_the_version_is_the_contracts(qmd: Qmd) -> None:
    assert qmd("-v").out.startswith("qmd 2.8.3 (brain ")


def test_a_configuration_that_is_no_yaml_is_reported_in_one_line(qmd: Qmd, tmp_path: Path) -> None:
    write(tmp_path / "config" / "qmd", {"index.yml": "collections: [\n"})
    for words in (["ls"], ["search", "x"], ["context", "list"]):
        done = qmd(*words)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"Failed to parse {tmp_path}/config/qmd/index.yml: ")
        assert done.err.count("\n") == 1
    assert "⚠ index config: invalid index.yml" in qmd("doctor").out


def test_no_command_writes_the_configuration_unasked(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    path = tmp_path / "config" / "qmd" / "index.yml"
    before = path.read_bytes()
    for words in (["status"], ["update"], ["doctor"], ["search", "tokens"], ["context", "list"], ["pull"], ["ls"]):
        assert qmd(*words).code == 0
    assert path.read_bytes() == before


def test_a_full_disk_is_an_error(notes: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "qmd", "ls"], stdout=full, stderr=subprocess.PIPE, check=False, env=_env()
        )
    assert done.returncode == 1


def test_brain_qmd_is_qmd(notes: Path, brain: Brain) -> None:
    done = brain("qmd", "search", "tokens", "--nonsense", "--files", "-n", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("#")
    assert brain("qmd", "search").returncode == 1


def test_brain_qmd_uses_the_brains_collections_on_request(brain: Brain) -> None:
    home = Path(os.environ["BRAIN_HOME"])
    write(home / "inbox", {"a.md": "# A\n\na token\n"})
    done = brain("qmd", "--brain", "update")
    assert done.returncode == 0, done.stderr
    assert "qmd://inbox/a.md" in brain("qmd", "search", "token", "--brain", "--files").stdout
    assert (home / "index.sqlite").is_file()
    assert brain("ask", "token").returncode == 0


def test_a_change_to_the_brains_collections_keeps_its_own_keys(brain: Brain) -> None:
    home = Path(os.environ["BRAIN_HOME"])
    assert brain("qmd", "--brain", "context", "add", "qmd://inbox/", "mine").returncode == 0
    text = (home / "collections.yml").read_text()
    assert "trust: session" in text
    assert "# sessions, verbatim" in text
    assert brain("qmd", "--brain", "collection", "show", "inbox").stdout.endswith("Contexts: 1\n")


def test_a_launcher_starts_qmd_and_shadows_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    path = launcher.link(str(folder))
    assert os.stat(path).st_mode & stat.S_IXUSR
    assert subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.startswith(
        "qmd 2.8.3"
    )
    assert launcher.link(str(folder)) == path
    other = tmp_path / "other"
    other.mkdir()
    (other / "qmd").write_text("#!/bin/sh\n")
    (other / "qmd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{other}:{folder}:/usr/bin:/bin")
    for where in (folder, other):
        with pytest.raises(Refused, match="another qmd"):
            launcher.link(str(where))
    assert launcher.is_ours(launcher.link(str(other), force=True))


def test_an_interrupt_has_its_exit_code(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("qmd.app.folders.ls", interrupt)
    assert main(["ls"]) == 130


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(launcher.__file__).resolve().parent.parent)}
