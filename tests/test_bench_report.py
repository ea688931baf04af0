"""What `make bench` says of a bar that is missed."""

from __future__ import annotations

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
