from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.errors import BadInput, Internal
from core.home import Home
from evals.arms import asking, child
from evals.arms.registry import Chosen, Place, Unavailable
from evals.questions import drawing
from evals.reporting import report
from evals.runs import corpora, run
from evals.runs.run import Settings
from evals.sets import loading
from evals.sets.dataset import split_of
from qmd.embedding.embedder import alone
from runtime.capture.indexing import index
from tests.evals import small
from tests.qmd.reranking.onnx_file import folder

ARMS = ("inproc-bm25", "qmd-lex", "ask")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    small.trec(folder / "trec")
    small.locomo(folder / "talk.json")
    return folder


@pytest.fixture(scope="module")
def indexed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of scratch homes in which the sets of ``data`` are indexed and embedded."""
    home = Home(str(tmp_path_factory.mktemp("indexed")))
    home.make()
    for each in loading.load([str(data)], home):
        for corpus in each.corpora:
            corpora.build(home, corpus, vectors=True)
    return Path(corpora.cache(home))


@pytest.fixture
def ready(home: Home, indexed: Path) -> Home:
    """A home with copies of the indexed sets."""
    shutil.copytree(indexed, corpora.cache(home))
    return home


def _run(home: Home, data: Path, *arms: str, **given: Any) -> dict[str, Any]:
    settings = Settings(**{name: given.pop(name) for name in list(given) if name in Settings._fields})
    return run.run(home, loading.load([str(data)], home), [Chosen(arm) for arm in arms], settings, **given)


def _rows(result: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    return {row["arm"]: row for each in result["sets"] if each["name"] == name for row in each["arms"]}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_arm_answers_every_set_through_the_product(ready: Home, data: Path) -> None:
    result = _run(ready, data, *ARMS)
    assert [(each["name"], each["questions"], each["documents"]) for each in result["sets"]] == [
        ("talk", 3, 4),
        ("trec", 4, 4),
    ]
    for name in ("talk", "trec"):
        for arm, row in _rows(result, name).items():
            # Okapi's weight of a word that one of two documents has is zero.
            assert row["metrics"]["hit@1"] == (0 if (name, arm) == ("talk", "inproc-bm25") else 1), row
            assert row["errors"] == 0
            assert row["peak_bytes"] > 1_000_000
            assert 0 < row["latency_ms"]["p50"] <= row["latency_ms"]["p95"]
    why = "no query table is fitted to local/all-MiniLM-L6-v2 yet"
    for each in result["sets"]:
        without = each["without_query_table"]
        assert list(without) == {"trec": ["trec"], "talk": ["conv-1", "conv-2"]}[each["name"]]
        assert set(without.values()) == {f"{why} (it has fewer than 20 chunks)"}
        assert {row["arm"]: row["clocks"] for row in each["arms"]} == {
            "inproc-bm25": {},
            "qmd-lex": {},
            "ask": {f"words alone: {why}": each["questions"]},
        }
        page = "\n".join(report.clocks(each))
        assert f"ask answered by words alone: {why} ({each['questions']})" in page
        assert f"no query table for {', '.join(without)}: {why}" in page
    assert _rows(result, "talk")["ask"]["by_type"].keys() == {"single-hop", "multi-hop", "temporal"}
    assert _rows(result, "trec")["qmd-lex"]["metrics"]["recall@1"] == pytest.approx(0.875), "one has two answers"


def test_others_are_compared_with_the_baseline_in_pairs(ready: Home, data: Path) -> None:
    rows = _rows(_run(ready, data, "ask", "qmd-lex"), "talk")
    assert "against" not in rows["qmd-lex"]
    assert rows["ask"]["against"] == {
        "arm": "qmd-lex",
        "questions": 3,
        "differences": {name: {"mean": 0.0, "low": None, "high": None} for name in rows["ask"]["metrics"]},
    }
    assert _rows(_run(ready, data, "ask", "qmd-lex", baseline="ask"), "talk")["qmd-lex"]["against"]["arm"] == "ask"
    with pytest.raises(BadInput):
        _run(ready, data, "ask", baseline="qmd-lex")


def test_abstentions_are_counted_for_questions_that_have_no_answer_there(ready: Home, data: Path) -> None:
    row = _rows(_run(ready, data, "qmd-lex"), "talk")["qmd-lex"]["abstention"]
    assert row["false_abstentions"] == {"share": 0.0, "count": 0, "questions": 3}
    # Of the other set's four questions no word occurs in these dialogs; the other dialog's words do not either.
    assert row["wrong_set_answered"] == {"share": 0.0, "count": 0, "questions": 4}
    assert row["wrong_conversation_answered"]["questions"] == 3
    assert _rows(_run(ready, data, "qmd-lex"), "trec")["qmd-lex"]["abstention"]["wrong_conversation_answered"] is None


def test_the_users_own_memory_is_neither_written_nor_counted(ready: Home, data: Path) -> None:
    _run(ready, data, "ask", "qmd-lex", cold=1)
    kept = _files(Path(ready.root))
    assert {name.partition("/")[0] for name in kept} == {"state"}
    assert {name.split("/")[1] for name in kept} == {"eval"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in Path(ready.state, "eval").glob("*"))


def test_whole_processes_are_measured_beside_the_floor(ready: Home, data: Path) -> None:
    rows = _rows(_run(ready, data, "ask", "qmd-lex", cold=2), "trec")
    cold = rows["ask"]["cold_ms"]
    assert cold["questions"] == 2
    assert cold["floor_p50"] < cold["p50"] <= cold["p95"]
    assert "cold_ms" not in rows["qmd-lex"]


def test_a_second_run_finds_its_corpora(ready: Home, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _run(ready, data, "qmd-lex")
    jobs = _watch(monkeypatch)
    second = _run(ready, data, "qmd-lex")
    assert [job["op"] for job in jobs] == ["ask", "ask"]
    assert [each["arms"][0]["metrics"] for each in first["sets"]] == [
        each["arms"][0]["metrics"] for each in second["sets"]
    ]
    assert first["run"] != second["run"]


def test_a_changed_module_makes_the_index_anew(home: Home, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(home, data, "qmd-lex")
    stamps = sorted(Path(corpora.cache(home)).glob("*/built.json"))
    assert len(stamps) == 3
    stamp = json.loads(stamps[0].read_text())
    assert "qmd/index/derived.py" in stamp["modules"]
    assert "qmd/search/search.py" not in stamp["modules"], "ranking is no part of the index"
    stamp["modules"]["qmd/index/derived.py"] = "0"
    stamps[0].write_text(json.dumps(stamp))
    jobs = _watch(monkeypatch)
    _run(home, data, "qmd-lex")
    assert [job["rebuild"] for job in jobs if job["op"] == "index"] == [True]


def test_vectors_are_made_for_arms_that_need_them_and_kept(
    home: Home, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = _watch(monkeypatch)
    rows = _rows(_run(home, data / "trec", "qmd-lex", "qmd-vec"), "trec")
    assert rows["qmd-vec"]["metrics"]["hit@1"] == 1
    # A corpus of four documents is ranked whole: the model abstains from nothing.
    assert rows["qmd-vec"]["metrics"]["recall@10"] == 1
    assert [job["op"] for job in jobs] == ["index", "embed", "ask", "ask"]
    _run(home, data / "trec", "qmd-vec")
    assert [job["op"] for job in jobs[4:]] == ["ask"]


def test_the_warm_arm_is_the_whole_path_with_the_model_encoding(ready: Home, data: Path) -> None:
    arms = ("ask-warm", "ask", "ask-warm:mode=vec", "ask-warm:min_score=1")
    rows = _rows(_run(ready, data / "trec", *arms), "trec")
    assert rows["ask-warm"]["metrics"]["hit@1"] == 1
    assert rows["ask-warm"]["errors"] == 0
    assert rows["ask-warm"]["clocks"] == {"words and meaning, by the model": 4}
    assert rows["ask-warm:mode=vec"]["clocks"] == {"meaning, by the model": 4}
    # Nothing else than the model can ask so few documents by meaning: a table is not fitted to them.
    assert rows["ask-warm:mode=vec"]["metrics"]["recall@10"] == 1
    assert rows["ask-warm"]["peak_bytes"] > 2 * rows["ask"]["peak_bytes"], "the model's process counts"
    lost = {arm: rows[arm]["abstention"]["false_abstentions"]["count"] for arm in ("ask-warm", "ask-warm:min_score=1")}
    assert lost["ask-warm:min_score=1"] > lost["ask-warm"] == 0, "its options count here, too"


def test_a_model_that_does_not_load_is_why_the_warm_arm_is_skipped(
    ready: Home, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (dataset,) = loading.load([str(data / "trec")], ready)
    built = corpora.build(ready, dataset.corpora[0], vectors=True)
    scratch = Home(built.root)
    place = Place(scratch, config.load(scratch), "", json.loads(Path(built.ids).read_text()))
    monkeypatch.setenv("PYTHONPATH", str(data))
    (data / "onnxruntime.py").write_text("raise MemoryError('none left')")
    try:
        with pytest.raises(Unavailable, match="did not load"), asking.warm(place):
            pass
    finally:
        (data / "onnxruntime.py").unlink()


def test_an_arm_of_vectors_says_where_there_are_none(home: Home) -> None:
    Path(home.root, "inbox").mkdir()
    Path(home.root, "inbox", "one.md").write_text("# Graphite for the printer gearbox\n\nTwice a year.\n")
    index(home, config.load(home), roots=[])
    drawing.build(home, 5)
    dataset, _ = drawing.load(home)
    result = run.run(home, [dataset], [Chosen("qmd-vec"), Chosen("ask-warm")], Settings())
    for row in result["sets"][0]["arms"]:
        assert "brain embed" in row["skipped"]


def test_what_this_versions_ask_cannot_do_is_skipped_with_its_reason(
    ready: Home, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (dataset,) = loading.load([str(data / "trec")], ready)
    built = corpora.build(ready, dataset.corpora[0])
    scratch = Home(built.root)
    place = Place(scratch, config.load(scratch), "", json.loads(Path(built.ids).read_text()))
    monkeypatch.setattr("evals.arms.asking.Request", type("Request", (), {"__slots__": ("limit",)}))
    for opened, said in (
        (lambda: asking.hybrid(place), "no hybrid search"),
        (lambda: asking.reranked(place), "no reranker"),
        (lambda: asking.ask(place, mode="lex").__enter__(), "no mode"),
    ):
        with pytest.raises(Unavailable, match=said):
            opened()
    with pytest.raises(BadInput):
        asking.ask(place, min_score="much")


@pytest.mark.parametrize(
    ("arm", "needed"), [("ask", True), ("ask:mode=lex", False), ("ask:mode=vec", True), ("qmd-lex", False)]
)
def test_a_corpus_is_embedded_only_for_arms_that_ask_by_meaning(arm: str, needed: bool) -> None:
    assert Chosen(arm).vectors is needed


def test_the_hybrid_arm_is_asked_by_the_model_however_small_a_set_is(home: Home, tmp_path: Path) -> None:
    place = small.trec(tmp_path / "other words")
    (place / "queries.tsv").write_text("q1\tfruit preserves\nq2\tbaking a loaf\n")
    (place / "qrels.tsv").write_text("q1\tjam\t1\nq2\t../bread\t1\n")
    rows = _rows(_run(home, place, "qmd-lex", "qmd-hybrid"), "other words")
    assert rows["qmd-lex"]["metrics"]["hit@10"] == 0
    assert rows["qmd-hybrid"]["metrics"]["hit@1"] == 1
    assert rows["qmd-hybrid"]["errors"] == 0


@pytest.mark.long
def test_the_order_of_a_reranker_is_measured_where_one_is_configured(
    ready: Home, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QMD_RERANK_MODEL", raising=False)
    shipped = Path(config.locate(ready)).read_text(encoding="utf-8")
    arms = ("qmd-hybrid", "qmd-hybrid+rerank")
    row = _rows(_run(ready, data / "trec", *arms), "trec")["qmd-hybrid+rerank"]
    assert "no reranker is configured" in row["skipped"]
    own = Path(ready.root, "collections.yml")
    place = folder(tmp_path / "tiny")
    own.write_text(f"{shipped}\nrerank:\n  path: {place}\n  timeout_s: 60\n")
    rows = _rows(_run(ready, data / "trec", *arms), "trec")
    reranked = rows["qmd-hybrid+rerank"]
    assert reranked["errors"] == 0
    assert reranked["metrics"]["recall@10"] == rows["qmd-hybrid"]["metrics"]["recall@10"], "the same candidates"
    (place / "model.onnx").write_bytes(b"no model")
    own.write_text(f"{shipped}\nrerank:\n  path: {place}\n  timeout_s: 59\n")
    row = _rows(_run(ready, data / "trec", *arms), "trec")["qmd-hybrid+rerank"]
    assert "does not load" in row["skipped"]


def test_a_run_that_was_cut_short_goes_on_where_it_was(
    ready: Home, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _run(ready, data, "qmd-lex", "ask")
    asked = 0
    original = child.work

    def dies(job: Any, environ: Any) -> Iterator[dict[str, Any]]:
        nonlocal asked
        for value in original(job, environ):
            asked += "id" in value
            if asked > 12:
                raise KeyboardInterrupt
            yield value

    with monkeypatch.context() as patched:
        patched.setattr(child, "work", dies)
        with pytest.raises(KeyboardInterrupt):
            _run(ready, data, "qmd-lex", "ask")
    (torn,) = [path for path in Path(ready.state, "eval", "partial").rglob("*.jsonl") if "ask" in path.name]
    with torn.open("ab") as stream:
        stream.write(b'{"id": "half a li')
    jobs = _watch(monkeypatch)
    again = _run(ready, data, "qmd-lex", "ask")
    assert (whole["resumed"], again["resumed"]) == (False, True)
    left = [
        question for job in jobs if job["op"] == "ask" for corpus in job["corpora"] for question in corpus["questions"]
    ]
    total = sum(3 + 3 + 4 if each["name"] == "talk" else 4 + 3 for each in whole["sets"]) * 2
    assert len(left) == total - 12
    for name in ("talk", "trec"):
        for arm in ("qmd-lex", "ask"):
            assert _rows(again, name)[arm]["metrics"] == _rows(whole, name)[arm]["metrics"]
    assert not list(Path(ready.state, "eval", "partial").iterdir())


def test_an_arm_that_cannot_run_says_why(ready: Home, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("BRAIN_REAL_QMD", raising=False)
    row = _rows(_run(ready, data, "qmd-lex", "real-qmd"), "trec")["real-qmd"]
    assert row == {"arm": "real-qmd", "skipped": "no qmd on PATH (BRAIN_REAL_QMD=…/dist/cli/qmd.js names one)"}


def test_a_worker_that_dies_is_an_error_with_its_last_words(home: Home) -> None:
    with pytest.raises(Internal, match=r"ended with 1: .*KeyError"):
        list(child.work({"op": "ask", "arm": "no such arm", "corpora": []}, dict(os.environ)))


def test_a_run_waits_for_what_a_killed_one_left_embedding(home: Home, data: Path) -> None:
    (dataset,) = loading.load([str(data / "trec")], home)
    root = corpora.build(home, dataset.corpora[0]).root
    job = {"op": "embed", "home": root}
    with ThreadPoolExecutor(1) as pool:
        with alone(os.path.join(root, "state", "embed.lock")):
            said = pool.submit(lambda: list(child.work(job, child.environment(root))))
            with pytest.raises(TimeoutError):
                said.result(2)
        assert said.result(120)[-1]["pending"] == 0


def test_an_arm_or_option_that_there_is_not_is_refused() -> None:
    for text in (
        "nothing",
        "ask:colour=red",
        "ask:mode",
        "ask:mode=guess",
        "ask-warm:min_score=1.5",
        "ask:min_score=nan",
    ):
        with pytest.raises(BadInput):
            Chosen(text)
    assert Chosen("ask").label == "ask"


def test_an_empty_split_is_said(home: Home, tmp_path: Path) -> None:
    folder = small.trec(tmp_path / "one")
    (folder / "queries.tsv").write_text("q2\tsourdough starter\n")
    other = "held-out" if split_of("sourdough starter") == "dev" else "dev"
    with pytest.raises(BadInput, match="no question in the split"):
        _run(home, folder, "qmd-lex", split=other)


def _watch(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    original = child.work

    def seen(job: Any, environ: Any) -> Iterator[dict[str, Any]]:
        jobs.append(job)
        yield from original(job, environ)

    monkeypatch.setattr(child, "work", seen)
    return jobs
