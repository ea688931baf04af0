"""``python -m bench``: measure, print the table, exit 1 where a bar is missed of which that is not known."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from bench.agents import guard, handover, hooks, recall
from bench.asking import ask, blame, both_stores, coverage, locomo, tui, warm, web, work
from bench.embedding import cluster, embed, vectors
from bench.indexing import chrome, code, engine, growing, index, readers, sources
from bench.measure import DATA, ROOT, Failed, compile_checkout
from bench.operating import doctor, safety, team, watch
from bench.report import Report
from bench.scaling import scale

# A suite measures by each of its functions, called with the report and ``quick``.
SUITES: dict[str, tuple[Callable[..., None], ...]] = {
    "ask": (ask.measure,),
    "warm": (warm.measure,),
    "hooks": (hooks.measure, recall.measure),
    "guard": (guard.measure,),
    "handover": (handover.measure,),
    "blame": (blame.measure,),
    "work": (work.measure,),
    "coverage": (coverage.measure,),
    "index": (index.measure,),
    "qmd": (engine.measure,),
    "embed": (embed.measure,),
    "ray": (cluster.measure,),
    "chrome": (chrome.measure,),
    "code": (code.measure,),
    "sources": (sources.measure,),
    "readers": (readers.measure,),
    "growing": (growing.measure,),
    "redaction": (safety.measure_redaction,),
    "archive": (safety.measure_archive,),
    "vectors": (vectors.measure,),
    "doctor": (doctor.measure,),
    "team": (both_stores.measure, team.measure),
    "watch": (watch.measure,),
    "web": (web.measure,),
    "tui": (tui.measure,),
    "locomo": (locomo.measure,),
    "sets": (locomo.measure_sets,),
    "scale": (scale.measure,),
}
# Takes an hour at a million passages, so it runs only when it is named.
ALONE = "scale"
RESULTS = ROOT / "bench" / "results.md"


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main(argv: list[str] | None = None) -> int:
    """Return 0 if every bar is met but for known ones, else 1; 2 if something could not be measured at all."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=(__doc__ or "").strip(),
        epilog="The whole of it is written to bench/results.md; a part, or --quick, only where --out says so.",
    )
    parser.add_argument("suite", nargs="*", help=f"what to measure: {', '.join(SUITES)} (all)")
    parser.add_argument(
        "--sizes", type=_numbers, default=[], metavar="N,N", help="passages of the suite scale (100000)"
    )
    parser.add_argument(
        "--times", type=int, default=1, metavar="N", help="ask a server once more, of N times as many rows (scale)"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions, no 50,000 files")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"write the table here ({RESULTS.relative_to(ROOT)})")
    arguments = parser.parse_args(argv)
    for name in arguments.suite:
        if name not in SUITES:
            parser.error(f"no suite {name!r}: {', '.join(SUITES)}")
    suites = [name for name in SUITES if name in arguments.suite or not (arguments.suite or name == ALONE)]
    DATA.mkdir(parents=True, exist_ok=True)
    compile_checkout()
    report = Report()
    given = {"sizes": arguments.sizes, "times": arguments.times}
    try:
        for name in suites:
            for measure in SUITES[name]:
                measure(report, quick=arguments.quick, **(given if name == ALONE else {}))
    except Failed as failure:
        sys.stderr.write(f"bench: {failure}\n")
        return 2
    page = report.markdown()
    out = arguments.out or (RESULTS if not arguments.suite and not arguments.quick else None)
    if out is not None:
        out.write_text(page, encoding="utf-8")
    print(json.dumps(report.as_dict()) if arguments.json else page)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
