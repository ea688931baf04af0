from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import brain as program
from tests.conftest import Brain
from tests.evals import small


def test_a_run_prints_figures_or_one_object(brain: Brain, tmp_path: Path) -> None:
    small.trec(tmp_path / "data" / "kitchen")
    shown = brain("eval", "run", "--data", str(tmp_path / "data"), "-a", "qmd-lex", "-a", "ask", "-a", "inproc-bm25")
    assert shown.returncode == 0
    progress = shown.stderr.splitlines()
    assert {line.partition(": ")[2].partition(":")[0] for line in progress} == {"kitchen"}
    assert shown.stdout.startswith("kitchen: 4 questions, 4 documents\n")
    for said in ("nDCG@10", "\nask ", "\nqmd-lex ", "  ask less qmd-lex: hit@1 +0.0 [too few]", "\nkept as "):
        assert said in shown.stdout
    answer = brain("eval", "run", "--data", str(tmp_path / "data" / "kitchen"), "-a", "ask", "--json")
    result = json.loads(answer.stdout)
    assert (result["ok"], result["sets"][0]["arms"][0]["metrics"]["hit@1"]) == (True, 1)


def test_questions_that_could_not_be_asked_or_scored_are_reported(brain: Brain, tmp_path: Path) -> None:
    folder = small.trec(tmp_path / "set")
    (folder / "queries.tsv").write_text("q1\tgreen tea\nq2\tsour\x07dough\nq5\tnobody judged this\n")
    done = brain("eval", "run", "--data", folder, "-a", "ask:mode=lex")
    assert "ask:mode=lex: 1 question ended with an error and found nothing; the first: bad_query" in done.stdout
    assert "left out: 1 question without words or without a relevant document" in done.stdout
    assert brain("eval", "report", "--out", tmp_path / "out").returncode == 0
    page = (tmp_path / "out" / "report.md").read_text()
    assert "- ask:mode=lex: 1 question ended with an error" in page
    assert "- Left out: 1 question without words" in page
    below = list(Path(os.environ["BRAIN_HOME"], "state", "eval").rglob("*"))
    assert any(path.is_file() and "docs" in path.parts for path in below)
    assert [path for path in below if path.stat().st_mode & 0o077] == [], "others may read it"


def test_what_is_no_set_or_arm_is_refused(brain: Brain, tmp_path: Path) -> None:
    for words, said in ((["--data", str(tmp_path)], "holds no question set"), (["-a", "x"], "there is no arm")):
        refused = brain("eval", "run", *words)
        assert (refused.returncode, refused.stdout) == (64, "")
        assert said in refused.stderr


def test_a_row_of_telemetry_is_the_runs_and_no_questions(brain: Brain, tmp_path: Path) -> None:
    small.trec(tmp_path / "kitchen")
    brain("eval", "run", "--data", str(tmp_path / "kitchen"), "-a", "ask:mode=lex", "--cold", "1")
    rows = [json.loads(line) for line in Path(os.environ["BRAIN_HOME"], "logs", "usage.jsonl").read_text().splitlines()]
    assert [(row["event"], row["n_sets"]) for row in rows] == [("eval", 1)]


def _index(brain: Brain) -> None:
    folder = Path(os.environ["BRAIN_HOME"], "inbox")
    assert brain("inbox", "--type", "decision", "we keep the tokens under one lock, always, everywhere").returncode == 0
    assert brain("inbox", "the gearbox of the printer wants graphite grease twice a year").returncode == 0
    assert folder.is_dir()
    assert brain("index").returncode == 0


def test_questions_of_ones_own_get_a_dated_row_each_time(brain: Brain) -> None:
    refused = brain("eval", "run")
    assert refused.returncode == 65 or "brain eval build" in refused.stderr
    _index(brain)
    built = brain("eval", "build", "--json")
    assert json.loads(built.stdout)["questions"] > 1
    before = {path: path.read_bytes() for path in Path(os.environ["BRAIN_HOME"]).glob("index.sqlite*")}
    for _ in range(2):
        shown = brain("eval", "run", "-a", "ask")
        assert (shown.returncode, shown.stdout[:5]) == (0, "own: ")
    assert {path: path.read_bytes() for path in Path(os.environ["BRAIN_HOME"]).glob("index.sqlite*")} == before
    log = Path(os.environ["BRAIN_HOME"], "logs")
    rows = [json.loads(line) for line in (log / "eval.jsonl").read_text().splitlines()]
    assert [(row["arm"], row["hit@5"]) for row in rows] == [("ask", 1), ("ask", 1)]
    events = [json.loads(line)["event"] for line in (log / "usage.jsonl").read_text().splitlines()]
    assert "ask" not in events
    written = brain("eval", "report", "--json")
    assert all(Path(file).is_file() for file in json.loads(written.stdout)["files"])


def test_ones_own_questions_have_no_split_to_tune_on(brain: Brain) -> None:
    refused = brain("eval", "run", "--split", "dev")
    assert refused.returncode == 64
    assert "held out" in refused.stderr


def test_two_arms_or_two_runs_are_compared(brain: Brain, tmp_path: Path) -> None:
    data = small.trec(tmp_path / "kitchen")
    shown = brain("eval", "compare", "qmd-lex", "ask:mode=lex", "--data", str(data))
    assert shown.returncode == 0
    progress = shown.stderr.splitlines()
    assert {line.partition(": ")[2].partition(":")[0] for line in progress} == {"kitchen"}
    assert shown.stdout.startswith("kitchen, ask:mode=lex less qmd-lex: 4 questions\n  hit@1      +0.0 [too few]\n")
    assert "too few: below 20 questions" in shown.stdout
    brain("eval", "run", "--data", str(data), "-a", "ask:mode=lex")
    found = json.loads(brain("eval", "compare", "last~1", "last", "--json").stdout)
    assert [(each["a"], each["b"], each["questions"]) for each in found["sets"]] == [
        ("ask:mode=lex", "ask:mode=lex", 4)
    ]
    for words in (["ask"], ["last", "ask"], ["nothing", "ask"], ["last~9", "last"]):
        assert brain("eval", "compare", *words, "--data", str(data)).returncode == 64


def test_a_comparison_without_kept_runs_says_what_to_run(brain: Brain) -> None:
    refused = brain("eval", "compare", "last~1", "last")
    assert refused.returncode == 64
    assert "there is no run 'last~1': no finished run is kept" in refused.stderr
    assert "brain eval run --data PATH" in refused.stderr


def test_a_report_of_nothing_says_what_to_run(brain: Brain) -> None:
    refused = brain("eval", "report")
    assert refused.returncode == 64
    assert "brain eval run" in refused.stderr


def test_a_run_that_is_interrupted_says_that_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("evals.runs.run.run", interrupted)
    small.trec(tmp_path / "kitchen")
    assert program.main(["eval", "run", "--data", str(tmp_path / "kitchen"), "-a", "ask"]) == 130
    assert capsys.readouterr().err.splitlines() == [
        "brain: every answer so far is kept: the same command, without --fresh, goes on from there",
        "brain: interrupted",
    ]
