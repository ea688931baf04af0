"""One record more in a long transcript: what each turn of a session costs after hours of work."""

from __future__ import annotations

import shutil
import sys

from bench.agents.hooks import Session
from bench.measure import DATA, environment, median, program, run
from bench.report import Report, Row, ms

# A morning's transcript, a day's, and as long as any that were seen.
_SIZES_MB = (1, 5, 15)
_MB = 1_000_000


def measure(report: Report, *, quick: bool) -> None:
    """Append a record, index the transcript, again and again: the median of cpu time, and what its first reading took.

    The second reading parses from the start as well, since no state is kept of a file that was read once.
    """
    home, claude = DATA / "home-growing", DATA / "growing-claude"
    for size in _SIZES_MB:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(claude, ignore_errors=True)
        home.mkdir(parents=True)
        environ = {**environment(home), "CLAUDE_CONFIG_DIR": str(claude)}
        session = Session(claude, "0eeeeeee-0000-4000-8000-000000000001")
        session.work(size * _MB)
        index = [*program(), "index", "--new", "--source", "claude"]
        first = run(index, environ).cpu_s
        taken: list[float] = []
        floors: list[float] = []
        for number in range(6 if quick else 16):
            session.append(0, f"turn {number}")
            floors.append(run([sys.executable, "-c", "pass"], environ).cpu_s)
            taken.append(run(index, environ).cpu_s)
        said = f"floor {ms(median(floors))}; the first reading {ms(first)}, the second {ms(taken[0])}"
        again = median(taken[1:])
        report.add(Row(f"one record more in {size} MB: p50 of cpu", ms(again), said, again / median(floors)))
