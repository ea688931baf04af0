"""Journals and documents as tools write them, for tests of sources whose cases have whole records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.ingest.sources.cases import Case


def write(path: Path, value: Any) -> Path:
    """Write JSON Lines if a name ends so, else one JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = json.dumps(value)
    text = "".join(json.dumps(record) + "\n" for record in value) if path.suffix == ".jsonl" else whole
    path.write_text(text, encoding="utf-8")
    return path


def written(folder: Path, case: Case) -> Path:
    """Write the ``files`` of a case, by path below the folder; return the one that ``path`` names, or the only one."""
    made = {name: write(folder / name, value) for name, value in case["files"].items()}
    return made[case["path"]] if "path" in case else next(iter(made.values()))
