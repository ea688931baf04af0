"""Cases as data: ``data/<subject>.jsonl`` next to ``test_<subject>.py`` has lines ``{"test": …, "case": …}``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


def cases(file: str, test: str) -> list[Any]:
    """Return the cases of one test for ``pytest.mark.parametrize``; ``file`` is the test module's ``__file__``."""
    path = Path(file)
    found = _read(path.parent / "data" / f"{path.stem.removeprefix('test_')}.jsonl").get(test)
    assert found, f"no cases of {test}"
    return found


@cache
def _read(path: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line:
            row = json.loads(line)
            found.setdefault(row["test"], []).append(row["case"])
    return found
