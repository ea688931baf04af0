from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import config
from core.errors import BadInput, EngineMissing
from core.home import Home
from evals import personal
from evals.dataset import order
from evals.personal import _HELD, _Pool
from runtime.indexing import index

DECISION = "We decided to keep the ledger in sqlite instead of redis."


def _session(number: int, *lines: str, day: str = "2026-04-28") -> str:
    head = f"---\nsource: claude\ntitle: Session {number}\ndate: {day}T09:00:00Z\nended: {day}T10:00:00Z\n---\n\n"
    return (
        head + f"# Repair gearbox number{number} thoroughly\n\n## [1] user · {day} 09:00\n\n" + "\n".join(lines) + "\n"
    )


@pytest.fixture
def memory(home: Home) -> Home:
    folder = Path(home.root, "brain")
    folder.mkdir()
    (folder / "one.md").write_text(
        _session(
            1, DECISION, "- Bash: pytest -q tests/ledger --maxfail 1  # run them", "  ! sqlite3 database is locked now"
        )
    )
    (folder / "two.md").write_text(
        _session(2, "- Bash: git push origin ledger-fix", "  ! Exit code 1", "  ! too few", day="2026-05-02")
    )
    for number in range(3, 8):
        (folder / f"{number}.md").write_text(
            _session(
                number,
                "- Bash: npm run build --silent",
                DECISION.upper() if number == 99 else "Hello.",
                day="2026-06-01",
            )
        )
    index(home, config.load(home), roots=[])
    return home


def _questions(home: Home) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for question in json.loads(Path(personal.path(home)).read_text())["questions"]:
        found.setdefault(question["type"], []).append(question)
    return found


def test_questions_are_what_stands_in_few_documents(memory: Home) -> None:
    counts = personal.build(memory, 40)
    found = _questions(memory)
    assert [(q["text"], q["relevant"]) for q in found["decision"]] == [(DECISION, ["brain/one.md"])]
    assert {(q["text"], *q["relevant"]) for q in found["command"]} == {
        ("git push origin ledger-fix", "brain/two.md")
    }, "the build stands in five documents, and the tests' document has given its two questions"
    assert found["title"][0]["text"].startswith("Repair gearbox number")
    assert counts["documents"] == 7
    assert counts["questions"] == sum(len(each) for each in found.values())
    uses = [document for each in found.values() for q in each for document in q["relevant"]]
    assert max(map(uses.count, uses)) <= 2, "no document gives more than two questions"


def test_days_ask_for_all_documents_of_the_day(memory: Home) -> None:
    pools = personal._read(memory, None)
    days = dict(pools["date"].candidates())
    assert days["what happened on 1 June 2026?"] == [f"brain/{number}.md" for number in range(3, 8)]
    assert days["what happened on 28 April 2026?"] == ["brain/one.md"]
    assert dict(pools["error"].candidates()) == {"sqlite3 database is locked now": ["brain/one.md"]}


def test_the_same_memory_gives_the_same_questions(memory: Home) -> None:
    personal.build(memory, 3)
    first = _questions(memory)
    personal.build(memory, 3, fresh=True)
    assert _questions(memory) == first


def test_questions_stay_while_their_documents_do(memory: Home) -> None:
    personal.build(memory, 3)
    before = _questions(memory)["title"]
    (Path(memory.root, "brain") / "new.md").write_text(_session(77, "- Bash: make a new one now", day="2026-07-01"))
    (Path(memory.root) / before[0]["relevant"][0]).unlink()
    index(memory, config.load(memory), roots=[])
    _, gone = personal.load(memory)
    assert gone >= 1
    counts = personal.build(memory, 3)
    after = _questions(memory)["title"]
    assert [q for q in after if q in before] == before[1:]
    assert counts["kept"] < counts["questions"]
    assert personal.load(memory)[1] == 0


def test_the_set_is_private_and_says_that_it_is_held_out(memory: Home) -> None:
    personal.build(memory, 5)
    file = Path(personal.path(memory))
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(file.read_text())["held_out"] is True


def test_without_documents_or_without_questions_it_says_what_to_do(home: Home) -> None:
    with pytest.raises(EngineMissing):
        personal.build(home, 5)
    with pytest.raises(BadInput) as failure:
        personal.load(home)
    assert "brain eval build" in failure.value.fix
    os.makedirs(os.path.dirname(personal.path(home)))
    Path(personal.path(home)).write_text("{")
    with pytest.raises(BadInput, match="damaged"):
        personal.load(home)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=120))
def test_a_pool_that_lets_go_counts_what_it_holds_in_full(places: list[tuple[int, int]]) -> None:
    pool = _Pool(2)
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
    assert _Pool(2).limit == _HELD
