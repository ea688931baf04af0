"""The program in a real terminal of 80 × 24, as tmux has it: keys in, cells out."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.home import Home
from tests.runtime.index_fixture import Shelf

pytest.importorskip("textual", reason="no textual: make dev")

from tests.tui.test_journeys import stocked as stocked

TMUX = shutil.which("tmux")
pytestmark = [pytest.mark.long, pytest.mark.skipif(TMUX is None, reason="no tmux on this machine")]
ROOT = Path(__file__).resolve().parents[2]
_ENTRY = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
_PATIENCE_S = 60.0


class Terminal:
    """A tmux server of its own with one pane."""

    def __init__(self, folder: Path) -> None:
        self._socket = str(folder / "tmux")

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [str(TMUX), "-S", self._socket, "-f", os.devnull, *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    def start(self, *words: str, **environ: str) -> None:
        """Run a command in the pane; its exit code is shown when it ends."""
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in environ.items())
        command = shlex.join([sys.executable, "-c", _ENTRY, str(ROOT), *words])
        shell = f"env -u TMUX {given} {command}; echo exit-$?; sleep 600"
        self.run("new-session", "-d", "-x", "80", "-y", "24", shell)
        self.run("set-option", "-s", "set-clipboard", "on")

    def keys(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    def see(self, *texts: str) -> str:
        """Wait until all texts are on the screen; return the screen."""
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            shown = self.run("capture-pane", "-p")
            if all(text in shown for text in texts):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{texts} never appeared:\n{shown}")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    place = Terminal(tmp_path)
    yield place
    subprocess.run([str(TMUX), "-S", str(tmp_path / "tmux"), "kill-server"], check=False, capture_output=True)


def test_a_session_is_found_read_copied_and_resumed(stocked: Shelf, terminal: Terminal, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    claude = programs / "claude"
    claude.write_text('#!/bin/sh\necho "claude runs in $PWD with $*"\nexit 7\n')
    claude.chmod(0o755)
    terminal.start("tui", PATH=f"{programs}:{os.environ['PATH']}")
    terminal.see("Ask your memory", "Lately", "Tide table")
    terminal.keys("-l", "low tide")
    terminal.see("› low tide", "1. Tide table", "1 hit in")
    terminal.keys("Enter")
    terminal.see("assistant [2]", "The low tide has no row")
    terminal.keys("y")
    terminal.see("Copied:")
    # OSC 52 reached the terminal, as it would over SSH: tmux keeps it as a buffer.
    folder = tmp_path / "code" / "ferry one"
    assert terminal.run("show-buffer") == f"cd '{folder}' && claude --resume t1"
    terminal.keys("d")
    terminal.see("Thursday, 12 March 2026", "12:00  session  Tide table")
    terminal.keys("o")
    terminal.see("Leave, and run", "claude --resume t1")
    terminal.keys("Enter")
    shown = re.sub(r"\s+", "", terminal.see("exit-7"))
    assert f"claudeclauderunsin{folder}with--resumet1".removeprefix("claude").replace(" ", "") in shown


def test_without_colours_there_are_none(stocked: Shelf, terminal: Terminal, home: Home) -> None:
    terminal.start("tui", NO_COLOR="1")
    terminal.see("Lately", "Tide table")
    cells = terminal.run("capture-pane", "-p", "-e")
    codes = {code for found in re.findall(r"\x1b\[([0-9;]*)m", cells) for code in found.split(";")}
    # Bold, dim and reversed are no colours; 39 and 49 are the terminal's own.
    assert codes <= {"", "0", "1", "2", "7", "22", "27", "39", "49"}


def test_it_leaves_the_terminal_as_it_was(stocked: Shelf, terminal: Terminal) -> None:
    terminal.start("tui", "tide")
    terminal.see("› tide", "hit in")
    terminal.keys("C-c")
    assert "Ask your memory" not in terminal.see("exit-0")
