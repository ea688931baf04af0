from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_progress_is_drawn_on_a_terminal_and_taken_away_again(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    for number in range(3):
        (tmp_path / "kb" / f"{number}.md").write_text(f"# {number}\n")
    (tmp_path / "semantic-search.yml").write_text("collections: {notes: {path: kb}}\n")
    ours, theirs = pty.openpty()
    code = "import sys; from qmd.project.main import update; sys.exit(update())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COMMONPLACE_EMBEDDING": "none"},
        timeout=60,
        check=False,
    )
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert done.returncode == 0
    assert done.stdout.startswith(b"notes: 3 new")
    assert b"notes: 100 %" in shown
    assert shown.endswith(b"\r\x1b[2K")
