"""Whether the answers are the right ones: ``brain eval run`` on LoCoMo, beside the strongest rival's own harness."""

from __future__ import annotations

from bench.measure import DATA, SHARED, environment, program, relative, run
from bench.report import Report, Row

DIALOGS = SHARED / "evals" / "locomo-dev.json"

# Name, the rival's figure, our bar, digits and scale.
_FIGURES = (("hit@1", 71.7, 74.0, 1, 100), ("hit@5", 86.3, 93.5, 1, 100), ("mrr@10", 0.781, 0.82, 3, 1))


def measure(report: Report) -> None:
    """hit@1 and hit@5 in percent and the mean reciprocal rank, over all questions of all dialogs."""
    if not DIALOGS.is_file():
        report.skip("LoCoMo", f"no {relative(DIALOGS)}")
        return
    done = run([*program(), "eval", "run", "--data", str(DIALOGS), "-a", "ask", "--json"], environment(DATA / "eval"))
    every = done.answer()["sets"][0]["arms"][0]
    for name, rival, bar, digits, scale in _FIGURES:
        value = scale * float(every["metrics"][name])
        said = f"{value:.{digits}f}"
        name = f"LoCoMo, {every['questions']:,} questions: {name}"
        report.add(Row(name, said, f"rival {rival:g} †", value / rival, f"≥ {bar:g}", value >= bar))
