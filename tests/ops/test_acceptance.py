"""The gate: each criterion by its own figure, one verdict, written once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core import clock
from core.errors import BadInput, Internal, Refused
from core.home import Home
from evals.questions import drawing
from evals.runs import store
from ops.checks import usage as check
from ops.checks.finding import CheckContext
from ops.install import installed
from ops.stats import acceptance
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf

BEGAN = int(clock.parse_iso("2026-03-02T08:00:00Z") or 0)
OVER = BEGAN + acceptance.WEEK_S + 60
Row = dict[str, Any]


def row(hours: float, event: str = "ask", surface: str = "terminal", **fields: Any) -> Row:
    told = {"latency_ms": 40, "exit_code": 0, "n_hits": 3, **fields}
    return {"schema": 1, "ts": clock.iso(BEGAN + hours * 3600), "surface": surface, "event": event, **told}


def good_week() -> list[Row]:
    people = [row(24 * day + hour) for day in range(5) for hour in range(5)]
    return people + [row(24 * day + 6, surface="claude-code") for day in range(6)]


def use(home: Home, rows: list[Row], evals: list[tuple[float, float]] = ()) -> None:  # type: ignore[assignment]
    Path(home.usage).write_text("".join(json.dumps(each) + "\n" for each in rows))
    Path(home.logs, "eval.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "ts": clock.iso(BEGAN + hours * 3600),
                    "arm": "ask",
                    "run": "r",
                    "hit@1": hit,
                    "hit@5": hit,
                    "questions": 9,
                }
            )
            + "\n"
            for hours, hit in evals
        )
    )


def judged(home: Home, **options: Any) -> tuple[str, dict[str, bool | None]]:
    found = acceptance.judge(home, **{"now": OVER, **options})
    return found["verdict"], {each["id"]: each["met"] for each in found["criteria"]}


def test_a_week_of_use_goes_on(home: Home) -> None:
    use(home, good_week(), [(100, 0.9)])
    verdict, met = judged(home)
    assert verdict == "continue"
    assert met == {
        "uses": True,
        "days": True,
        "latency": True,
        "agent_uses": True,
        "agent_answered": True,
        "recall": True,
        "recall_drop": None,
    }


def test_what_is_not_used_is_torn_down(home: Home) -> None:
    # Indexing and checking are no use of a memory, however often they happen.
    use(home, [row(0), row(1, "inbox_write"), *(row(hour, "index") for hour in range(100))])
    assert judged(home)[0] == "teardown"


BROKEN: dict[str, tuple[list[Row], list[tuple[float, float]]]] = {
    "uses": ([row(24 * day) for day in range(6)], []),
    "days": ([row(hour / 10) for hour in range(30)], []),
    "latency": ([each | {"latency_ms": 1500} if n % 8 == 0 else each for n, each in enumerate(good_week())], []),
    "agent_answered": (
        [each | {"n_hits": 0} if each["surface"] == "claude-code" else each for each in good_week()],
        [],
    ),
    "recall": (good_week(), [(3, 0.79)]),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_one_criterion_that_does_not_hold_is_a_pivot(home: Home, broken: str) -> None:
    use(home, *BROKEN[broken])
    verdict, met = judged(home)
    assert verdict == "pivot"
    assert [name for name, held in met.items() if held is False] == [broken]


def test_an_unmeasured_criterion_is_not_met_and_is_reported(home: Home, brain: Brain) -> None:
    use(home, good_week())
    found = acceptance.judge(home, now=OVER)
    assert (found["verdict"], found["conditional"], found["unmeasured"]) == (
        "continue",
        True,
        ["recall", "recall_drop"],
    )
    (recall,) = [each for each in found["criteria"] if each["id"] == "recall"]
    assert (recall["met"], recall["figure"]) == (None, None)
    assert "index" in recall["evidence"]["not_measured"]
    (finding,) = check.gate(CheckContext(home, {}, OVER + 60))
    assert (finding.id, finding.severity) == ("acceptance:unmeasured", "notice")
    said = brain("acceptance", "--week", "1")
    assert said.returncode == 0
    assert "continue, on the condition that recall is measured" in said.stdout


def test_recall_that_two_verdicts_have_not_shown_is_a_pivot(home: Home) -> None:
    later = [
        each | {"ts": clock.iso(int(clock.parse_iso(each["ts"]) or 0) + acceptance.WEEK_S)} for each in good_week()
    ]
    use(home, [*good_week(), *later])
    assert judged(home)[0] == "continue"
    verdict, met = judged(home, week=2, now=OVER + acceptance.WEEK_S)
    assert (verdict, met["recall"]) == ("pivot", None)
    (finding,) = check.gate(CheckContext(home, {}, OVER + acceptance.WEEK_S + 60))
    assert "recall not measured" in finding.evidence


def test_judging_measures_recall_where_nobody_has(home: Home) -> None:
    shelf = Shelf(home)
    for number, title in enumerate(("The walrus crossed the harbour", "Lamps along the northern river")):
        shelf.put("brain", f"{number}.md", "Said and done.", title=title, session_id=f"s{number}", source="claude")
    now = clock.now()
    moved = now - OVER - 200
    use(home, [each | {"ts": clock.iso(int(clock.parse_iso(each["ts"]) or 0) + moved)} for each in good_week()])
    early = acceptance.judge(home, now=now - 3600, force=True)
    assert early["conditional"], "a week that is not over is not measured"
    found = acceptance.judge(home, now=now - 100)  # it measures, and that ends later than it began
    (recall,) = [each for each in found["criteria"] if each["id"] == "recall"]
    assert (found["verdict"], found["conditional"], recall["figure"]) == ("continue", False, 1.0)
    assert recall["evidence"]["newest"]["questions"] >= 2
    assert len(store.history(home)) == 1


def test_measuring_recall_leaves_the_questions_that_there_are(home: Home) -> None:
    shelf = Shelf(home)
    for number, title in enumerate(("The walrus crossed the harbour", "Lamps along the northern river")):
        shelf.put("brain", f"{number}.md", "Said and done.", title=title, session_id=f"s{number}", source="claude")
    drawing.build(home, 40)
    kept_ones = json.loads(Path(drawing.path(home)).read_text())
    kept_ones["questions"] = kept_ones["questions"][:1]
    Path(drawing.path(home)).write_text(json.dumps(kept_ones))
    assert acceptance._measure_recall(home, 0) == ""
    assert json.loads(Path(drawing.path(home)).read_text()) == kept_ones
    assert len(store.history(home)) == 1


def test_recall_that_sinks_does_not_hold(home: Home) -> None:
    use(
        home,
        [*good_week(), *(each | {"ts": clock.iso(OVER + 3600)} for each in good_week())],
        [(100, 0.95), (200, 0.85)],
    )
    verdict, met = judged(home, week=2, now=OVER + acceptance.WEEK_S)
    assert (verdict, met["recall"], met["recall_drop"]) == ("pivot", True, False)


def test_recall_on_other_questions_is_no_drop(home: Home) -> None:
    weeks = [*good_week(), *(each | {"ts": clock.iso(OVER + 3600)} for each in good_week())]
    use(home, weeks, [(100, 0.95), (200, 0.85)])
    log = Path(home.logs, "eval.jsonl")
    first, second = (json.loads(line) for line in log.read_text().splitlines())
    log.write_text(f"{json.dumps(first)}\n{json.dumps(second | {'set': 2})}\n")
    assert judged(home, week=2, now=OVER + acceptance.WEEK_S)[1]["recall_drop"] is None


def test_an_agent_surface_that_nobody_uses_has_not_earned_its_complexity(home: Home) -> None:
    people = [each for each in good_week() if each["surface"] == "terminal"]
    use(home, people)
    assert judged(home, force=True, now=OVER - 3600)[1]["agent_uses"] is None, "nothing was put up for agents"
    installed.add(home, "skills", "/x/SKILL.md", {"sha256": "", "scope": None, "agents": False})
    assert judged(home, force=True, now=OVER - 3600)[1]["agent_uses"] is False
    use(home, people + [row(hour, "hook", "hook", latency_ms=30) for hour in range(5)])
    assert judged(home)[1]["agent_uses"] is True, "what a hook recalled was of use"


def test_thresholds_are_the_configurations(home: Home) -> None:
    use(home, good_week())
    shipped = Path(__file__).resolve().parents[2].joinpath("collections.yml").read_text()
    Path(home.root, "collections.yml").write_text(shipped.replace("  uses: 20 ", "  uses: 32 "))
    assert judged(home)[1]["uses"] is False


def test_the_shipped_thresholds_are_the_documented_ones(home: Home) -> None:
    from core.config import load

    assert load(home).section("acceptance") == acceptance.THRESHOLDS
    page = Path(__file__).resolve().parents[2].joinpath("docs", "operating.md").read_text()
    assert all(f"`{name}: {value:g}`" in page for name, value in acceptance.THRESHOLDS.items())


@pytest.mark.parametrize("line", ["uses: -1", "uses: many", "recall: 80", "usage: 3", "within_budget: true"])
def test_a_threshold_that_is_none_is_refused(home: Home, line: str) -> None:
    Path(home.root, "collections.yml").write_text(f"collections: {{brain: {{path: brain}}}}\nacceptance: {{{line}}}\n")
    use(home, good_week())
    with pytest.raises(BadInput, match="acceptance"):
        judged(home)


def test_a_verdict_is_written_once(home: Home) -> None:
    use(home, good_week())
    first = acceptance.judge(home, now=OVER)
    path = Path(home.logs, "acceptance", "week-1.json")
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()) == first
    use(home, [])
    assert acceptance.judge(home, 1, now=OVER + 99) == first
    assert acceptance.owed(home, OVER + 99) == []


def test_lost_telemetry_moves_no_week(home: Home) -> None:
    use(home, good_week())
    acceptance.judge(home, now=OVER)
    use(home, [row(200 + hour) for hour in range(6)])
    second = acceptance.judge(home, now=OVER + acceptance.WEEK_S)
    assert (second["week"], second["from"]) == (2, clock.iso(BEGAN + acceptance.WEEK_S))


def test_a_week_that_is_not_over_is_not_judged(home: Home) -> None:
    use(home, good_week())
    with pytest.raises(Refused, match="week 1 is not over"):
        acceptance.judge(home, now=OVER - 120)
    with pytest.raises(Refused, match="week 2 is not over"):
        acceptance.judge(home, 2, now=OVER)
    early = acceptance.judge(home, now=OVER - 120, force=True)
    assert (early["provisional"], early["week"]) == (True, 1)
    assert acceptance.verdicts(home) == []


def test_a_memory_that_was_never_used_is_not_judged(home: Home) -> None:
    with pytest.raises(Refused):
        acceptance.judge(home)


def test_a_damaged_verdict_is_no_verdict_on_anything_else(home: Home) -> None:
    use(home, good_week())
    acceptance.judge(home, now=OVER)
    Path(home.logs, "acceptance", "week-1.json").write_text('{"verd')
    with pytest.raises(Internal) as failure:
        acceptance.judge(home, now=OVER)
    assert "week-1.json" in failure.value.fix


def test_the_doctor_makes_up_for_a_verdict_that_was_slept_through(home: Home) -> None:
    use(home, [row(0), row(1)])
    assert list(check.gate(CheckContext(home, {}, OVER - 120))) == []
    (finding,) = check.gate(CheckContext(home, {}, OVER + acceptance.WEEK_S))
    assert acceptance.verdicts(home) == [1, 2]
    assert (finding.id, finding.severity) == ("acceptance:teardown", "notice")
    assert finding.fix == "brain acceptance --week 2"


def test_the_exit_code_is_the_verdict(home: Home, brain: Brain) -> None:
    use(home, good_week())
    done = brain("acceptance", "--week", "1", "--json")
    assert (done.returncode, json.loads(done.stdout)["verdict"]) == (0, "continue")
    use(home, [row(0)])
    Path(home.logs, "acceptance", "week-1.json").unlink()
    shown = brain("acceptance", "--week", "1")
    assert shown.returncode == 1
    assert shown.stdout.startswith("week 1 (2026-03-02 to 2026-03-09): teardown\n")
    use(home, [row(0) | {"ts": clock.iso(clock.now())}])
    Path(home.logs, "acceptance", "week-1.json").unlink()
    assert brain("acceptance").returncode == 71
