"""The acceptance gate: a verdict on a week of use, with its evidence.

Weeks are counted from the first row of the telemetry. A verdict is written once, to ``logs/acceptance/week-N.json``.
Recall is measured with the verdict, unless a run has measured it since the week began. If it cannot be measured, the
verdict is conditional, and the next such verdict is a pivot.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass
from os.path import join
from typing import TYPE_CHECKING, Any

from core import clock
from core.config import load
from core.errors import BrainError, Internal, Refused
from core.files import read_or_none, write_atomic
from evals.runs import store
from ops.install import installed
from ops.stats.stats import BUDGET_MS, percentile, read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.home import Home

WEEK_S = 7 * clock.DAY
# The settings of ``acceptance:`` in collections.yml; docs/operating.md explains them.
THRESHOLDS: dict[str, float] = {
    "uses": 20,
    "days": 3,
    "within_budget": 0.95,
    "agent_uses": 5,
    "agent_answered": 0.5,
    "recall": 0.8,
    "recall_drop": 0.05,
    "teardown_below": 5,
}
CONTINUE, PIVOT, TEARDOWN = "continue", "pivot", "teardown"
# The commands by which somebody uses the memory; indexing and checking are what the memory does for itself.
USES = ("ask", "recent", "inbox", "inbox_write", "why", "show", "trace", "add", "export")
_PEOPLE = ("terminal", "web", "tui")
_AGENTS = ("claude-code", "mcp")
_ARM = "ask"
RECALL = "recall"
# Questions of each kind, as `brain eval build` draws them.
_EACH = 40


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question of the gate: ``figure`` against ``threshold``; ``met`` is None where nothing was measured."""

    id: str
    question: str
    figure: float | None
    threshold: float
    met: bool | None
    evidence: dict[str, Any]
    fix: str


def judge(home: Home, week: int | None = None, *, force: bool = False, now: float | None = None) -> dict[str, Any]:
    """Return the envelope of ``brain acceptance``: the verdict on ``week``, None for the latest that is over.

    A verdict that is there is given again as it was. ``force`` judges a week that is not over, and writes nothing.
    Raises Refused if the week is not over, BadInput for a configuration that does not hold, Internal.
    """
    instant = clock.now() if now is None else int(now)
    known = None if week is None else verdict(home, week)
    if known is not None:
        return known
    rows, torn = read(home, 0)
    began = _began(home, rows)
    if began is None:
        raise Refused("the memory has not been used yet: there is no week to judge", "brain ask …; come back in a week")
    over = max(0, (instant - began) // WEEK_S)
    number = week or (over + 1 if force and over == 0 else over)
    ends = began + number * WEEK_S
    if number < 1 or (ends > instant and not force):
        number = max(1, number)
        raise Refused(
            f"week {number} is not over: it ends {clock.iso(began + number * WEEK_S)}",
            f"brain acceptance --week {number} --force judges what there is, and writes nothing",
        )
    known = verdict(home, number)
    if known is not None:
        return known
    thresholds = _thresholds(home)
    week_rows = [row for row in rows if clock.iso(ends - WEEK_S) <= row["ts"] < clock.iso(ends)]
    # A measurement of now holds for the week that has just ended, not for an older one.
    latest = 0 <= instant - ends < WEEK_S
    why = "" if force or not latest else _measure_recall(home, ends - WEEK_S)
    # The measurement took time; its figures are of its end.
    until = max(instant, int(clock.now())) if latest else ends
    criteria = _criteria(home, week_rows, thresholds, ends, until, why)
    decided = _verdict(home, number, criteria, thresholds)
    unmeasured = [criterion.id for criterion in criteria if criterion.met is None]
    result = {
        "schema": 1,
        "ok": True,
        "week": number,
        "from": clock.iso(ends - WEEK_S),
        "to": clock.iso(ends),
        "judged_at": clock.iso(instant),
        "provisional": ends > instant,
        "verdict": decided,
        "conditional": decided == CONTINUE and RECALL in unmeasured,
        "unmeasured": unmeasured,
        "criteria": [asdict(criterion) for criterion in criteria],
        "began": clock.iso(began),
        "rows": len(week_rows),
        "torn": torn,
    }
    if not result["provisional"]:
        write_atomic(_path(home, number), json.dumps(result, ensure_ascii=False, indent=1).encode())
    return result


def owed(home: Home, now: float | None = None) -> list[int]:
    """Return the weeks without a verdict, of the first and the latest that is over."""
    instant = clock.now() if now is None else int(now)
    began = _began(home, read(home, 0)[0])
    over = 0 if began is None else (instant - began) // WEEK_S
    return [week for week in sorted({1, over}) if 1 <= week <= over and verdict(home, week) is None]


def verdict(home: Home, week: int) -> dict[str, Any] | None:
    """Return the verdict on a week as it was written, None if there is none. Raises Internal if it is damaged."""
    path = _path(home, week)
    data = read_or_none(path)
    if data is None:
        return None
    try:
        found: dict[str, Any] = json.loads(data)
        found["verdict"]
    except (ValueError, TypeError, KeyError) as error:
        raise Internal(f"{path} is damaged: {error}", f"rm {path}; then brain acceptance --week {week}") from None
    return found


def _path(home: Home, week: int) -> str:
    return join(home.logs, "acceptance", f"week-{week}.json")


def _began(home: Home, rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the beginning of week 1: from the first verdict, so that lost telemetry moves no week,
    else the first row.
    """
    first = verdict(home, 1)
    noted = clock.parse_iso(str(first.get("began") or "")) if first else None
    return noted if noted is not None or not rows else clock.parse_iso(str(rows[0]["ts"]))


def _thresholds(home: Home) -> dict[str, float]:
    section = load(home).section("acceptance")
    return {name: float(section.get(name, default)) for name, default in THRESHOLDS.items()}


def _verdict(home: Home, week: int, criteria: Sequence[Criterion], thresholds: Mapping[str, float]) -> str:
    """Return the verdict: teardown without use, pivot if a criterion fails or two weeks have no recall, else continue.

    A criterion without a figure decides nothing.
    """
    uses = next(criterion.figure for criterion in criteria if criterion.id == "uses") or 0
    if uses < thresholds["teardown_below"]:
        return TEARDOWN
    if any(criterion.met is False for criterion in criteria):
        return PIVOT
    unshown = any(criterion.id == RECALL and criterion.met is None for criterion in criteria)
    earlier = [each for each in verdicts(home) if each < week] if unshown else []
    before = verdict(home, earlier[-1]) if earlier else None
    return PIVOT if before is not None and RECALL in (before.get("unmeasured") or ()) else CONTINUE


def _measure_recall(home: Home, since: int) -> str:
    """Measure recall on the personal set, unless a run did since then; return why that failed, "" if it did not."""
    if any(row["arm"] == _ARM and str(row["ts"]) >= clock.iso(since) for row in store.history(home)):
        return ""
    from evals.arms import registry
    from evals.questions import drawing
    from evals.runs.run import Settings, run

    try:
        if not os.path.exists(drawing.path(home)):  # an existing set is the user's
            drawing.build(home, _EACH)
        questions, _ = drawing.load(home)
        store.remember(home, run(home, [questions], [registry.Chosen(_ARM)], Settings()))
    except (BrainError, OSError) as error:
        return str(error)
    return ""


def _criteria(
    home: Home, rows: list[dict[str, Any]], thresholds: Mapping[str, float], ends: int, by: int, why: str
) -> list[Criterion]:
    uses = [row for row in rows if row["event"] in USES and row.get("surface") in (*_PEOPLE, *_AGENTS)]
    return [
        *_use(uses, thresholds),
        _latency(rows, thresholds),
        *_agents(home, rows, thresholds),
        *_recall(home, thresholds, ends, by, why),
    ]


def _use(uses: list[dict[str, Any]], thresholds: Mapping[str, float]) -> list[Criterion]:
    days = sorted({row["ts"][:10] for row in uses})
    by_command = dict(Counter(row["event"] for row in uses).most_common())
    by_surface = dict(Counter(str(row["surface"]) for row in uses).most_common())
    return [
        _at_least(
            "uses",
            "were the commands used enough to matter?",
            float(len(uses)),
            thresholds["uses"],
            {"commands": by_command, "surfaces": by_surface},
            "use it for what you look up anyway, or `brain teardown`",
        ),
        _at_least(
            "days",
            "is it becoming a habit?",
            float(len(days)),
            thresholds["days"],
            {"days": days},
            "brain hooks install, so that memory comes without being asked for",
        ),
    ]


def _latency(rows: list[dict[str, Any]], thresholds: Mapping[str, float]) -> Criterion:
    timed = [
        (row["event"], float(row["latency_ms"]))
        for row in rows
        if row["event"] in BUDGET_MS
        and row.get("surface") != "launchd"
        and isinstance(row.get("latency_ms"), int | float)
    ]
    within = sum(took <= BUDGET_MS[event] for event, took in timed)
    evidence = {
        event: {
            "count": len(times),
            "p50_ms": percentile(times, 0.5),
            "p95_ms": percentile(times, 0.95),
            "budget_ms": BUDGET_MS[event],
        }
        for event in sorted({event for event, _ in timed})
        if (times := [took for name, took in timed if name == event])
    }
    return _at_least(
        "latency",
        "did latency stay within the budget?",
        round(within / len(timed), 4) if timed else None,
        thresholds["within_budget"],
        evidence,
        "brain stats shows which command; brain explain what it waits for",
    )


def _agents(home: Home, rows: list[dict[str, Any]], thresholds: Mapping[str, float]) -> list[Criterion]:
    """Return the criteria of agents' questions and hooks' recalls; they have no figure if nothing is installed for
    agents.
    """
    record = installed.read(home)
    surfaces = {kind: sorted(record[kind]) for kind in ("hooks", "skills", "files") if record[kind]}
    asked = [row for row in rows if row.get("surface") in _AGENTS and row["event"] in USES]
    recalls = [row for row in rows if row["event"] == "hook" and row.get("n_hits")]
    count = len(asked) + len(recalls)
    questions = [row for row in asked if row["event"] in ("ask", "why")]
    answered = sum(bool(row.get("n_hits")) for row in questions)
    there = bool(surfaces or count)
    evidence = {"installed": surfaces, "asked": len(asked), "recalled_by_hooks": len(recalls)}
    fix = "brain skills uninstall; brain hooks uninstall: what nobody uses is complexity"
    return [
        _at_least(
            "agent_uses",
            "did the agent surface earn its complexity?",
            float(count) if there else None,
            thresholds["agent_uses"],
            evidence,
            fix if there else "brain skills install; brain hooks install",
        ),
        _at_least(
            "agent_answered",
            "did agents find what they asked for?",
            round(answered / len(questions), 4) if questions else None,
            thresholds["agent_answered"],
            {"questions": len(questions), "answered": answered},
            "brain stats lists what was asked in vain",
        ),
    ]


def _recall(home: Home, thresholds: Mapping[str, float], ends: int, by: int, why: str) -> list[Criterion]:
    """Return the personal set's hits in the first five: the newest run until ``by``, and the last before the week.

    ``why``: the reason of a failed measurement, "" for none.
    """
    runs = [row for row in store.history(home) if row["arm"] == _ARM and str(row["ts"]) <= clock.iso(by)]
    newest = runs[-1] if runs else None
    # Figures of another version's questions say nothing about these.
    like = newest.get("set", 1) if newest else 1
    earlier = [row for row in runs if str(row["ts"]) < clock.iso(ends - WEEK_S) and row.get("set", 1) == like]
    before = earlier[-1] if earlier and newest is not earlier[-1] else None
    figure = float(newest["hit@5"]) if newest else None
    drop = round(float(before["hit@5"]) - figure, 4) if before and figure is not None else None
    shown: dict[str, Any] = {
        name: {key: row.get(key) for key in ("ts", "run", "questions", "hit@1", "hit@5")}
        for name, row in (("newest", newest), ("before", before))
        if row
    }
    if newest is None:
        shown["not_measured"] = why or "no run of the personal set by then"
    fix = "brain eval build && brain eval run"
    held = None if drop is None else drop <= thresholds["recall_drop"]
    return [
        _at_least("recall", "does it find what the personal set asks for?", figure, thresholds["recall"], shown, fix),
        Criterion(
            "recall_drop", "did recall on the personal set hold?", drop, thresholds["recall_drop"], held, shown, fix
        ),
    ]


def _at_least(
    name: str, question: str, figure: float | None, threshold: float, evidence: dict[str, Any], fix: str
) -> Criterion:
    met = None if figure is None else figure >= threshold
    return Criterion(name, question, figure, threshold, met, evidence, fix)


def verdicts(home: Home) -> list[int]:
    """Return the weeks that have a verdict, in order."""
    try:
        names = os.listdir(join(home.logs, "acceptance"))
    except FileNotFoundError:
        return []
    numbers = [name.removeprefix("week-").removesuffix(".json") for name in names if name.startswith("week-")]
    return sorted(int(number) for number in numbers if number.isdigit())
