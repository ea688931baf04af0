"""``python -m bench``: measure, print the table, exit 1 where a bar is missed of which that is not known."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench import (
    ask,
    chrome,
    code,
    coverage,
    doctor,
    embed,
    engine,
    guard,
    handover,
    hooks,
    index,
    locomo,
    recall,
    safety,
    sources,
    tui,
    vectors,
    warm,
    watch,
    web,
)
from bench.measure import DATA, ROOT, Failed, compile_checkout
from bench.report import Report

SUITES = tuple(
    """ask warm hooks guard handover coverage index qmd embed chrome code sources redaction archive vectors
    doctor watch web tui locomo sets""".split()
)
RESULTS = ROOT / "bench" / "results.md"


def main(argv: list[str] | None = None) -> int:
    """Returns 0 where every bar is met but for known ones, else 1; 2 where something could not be measured at all."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=(__doc__ or "").strip(),
        epilog="The whole of it is written to bench/results.md; a part, or --quick, only where --out says so.",
    )
    parser.add_argument("suite", nargs="*", help=f"what to measure: {', '.join(SUITES)} (all)")
    parser.add_argument("--quick", action="store_true", help="few repetitions, no 50,000 files")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout instead of the table")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"write the table here ({RESULTS.relative_to(ROOT)})")
    arguments = parser.parse_args(argv)
    for name in arguments.suite:
        if name not in SUITES:
            parser.error(f"no suite {name!r}: {', '.join(SUITES)}")
    suites = [name for name in SUITES if name in arguments.suite or not arguments.suite]
    DATA.mkdir(parents=True, exist_ok=True)
    compile_checkout()
    report = Report()
    try:
        if "ask" in suites:
            ask.measure(report, quick=arguments.quick)
        if "warm" in suites:
            warm.measure(report, quick=arguments.quick)
        if "hooks" in suites:
            hooks.measure(report, quick=arguments.quick)
            recall.measure(report, quick=arguments.quick)
        if "guard" in suites:
            guard.measure(report, quick=arguments.quick)
        if "handover" in suites:
            handover.measure(report)
        if "coverage" in suites:
            coverage.measure(report)
        if "index" in suites:
            index.measure(report, quick=arguments.quick)
        if "qmd" in suites:
            engine.measure(report, quick=arguments.quick)
        if "embed" in suites:
            embed.measure(report, quick=arguments.quick)
        if "chrome" in suites:
            chrome.measure(report, quick=arguments.quick)
        if "sources" in suites:
            sources.measure(report, quick=arguments.quick)
        if "redaction" in suites:
            safety.measure_redaction(report, quick=arguments.quick)
        if "archive" in suites:
            safety.measure_archive(report, quick=arguments.quick)
        if "vectors" in suites:
            vectors.measure(report, quick=arguments.quick)
        if "doctor" in suites:
            doctor.measure(report, quick=arguments.quick)
        if "watch" in suites:
            watch.measure(report, quick=arguments.quick)
        if "web" in suites:
            web.measure(report, quick=arguments.quick)
        if "tui" in suites:
            tui.measure(report, quick=arguments.quick)
        if "code" in suites:
            code.measure(report, quick=arguments.quick)
        if "locomo" in suites:
            locomo.measure(report)
        if "sets" in suites:
            locomo.measure_sets(report)
    except Failed as failure:
        sys.stderr.write(f"bench: {failure}\n")
        return 2
    page = report.markdown()
    out = arguments.out or (RESULTS if len(suites) == len(SUITES) and not arguments.quick else None)
    if out is not None:
        out.write_text(page, encoding="utf-8")
    print(json.dumps(report.as_dict()) if arguments.json else page)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
