from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Brain
from tests.evals import small


def test_a_run_prints_figures_or_one_object(brain: Brain, tmp_path: Path) -> None:
    small.trec(tmp_path / "data" / "kitchen")
    shown = brain("eval", "run", "--data", str(tmp_path / "data"), "-a", "qmd-lex", "-a", "ask", "-a", "inproc-bm25")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("kitchen: 4 questions, 4 documents\n")
    for said in ("nDCG@10", "\nask ", "\nqmd-lex ", "  ask less qmd-lex: hit@1 +0.0 [+0.0, +0.0]", "\nkept as "):
        assert said in shown.stdout
    answer = brain("eval", "run", "--data", str(tmp_path / "data" / "kitchen"), "-a", "ask", "--json")
    result = json.loads(answer.stdout)
    assert (result["ok"], result["sets"][0]["arms"][0]["metrics"]["hit@1"]) == (True, 1)


def test_what_is_no_set_or_arm_is_refused(brain: Brain, tmp_path: Path) -> None:
    for words, said in ((["--data", str(tmp_path)], "holds no question set"), (["-a", "x"], "there is no arm")):
        refused = brain("eval", "run", *words)
        assert (refused.returncode, refused.stdout) == (64, "")
        assert said in refused.stderr


def test_a_row_of_telemetry_is_the_runs_and_no_questions(brain: Brain, tmp_path: Path) -> None:
    import os

    small.trec(tmp_path / "kitchen")
    brain("eval", "run", "--data", str(tmp_path / "kitchen"), "-a", "ask", "--cold", "1")
    rows = [json.loads(line) for line in Path(os.environ["BRAIN_HOME"], "logs", "usage.jsonl").read_text().splitlines()]
    assert [(row["event"], row["n_sets"]) for row in rows] == [("eval", 1)]
