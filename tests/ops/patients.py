"""Homes that the doctor looks at, and what is asked of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from core.home import Home
from ops.checks import doctor

ROOT = Path(__file__).resolve().parents[2]
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); import brain; brain.entry()"


def examine(home: Home, **options: Any) -> dict[str, Any]:
    return doctor.examine(home, os.environ, **{"wedge": False, **options})


def ids(found: dict[str, Any], *severities: str) -> list[str]:
    chosen = severities or ("error", "warning")
    return [finding["id"] for finding in found["findings"] if finding["severity"] in chosen]


def repairs(home: Home, identity: str) -> None:
    """The finding is there, ``--fix`` repairs it, and the second look is clean."""
    assert identity in ids(examine(home), "error", "warning", "notice")
    found = examine(home, fix=True)
    assert identity in [each["id"] for each in found["mended"]]
    assert identity not in ids(found, "error", "warning", "notice"), found["mended"]
    assert examine(home)["healthy"]
