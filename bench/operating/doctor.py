"""The doctor over a large brain, as a schedule calls it every hour, and the trials of the contract that go with it."""

from __future__ import annotations

import sys

from bench import corpora
from bench.measure import Failed, environment, floor, median, program, run
from bench.report import Report, Row

_BAR_S = 5.0
_WEDGE_BAR_S = 20.0


def measure(report: Report, *, quick: bool) -> None:
    """Medians of whole processes: every check, every check and the long looks (``--deep``), and the trials alone.

    The checks wait for little but the processor, so its time is judged: their wall time is the neighbours' as well.
    """
    corpus = corpora.published(corpora.LARGE) or corpora.own()
    home = corpora.brain(corpus)
    environ = environment(home)
    rounds = 3 if quick else 7
    command = [*program(), "doctor", "--no-wedge", "--json"]
    for name, words, bar in (("doctor", command, _BAR_S), ("doctor --deep", [*command, "--deep"], None)):
        # It exits with 1 where it finds something: how long it looks is what counts here.
        done = [run(words, environ, ok=(0, 1)) for _ in range(rounds)]
        looked = done[-1].answer()["checks"]
        wall, cpu = median([each.wall_s for each in done]), median([each.cpu_s for each in done])
        said = f"{cpu:.1f} s of cpu ({wall:.1f} s)"
        report.add(_judged(f"{name}, {corpus.files:,} documents, {looked} checks", said, cpu, bar))
    nothing = median([floor(environ) for _ in range(rounds)])
    trials = [run([sys.executable, "-m", "ops.checks.wedge"], environ, ok=(0, 1)) for _ in range(rounds)]
    if trials[-1].code:
        raise Failed(f"the contract does not hold: {trials[-1].output.decode('utf-8', 'replace')}")
    wall = median([each.wall_s for each in trials])
    row = _judged("ops/checks/wedge.py, the contract on a scratch home", f"{wall:.1f} s", wall, _WEDGE_BAR_S)
    report.add(row._replace(compared=f"python -c pass {nothing * 1000:.0f} ms", ratio=wall / nothing))


def _judged(name: str, value: str, took: float, bar: float | None) -> Row:
    return Row(name, value) if bar is None else Row(name, value, bar=f"≤ {bar:g} s", met=took <= bar)
