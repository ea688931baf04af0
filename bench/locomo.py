"""Whether the answers are the right ones: ``evals.locomo``, beside the strongest rival's own harness."""

from __future__ import annotations

import sys

from bench.measure import DATA, SHARED, environment, relative, run
from bench.report import Report, Row

DIALOGS = SHARED / "evals" / "locomo-dev.json"

# Name, the rival's figure, our bar, digits.
_FIGURES = (("hit@1", 71.7, 74.0, 1), ("hit@5", 86.3, 93.5, 1), ("mrr", 0.781, 0.82, 3))


def measure(report: Report) -> None:
    """hit@1 and hit@5 in percent and the mean reciprocal rank, over all questions of all dialogs."""
    if not DIALOGS.is_file():
        report.skip("LoCoMo", f"no {relative(DIALOGS)}")
        return
    done = run([sys.executable, "-m", "evals.locomo", str(DIALOGS), "--json"], environment(DATA))
    every = done.answer()["all"]
    for name, rival, bar, digits in _FIGURES:
        value = float(every[name])
        said = f"{value:.{digits}f}"
        name = f"LoCoMo, {every['questions']:,} questions: {name}"
        report.add(Row(name, said, f"rival {rival:g} †", value / rival, f"≥ {bar:g}", value >= bar))
