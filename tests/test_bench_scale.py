"""The benchmark of a growing memory, at its smallest size, on every engine that is installed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from bench.measure import ROOT


@pytest.mark.long
def test_a_memory_of_a_thousand_passages_is_measured_on_each_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "scale", "--quick", "--sizes", "1000", "--times", "3", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    named = {row["name"].partition(": ")[2] for row in report["rows"]}
    assert {"index from nothing, wall", "ask by words, cold, p95", "ask by meaning, serve, p50"} <= named
    on_postgres = any("PostgreSQL" in line for line in report["skipped"]) or (
        {f"PostgreSQL{rows}, server time of a question, p95" for rows in ("", ", rows × 3")} <= named
    )
    assert on_postgres, report
