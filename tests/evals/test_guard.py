"""A replay of the guard counts lines, false fires and repeated failures by what a person labelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import config
from core.errors import BadInput
from core.home import Home
from evals.guard import invented, replay
from runtime.guard import guard
from tests.runtime.guard.worlds import CASES, remember

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples"
FAIL = "- Bash: pnpm fix\n  ! Exit code 1\n  ! Found 0 warnings and 3 errors.\n- Bash: pnpm fix"
QUIET = "- Bash: git status\n- Edit: /srv/api/a.py (lines 1-2)"


def played(home: Home, known: dict[replay.Label, list[str]]) -> replay.Tally:
    home.make()
    days = [FAIL, FAIL, QUIET, FAIL, QUIET, QUIET]
    sessions = [{"turns": [turn], "project": "/srv/api", "day": f"2026-05-0{day}"} for day, turn in enumerate(days, 1)]
    remember(home, sessions)
    return replay.replay(home, config.load(home), known)


def test_a_repeated_failure_is_foreseen_and_the_line_judged_by_its_label(home: Home) -> None:
    line = next(iter(played(home, {}).items))["line"]
    known = {("m3.md", line, "before"): ["dead end"], ("m4.md", line, "before"): []}
    found = replay.replay(home, config.load(home), known).as_dict()
    assert (found["sessions"], found["replayed"], found["calls"]) == (6, 3, 6)
    assert (found["lines"], found["right"], found["wrong"], found["unlabelled"]) == (1, 1, 0, 0)
    assert (found["repeats"], found["foreseen"]) == (1, 1)
    assert (found["labelled"], found["controls"], found["fired_on_controls"]) == (2, 1, 0)
    assert found["precision"] == {"value": 1.0, "bar": 0.9, "met": True}


def test_a_line_at_a_control_is_a_false_fire(home: Home) -> None:
    line = next(iter(played(home, {}).items))["line"]
    found = replay.replay(home, config.load(home), {("m3.md", line, "before"): []}).as_dict()
    assert (found["wrong"], found["fired_on_controls"]) == (1, 1)
    assert found["precision"]["met"] is False
    assert found["false_share"]["met"] is False


def test_what_was_not_counted_meets_no_bar(home: Home) -> None:
    home.make()
    remember(home, [{"turns": [QUIET], "project": "/srv/api", "day": "2026-05-01"}])
    found = replay.replay(home, config.load(home), {}).as_dict()
    assert found["precision"]["met"] is None
    assert found["foreseen_share"]["met"] is None


def test_the_labels_hold_places_and_verdicts_alone() -> None:
    known = replay.labels()
    assert len(known) >= 150
    kinds = {"dead end", "fix", "invocation", "decision"}
    assert {kind for right in known.values() for kind in right} <= kinds
    assert {when for _, _, when in known} <= {"before", "failed"}


def test_a_folder_without_sessions_is_refused(home: Home, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        replay.remember(tmp_path, home)


@pytest.mark.long
def test_the_samples_meet_the_bars(home: Home) -> None:
    if not SAMPLES.is_dir():
        pytest.skip(f"no {SAMPLES}")
    found = replay.replay(home, replay.remember(SAMPLES, home), replay.labels()).as_dict()
    assert found["unlabelled"] == 0
    assert found["labelled"] >= 150
    assert [found[name]["met"] for name in ("precision", "false_share", "foreseen_share")] == [True, True, True]


@pytest.mark.long
def test_every_invented_moment_gets_its_line_or_silence() -> None:
    found = invented.measure()
    assert found["moments"] >= 130
    assert found["items"] == []
    assert (found["precision"], found["recall"]) == (1.0, 1.0)


def test_a_guard_that_says_nothing_misses_what_it_owes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invented, "cases", lambda: [case for case in CASES if case["says"]][:3])
    monkeypatch.setattr(guard, "RULES", ())
    found = invented.measure()
    assert (found["missed"], found["recall"], found["precision"]) == (3, 0.0, None)
