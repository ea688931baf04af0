"""Figures of runs become one line an arm: from the kept runs, and from the history where a run is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.errors import BadInput
from core.home import Home
from evals.runs.trend import trend
from tests.web.site import write_run


def test_runs_and_history_are_one_line(home: Home) -> None:
    gone = {"schema": 1, "ts": "2026-03-01T12:00:00Z", "run": "gone", "arm": "ask", "questions": 9, "p50_ms": 3.0}
    both = {**gone, "ts": "2026-03-10T12:00:00Z", "run": "20260310T120000Z-0001"}
    figures = {"hit@1": 0.1, "hit@5": 0.2, "recall@5": 0.3}
    Path(home.logs).mkdir(parents=True, exist_ok=True)
    Path(home.logs, "eval.jsonl").write_text("".join(json.dumps({**each, **figures}) + "\n" for each in (gone, both)))
    write_run(home, "20260310T120000Z-0001", {"ask": 0.5})
    write_run(home, "20260311T120000Z-0002", {"ask": 0.6}, dataset="another set")
    found = trend(home, "recall@5")
    assert [each["name"] for each in found["sets"]] == ["own", "another set"]
    points = found["sets"][0]["arms"][0]["points"]
    assert [(point["run"], point["value"], point["questions"]) for point in points] == [
        ("gone", 0.3, 9),
        ("20260310T120000Z-0001", 0.5, 20),
    ]


def test_a_damaged_run_hides_no_other(home: Home) -> None:
    write_run(home, "20260310T120000Z-0001", {"ask": 0.5})
    for name, text in (
        ("20260311T120000Z-0002", "{"),
        ("20260312T120000Z-0003", "[]"),
        ("20260313T120000Z-0004", "{}"),
    ):
        place = Path(home.state, "eval", "runs", name)
        place.mkdir()
        place.joinpath("run.json").write_text(text)
    assert trend(home, "hit@1")["last"]["run"] == "20260310T120000Z-0001"


def test_without_runs_there_is_no_result(home: Home) -> None:
    assert trend(home, "hit@1")["error"] == "no_results"
    with pytest.raises(BadInput):
        trend(home, "vibes")
