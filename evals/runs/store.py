"""Stored runs: figures, questions and answers of each, and the history of the user's own set."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import telemetry
from core.counting import counted
from core.errors import BadInput
from core.files import write_atomic
from evals.sets.dataset import Question, digest
from evals.sets.own import OWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.home import Home

HISTORY = "eval.jsonl"


def folder(home: Home) -> str:
    """Return the folder of all runs, one subfolder each; names sort by time."""
    return os.path.join(home.state, "eval", "runs")


def find(home: Home, name: str) -> str | None:
    """Return the folder of a run, by its name, ``last`` or ``last~N``; None if no run has that name."""
    names = finished(home)
    if is_relative(name):
        back = name.partition("~")[2] or "0"
        return os.path.join(folder(home), names[-1 - int(back)]) if back.isdigit() and int(back) < len(names) else None
    return os.path.join(folder(home), name) if name in names else None


def finished(home: Home) -> list[str]:
    """Return the names of the finished runs, oldest first."""
    try:
        return sorted(each for each in os.listdir(folder(home)) if os.path.isfile(_file(folder(home), each)))
    except FileNotFoundError:
        return []


def is_relative(name: str) -> bool:
    """Return True for ``last`` and ``last~N``, which name a run and never an arm."""
    return name == "last" or name.startswith("last~")


def missing(home: Home, name: str) -> BadInput:
    """Return the error for a run that is not kept."""
    count = len(finished(home))
    kept = (
        f"only {counted(count, 'finished run')} {'is' if count == 1 else 'are'} kept"
        if count
        else "no finished run is kept"
    )
    return BadInput(f"there is no run {name!r}: {kept}", "brain eval run --data PATH")


def read(home: Home, name: str) -> dict[str, Any]:
    """Return a run's figures. Raises BadInput if there is no such run."""
    found = find(home, name)
    if found is None:
        raise missing(home, name)
    with open(os.path.join(found, "run.json"), encoding="utf-8") as stream:
        result: dict[str, Any] = json.load(stream)
    return result


def last_of_sets(home: Home) -> dict[str, Any] | None:
    """The figures of the last run that was not of the user's own set; None where there is none."""
    for back in range(1000):
        found = find(home, f"last~{back}")
        if found is None:
            return None
        run = read(home, os.path.basename(found))
        if any(each["name"] != OWN for each in run["sets"]):
            return run
    return None


def answers_file(place: str, dataset: str, arm: str) -> str:
    """Where an arm's answers to a set lie in a run's folder."""
    return os.path.join(place, f"{_name(dataset)}.{_name(arm)}.jsonl")


def answers(file: str, *, cut: bool = False) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return (answer by question, end of the arm). A torn last line is ignored; ``cut`` removes it from the file."""
    given: dict[str, dict[str, Any]] = {}
    end: dict[str, Any] = {}
    if not os.path.exists(file):
        return given, end
    raw = Path(file).read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if cut and len(whole) < len(raw):
        write_atomic(file, whole)
    for line in whole.splitlines():
        value = json.loads(line)
        if "id" in value:
            given[value["id"]] = value
        else:
            end = value
    return given, end


def write_questions(place: str, dataset: str, asked: Sequence[Question]) -> None:
    """Store a set's questions with the answers, for later comparisons."""
    rows = [[q.id, q.text, q.corpus, q.relevant, q.kind] for q in asked]
    write_atomic(os.path.join(place, f"{_name(dataset)}.questions.json"), json.dumps(rows).encode())


def questions(place: str, dataset: str) -> list[Question]:
    """A set's questions as they were asked."""
    with open(os.path.join(place, f"{_name(dataset)}.questions.json"), encoding="utf-8") as stream:
        return [Question(*row) for row in json.load(stream)]


def remember(home: Home, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Append a dated row an arm to ``logs/eval.jsonl``, for runs of the user's own set; returns the rows."""
    rows: list[dict[str, Any]] = []
    for each in result["sets"]:
        for row in each["arms"]:
            if each["name"] == OWN and "skipped" not in row:
                entry = {
                    "schema": 1,
                    "ts": result["ts"],
                    "run": result["run"],
                    "version": result["version"],
                    "arm": row["arm"],
                    "set": each.get("set_version", 1),
                    "documents": each["documents"],
                    "questions": row["questions"],
                    **row["metrics"],
                    "by_type": {kind: figures["hit@5"] for kind, figures in row["by_type"].items()},
                    "counts": {kind: figures["questions"] for kind, figures in row["by_type"].items()},
                    "copied": each.get("copied") or {},
                    "p50_ms": row["latency_ms"]["p50"],
                }
                failure = telemetry.append(os.path.join(home.logs, HISTORY), entry)
                if failure is not None:
                    raise failure
                rows.append(entry)
    return rows


def history(home: Home) -> list[dict[str, Any]]:
    """Every row of the history, oldest first; torn ones are passed over."""
    rows = []
    try:
        with open(os.path.join(home.logs, HISTORY), encoding="utf-8", errors="replace") as stream:
            for line in stream:
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                if isinstance(row, dict) and {"ts", "arm", "hit@1", "hit@5", "questions"} <= row.keys():
                    rows.append(row)
    except FileNotFoundError:
        return []
    return rows


def _file(parent: str, name: str) -> str:
    return os.path.join(parent, name, "run.json")


def _name(name: str) -> str:
    """A file's name for a set or an arm, whatever it is called."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:60]
    return safe if safe == name else f"{safe}-{digest([name])[:6]}"
