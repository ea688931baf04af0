"""How an arm's figures changed from run to run, by set: from the kept runs, and the history of the user's own set."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from evals.runs import store
from evals.sets.own import OWN

if TYPE_CHECKING:
    from core.home import Home

MEASURES = ("hit@1", "hit@5", "recall@5", "mrr@10", "ndcg@10")
# Runs that are read: each is a file of a few kilobytes.
_MOST_RUNS = 60


def trend(home: Home, measure: str) -> dict[str, Any]:
    """Return ``sets``, each with its ``arms`` and their ``points``, oldest first; and ``last``, the last run's arms.

    A point has ``ts``, ``run``, ``value`` (0–1), ``questions`` and ``p50_ms``. Raises BadInput for an unknown measure.
    """
    if measure not in MEASURES:
        raise BadInput(f"there is no measure {measure!r}", f"one of: {', '.join(MEASURES)}")
    known: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in store.history(home):
        if measure in row:
            _add(known, OWN, str(row.get("run", row["ts"])), row["arm"], row, row, row.get("p50_ms"), measure)
    last: dict[str, Any] | None = None
    for name in store.finished(home)[-_MOST_RUNS:]:
        with suppress(BadInput, OSError, ValueError, KeyError, TypeError):
            run = store.read(home, name)
            for each in run["sets"]:
                for row in (row for row in each["arms"] if "skipped" not in row):
                    _add(known, each["name"], run["run"], row["arm"], run, row, row["latency_ms"]["p50"], measure)
            last = run
    sets: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for (dataset, arm, _), point in sorted(known.items(), key=lambda each: str(each[1]["ts"])):
        sets.setdefault(dataset, {}).setdefault(arm, []).append(point)
    answer: dict[str, Any] = {"schema": 1, "ok": True, "measure": measure}
    if not sets:
        answer["error"] = "no_results"
    answer["sets"] = [
        {"name": name, "arms": [{"arm": arm, "points": points} for arm, points in arms.items()]}
        for name, arms in sorted(sets.items(), key=lambda each: (each[0] != OWN, each[0]))
    ]
    return {**answer, "last": last and _summary(last)}


def _add(
    known: dict[tuple[str, str, str], dict[str, Any]],
    dataset: str,
    run: str,
    arm: str,
    dated: dict[str, Any],
    row: dict[str, Any],
    p50_ms: float | None,
    measure: str,
) -> None:
    value = row.get("metrics", row).get(measure)
    if isinstance(value, int | float):
        known[dataset, str(arm), run] = {
            "ts": str(dated["ts"]),
            "run": run,
            "value": float(value),
            "questions": int(row["questions"]),
            "p50_ms": p50_ms,
        }


def _summary(run: dict[str, Any]) -> dict[str, Any]:
    """Return a run as a table shows it: for each set its arms with every measure of ``MEASURES``."""
    return {
        "run": run["run"],
        "ts": run["ts"],
        "version": run["version"],
        "sets": [
            {
                "name": each["name"],
                "documents": each["documents"],
                "arms": [
                    {
                        "arm": row["arm"],
                        "questions": row["questions"],
                        "p50_ms": row["latency_ms"]["p50"],
                        **{name: row["metrics"].get(name) for name in MEASURES},
                    }
                    for row in each["arms"]
                    if "skipped" not in row
                ],
            }
            for each in run["sets"]
        ],
    }
