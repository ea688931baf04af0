"""Answers, not only documents: spans of raw files, and how often a snippet shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import evals.arms.engine
from cli.engine.eval_output import lines
from core.errors import BadInput
from core.home import Home
from evals.arms import worker
from evals.arms.registry import ArmAnswer, Chosen, Place
from evals.reporting import report
from evals.runs import run, tally
from evals.runs.run import Settings
from evals.sets import loading, raw_files, spans
from evals.sets.dataset import UNANSWERABLE, Dataset, Question
from tests.conftest import Brain

SET = Path(__file__).resolve().parents[1] / "data" / "answers" / "answers.json"


def _record(session: str, number: int, role: str, content: Any) -> dict[str, Any]:
    return {
        "sessionId": session,
        "type": role,
        "uuid": f"{session}-{number}",
        "cwd": "/work/boat",
        "version": "2.1.0",
        "timestamp": f"2026-03-0{number}T10:00:00.000Z",
        "message": {"role": role, "content": content},
    }


def _transcript(path: Path, *turns: tuple[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [_record(path.stem, number, role, content) for number, (role, content) in enumerate(turns, 1)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "c1",
        "type": "command",
        "half": "choose",
        "question": "how did I caulk the hull",
        "file": "claude/hull.jsonl",
        "spans": [[2, "/message/content/0/text", 5, 23]],
    },
    {
        "id": "d1",
        "type": "decision",
        "half": "exam",
        "question": "which engine oil",
        "file": "claude/oil.jsonl",
        "spans": [[1, "/message/content", 0, 21]],
    },
    {"id": "u1", "type": "other topic", "half": "choose", "question": "who won the chess tournament"},
    {"id": "u2", "type": "near miss", "half": "choose", "question": "when did I caulk the deck"},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A set about two transcripts of Claude Code."""
    raw = tmp_path / "raw"
    said = "Run `caulk --seam  port` before the rain."
    _transcript(
        raw / "claude" / "hull.jsonl", ("user", "caulk the hull"), ("assistant", [{"type": "text", "text": said}])
    )
    _transcript(raw / "claude" / "oil.jsonl", ("user", "synthetic engine oil, not mineral"))
    return _write(tmp_path, QUESTIONS)


def _write(folder: Path, questions: list[dict[str, Any]]) -> Path:
    path = folder / "boat.json"
    path.write_text(json.dumps({"files": "raw", "sources": {"claude": "claude"}, "questions": questions}))
    return path


def test_a_span_is_found_whatever_markdown_does_to_it() -> None:
    wanted = spans.variants("run `make  test` in\n**core_kit**")
    assert wanted == ("run make test in core kit",)
    assert spans.first(wanted, ["no", "> - Run make test\n>   in `core_kit`"], 300) == 2
    assert spans.first(wanted, ["no"], 300) == 0


def test_a_span_is_found_in_what_is_redacted_of_it() -> None:
    token = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    plain, redacted = spans.variants(f"export GH_TOKEN={token}")
    assert token.casefold() in plain.replace(" ", "_")
    assert token.casefold() not in redacted.replace(" ", "_")
    assert spans.first((plain, redacted), [redacted], 300) == 1


def test_a_snippet_counts_up_to_its_budget() -> None:
    snippet = "x" * 295 + " answer"
    assert spans.first(("answer",), [snippet], 300) == 0
    assert spans.first(("answer",), [snippet], 302) == 1


def test_a_locator_reads_lines_pointers_and_whole_documents(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a/b": [{"c": "the answer is 42"}]}\n')
    (tmp_path / "c.jsonl").write_text(json.dumps({"arguments": json.dumps({"cmd": 'echo "x"'})}))
    assert spans.read(tmp_path / "c.jsonl", [1, "/arguments/cmd", 0, 8]) == 'echo "x"'
    (tmp_path / "b.json").write_text(json.dumps({"messages": [{"content": "forty-two"}]}, indent=1))
    assert spans.read(tmp_path / "a.jsonl", [2, "/a~1b/0/c", 4, 10]) == "answer"
    assert spans.read(tmp_path / "b.json", [0, "/messages/0/content", 0, 5]) == "forty"
    for locator in (
        [1, "/a", 0, 1],
        [9, "/a", 0, 1],
        [2, "/no", 0, 1],
        [2, "/a~1b/0/c", 4, 99],
        [2, "/a~1b/0/c", 3, 4],
    ):
        with pytest.raises(BadInput, match="jsonl"):
            spans.read(tmp_path / "a.jsonl", locator)


def test_a_set_has_the_files_the_halves_and_the_answers(data: Path, home: Home) -> None:
    (dataset,) = loading.load([str(data)], home)
    assert [(q.id, q.half, q.spans) for q in dataset.questions] == [
        ("c1", "choose", ("caulk --seam port",)),
        ("d1", "exam", ("synthetic engine oil,",)),
        ("u1", "choose", ()),
        ("u2", "choose", ()),
    ]
    assert dataset.questions[0].relevant == {"claude/hull.jsonl": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"half": "dev"}, "half 'dev'"),
        ({"file": "claude/gone.jsonl"}, "there is no file"),
        ({"spans": [[2, "/message/content/0/text", 0, 999]]}, "no characters 0 to 999"),
        ({"type": "near miss"}, "does not fit"),
        ({"file": None}, "does not fit"),
        ({"id": "u1"}, "two questions of the id"),
    ],
)
def test_a_wrong_label_is_refused_with_its_question(data: Path, home: Home, change: dict[str, Any], said: str) -> None:
    _write(data.parent, [{**QUESTIONS[0], **change}, *QUESTIONS[1:]])
    with pytest.raises(BadInput, match=said):
        loading.load([str(data)], home)


def test_a_set_without_its_raw_files_says_so(data: Path, home: Home) -> None:
    (data.parent / "raw").rename(data.parent / "elsewhere")
    with pytest.raises(BadInput, match="the raw files are not there"):
        loading.load([str(data)], home)


def test_real_files_are_indexed_and_asked(data: Path, home: Home) -> None:
    result = run.run(home, loading.load([str(data)], home), [Chosen("qmd-lex")], Settings(half="choose"))
    (each,) = result["sets"]
    assert (result["half"], each["questions"], each["documents"]) == ("choose", 1, 2)
    (row,) = each["arms"]
    assert (row["metrics"]["hit@1"], row["with_span"]) == (1, 1)
    assert {name: value for name, value in row["metrics"].items() if name.startswith("answer")} == {
        "answer@1/300": 1, "answer@3/300": 1, "answer@1/600": 1, "answer@3/600": 1,
    }  # fmt: skip
    assert row["abstention"]["other_topic_answered"] == {"share": 0, "count": 0, "questions": 1}
    assert row["abstention"]["near_miss_answered"] == {"share": 1, "count": 1, "questions": 1}
    again = run.run(home, loading.load([str(data)], home), [Chosen("qmd-lex")], Settings())
    assert again["sets"][0]["questions"] == 2


# Snippets of a made-up arm by question: documents, and what is shown of them at 300 and at 600 characters.
_MADE: dict[str, tuple[list[str], dict[int, list[str]]]] = {
    "how did I caulk the hull": (
        ["brain/oil.md", "brain/hull.md"],
        {300: ["no", "no"], 600: ["no", "caulk --seam port"]},
    ),
    "which engine oil": (["brain/oil.md"], {300: ["**synthetic** engine oil,"], 600: ["synthetic engine oil,"]}),
    "who won the chess tournament": ([], {300: [], 600: []}),
    "when did I caulk the deck": (["brain/hull.md"], {300: ["caulk"], 600: ["caulk"]}),
}


@contextmanager
def _made_up(_: Place) -> Iterator[Any]:
    def answer(question: str, limit: int) -> ArmAnswer:
        documents, snippets = _MADE[question]
        return ArmAnswer(documents[:limit], snippets=lambda budget: snippets[budget])

    yield answer


def test_figures_of_answers_are_what_they_are_by_hand(monkeypatch: pytest.MonkeyPatch, data: Path, home: Home) -> None:
    monkeypatch.setattr(evals.arms.engine, "lex", _made_up)
    monkeypatch.setattr("evals.arms.child.work", _work)
    result = run.run(home, loading.load([str(data)], home), [Chosen("qmd-lex")], Settings())
    (each,) = result["sets"]
    (row,) = each["arms"]
    found = row["metrics"]
    assert (found["hit@1"], found["hit@5"]) == (0.5, 1)
    assert [found[f"answer@{k}/{budget}"] for budget in (300, 600) for k in (1, 3)] == [0.5, 0.5, 0.5, 1]
    assert row["by_type"]["command"]["answer@3/300"] == 0
    assert row["by_type"]["command"]["answer@3/600"] == 1
    assert row["by_type"]["decision"]["answer@1/300"] == 1
    assert (row["abstention"]["other_topic_answered"]["count"], row["abstention"]["near_miss_answered"]["count"]) == (
        0,
        1,
    )
    shown = "\n".join(lines(result))
    (total,) = (line.split() for line in shown.splitlines() if line.startswith("all "))
    assert total == ["all", "2", "50.0", "100.0", "50.0", "50.0", "50.0", "100.0", "0"]
    assert "near miss, not in the corpus: 1 of 1 answered" in shown
    page = report.page(result, [], [])
    assert "| qmd-lex | command | 0.0 | 0.0 | 0.0 | 100.0 |" in page
    assert "near miss: answered" in page


def _work(job: dict[str, Any], environ: dict[str, str]) -> Iterator[dict[str, Any]]:
    """``evals.arms.child.work`` in this process."""
    said: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", dict(environ))
        {"index": worker.index, "ask": worker.ask}[job["op"]](job, said.append)
    yield from said


def test_what_is_only_nearest_is_no_answer() -> None:
    asked = [Question("a", "x", "c", {"d": 1}, "t"), Question("b", "y", "c", {"d": 1}, "t")]
    answers = {"a": {"ranked": [], "nearest": ["d"], "ms": 1}, "b": {"ranked": [], "ms": 1}}
    row = tally.row(asked, answers)
    assert row["abstention"]["false_abstentions"]["count"] == 2
    assert row["abstention"]["only_nearest"]["count"] == 1
    assert row["metrics"]["hit@5"] == 0
    assert "with_span" not in row


def test_halves_are_refused_where_a_set_has_none(brain: Brain, data: Path, tmp_path: Path) -> None:
    from tests.evals import small

    small.trec(tmp_path / "kitchen")
    refused = brain("eval", "run", "--data", str(tmp_path / "kitchen"), "-a", "qmd-lex", "--half", "exam")
    assert (refused.returncode, "--half" in refused.stderr) == (64, True)
    shown = brain("eval", "run", "--data", str(data), "-a", "qmd-lex", "--half", "exam", "--json")
    assert json.loads(shown.stdout)["sets"][0]["questions"] == 1


@pytest.fixture(scope="module")
def shipped() -> Dataset:
    """The development set about the sample files."""
    data = json.loads(SET.read_text(encoding="utf-8"))
    if not (SET.parent / data["files"]).is_dir():
        pytest.skip(f"the sample files are not there: {SET.parent / data['files']}")
    return raw_files.read(SET, data)


def test_the_shipped_set_locates_every_answer_and_gives_none_away(shipped: Dataset) -> None:
    answerable = [question for question in shipped.questions if question.relevant]
    assert len(answerable) >= 180
    assert {kind for kind, count in Counter(q.kind for q in answerable).items() if count >= 30} == {
        "command", "decision", "error", "file", "keyword", "reworded",
    }  # fmt: skip
    for question in answerable:
        assert question.spans, question.id
        assert not any(span in spans.normalise(question.text) for span in question.spans), question.id


def test_no_session_is_in_both_halves_and_none_is_asked_too_often(shipped: Dataset) -> None:
    halves: dict[str, set[str]] = {}
    asked: Counter[str] = Counter()
    for question in shipped.questions:
        for path in question.relevant:
            halves.setdefault(path.partition("/subagents/")[0].removesuffix(".jsonl"), set()).add(question.half)
            asked[path] += 1
    assert {len(each) for each in halves.values()} == {1}
    assert max(asked.values()) <= 4
    assert {half for question in shipped.questions for half in [question.half]} == {"choose", "exam"}


def test_the_shipped_set_keeps_no_text_of_the_files() -> None:
    for entry in json.loads(SET.read_text(encoding="utf-8"))["questions"]:
        assert entry.keys() == {"id", "type", "half", "question", *(("file", "spans") if "file" in entry else ())}
        for line, pointer, start, end in entry.get("spans", ()):
            assert [type(each) for each in (line, pointer, start, end)] == [int, str, int, int]


def test_as_many_questions_have_no_answer_on_another_topic_as_nearly_one() -> None:
    kinds = Counter(entry["type"] for entry in json.loads(SET.read_text(encoding="utf-8"))["questions"])
    assert min(kinds[kind] for kind in UNANSWERABLE) >= 40


def test_a_near_miss_whose_answer_names_what_it_lacks_is_not_answered_as_known() -> None:
    asked = [Question(each, each, "c", {}, "near miss") for each in ("a", "b")] + [Question("d", "d", "c", {"x": 1})]
    answers = {
        "a": {"ranked": ["x"], "marked": True, "ms": 1},
        "b": {"ranked": ["x"], "ms": 1},
        "d": {"ranked": ["x"], "ms": 1},
    }
    abstention = tally.row(asked, answers)["abstention"]
    assert (abstention["near_miss_answered"]["count"], abstention["near_miss_as_known"]["count"]) == (2, 1)
