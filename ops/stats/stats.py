"""Statistics of the telemetry: who uses the memory, how fast it answers, how often in vain."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from os.path import join
from typing import TYPE_CHECKING, Any

from core import clock, telemetry
from core.config import MACHINES
from core.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

# Milliseconds that an interactive command may take (DESIGN's two clocks); a slower one is over budget.
BUDGET_MS = {
    "ask": 1000,
    "recent": 1000,
    "inbox": 1000,
    "inbox_write": 1000,
    "why": 1000,
    "show": 1000,
    "trace": 3000,
    "explain": 5000,
    "hook": 200,
}
# Commands that stay: they take as long as they are wanted, which says nothing about how fast they are.
_RESIDENT = frozenset(("web", "tui", "serve", "watch", "mcp"))
# All machines together.
ALL = "all"
# Below logs/: telemetry of other machines, from ``brain sync``.
_LEDGER = ".jsonl"
_NO_RESULTS = 67
_REPEATED = 10


def read(home: Home, since: int) -> tuple[list[dict[str, Any]], int]:
    """Return (rows of this machine from ``since`` (epoch seconds) on, oldest first; how many lines are no rows)."""
    return _read(telemetry.ledgers(home), since)


def machines(home: Home) -> dict[str, str]:
    """Return the telemetry of other machines that ``brain sync`` brought: name → path, sorted."""
    folder = join(home.logs, MACHINES)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    return {name.removesuffix(_LEDGER): join(folder, name) for name in names if _is_ledger(name)}


def _is_ledger(name: str) -> bool:
    return name.endswith(_LEDGER) and not name.startswith(".")


def _read(paths: Iterable[str], since: int) -> tuple[list[dict[str, Any]], int]:
    rows: list[dict[str, Any]] = []
    torn = 0
    first = clock.iso(since)
    for path in paths:
        try:
            stream = open(path, "rb")  # noqa: SIM115  # closed below
        except FileNotFoundError:
            continue
        with stream:
            for line in stream:
                if not line.strip():
                    continue
                row = telemetry.row_of(line)
                if row is None:
                    torn += 1
                elif row["ts"] >= first:
                    rows.append(row)
    rows.sort(key=lambda row: str(row["ts"]))
    return rows, torn


def stats(home: Home, since: int, machine: str = "") -> dict[str, Any]:
    """Return the envelope of ``brain stats`` for this machine, another one by its name, or "all" of them.

    Raises BadInput for a machine that is not known.
    """
    others = machines(home)
    own = telemetry.ledgers(home)
    if machine and machine != ALL and machine not in others:
        known = ", ".join([*others, ALL])
        raise BadInput(f"nothing is known of a machine {machine!r}", f"brain stats --machine, one of: {known}")
    chosen = [*own, *others.values()] if machine == ALL else [others[machine]] if machine else own
    rows, torn = _read(chosen, since)
    commands = [row for row in rows if row["event"] not in ("doctor_run",)]
    by_event: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in commands:
        by_event[row["event"]].append(row)
    asked = by_event.get("ask", [])
    return {
        "schema": 1,
        "ok": True,
        "since": clock.iso(since),
        "machine": machine or None,
        "machines": {name: _other(path, since) for name, path in others.items()},
        "rows": len(rows),
        "torn": torn,
        "surfaces": dict(Counter(str(row.get("surface")) for row in commands).most_common()),
        "commands": {event: _command(event, found) for event, found in sorted(by_event.items())},
        "asks": {
            "count": len(asked),
            "answered": sum(bool(row.get("n_hits")) for row in asked),
            "no_hits": sum(row.get("exit_code") == _NO_RESULTS for row in asked),
            "by_surface": _by_surface(asked),
            "modes": dict(Counter(str(row["mode"]) for row in asked if row.get("mode")).most_common()),
            "in_vain": _in_vain(asked),
        },
        "failures": dict(Counter(int(row["exit_code"]) for row in commands if _failed(row)).most_common()),
        "days": _days(commands),
        "growth": _growth(rows),
        "freshness": _freshness(rows),
        "doctor": {
            "runs": sum(row["event"] == "doctor_run" for row in rows),
            "failures": dict(
                Counter(str(name) for row in rows for name in row.get("failures") or ()).most_common(_REPEATED)
            ),
        },
    }


def _other(path: str, since: int) -> dict[str, Any]:
    """Return the use of another machine: counts, and the time of its last row."""
    rows, torn = _read([path], since)
    asked = [row for row in rows if row["event"] == "ask"]
    return {
        "rows": len(rows),
        "torn": torn,
        "asks": len(asked),
        "answered": sum(bool(row.get("n_hits")) for row in asked),
        "last": rows[-1]["ts"] if rows else None,
    }


def percentile(values: Iterable[float], share: float) -> float | None:
    """Return the nearest-rank percentile, None of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _command(event: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    timed = [] if event in _RESIDENT else rows
    took = [float(row["latency_ms"]) for row in timed if isinstance(row.get("latency_ms"), int | float)]
    budget = BUDGET_MS.get(event)
    return {
        "count": len(rows),
        "p50_ms": percentile(took, 0.5),
        "p95_ms": percentile(took, 0.95),
        "p99_ms": percentile(took, 0.99),
        "budget_ms": budget,
        "over_budget": sum(each > budget for each in took) if budget else None,
        "failed": sum(_failed(row) for row in rows),
    }


def _failed(row: dict[str, Any]) -> bool:
    code = row.get("exit_code")
    return isinstance(code, int) and code not in (0, _NO_RESULTS) and row["event"] not in ("doctor", "acceptance")


def _by_surface(asked: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return for each surface how many questions came from it, and how many of them found nothing."""
    found: dict[str, dict[str, int]] = {}
    for row in asked:
        entry = found.setdefault(str(row.get("surface")), {"count": 0, "no_hits": 0})
        entry["count"] += 1
        entry["no_hits"] += row.get("exit_code") == _NO_RESULTS
    return dict(sorted(found.items(), key=lambda each: -each[1]["count"]))


def _in_vain(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the questions that found nothing more than once, if their text is kept."""
    empty = [row for row in asked if row.get("exit_code") == _NO_RESULTS]
    texts = Counter(str(row["query"]) for row in empty if isinstance(row.get("query"), str))
    return [{"query": text, "count": count} for text, count in texts.most_common(_REPEATED) if count > 1]


def _days(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    days: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        days[row["ts"][:10]][row["event"]] += 1
    return {day: dict(counts) for day, counts in sorted(days.items())}


def _growth(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Documents ingested by day, as the index runs counted them."""
    days: Counter[str] = Counter()
    for row in rows:
        if row["event"] == "index" and isinstance(row.get("n_ingested"), int):
            days[row["ts"][:10]] += row["n_ingested"]
    return [{"day": day, "ingested": count} for day, count in sorted(days.items())]


def _freshness(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the most documents that waited for the index and for vectors when something was asked, by day."""
    days: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        for name in ("lexical_pending", "semantic_pending"):
            if isinstance(row.get(name), int):
                day = days[row["ts"][:10]]
                day[name] = max(day.get(name, 0), row[name])
    return [{"day": day, **worst} for day, worst in sorted(days.items())]
