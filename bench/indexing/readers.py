"""Each source's reader over its sample of the conformance suite, repeated: MB of raw files a second of cpu time.

What is measured is reading: decoding, redaction, the parser. `sources` measures whole runs. The texts are words that no
rule of redaction looks at closer: redaction has a suite of its own.
"""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

from bench.measure import DATA, ROOT, Failed, median
from bench.report import Report, Row

_SAMPLES = ROOT / "tests/ingest/sources/conformance/samples.jsonl"
_BAR, _HISTORY_BAR = 15.0, 10.0
_MB, _RECORDS, _WORDS = 6_000_000, 30, 700
# The keys of a record that name it, and those that order it.
_NAMES = frozenset(
    "id uuid parentUuid parentId messageId requestId stepId message_id tool_call_id toolCallId call_id callId bubbleId"
    " invocationId promptId turn_id".split()
)
_ORDER = frozenset("seq step_index ts timestamp timestampMs time".split())


def measure(report: Report, *, quick: bool) -> None:
    """One row for each source of sessions or entries that has a sample."""
    from ingest import registry
    from ingest.raw.store import DISK
    from tests.ingest.sources.conformance import samples

    folder = DATA / "readers"
    for name, row in samples.rows(_SAMPLES).items():
        source = registry.source(name)
        if source.is_collector:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        size = _write(folder, name, row)
        files = [file.path for file in source.discover([str(folder)]) if not file.skip]
        costs: list[float] = []
        for _ in source.parse(files[0], DISK):  # what is imported and compiled once
            pass
        for _ in range(1 if quick else 3):
            began = time.process_time()
            units = sum(len(reading.parts) for path in files for reading in source.parse(path, DISK))
            costs.append(time.process_time() - began)
            if not units:
                raise Failed(f"{name}: nothing was read of {len(files)} files")
        speed, bar = size / 1e6 / median(costs), _HISTORY_BAR if name == "shell" else _BAR
        what = f"read {name}, {size / 1e6:.0f} MB"
        report.add(Row(what, f"{speed:.1f} MB a second of cpu", bar=f"≥ {bar:g} MB/s", met=speed >= bar))
    shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, name: str, row: dict[str, Any]) -> int:
    """Write files of a source until they have enough bytes; return these."""
    from tests.ingest.sources.conformance import samples

    dice = random.Random(name)  # noqa: S311  # text, not keys
    words = _words()
    size = number = 0
    while size < _MB:
        session = f"5f0c2a1e-0000-4000-8000-{number:012x}"

        def fill(text: str, session: str = session, number: int = number) -> str:
            for mark, value in (("@id@", session), ("@n@", str(number % 2 + 1)), ("@shell@", "zsh")):
                text = text.replace(mark, value)
            first, *others = text.split("@animal@")
            return first + "".join(" ".join(dice.choices(words, k=_WORDS)) + each for each in others)

        path = folder / str(number) / Path(row["place"]).name / fill(row["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "shell":
            path.write_text("".join(_commands(dice, words, number)), encoding="utf-8")
        elif "text" in row:
            path.write_text(fill(row["text"][0].replace("walrus", "@animal@") * _RECORDS), encoding="utf-8")
        else:
            kind = next(each for each in ("lines", "json", "tables", "framed") if each in row)
            samples._WRITERS[kind](path, json.loads(fill(json.dumps(_longer(row)))), 0, True)
        size += path.stat().st_size
        number += 1
    return size


def _words() -> list[str]:
    from core.redaction.cues import cues

    found = (ROOT / "docs" / "documents.md").read_text(encoding="utf-8").split()
    return sorted({word for word in found if word.isalpha() and word.islower() and not cues(word)})


def _commands(dice: random.Random, words: list[str], number: int) -> list[str]:
    start = 1_777_000_000 + number * 200_000
    return [f": {start + 40 * each}:0;{' '.join(dice.choices(words, k=12))}\n" for each in range(3000)]


def _longer(row: dict[str, Any]) -> dict[str, Any]:
    """Return a sample with its records many times, each time with other names."""
    made: dict[str, Any] = json.loads(json.dumps(row))
    times = range(_RECORDS)
    if "lines" in row:
        head, *others = row["lines"]
        made["lines"] = [head, *(_again(each, number) for number in times for each in others)]
    elif row.get("grows") and "json" in row:
        made["json"][row["grows"]] = [_again(each, at) for at in times for each in row["json"][row["grows"]]]
    elif "tables" in row:
        table = made["tables"][row["grows"]]
        table["rows"] = [_cells(cells, at, len(table["rows"])) for at in times for cells in table["rows"]]
    elif "framed" in row:
        head, *others, tail = row["framed"]
        made["framed"] = [head, *(_renamed(each, at) for at in times for each in others), tail]
    return made


def _again(value: Any, number: int) -> Any:
    if isinstance(value, list):
        return [_again(each, number) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, each in value.items():
        if key in _NAMES and isinstance(each, str):
            found[key] = f"{each}-{number}"
        elif key in _ORDER and isinstance(each, int):
            found[key] = each + number * 3
        else:
            found[key] = _again(each, number)
    return found


def _cells(cells: list[Any], number: int, rows: int) -> list[Any]:
    first, *others = cells
    name = f"{first}-{number}" if isinstance(first, str) else first + number * rows
    return [name, *(_again(each, number) for each in others)]


def _renamed(text: str, number: int) -> str:
    return text.replace("@id@", f"@id@-{number}").replace("example.com/", f"example.com/{number}/")
