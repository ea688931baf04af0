"""What the telemetry says of how the memory is used: by whom, how fast, how often in vain."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from core import clock, telemetry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

# Milliseconds that an interactive command may take (DESIGN's two clocks); a slower one is over budget.
BUDGET_MS = {
    "ask": 1000,
    "recent": 1000,
    "inbox": 1000,
    "why": 1000,
    "show": 1000,
    "trace": 3000,
    "explain": 5000,
    "hook": 200,
}
_NO_RESULTS = 67
_REPEATED = 10


def read(home: Home, since: int) -> tuple[list[dict[str, Any]], int]:
    """(rows from ``since`` (epoch seconds) on, oldest first; how many lines are no rows)."""
    rows: list[dict[str, Any]] = []
    torn = 0
    first = clock.iso(since)
    for path in telemetry.ledgers(home):
        try:
            stream = open(path, "rb")  # noqa: SIM115  # closed below
        except FileNotFoundError:
            continue
        with stream:
            for line in stream:
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                    if not isinstance(row["ts"], str) or not isinstance(row["event"], str):
                        raise TypeError
                except (ValueError, KeyError, TypeError, RecursionError):
                    torn += 1
                    continue
                if row["ts"] >= first:
                    rows.append(row)
    rows.sort(key=lambda row: str(row["ts"]))
    return rows, torn


def stats(home: Home, since: int) -> dict[str, Any]:
    """The envelope of ``brain stats``."""
    rows, torn = read(home, since)
    commands = [row for row in rows if row["event"] not in ("doctor_run",)]
    by_event: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in commands:
        by_event[row["event"]].append(row)
    asked = by_event.get("ask", [])
    return {
        "schema": 1,
        "ok": True,
        "since": clock.iso(since),
        "rows": len(rows),
        "torn": torn,
        "surfaces": dict(Counter(str(row.get("surface")) for row in commands).most_common()),
        "commands": {event: _command(event, found) for event, found in sorted(by_event.items())},
        "asks": {
            "count": len(asked),
            "answered": sum(bool(row.get("n_hits")) for row in asked),
            "no_hits": sum(row.get("exit_code") == _NO_RESULTS for row in asked),
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


def percentile(values: Iterable[float], share: float) -> float | None:
    """The nearest-rank percentile, None of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _command(event: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    took = [float(row["latency_ms"]) for row in rows if isinstance(row.get("latency_ms"), int | float)]
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


def _in_vain(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Questions that found nothing more than once, where their text is kept; else how many found nothing, by length."""
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
    """How far behind the index and the vectors were when something was asked, by day: the worst of it."""
    days: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        for name in ("lexical_pending", "semantic_pending"):
            if isinstance(row.get(name), int):
                day = days[row["ts"][:10]]
                day[name] = max(day.get(name, 0), row[name])
    return [{"day": day, **worst} for day, worst in sorted(days.items())]
