"""``qmd bench``: measured against a fixture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qmd.app import bench
from tests.qmd.app.world import Qmd


def fixture(place: Path, **query: object) -> str:
    path = place / "fixture.json"
    row = {"id": "q1", "query": "tokens hourly", "type": "exact", "expected_files": ["plan.md"], "expected_in_top_k": 1}
    path.write_text(json.dumps({"version": 1, "queries": [row | query]}))
    return str(path)


def test_what_is_found_first_scores_1_and_a_missing_backend_0(notes: Path, place: Path, qmd: Qmd) -> None:
    report = json.loads(qmd("bench", fixture(place), "--json").out)
    backends = report["results"][0]["backends"]
    assert (backends["bm25"]["precision_at_k"], backends["bm25"]["mrr"], backends["bm25"]["f1"]) == (1, 1, 1)
    assert backends["vector"]["recall"] == backends["full"]["recall"] == 0
    assert set(report["summary"]) == {"bm25", "vector", "hybrid", "full"}
    shown = qmd("bench", fixture(place))
    assert "q1                        bm25      1.00  1.00" in shown.out
    assert "q1 / bm25..." in shown.err


@pytest.mark.parametrize(
    ("content", "said"),
    [("{}", "missing 'queries' array"), ("[", "Expecting value"), ('{"queries": [{}]}', "each query needs")],
)
def test_a_fixture_that_is_none_is_refused(notes: Path, place: Path, qmd: Qmd, content: str, said: str) -> None:
    (place / "f.json").write_text(content)
    done = qmd("bench", "f.json")
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_nothing_indexed_is_no_score(qmd: Qmd, place: Path) -> None:
    done = qmd("bench", fixture(place))
    assert done.code == 1
    assert "No indexed documents found." in done.err
    assert "Collection not found: nope" in qmd("bench", fixture(place), "-c", "nope").err


def test_the_measures_are_the_textbooks() -> None:
    found = bench.score(["qmd://n/x.md", "n/b.md", "A.md"], ["a.md", "b.md", "c.md"], 2)
    assert found["precision_at_k"] == pytest.approx(1 / 2)
    assert found["recall"] == pytest.approx(2 / 3)
    assert (found["recall_at_1"], found["mrr"], found["hits_at_k"]) == (0, 0.5, 1)
    assert found["f1"] == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))
    assert (found["matched_files"], found["unmatched_expected_files"]) == (["a.md", "b.md"], ["c.md"])
