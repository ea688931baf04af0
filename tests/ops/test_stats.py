"""The statistics of the telemetry, with torn rows counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brain import main
from core import telemetry
from core.home import Home
from ops.stats.stats import percentile, stats

ROWS: list[dict[str, Any]] = [
    {
        "ts": "2026-05-01T08:00:00Z",
        "event": "ask",
        "surface": "terminal",
        "latency_ms": 40,
        "exit_code": 0,
        "n_hits": 3,
    },
    {"ts": "2026-05-01T09:00:00Z", "event": "ask", "surface": "mcp", "latency_ms": 2000, "exit_code": 67, "query": "x"},
    {"ts": "2026-05-02T09:00:00Z", "event": "ask", "surface": "mcp", "latency_ms": 60, "exit_code": 67, "query": "x"},
    {"ts": "2026-05-02T10:00:00Z", "event": "ask", "surface": "mcp", "latency_ms": 50, "exit_code": 66},
    {
        "ts": "2026-05-02T11:00:00Z",
        "event": "index",
        "surface": "hook",
        "latency_ms": 90,
        "exit_code": 0,
        "n_ingested": 4,
    },
    {"ts": "2026-05-02T12:00:00Z", "event": "doctor_run", "surface": "launchd", "exit_code": 1, "failures": ["disk"]},
    {"ts": "2020-01-01T00:00:00Z", "event": "ask", "surface": "terminal", "latency_ms": 1, "exit_code": 0},
]


@pytest.fixture
def used(home: Home) -> Home:
    """A home with a ledger: one file rotated out, one torn row."""
    lines = [json.dumps({"schema": 1, **row}) for row in ROWS]
    Path(home.logs, "usage-202605.jsonl").write_text("\n".join(lines[:2]) + "\n")
    Path(home.usage).write_text("\n".join([*lines[2:], '{"ts": "2026', "[]"]) + "\n")
    return home


def test_use_latency_and_failures_are_counted(used: Home) -> None:
    found = stats(used, 1_700_000_000)
    assert (found["rows"], found["torn"]) == (6, 2)
    assert found["surfaces"] == {"mcp": 3, "terminal": 1, "hook": 1}
    asks = found["commands"]["ask"]
    assert (asks["count"], asks["p50_ms"], asks["p95_ms"], asks["over_budget"], asks["failed"]) == (4, 50, 2000, 1, 1)
    assert (found["asks"]["answered"], found["asks"]["no_hits"]) == (1, 2)
    assert found["asks"]["in_vain"] == [{"query": "x", "count": 2}]
    assert found["failures"] == {66: 1}
    assert found["growth"] == [{"day": "2026-05-02", "ingested": 4}]
    assert found["doctor"] == {"runs": 1, "failures": {"disk": 1}}


def test_nothing_used_is_no_error(home: Home) -> None:
    assert stats(home, 0)["rows"] == 0


def test_other_machines_are_counted_apart_on_request(used: Home, brain: Callable[..., Any]) -> None:
    folder = Path(used.logs, "machines")
    folder.mkdir()
    lines = [json.dumps({"schema": 1, **row}) for row in ROWS[:4]]
    (folder / "laptop.jsonl").write_text("\n".join([*lines, '{"ts"']) + "\n")
    (folder / "tower.jsonl").write_text("")
    (folder / ".laptop.jsonl.1.tmp").write_text("half")
    own = stats(used, 1_700_000_000)
    assert (own["rows"], own["machine"]) == (6, None)
    nothing = {"rows": 0, "torn": 0, "asks": 0, "answered": 0, "last": None}
    assert own["machines"] == {
        "laptop": {"rows": 4, "torn": 1, "asks": 4, "answered": 1, "last": "2026-05-02T10:00:00Z"},
        "tower": nothing,
    }
    assert stats(used, 1_700_000_000, "laptop")["commands"]["ask"]["count"] == 4
    everything = stats(used, 1_700_000_000, "all")
    assert (everything["rows"], everything["torn"]) == (10, 3)
    assert everything["days"]["2026-05-01"] == {"ask": 4}
    done = brain("stats", "--since", "2026-01-01")
    assert "laptop: 4 rows, 4 questions, 1 answered, the last at 2026-05-02T10:00:00Z" in done.stdout
    refused = brain("stats", "--machine", "nowhere", "--json")
    assert refused.returncode == 64
    assert "laptop, tower, all" in json.loads(refused.stdout)["fix"]


def test_what_was_rotated_out_is_read_as_what_was_not(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "ROTATE_BYTES", 2000)
    for number in range(100):
        assert telemetry.record(home, "ask", "terminal", latency_ms=number, exit_code=0, n_hits=1) is None
    assert len(telemetry.ledgers(home)) > 3
    found = stats(home, 0)
    assert (found["rows"], found["torn"]) == (100, 0)
    assert (found["commands"]["ask"]["count"], found["commands"]["ask"]["p50_ms"]) == (100, 49)


def test_how_long_a_server_ran_is_no_latency(home: Home, brain: Callable[..., Any]) -> None:
    telemetry.record(home, "web", "terminal", latency_ms=3_600_000, exit_code=0)
    found = stats(home, 0)["commands"]["web"]
    assert (found["count"], found["p50_ms"], found["p95_ms"]) == (1, None, None)
    assert "web" in brain("stats").stdout


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_one_of_the_values(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-6
    assert percentile([], share) is None


def test_a_chart_is_drawn(used: Home, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, magic in (("use.svg", b"<?xml"), ("use.png", b"\x89PNG")):
        assert main(["stats", "--since", "2026-01-01", "--svg", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes().startswith(magic)
        shown = capsys.readouterr()
        assert shown.err == ""
        assert "4 questions" in shown.out


def test_a_chart_of_another_kind_is_refused(used: Home, brain: Callable[..., Any], tmp_path: Path) -> None:
    assert brain("stats", "--svg", str(tmp_path / "use.bmp")).returncode == 64
    assert brain("stats", "--svg", str(tmp_path / "no" / "use.svg")).returncode == 64
