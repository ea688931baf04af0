"""The program on a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ENTRY = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
_TIMEOUT_S = 60.0


def on_terminal(*words: str, typed: str = "", **environ: str) -> tuple[int, str]:
    """Run a command on a terminal of 80 columns; return its exit code and what appeared, ``\\n`` at the end of a line.

    ``typed`` is what a person types.
    """
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", _ENTRY, str(ROOT), *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm-256color", **environ},
        start_new_session=True,
    ) as child:
        os.close(terminal)
        os.write(controller, typed.encode())
        said = b""
        while select.select([controller], [], [], _TIMEOUT_S)[0]:
            try:
                piece = os.read(controller, 1 << 16)
            except OSError:  # Linux: the other end is closed
                break
            if not piece:
                break
            said += piece
        os.close(controller)
    return child.returncode, said.decode("utf-8", "replace").replace("\r\n", "\n")
