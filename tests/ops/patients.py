"""Homes that the doctor looks at, and what is asked of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from core.home import Home
from ops.checks import doctor, engine

ROOT = Path(__file__).resolve().parents[2]
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"
# They start the program and look at every process of the machine, half of a round's time, and say nothing of a home.
_OF_THE_MACHINE = (engine.starts, engine.processes)


def examine(home: Home, **options: Any) -> dict[str, Any]:
    """Return the doctor's report of a home, without the checks of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "CHECKS", [check for check in doctor.CHECKS if check not in _OF_THE_MACHINE])
        return doctor.examine(home, os.environ, **{"wedge": False, **options})


def ids(found: dict[str, Any], *severities: str) -> list[str]:
    chosen = severities or ("error", "warning")
    return [finding["id"] for finding in found["findings"] if finding["severity"] in chosen]


def repairs(home: Home, identity: str) -> None:
    """The finding is there, ``--fix`` repairs it, and the second look, which ``--fix`` takes, is clean."""
    assert identity in ids(examine(home), "error", "warning", "notice")
    found = examine(home, fix=True)
    assert identity in [each["id"] for each in found["mended"]]
    assert identity not in ids(found, "error", "warning", "notice"), found["mended"]
    assert found["healthy"]
