"""What `make bench` counts for a program, and says of a bar that is missed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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


def test_what_the_benchmark_held_is_not_counted_for_a_program(tmp_path: Path) -> None:
    assert len(bytearray(b"x" * (200 << 20)))

    done = run([sys.executable, "-c", "pass"], {"HOME": str(tmp_path)})

    assert 0 < done.peak < 100 << 20


def test_a_program_has_the_variables_and_the_input_that_are_given(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("words")
    code = "import os; print(os.environ['A'], 'PATH' in os.environ, input())"

    done = run([sys.executable, "-c", code], {"A": "b=c"}, stdin=tmp_path / "in")

    assert done.output.split() == [b"b=c", b"False", b"words"]


@pytest.mark.parametrize("program", [sys.executable, "/no/such/program"])
def test_a_program_that_does_not_end_well_is_no_figure(program: str, tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"not well|No such file"):
        run([program, "-c", "import sys; sys.exit('not well')"], {"HOME": str(tmp_path)})
