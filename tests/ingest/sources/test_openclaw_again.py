"""Messages that a transcript of OpenClaw repeats under other ids are shown once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.document import Document
from core.home import Home
from ingest.sources.openclaw import source as openclaw
from tests.ingest.sources.test_openclaw import database, ingest
from tests.ingest.sources.test_pi import Record, Tree, text, tool
from tests.ingest.transcripts import corpus, document, documents, from_the_archive_alone

ENVELOPE = 'Sender (untrusted metadata):\n```json\n{"name": "Ada"}\n```\n\n'
AT = 1_777_366_800_000


class Channel(Tree):
    """Messages that know when they were sent; ``again`` appends some of them under other ids."""

    def message(self, at: int, role: str, *blocks: Record, **fields: Any) -> Channel:
        self.entry("message", message={"role": role, "content": list(blocks), "timestamp": AT + at, **fields})
        return self

    def again(self, first: int, last: int, words: str = "") -> Channel:
        for number in range(first, last + 1):
            record = json.loads(json.dumps(self.records[number]))
            parent = record["parentId"] if number == first else f"e{self.count}"
            if number == first and words:
                record["message"]["content"] = [text(words)]
            self.entry(record["type"], **{k: v for k, v in record.items() if k not in ("type", "id", "timestamp")})
            self.records[-1]["parentId"] = parent
        return self


def turn(tree: Channel, at: int, asked: str, answer: str) -> Channel:
    tree.message(at, "user", text(ENVELOPE + asked))
    tree.message(at + 1, "assistant", text("I look."), tool("bash", f"t{at}", command="make"), responseId=f"r{at}")
    tree.message(at + 2, "toolResult", text("boom"), toolCallId=f"t{at}", isError=True)
    return tree.message(at + 3, "assistant", text(answer), responseId=f"s{at}", usage={"output": 5})


def place(folder: Path, name: str = "s-1.jsonl") -> Path:
    return folder / "there/agents/main/sessions" / name


def body(home: Home) -> str:
    return document(home, "openclaw__s-1.md")[1]


def test_records_after_a_rewritten_prompt_are_shown_once(home: Home, tmp_path: Path) -> None:
    tree = turn(Channel("s-1"), 0, "Why?", "No rule.").again(1, 4, "Why?")
    turn(tree, 100, "And now?", "Mended.").again(9, 12, "And now?")
    tree.save(place(tmp_path))
    ledger = ingest(home, tmp_path)
    assert (ledger.unknown, ledger.recovered) == ({}, {"repeated records passed over": 8})
    meta, shown = document(home, "openclaw__s-1.md")
    for said in ("\nWhy?", "No rule.", "\nAnd now?", "Mended."):
        assert shown.count(said) == 1, said
    assert (shown.count("- bash: make"), shown.count("! boom"), meta["output_tokens"]) == (2, 2, 10)
    assert "went back" not in shown
    before = corpus(home)
    assert from_the_archive_alone(home, "openclaw", tmp_path / "there") == before


def test_a_prompt_that_was_enrolled_twice_is_shown_once(home: Home, tmp_path: Path) -> None:
    tree = Channel("s-1").message(0, "user", text("Why?"), idempotencyKey="k")
    tree.message(40, "user", text(f"{ENVELOPE}Why?"), idempotencyKey="k")
    tree.records[-1]["parentId"] = None
    tree.message(50, "assistant", text("So."), responseId="r")
    tree.save(place(tmp_path))
    ingest(home, tmp_path)
    assert body(home).count("\nWhy?") == 1
    assert "So." in body(home)


def test_a_repaired_transcript_and_its_copy_show_each_message_once(home: Home, tmp_path: Path) -> None:
    tree = turn(Channel("s-1"), 0, "Why?", "No rule.").again(1, 4, "Why?")
    tree.save(place(tmp_path, "s-1.jsonl.pre-doctor-1.bak"))
    tree.records = [tree.records[0], *tree.records[5:]]
    tree.save(place(tmp_path))
    ingest(home, tmp_path)
    assert [body(home).count(said) for said in ("\nWhy?", "No rule.", "- bash: make")] == [1, 1, 1]


def test_rows_of_a_database_show_each_message_once(home: Home, tmp_path: Path) -> None:
    tree = turn(Channel("s-1"), 0, "Why?", "No rule.").again(1, 4, "Why?")
    database(tmp_path / "there", ("s-1", tree)).close()
    ingest(home, tmp_path)
    assert [body(home).count(said) for said in ("\nWhy?", "No rule.", "- bash: make")] == [1, 1, 1]
    before = corpus(home)
    assert from_the_archive_alone(home, "openclaw", tmp_path / "there") == before


def test_words_that_are_repeated_at_another_time_are_shown_twice(home: Home, tmp_path: Path) -> None:
    tree = Channel("s-1")
    for at in (0, 100):
        tree.message(at, "user", text("continue"))
        tree.message(at + 1, "assistant", text("Done."), responseId="chatcmpl-0")
    tree.save(place(tmp_path))
    ingest(home, tmp_path)
    assert (body(home).count("\ncontinue"), body(home).count("Done.")) == (2, 2)


@pytest.mark.parametrize("words", ["Done.", "Done. And more."])
def test_pieces_of_one_answer_are_all_shown(home: Home, tmp_path: Path, words: str) -> None:
    tree = Channel("s-1").message(0, "user", text("Why?")).message(1, "assistant", text(words), responseId="r")
    tree.message(1, "assistant", tool("bash", "t1", command="make"), responseId="r")
    tree.save(place(tmp_path))
    ingest(home, tmp_path)
    assert f"{words}\n\n- bash: make\n" in body(home)


@given(st.dictionaries(st.sampled_from(["role", "timestamp", "content", "idempotencyKey", "responseId", "toolCallId"]),
    st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.none(), max_size=2)
    | st.sampled_from(["user", "assistant", "toolResult"]), max_size=6))  # fmt: skip
def test_no_shape_of_a_message_stops_the_file(tmp_path_factory: pytest.TempPathFactory, odd: Record) -> None:
    tree = Tree("s-1").entry("message", message=odd).entry("message", message=odd).user("Still here")
    path = tree.save(tmp_path_factory.mktemp("odd") / "agents/main/sessions/s-1.jsonl")
    found = [each for each in documents(openclaw.SOURCE, str(path)) if isinstance(each, Document)]
    assert ["Still here" in each.body for each in found] == [True]
