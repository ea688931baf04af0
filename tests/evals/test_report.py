from __future__ import annotations

import copy
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from core.errors import BadInput
from core.home import Home
from evals.arms.registry import Chosen
from evals.reporting import chart, report
from evals.reporting.chart import label
from evals.runs import store, tally
from evals.runs.metrics import LEAST
from evals.runs.run import Settings, run
from evals.sets import loading
from tests.evals import small
from tests.homes import environment


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The figures of one run, and the home that keeps the run."""
    place = tmp_path_factory.mktemp("measured")
    small.trec(place / "data" / "kit|chen $x$")
    with pytest.MonkeyPatch.context() as patch, environment(place):
        _hide_qmd(patch)
        home = Home(str(place / "home"))
        home.make()
        arms = [Chosen(name) for name in ("qmd-lex", "ask", "real-qmd")]
        return run(home, loading.load([str(place / "data")], home), arms, Settings()), place / "home"


@pytest.fixture
def figures(measured: tuple[dict[str, Any], Path], home: Home) -> dict[str, Any]:
    """The figures of a run that ``home`` keeps."""
    found, kept = measured
    shutil.copytree(kept, home.root, symlinks=True, dirs_exist_ok=True)
    return copy.deepcopy(found)


def _row(month: int, arm: str, share: float) -> dict[str, Any]:
    figures = dict.fromkeys(("hit@1", "hit@10", "recall@1", "recall@5", "recall@10", "mrr@10", "ndcg@10"), 0.5)
    said = {"ts": f"2026-{month:02d}-03T10:00:00Z", "run": f"r{month}", "arm": arm, "documents": 9, "questions": 4}
    return {**said, **figures, "hit@5": share}


@pytest.fixture(autouse=True)
def _no_real_qmd(monkeypatch: pytest.MonkeyPatch) -> None:
    _hide_qmd(monkeypatch)


def _hide_qmd(patch: pytest.MonkeyPatch) -> None:
    patch.delenv("BRAIN_REAL_QMD", raising=False)
    patch.setenv("PATH", "/nowhere")


def test_a_report_is_a_page_with_pictures_that_open(figures: dict[str, Any], home: Home, tmp_path: Path) -> None:
    history = [_row(month, arm, 0.5 + month / 100) for month in (3, 4) for arm in ("ask", "qmd-lex")]
    files = report.write(figures, history, str(tmp_path / "out"), os.path.join(home.state, "cache"))
    names = {os.path.basename(file) for file in files}
    assert names == {"report.md", "run.png", "run.svg", "history.png", "history.svg"}
    page = (tmp_path / "out" / "report.md").read_text()
    assert "kit\\|chen $x$" in page
    assert "| 2026-04-03 | 1 | 54.0 | 54.0 |" in page
    assert "- real-qmd was skipped: no qmd on PATH" in page
    assert set(re.findall(r"!\[\w+\]\((.+)\)", page)) == {"run.png", "history.png"}
    for name in ("run", "history"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert ElementTree.parse(tmp_path / "out" / f"{name}.svg").getroot().tag.endswith("svg")  # our own file
    assert all(Path(file).stat().st_mode & 0o077 == 0 for file in files)
    assert not list(Path(os.environ["HOME"]).iterdir()), "the chart library leaves nothing with the user"


def test_every_row_of_a_table_has_every_cell(figures: dict[str, Any]) -> None:
    page = report.page(figures, [_row(3, "ask", 0.5)], [])
    width = 0
    for line in page.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert not width or not cells or cells == width, line
        width = cells


def test_without_history_there_is_no_chapter_on_it(figures: dict[str, Any]) -> None:
    page = report.page(figures, [], [])
    assert "Your own memory" not in page
    assert "## kit" in page
    assert "## kit" not in report.page(None, [_row(3, "ask", 0.5)], [])


def test_a_history_of_one_day_is_a_week_wide_and_no_decade() -> None:
    panels = chart._history([_row(3, "ask", 0.5)]).axes
    assert [high - low for low, high in (panel.get_xlim() for panel in panels)] == [7, 7]


def test_rows_of_another_set_are_not_joined_with_those_before() -> None:
    history = [_row(month, "ask", 0.5) | {"set": 1 + (month > 4)} for month in (3, 4, 5, 6)]
    del history[0]["set"]  # rows of the first version say none
    for panel in chart._history(history).axes:
        assert [len(np.asarray(line.get_xdata())) for line in panel.lines] == [2, 2, 2], (
            "two lines, and where the set changed"
        )
        assert [text.get_text() for text in panel.texts] == ["set 2"]
    page = report.page(None, history, [])
    assert "| 2026-04-03 | 1 | 50.0 |" in page
    assert "| 2026-05-03 | 2 | 50.0 |" in page


def test_each_type_says_how_much_of_its_questions_is_copied() -> None:
    row = _row(3, "ask", 0.5) | {"by_type": {"title": 0.9, "reworded": 0.4}, "counts": {"title": 30, "reworded": 20}}
    page = report.page(None, [row | {"set": 2, "copied": {"title": 0.85, "reworded": 0.5}}], [])
    assert "| reworded | 20 | 50 % | 40.0 |" in page
    assert "copied: the share of a question's words" in page
    assert "its questions are copies" in report.page(None, [row], []), "of a set of the first version"


def test_few_questions_have_no_interval_anywhere(figures: dict[str, Any]) -> None:
    compared = figures["sets"][0]["arms"][1]["against"]
    assert compared["questions"] < LEAST
    assert {value["low"] for value in compared["differences"].values()} == {None}
    assert "+0.0 [too few]" in report.page(figures, [], [])
    assert "too few" in " ".join(text.get_text() for text in chart._run(figures).axes[1].texts)
    assert report.interval({"mean": -1.0, "low": -1.0, "high": -1.0}, 2) == "-100.0 [too few]", "a run of before"
    assert report.interval({"mean": 0.1, "low": 0.0, "high": 0.2}, LEAST) == "+10.0 [+0.0, +20.0]"


def test_names_in_a_chart_are_characters_that_its_font_has() -> None:
    assert label("naïve 学校\x1b[31m") == "naïve ??" + label("\x1b[31m")
    assert len(label("x" * 500)) == 40


def test_runs_are_found_by_name_and_from_the_last_one_back(figures: dict[str, Any], home: Home) -> None:
    assert store.read(home, "last")["run"] == figures["run"] == store.read(home, figures["run"])["run"]
    for name in ("last~1", "last~x", "nothing", "", "../runs"):
        assert store.find(home, name) is None
    with pytest.raises(BadInput):
        store.read(home, "nothing")


def test_a_run_against_itself_differs_in_nothing(figures: dict[str, Any], home: Home) -> None:
    one, other = (tally.side(home, name) for name in ("last/qmd-lex", "last/ask"))
    assert one is not None
    assert other is not None
    (found,) = tally.compare(one, other)["sets"]
    assert (found["questions"], found["changed"]) == (4, [])
    assert (found["a"], found["b"]) == ("qmd-lex", "ask")


def test_changed_questions_are_listed_with_their_ranks(figures: dict[str, Any], home: Home) -> None:
    side = tally.side(home, "last/ask")
    assert side is not None
    file = Path(store.answers_file(side.place, figures["sets"][0]["name"], "ask"))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        if row.get("id") == "q1":
            row["ranked"] = ["jam", "../bread", "tea"]
        if row.get("id") == "q2":
            row["ranked"] = []
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one = tally.side(home, "last/qmd-lex")
    assert one is not None
    (found,) = tally.compare(one, side)["sets"]
    assert [(c["id"], c["before"], c["after"]) for c in found["changed"]] == [("q2", 1, 0), ("q1", 1, 3)]
    assert found["differences"]["hit@1"]["mean"] == -0.5
    assert found["differences"]["hit@5"]["mean"] == -0.25


def test_an_arm_that_a_run_has_not_is_refused(figures: dict[str, Any], home: Home) -> None:
    assert figures["ok"]
    with pytest.raises(BadInput, match="has no arm"):
        tally.side(home, "last/inproc-bm25")
    assert tally.side(home, "qmd-lex") is None


def test_history_passes_over_what_is_torn(home: Home) -> None:
    assert store.history(home) == []
    Path(home.logs, store.HISTORY).write_text(json.dumps(_row(3, "ask", 0.5)) + '\n{"ts": 1}\n[1]\n{"half')
    assert [row["run"] for row in store.history(home)] == ["r3"]
