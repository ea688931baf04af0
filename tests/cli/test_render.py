"""Lines look the same in a pipe and on a terminal, apart from colour and width."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import render
from tests.cases import cases

ROOT = Path(__file__).resolve().parents[2]
SHOW = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from cli import render; from cli.context import Context\n"
    "head, tail = 'head [bold]x[/bold] :smile:', ' \\x1b[31mred' + ' long' * 30\n"
    "render.show(Context(), [[(head, 'bold'), (tail, 'dim')]], cut=True)"
)


@pytest.mark.parametrize(("text", "columns", "expected"), cases(__file__, "test_text_is_cut_to_columns"))
def test_text_is_cut_to_columns(text: str, columns: int, expected: str) -> None:
    assert render.fit(text, columns) == expected


@given(st.text(max_size=30), st.integers(0, 20))
def test_no_text_is_wider_than_its_columns(text: str, columns: int) -> None:
    fitted = render.fit(text, columns)
    assert render.cells(fitted) <= columns
    assert fitted == text or fitted.rstrip("…") == text[: len(fitted.rstrip("…"))] or fitted == ""


def test_a_pipe_gets_plain_text_in_full() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW, str(ROOT)], capture_output=True, text=True, check=True)
    assert done.stdout == "head [bold]x[/bold] :smile: red" + " long" * 30 + "\n"


def _on_terminal(**env: str) -> str:
    controller, terminal = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-c", SHOW, str(ROOT)],
            stdout=terminal,
            stdin=terminal,
            check=True,
            env={**os.environ, "TERM": "xterm-256color", **env},
        )
        return os.read(controller, 10_000).decode()
    finally:
        os.close(terminal)
        os.close(controller)


def test_a_terminal_gets_colour_cut_to_its_width() -> None:
    said = _on_terminal()
    assert "\x1b[1mhead [bold]x[/bold] :smile:\x1b[0m" in said, "markup in a document is text"
    assert "\x1b[31m" not in said, "a document's own escapes are not"
    assert "…" in said


def test_no_color_means_none() -> None:
    said = _on_terminal(NO_COLOR="1")
    assert "\x1b" not in said
    line = said.splitlines()[0]
    assert render.cells(line) <= 80
    assert line.endswith("…")
