"""``brain hook guard``, a new process each time, over a large brain with many sessions: what each call waits for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from bench import corpora
from bench.measure import DATA, Failed, environment, floor, median, percentile, program, run
from bench.report import Report, Row, ms

_P95_BAR_S = 0.100
_SESSIONS, _CALLS = 600, 80
_PROJECT = "/bench/gateway"
_FAILING = "- Bash: pnpm fix\n  ! Exit code 1\n  ! Found 0 warnings and 3 errors.\n- Bash: pnpm fix"
# Event, tool, input, error: a line, a command that many sessions ran, a file that many changed, an unknown error.
_MOMENTS: tuple[tuple[str, str, dict[str, str], str], ...] = (
    ("PreToolUse", "Bash", {"command": "pnpm fix"}, ""),
    ("PreToolUse", "Bash", {"command": "git status"}, ""),
    ("PreToolUse", "Edit", {"file_path": f"{_PROJECT}/src/m7.py"}, ""),
    ("PostToolUseFailure", "Bash", {"command": "make m7"}, "Exit code 2\nerror: undefined symbol quorum_size"),
)


def measure(report: Report, *, quick: bool) -> None:
    """The guard at four kinds of moments, in turn, a new session each time; the median and the 95th percentile."""
    corpus = corpora.published(corpora.LARGE) or corpora.own()
    home = DATA / f"home-guard-{corpus.name}"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(corpora.brain(corpus), home)
    environ = environment(home)
    _furnish(home, corpus)
    run([*program(), "rebuild", "--json"], environ)
    wall: list[float] = []
    cpu: list[float] = []
    floors: list[float] = []
    spoken = 0
    rounds = 12 if quick else 100
    for number in range(rounds):
        path = DATA / "guard-payload.json"
        path.write_text(_payload(number), encoding="utf-8")
        floors.append(floor(environ))
        done = run([*program(), "hook", "guard"], environ, stdin=path)
        wall.append(done.wall_s)
        cpu.append(done.cpu_s)
        spoken += bool(done.output)
    if not spoken:
        raise Failed("hook guard had nothing to say")
    name = f"hook guard, {corpus.files + _SESSIONS:,} documents, {_SESSIONS * _CALLS:,} calls"
    compared = f"floor {ms(median(floors))}; cpu {ms(median(cpu))}; spoke {spoken} of {rounds} times"
    report.add(Row(f"{name}: p50", ms(median(wall)), compared, median(wall) / median(floors)))
    p95 = percentile(wall, 0.95)
    report.add(Row(f"{name}: p95", ms(p95), "", p95 / median(floors), "≤ 100 ms", p95 <= _P95_BAR_S))


def _furnish(home: Path, corpus: corpora.Corpus) -> None:
    """Add sessions of one project: common commands, edits, failures and refusals, and a command that fails at first."""
    folders = {
        "notes": {"path": str(corpus.folder), "trust": "note"},
        "brain": {"path": "brain", "trust": "session"},
    }
    (home / "collections.yml").write_text(json.dumps({"collections": folders}), encoding="utf-8")
    (home / "brain").mkdir(exist_ok=True)
    for number in range(_SESSIONS):
        name = f"b{number:04}"
        calls = [
            f"- Edit: {_PROJECT}/src/m{(number * 7 + at) % 90}.py (lines 3-9)\n- Bash: git status\n"
            f"- Bash: make m{at}\n  ! Exit code 2\n  ! error: cannot find symbol s{number * 31 + at}\n"
            for at in range(_CALLS // 4)
        ]
        refused = f"- Edit: {_PROJECT}/src/m{number % 90}.py (lines 1-2)\n  rejected by the user\n"
        day = f"2026-{1 + number // 120:02}-{1 + number // 5 % 24:02}"
        turns = f"## [1] user · {day} 08:0{number % 5}\n\nGo on.\n\n## [2] assistant · {day} 08:0{number % 5}\n\n"
        body = f"{turns}{''.join(calls)}{_FAILING}\n{refused}"
        head = (
            f"session_id: {name}\nsource: claude\ntitle: Go on\ndate: {day}T08:00:00Z\n"
            f"ended: {day}T09:0{number % 5}:00Z\nproject: {_PROJECT}\nturns: 2\n"
        )
        (home / "brain" / f"{name}.md").write_text(f"---\n{head}---\n\n# Go on\n\n{body}", encoding="utf-8")


def _payload(number: int) -> str:
    event, tool, given, error = _MOMENTS[number % len(_MOMENTS)]
    session = f"guard-{number}"
    entered = {"session_id": session, "transcript_path": f"/bench/{session}.jsonl", "cwd": _PROJECT}
    call = {"hook_event_name": event, "tool_name": tool, "tool_input": given}
    return json.dumps({**entered, **call, **({"error": error} if error else {})})
