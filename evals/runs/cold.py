"""Time whole processes on a sample of questions, each paired with an interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.errors import NO_RESULTS, OK, Internal
from evals.arms import child
from evals.runs import metrics
from evals.sets.dataset import select

if TYPE_CHECKING:
    from evals.arms.registry import Chosen
    from evals.runs.corpora import Built
    from evals.sets.dataset import Question


def measure(arm: Chosen, questions: Sequence[Question], built: Mapping[str, Built], most: int) -> dict[str, Any]:
    """``cold_ms``: p50 and p95 of ``brain ask --json``, spawn to end, and the floor, ``python -c pass``, p50.

    Empty for arms that are no command, and for the user's own brain: a command leaves a row in its telemetry.
    """
    sample = [q for q in select(questions, "all", most) if built[q.corpus].is_scratch]
    if not arm.arm.cold or not sample:
        return {}
    taken, floors = [], []
    options = [word for key, value in arm.options.items() for word in (f"--{key.replace('_', '-')}", value)]
    _ask(sample[0], built, options)  # brings the files into the system's cache: processes are cold, the disk is not
    for question in sample:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        floors.append(time.perf_counter() - started)
        taken.append(_ask(question, built, options))
    ms = {name: round(1000 * metrics.percentile(taken, share), 1) for name, share in (("p50", 0.5), ("p95", 0.95))}
    return {"cold_ms": {**ms, "floor_p50": round(1000 * metrics.percentile(floors, 0.5), 1), "questions": len(sample)}}


def _ask(question: Question, built: Mapping[str, Built], options: list[str]) -> float:
    environ = built[question.corpus].environment()
    started = time.perf_counter()
    done = child.program(["ask", "--json", "--literal", *options, "--", question.text], environ)
    took = time.perf_counter() - started
    if done.returncode not in (OK, NO_RESULTS):
        raise Internal(f"brain ask ended with {done.returncode}: {done.stdout[-300:]!r}", "run it by hand")
    return took
