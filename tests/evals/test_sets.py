from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from core.home import Home
from evals.sets import loading
from evals.sets.dataset import Dataset, Question, foreign, order, select, split_of
from tests.evals import small


def test_every_form_in_a_folder_is_found_and_nothing_else(tmp_path: Path, home: Home) -> None:
    small.trec(tmp_path / "b-trec")
    small.locomo(tmp_path / "c-locomo.json")
    small.fixture(tmp_path / "a-fixture.json")
    (tmp_path / "README.md").write_text("words")
    (tmp_path / "other.json").write_text('{"no": "set"}')
    (tmp_path / "empty").mkdir()
    found = loading.load([str(tmp_path)], home)
    assert [dataset.name for dataset in found] == ["a-fixture", "b-trec", "c-locomo"]
    again = loading.load([str(tmp_path / name) for name in ("c-locomo.json", "a-fixture.json", "b-trec")], home)
    assert [dataset.key for dataset in again] == [dataset.key for dataset in found]


def test_trec_keeps_grades_and_types_and_leaves_what_nobody_judged(tmp_path: Path, home: Home) -> None:
    (dataset,) = loading.load([str(small.trec(tmp_path / "set"))], home)
    by_id = {question.id: question for question in dataset.questions}
    assert set(by_id) == {"q1", "q2", "q3", "q4"}
    assert by_id["q1"].relevant == {"tea": 2}
    assert by_id["q4"].relevant == {"jam": 1}, "a grade of 0 is not relevant"
    assert (by_id["q3"].relevant, by_id["q3"].kind) == ({"TEA": 1, "tea": 1}, "keyword")


def test_an_id_that_is_no_file_name_stays_within_the_folder(tmp_path: Path, home: Home) -> None:
    (dataset,) = loading.load([str(small.trec(tmp_path / "set"))], home)
    place = tmp_path / "out" / "docs"
    place.mkdir(parents=True)
    names = dataset.corpora[0].write(place)
    assert sorted(names.values()) == ["../bread", "TEA", "jam", "tea"]
    assert sorted(path.name for path in place.iterdir()) == sorted(names)
    assert len({name.casefold() for name in names}) == 4
    assert list((tmp_path / "out").iterdir()) == [place]


def test_what_a_spreadsheet_leaves_at_the_end_of_a_line_is_no_field(tmp_path: Path, home: Home) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "a", "body": "one"}\n')
    (tmp_path / "queries.tsv").write_text("question_id\tquestion\t\n1\tone thing\t\t\n")
    (tmp_path / "qrels.tsv").write_text("1\ta\t1\t\n")
    (dataset,) = loading.load([str(tmp_path)], home)
    assert ([question.relevant for question in dataset.questions], dataset.left_out) == ([{"a": 1}], 0)


def test_four_fields_headings_and_a_folder_of_documents_are_taken(tmp_path: Path, home: Home) -> None:
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    (tmp_path / "docs" / "sub" / "one.md").write_text("# One\n")
    (tmp_path / "docs" / "two.txt").write_text("two\n")
    (tmp_path / "queries.tsv").write_text("query-id\ttext\n1\tone thing\n2\ttwo things\n")
    (tmp_path / "qrels.tsv").write_text("1 0 sub/one 1\n2 0 two.txt 3\n")
    (dataset,) = loading.load([str(tmp_path)], home)
    assert [question.relevant for question in dataset.questions] == [{"sub/one.md": 1}, {"two.txt": 3}]


def test_locomo_questions_point_at_sessions(tmp_path: Path, home: Home) -> None:
    (dataset,) = loading.load([str(small.locomo(tmp_path / "talk.json"))], home)
    assert [corpus.name for corpus in dataset.corpora] == ["conv-1", "conv-2"]
    assert [(q.corpus, q.kind, sorted(q.relevant)) for q in dataset.questions] == [
        ("conv-1", "single-hop", ["D1"]),
        ("conv-1", "multi-hop", ["D1", "D2"]),
        ("conv-2", "temporal", ["D1"]),
    ]


def test_locomo_sessions_become_transcripts_with_their_own_dates(tmp_path: Path, home: Home) -> None:
    (dataset,) = loading.load([str(small.locomo(tmp_path / "talk.json"))], home)
    place = tmp_path / "out"
    place.mkdir()
    names = dataset.corpus("conv-1").write(place)
    assert sorted(names.values()) == ["D1", "D2"]
    first = next(name.removesuffix(".md") for name, identity in names.items() if identity == "D1")
    records = [json.loads(line) for line in (place / f"{first}.jsonl").read_text().splitlines()]
    assert [record["timestamp"] for record in records] == ["2023-05-08T13:56:00.000Z", "2023-05-08T13:57:00.000Z"]
    assert records[0]["message"]["content"] == "Ida: I adopted a grey parrot from the shelter."


def _talk(tmp_path: Path, sessions: dict[str, Any], questions: list[dict[str, Any]], **more: Any) -> Path:
    """A LoCoMo dialog of one plain session, two questions about it, and what else is given."""
    plain = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ida", "dia_id": "D1:1", "text": "I adopted a parrot."}],
    }
    asked = [{"question": "Who adopted a parrot?", "evidence": ["D1:1"], "category": 4}]
    path = tmp_path / "talk.json"
    path.write_text(
        json.dumps([{"sample_id": "c", "conversation": {**plain, **sessions}, "qa": asked + questions, **more}])
    )
    return path


def _written(dataset: Dataset, tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    place = tmp_path / "out"
    place.mkdir()
    names = dataset.corpora[0].write(place)
    return {
        identity: [json.loads(line) for line in (place / name).with_suffix(".jsonl").read_text().splitlines()]
        for name, identity in names.items()
    }


def test_no_session_of_a_dialog_is_lost_to_a_gap_a_missing_date_or_a_picture(tmp_path: Path, home: Home) -> None:
    sessions = {
        "session_2_date_time": "1:00 am on 9 May, 2023",
        "session_2": [],
        "session_4_date_time": "2023-06-09T10:00:00+02:00",
        "session_4": [{"speaker": "Bo", "blip_caption": "a boat"}, {"speaker": "Bo", "text": "We sailed."}, "Aye."],
        "session_5": [{"speaker": "Bo", "text": ["Pottery", "\ud83d exam"]}],
        "session_6_date_time": "1:00 am on 9 July, 2023",
        "session_1_summary": "words",
    }
    (dataset,) = loading.load([str(_talk(tmp_path, sessions, []))], home)
    written = _written(dataset, tmp_path)
    said = {name: [record["message"]["content"] for record in records] for name, records in written.items()}
    assert said == {
        "D1": ["Ida: I adopted a parrot."],
        "D4": ["Bo: We sailed.", "Aye."],
        "D5": ["Bo: Pottery \ud83d exam"],
    }
    assert [record["timestamp"] for record in written["D4"]] == ["2023-06-09T08:01:00.000Z", "2023-06-09T08:02:00.000Z"]
    assert "timestamp" not in written["D5"][0], "no date is made up"


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        ("D1:1", ["D1"]),
        (["D8:6; D9:17", "D:11:26"], ["D11", "D8", "D9"]),
        ("d3:1", ["D3"]),
        ([["D30:05"], ["D1:1, D2:1"]], ["D1", "D2", "D30"]),
        (["D"], None),
        ([], None),
        (None, None),
    ],
)
def test_evidence_is_read_in_every_form_that_the_data_has(
    tmp_path: Path, home: Home, evidence: Any, found: list[str] | None
) -> None:
    (dataset,) = loading.load([str(_talk(tmp_path, {}, [{"question": "Who else?", "evidence": evidence}]))], home)
    assert [sorted(q.relevant) for q in dataset.questions[1:]] == ([found] if found else [])
    assert dataset.left_out == (0 if found else 1)


def test_what_cannot_be_scored_is_left_out_and_counted(tmp_path: Path, home: Home) -> None:
    questions = [{"question": text, "evidence": ["D1:1"]} for text in ("", None, "half of \ud83d one")]
    path = _talk(tmp_path, {}, questions)
    silent = {"conversation": {"session_1": []}, "qa": [{"question": "What?", "evidence": ["D1:1"]}]}
    path.write_text(json.dumps([*json.loads(path.read_text()), silent, {"sample_id": "d", "conversation": {}}]))
    (dataset,) = loading.load([str(path)], home)
    assert [corpus.name for corpus in dataset.corpora] == ["c"]
    assert [q.text for q in dataset.questions] == ["Who adopted a parrot?", "half of ? one"]
    assert dataset.left_out == 3


def test_one_dialog_alone_is_a_set(tmp_path: Path, home: Home) -> None:
    path = _talk(tmp_path, {}, [])
    path.write_text(json.dumps(json.loads(path.read_text())[0]))
    (dataset,) = loading.load([str(path)], home)
    assert [q.id for q in dataset.questions] == ["c/0"]


@pytest.mark.parametrize(
    ("sessions", "said"),
    [
        ({"session_1_date_time": "once upon a time"}, "talk.json: c: not LoCoMo's form: 'once upon a time' is no date"),
        ({"session_2": [7]}, "talk.json: c: not LoCoMo's form: AttributeError"),
    ],
)
def test_a_dialog_that_cannot_be_read_is_named(tmp_path: Path, home: Home, sessions: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        loading.load([str(_talk(tmp_path, sessions, []))], home)


def test_a_broken_set_in_a_folder_is_no_set_that_is_passed_over(tmp_path: Path, home: Home) -> None:
    small.trec(tmp_path / "good")
    (tmp_path / "bench.json").write_text('{"queries": [{"query": "tea", "expected_files": "tea.md"}]}')
    with pytest.raises(BadInput, match=r"bench.json: Invalid fixture"):
        loading.load([str(tmp_path)], home)
    (tmp_path / "bench.json").write_text('[{"conversation": {}, "qa": []}, {"talk": {}}]')
    with pytest.raises(BadInput, match=r"bench.json: dialog-2"):
        loading.load([str(tmp_path)], home)


def test_grades_headings_and_questions_are_read_as_others_write_them(tmp_path: Path, home: Home) -> None:
    folder = small.trec(tmp_path / "set")
    (folder / "queries.tsv").write_bytes(b"q1 how hot is green tea\r\nq2\t\r\nq4\tplums\r\n")
    (folder / "qrels.tsv").write_bytes(b"topic\titer\tdoc\trel\r\nq1 0 tea 2.0\r\nq2 0 tea 1\r\nq9 0 tea 1\r\n")
    (dataset,) = loading.load([str(folder)], home)
    assert [(q.id, q.text, q.relevant) for q in dataset.questions] == [("q1", "how hot is green tea", {"tea": 2})]
    assert dataset.left_out == 2


def beir(folder: Path) -> Path:
    """A set as BEIR's archives hold it."""
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": "1", "title": "Tea", "text": "Green tea.", "metadata": {}}, {"_id": "2", "text": "Jam\u2028and."}]
    queries = [
        {"_id": "q1", "text": "how hot", "metadata": {}},
        {"_id": 2, "text": "plums"},
        {"_id": "q3", "text": "x"},
    ]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, line in (("test", "q1\t1\t2"), ("dev", "2\t2\t1"), ("train", "2\t1\t1")):
        (folder / "qrels" / f"{name}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{line}\nq3\t1\t0\n")
    return folder


def test_a_set_of_beirs_is_judged_by_its_test_or_by_the_file_that_is_named(tmp_path: Path, home: Home) -> None:
    folder = beir(tmp_path / "scifact")
    (dataset,) = loading.load([str(tmp_path)], home)
    assert (dataset.name, dataset.left_out) == ("scifact", 2)
    assert [(q.id, q.text, q.relevant) for q in dataset.questions] == [("q1", "how hot", {"1": 2})]
    place = tmp_path / "out"
    place.mkdir()
    assert sorted(dataset.corpora[0].write(place).values()) == ["1", "2"]
    assert (place / "1.md").read_text() == "# Tea\n\nGreen tea.\n"
    (dev,) = loading.load([str(folder / "qrels" / "dev.tsv")], home)
    assert (dev.name, [(q.id, q.relevant) for q in dev.questions]) == ("scifact-dev", [("2", {"2": 1})])
    assert dev.corpora[0].key == dataset.corpora[0].key
    (folder / "qrels" / "test.tsv").unlink()
    (rest,) = loading.load([str(folder)], home)
    assert [(q.id, q.relevant) for q in rest.questions] == [("2", {"2": 1, "1": 1})]


def test_every_form_may_be_packed_and_is_the_same_set(tmp_path: Path, home: Home) -> None:
    made = [
        beir(tmp_path / "beir"), small.trec(tmp_path / "trec"), small.locomo(tmp_path / "talk.json"),
        small.fixture(tmp_path / "guide.json"),
    ]  # fmt: skip
    plain = loading.load([str(tmp_path)], home)
    assert len(plain) == len(made)
    for path in [path for each in made for path in (each.rglob("*") if each.is_dir() else [each])]:
        if path.is_file():
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    assert [(each.name, each.key) for each in loading.load([str(tmp_path)], home)] == [(p.name, p.key) for p in plain]
    (named,) = loading.load([str(tmp_path / "talk.json.gz")], home)
    assert named.name == "talk"


@pytest.mark.parametrize(
    "data",
    # The time in a gzip header would differ between the processes that collect these tests.
    [b"no gzip", gzip.compress(b"{}" * 99, mtime=0)[:-9], gzip.compress(b"\xff", mtime=0)],
    ids=["no gzip", "cut short", "no text"],
)
def test_a_packed_file_that_cannot_be_read_is_named(tmp_path: Path, home: Home, data: bytes) -> None:
    folder = beir(tmp_path / "set")
    (folder / "corpus.jsonl").unlink()
    (folder / "corpus.jsonl.gz").write_bytes(data)
    with pytest.raises(BadInput, match=r"corpus\.jsonl\.gz"):
        loading.load([str(folder)], home)


def test_a_fixture_matches_files_as_qmd_does_and_keeps_what_is_missing_as_expected(tmp_path: Path, home: Home) -> None:
    (dataset,) = loading.load([str(small.fixture(tmp_path / "bench.json"))], home)
    assert [question.relevant for question in dataset.questions] == [{"Guide.md": 1}, {"gone.md": 1}]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("queries.tsv", "q1\n", "queries.tsv:1: expected 2 fields"),
        ("qrels.tsv", "q1\ttea\tmuch\n", "qrels.tsv:1: 'much' is no grade"),
        ("qrels.tsv", "q9\ttea\t1\n", "no query has a relevant document"),
        ("queries.tsv", "q1\ta\nq1\tb\n", "two queries of the id .q1."),
        ("docs.jsonl", '{"id": "a"}\n{"id": "a"}\n', "docs.jsonl:2: a document needs an `id` of its own"),
        ("docs.jsonl", "nonsense\n", "docs.jsonl:1: not JSON"),
        ("docs.jsonl", "[" * 200_000, "docs.jsonl:1: not JSON"),
        ("docs.jsonl", "1\n", "docs.jsonl:1: a document needs an `id` of its own"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, home: Home, name: str, text: str, said: str) -> None:
    folder = small.trec(tmp_path / "set")
    (folder / name).write_text(text)
    with pytest.raises(BadInput, match=said.replace("`", ".")):
        loading.load([str(folder)], home)


def test_a_path_without_a_set_says_what_one_is(tmp_path: Path, home: Home) -> None:
    (tmp_path / "x.json").write_text("[1")
    for path in (tmp_path, tmp_path / "none", tmp_path / "x.json"):
        with pytest.raises(BadInput) as failure:
            loading.load([str(path)], home)
        assert "LoCoMo" in failure.value.fix


@given(st.lists(st.text(max_size=12), max_size=40), st.integers(0, 10))
def test_splits_part_the_questions_and_samples_keep_their_order(texts: list[str], most: int) -> None:
    questions = [Question(str(number), text, "c", {"d": 1}) for number, text in enumerate(texts)]
    dev, held = (select(questions, name) for name in ("dev", "held-out"))
    assert sorted(q.id for q in [*dev, *held]) == sorted(q.id for q in questions)
    assert not {order(q.text) for q in dev} & {order(q.text) for q in held}, "no question is in both"
    sample = select(questions, "all", most)
    assert len(sample) == (min(most, len(questions)) if most else len(questions))
    assert sample == [question for question in questions if question in sample]


SPLITS = ["dev", "held-out", "dev"]


def test_the_split_is_fixed_for_good() -> None:
    assert [split_of(text) for text in ("What did Ida adopt?", "sourdough starter", "cold brew in summer")] == SPLITS
    assert split_of("  what DID Ida   adopt?") == split_of("What did Ida adopt?")
    assert 4500 < sum(split_of(f"question {number}") == "dev" for number in range(10_000)) < 5500


def test_strangers_questions_have_no_answer_here(tmp_path: Path, home: Home) -> None:
    small.trec(tmp_path / "trec")
    small.locomo(tmp_path / "talk.json")
    talk, trec = loading.load([str(tmp_path)], home)
    asked = foreign([talk, trec], talk, "all", 3)
    assert [q.kind for q in asked] == ["wrong set"] * 3 + ["wrong conversation"] * 3
    assert not any(q.relevant for q in asked)
    home_of = {q.text: q.corpus for q in talk.questions}
    assert all(q.corpus != home_of[q.text] for q in asked if q.kind == "wrong conversation")
    assert {q.text for q in asked if q.kind == "wrong set"} <= {q.text for q in trec.questions}
    assert len({q.id for q in asked}) == 6
    assert [q.kind for q in foreign([talk, trec], trec, "all", 2)] == ["wrong set"] * 2
    assert foreign([trec], trec, "all", 9) == []
