from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import config
from core.errors import BadInput, EngineMissing, EngineTimeout
from core.home import Home
from evals.questions import candidates, drawing, wording
from evals.questions.candidates import HELD, Pool
from evals.sets.dataset import order
from qmd.index.store import open_index
from runtime.capture.indexing import index
from tests.qmd.embedding.endpoint import Endpoint, says
from tests.qmd.generation.test_of_openai import chat

DECISION = "We decided to keep the ledger in sqlite instead of redis."
WORDS = "amber brass cedar delta ember fjord grove hazel indigo juniper".split()


def _session(number: int, *lines: str, day: str = "2026-04-28") -> str:
    head = f"---\nsource: claude\ntitle: Session {number}\ndate: {day}T09:00:00Z\nended: {day}T10:00:00Z\n---\n\n"
    title = f"The {WORDS[number % 9]} gearbox grinds beside windmill {WORDS[number % 9 + 1]}x"
    return head + f"# {title}\n\n## [1] user · {day} 09:00\n\n" + "\n".join(lines) + "\n"


@pytest.fixture
def memory(home: Home) -> Home:
    folder = Path(home.root, "brain")
    folder.mkdir()
    (folder / "one.md").write_text(
        _session(
            1,
            DECISION,
            "Write it down as a decision so that we never use two ledgers again.",
            "- Bash: pytest -q tests/ledger --maxfail 1  # run them",
            "  ! sqlite3.OperationalError: database is locked",
            "  ! 1 file changed, 219 insertions(+)",
            "  ! src/ledger.ts(3,4): error TS2322: Type 'string' is not assignable to type 'number'.",
        )
    )
    (folder / "two.md").write_text(
        _session(
            2, "- Bash: git push origin ledger-fix", "  ! Exit code 1", "  ! new file mode 100644", day="2026-05-02"
        )
    )
    for number in range(3, 8):
        (folder / f"{number}.md").write_text(_session(number, "- Bash: npm run build --silent", day="2026-06-01"))
    index(home, config.load(home), roots=[])
    return home


def _questions(home: Home) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for question in json.loads(Path(drawing.path(home)).read_text())["questions"]:
        found.setdefault(question["type"], []).append(question)
    return found


def _pools(home: Home) -> dict[str, Pool]:
    connection = open_index(home.index)
    try:
        return candidates.read(home, connection)
    finally:
        connection.close()


def test_questions_are_what_a_person_remembers_of_one_document(memory: Home) -> None:
    counts = drawing.build(memory, 40)
    found = _questions(memory)
    assert [q["answer"] for q in found["decision"]] == [DECISION]
    assert [q["answer"] for q in found["command"]] == ["git push origin ledger-fix"]
    assert not any("answer" in q for kind in ("title", "error", "date", "exact-command") for q in found[kind])
    asked = {question.id: question.spans for question in drawing.load(memory)[0].questions}
    assert asked[found["decision"][0]["id"]] == (DECISION.casefold(),)
    assert asked[found["title"][0]["id"]] == ()
    assert [(q["text"], q["relevant"]) for q in found["decision"]] == [
        ("what did we decide about redis ledger sqlite", ["brain/one.md"])
    ]
    (error,) = found["error"]
    assert error["text"] in ("type error in ledger.ts", "pytest error about locked database")
    assert {(q["text"], *q["relevant"]) for q in found["command"]} == {
        ("the git command to ledger repair push origin", "brain/two.md")
    }, "the build stands in five documents"
    assert (counts["documents"], counts["version"], counts["replaced"]) == (7, drawing.VERSION, None)
    assert counts["questions"] == sum(len(each) for each in found.values())
    drawn = [q for kind, each in found.items() for q in each if kind != "date" and not kind.startswith("exact")]
    uses = [document for q in drawn for document in q["relevant"]]
    assert max(map(uses.count, uses)) <= 2, "no document gives more than two questions"


def test_no_question_is_a_sentence_of_its_document_unless_its_type_says_so(memory: Home) -> None:
    drawing.build(memory, 40)
    texts = "\n".join(path.read_text().casefold() for path in Path(memory.root, "brain").glob("*.md"))
    found = _questions(memory)
    assert {"title", "decision", "command", "error", "date", "exact-command", "exact-error"} <= found.keys()
    for kind, questions in found.items():
        for question in questions:
            assert (question["text"].casefold() in texts) == kind.startswith("exact"), question
            assert 0 <= question["copied"] <= 1
            assert question["copied"] == 1 or not kind.startswith("exact")
    (command,) = found["command"]
    assert command["copied"] == pytest.approx(4 / 5, abs=0.001), "of its words one is another"


def test_a_question_that_fits_two_documents_is_not_drawn(memory: Home) -> None:
    again = "Redis was slow; the ledger of the other project is in sqlite."
    (Path(memory.root, "brain") / "again.md").write_text(_session(8, again))
    index(memory, config.load(memory), roots=[])
    drawing.build(memory, 40)
    assert "decision" not in _questions(memory)


def test_statistics_and_requests_are_no_errors_and_no_decisions(memory: Home) -> None:
    pools = _pools(memory)
    assert dict(pools["decision"].candidates()) == {DECISION: ["brain/one.md"]}
    assert {text.partition("\t")[0] for text, _ in pools["error"].candidates()} == {"pytest error", "type error"}
    assert [text[:14] for text, _ in sorted(pools["exact-error"].candidates())] == ["sqlite3.Operat", "src/ledger.ts("]


def test_days_ask_for_all_documents_of_the_day(memory: Home) -> None:
    days = dict(_pools(memory)["date"].candidates())
    assert days["1 June 2026"] == [f"brain/{number}.md" for number in range(3, 8)]
    assert days["28 April 2026"] == ["brain/one.md"]
    drawing.build(memory, 40)
    assert "what did I do on 1 June 2026?" in {question["text"] for question in _questions(memory)["date"]}


def test_a_generator_puts_titles_and_decisions_in_other_words(memory: Home) -> None:
    sent: list[str] = []

    def paraphrase(text: str) -> str:
        sent.append(text)
        return "" if len(sent) == 1 else f"storage question number{len(sent)} please"

    counts = drawing.build(memory, 2, paraphrase=paraphrase)
    found = _questions(memory)["paraphrase"]
    assert len(found) == counts["by_type"]["paraphrase"] == 2
    assert len(sent) == 3, "what came to nothing is made up for, and no more is sent than is needed"
    assert all(question["copied"] == 0 for question in found)
    drawing.build(memory, 2)
    assert _questions(memory)["paraphrase"] == found, "they stay without a generator"
    sent.clear()

    def refuse(text: str) -> str:
        sent.append(text)
        return ""

    drawing.build(memory, 2, fresh=True, paraphrase=refuse)
    assert "paraphrase" not in _questions(memory)
    assert len(sent) == 4, "at most twice as many as are wanted"


def test_paraphrases_come_from_the_configured_generator(
    home: Home, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match="no generator"):
        wording.writer(config.load(home), {})
    environ = {"QMD_GENERATE_MODEL": "openai:small", "OPENAI_BASE_URL": endpoint.url}
    endpoint.always = says(chat('"Where do we store\\nthe records?"\n'))
    write = wording.writer(config.load(home), environ)
    assert write("The ledger is in sqlite.") == "Where do we store\\nthe records?"
    for answer in ("no", "word " * 80, "what is \x1b[31m this one"):
        endpoint.always = says(chat(answer))
        assert write("The ledger is in sqlite.") == ""


def test_a_generator_that_fails_ends_its_type_alone_and_the_report_says_why(memory: Home) -> None:
    sent: list[str] = []

    def paraphrase(text: str) -> str:
        sent.append(text)
        if len(sent) > 2:
            raise EngineTimeout("no answer within 30 s", "wait a moment")
        return f"storage question number{len(sent)} please"

    counts = drawing.build(memory, 40, paraphrase=paraphrase)
    assert len(sent) == 3
    assert counts["stopped"] == "no answer within 30 s (wait a moment)"
    assert len(_questions(memory)["paraphrase"]) == 2
    assert {"title", "decision", "command", "date"} <= _questions(memory).keys()
    assert drawing.build(memory, 40)["stopped"] is None


def test_no_secret_and_no_private_span_is_kept_in_a_question_or_sent(memory: Home, endpoint: Endpoint) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    said = f"{key[:40]} unlocks the marmot enclosure"
    private = "<private>\n\nWe decided to hide the pangolin diagnosis from everybody.\n\n</private>"
    (Path(memory.root, "brain") / "own.md").write_text(_session(8, private, "", f"We decided that {said} for good."))
    index(memory, config.load(memory), roots=[])
    sent: list[str] = []

    def paraphrase(text: str) -> str:
        sent.append(text)
        return f"storage question number{len(sent)} please"

    drawing.build(memory, 40, paraphrase=paraphrase)
    told = Path(drawing.path(memory)).read_text() + "\n".join(sent)
    assert "marmot" in told
    assert "pangolin" not in told
    assert key[4:40] not in told
    endpoint.always = says(chat("Where do we keep the records?"))
    environ = {"QMD_GENERATE_MODEL": "openai:small", "OPENAI_BASE_URL": endpoint.url}
    wording.writer(config.load(memory), environ)(said)
    assert "marmot" in json.dumps(endpoint.requests[-1][2])
    assert key[4:40] not in json.dumps(endpoint.requests[-1][2])


def test_a_set_of_another_version_is_asked_as_it_is_and_drawn_anew(memory: Home) -> None:
    old = {"id": "title-1", "text": "The amber gearbox", "type": "title", "relevant": ["brain/one.md"]}
    file = Path(drawing.path(memory))
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"schema": 1, "questions": [old]}))
    dataset, _ = drawing.load(memory)
    assert ([question.text for question in dataset.questions], dataset.about["set_version"]) == ([old["text"]], 1)
    counts = drawing.build(memory, 3)
    assert (counts["replaced"], counts["kept"]) == (1, 0)
    dataset, _ = drawing.load(memory)
    assert (dataset.about["set_version"], dataset.about["copied"]["exact-command"]) == (drawing.VERSION, 1.0)


def test_the_same_memory_gives_the_same_questions(memory: Home) -> None:
    drawing.build(memory, 3)
    first = _questions(memory)
    drawing.build(memory, 3, fresh=True)
    assert _questions(memory) == first


def test_questions_stay_while_their_documents_do(memory: Home) -> None:
    drawing.build(memory, 3)
    before = _questions(memory)["title"]
    (Path(memory.root, "brain") / "new.md").write_text(_session(77, "- Bash: make a new one now", day="2026-07-01"))
    (Path(memory.root) / before[0]["relevant"][0]).unlink()
    index(memory, config.load(memory), roots=[])
    _, gone = drawing.load(memory)
    assert gone >= 1
    counts = drawing.build(memory, 3)
    after = _questions(memory)["title"]
    assert [q for q in after if q in before] == before[1:]
    assert counts["kept"] < counts["questions"]
    assert drawing.load(memory)[1] == 0


def test_the_set_is_private_and_says_that_it_is_held_out(memory: Home) -> None:
    drawing.build(memory, 5)
    file = Path(drawing.path(memory))
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text())["held_out"] is True


def test_without_documents_or_without_questions_it_says_what_to_do(home: Home) -> None:
    with pytest.raises(EngineMissing):
        drawing.build(home, 5)
    with pytest.raises(BadInput) as failure:
        drawing.load(home)
    assert "brain eval build" in failure.value.fix
    os.makedirs(os.path.dirname(drawing.path(home)))
    Path(drawing.path(home)).write_text("{")
    with pytest.raises(BadInput, match="damaged"):
        drawing.load(home)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=120))
def test_a_pool_that_lets_go_counts_what_it_holds_in_full(places: list[tuple[int, int]]) -> None:
    pool = Pool(2)
    pool.limit = 4
    truth: dict[str, set[str]] = {}
    for text, document in places:
        pool.add(f"t{text}", f"d{document}")
        truth.setdefault(f"t{text}", set()).add(f"d{document}")
    assert len(pool.held) <= 8
    lowest = sorted(truth, key=lambda text: order(text, "personal"))[:4]
    assert {text for text, _ in pool.held.values()} >= set(lowest)
    for said, documents in pool.candidates():
        assert set(documents) == truth[said]
    assert Pool(2).limit == HELD
