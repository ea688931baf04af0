"""What `make bench` measures apart, and says of a bar that is missed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from bench.__main__ import apart
from bench.measure import Failed, run
from bench.report import Report, Row


def _report(*rows: Row) -> Report:
    report = Report()
    for row in rows:
        report.add(row)
    return report


def test_a_missed_bar_is_news_unless_it_is_known_why() -> None:
    new = Row("slow", "9 s", bar="≤ 1 s", met=False)
    known = Row("slow by nature", "9 s", bar="≤ 1 s", met=False, known="all of it is read")

    assert _report(new, known).missed == [new]
    assert _report(known).as_dict()["ok"] is True
    assert _report(new).as_dict()["ok"] is False


def test_a_known_miss_is_shown_as_a_miss_with_its_reason() -> None:
    page = _report(Row("slow by nature", "9 s", bar="≤ 1 s", met=False, known="all of it is read")).markdown()

    assert "| no, known |" in page
    assert "slow by nature: all of it is read" in page


def test_a_bar_that_is_met_after_all_is_no_miss() -> None:
    page = _report(Row("quick", "1 s", bar="≤ 1 s", met=True, known="all of it is read")).markdown()

    assert "| yes |" in page
    assert "all of it is read" not in page


def _large(report: Report) -> None:
    assert len(bytearray(b"x" * (200 << 20)))
    report.add(Row("large", "done"))


def _small(report: Report, *, environ: dict[str, str]) -> None:
    report.add(Row("small", str(run([sys.executable, "-c", "pass"], environ).peak)))


def _failing(report: Report) -> None:
    raise Failed("it did not end well")


def _killed(report: Report) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_one_suite_needs_of_memory_is_not_counted_for_the_next(tmp_path: Path) -> None:
    report = apart(_small, apart(_large, Report()), environ={"HOME": str(tmp_path)})
    assert [row.name for row in report.rows] == ["large", "small"]
    assert int(report.rows[1].value) < 150 << 20


def test_a_suite_that_fails_or_is_killed_says_so() -> None:
    with pytest.raises(Failed, match="did not end well"):
        apart(_failing, Report())
    with pytest.raises(EOFError, match="_killed was killed"):
        apart(_killed, Report())
