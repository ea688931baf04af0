"""``brain how``, ``friction`` and ``fix`` over 152,000 actions, a new process each time."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from bench.measure import DATA, environment, floor, median, percentile, program, run
from bench.report import Report, Row, ms

_SESSIONS, _CALLS, _PROJECTS = 1_900, 80, 40
_SEED = 3
_BAR_S = 0.100
_GIT = "status diff add commit push checkout rebase show stash fetch branch log".split()
_ERRORS = (
    "error: cannot find symbol s{}",
    "fatal: not a git repository",
    "ModuleNotFoundError: No module named 'm{}'",
    "ENOSPC: no space left on device",
    "TypeError: x{} is not a function",
)
_QUESTIONS = (("how", "git"), ("friction",), ("fix", "ENOSPC: no space left on device"))


def measure(report: Report, *, quick: bool) -> None:
    """Each question in turn, against the time of a process that does nothing; the median and the 95th percentile."""
    home = DATA / "home-work"
    shutil.rmtree(home, ignore_errors=True)
    _furnish(home)
    environ = environment(home)
    run([*program(), "rebuild", "--json"], environ)
    for words in _QUESTIONS:
        wall: list[float] = []
        floors: list[float] = []
        for _ in range(5 if quick else 40):
            floors.append(floor(environ))
            wall.append(run([*program(), *words], environ).wall_s)
        name = f"{' '.join(words)[:12]}, {_SESSIONS * _CALLS:,} actions"
        middle, rest = median(wall), percentile(wall, 0.95)
        compared = f"floor {ms(median(floors))}; p95 {ms(rest)}"
        bar = f"≤ {1000 * _BAR_S:g} ms"
        report.add(Row(f"{name}: p50", ms(middle), compared, middle / median(floors), bar, middle <= _BAR_S))


def _furnish(home: Path) -> None:
    """Write sessions of several projects: a common program, others, edits, failures that recur."""
    chosen = random.Random(_SEED)  # noqa: S311  # the same sessions in each run
    (home / "brain").mkdir(parents=True)
    for number in range(_SESSIONS):
        project = f"/bench/p{number % _PROJECTS}"
        day = f"20{24 + number // 1000}-{1 + number // 80 % 12:02}-{1 + number % 28:02}"
        calls = "\n".join(_call(chosen, project) for _ in range(_CALLS))
        head = (
            f"session_id: b{number:04}\nsource: claude\ntitle: Go on {number}\ndate: {day}T08:00:00Z\n"
            f"ended: {day}T09:00:00Z\nproject: {project}\nturns: 2\n"
        )
        turns = f"## [1] user · {day} 08:00\n\nGo on.\n\n## [2] assistant · {day} 08:01\n\n{calls}\n"
        path = home / "brain" / f"b{number:04}.md"
        path.write_text(f"---\n{head}---\n\n# Go on {number}\n\n{turns}", encoding="utf-8")


def _call(chosen: random.Random, project: str) -> str:
    kind = chosen.random()
    error = chosen.choice(_ERRORS).format(chosen.randrange(3_000))
    if kind < 0.35:
        failed = f"\n  ! Exit code 1\n  ! {error}" if chosen.random() < 0.12 else ""
        return f"- Bash: git {chosen.choice(_GIT)} f{chosen.randrange(400)}{failed}"
    if kind < 0.7:
        return f"- Edit: {project}/src/m{chosen.randrange(90)}.py (lines 3-9)"
    failed = f"\n  ! Exit code 2\n  ! {error}" if chosen.random() < 0.4 else ""
    return f"- Bash: make m{chosen.randrange(300)}{failed}"
