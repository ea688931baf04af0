"""What needs a model says so; what does not is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.qmd.app.world import Qmd


@pytest.mark.parametrize(
    "words",
    [["vsearch", "x"], ["vector-search", "x"], ["query", "x"], ["query", "lex: x"]],
)
def test_what_cannot_be_done_is_told_on_stderr_with_code_1(notes: Path, qmd: Qmd, words: list[str]) -> None:
    done = qmd(*words)
    assert (done.code, done.out) == (1, "")
    assert "no embedding backend in this version" in done.err


def test_keyword_lines_need_no_model(notes: Path, qmd: Qmd) -> None:
    done = qmd("query", "lex: tokens\nlex: hourly", "--no-rerank", "--json")
    assert done.code == 0
    assert [(row["file"], row["score"]) for row in json.loads(done.out)] == [
        ("qmd://notes/plan.md", 1),
        ("qmd://notes/done.md", 0.5),
    ]


def test_lines_that_are_left_out_are_named(notes: Path, qmd: Qmd) -> None:
    done = qmd("query", "vec: what about tokens\nlex: tokens", "--no-rerank", "--files")
    assert done.code == 0
    assert "answered by the lex: lines alone" in done.err
    nothing = qmd("query", "vec: tokens\nhyde: tokens", "--no-rerank", "--json")
    assert (nothing.code, nothing.out) == (1, "")
    assert "vec: and hyde: lines need vectors" in nothing.err


def test_plain_words_are_answered_with_a_warning(notes: Path, qmd: Qmd) -> None:
    done = qmd("query", "tokens hourly", "--no-rerank", "--files")
    assert done.code == 0
    assert "answered by these keywords alone" in done.err
    assert done.out.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("lex: a\nb", "Line 2 is missing a lex:"), ('lex: "a', "unmatched double quote"), ("vec: a -b", "Negation")],
)
def test_a_query_that_breaks_the_grammar_is_refused(notes: Path, qmd: Qmd, text: str, said: str) -> None:
    done = qmd("query", text, "--no-rerank")
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_there_is_nothing_to_pull(qmd: Qmd) -> None:
    done = qmd("pull")
    assert (done.code, done.err) == (0, "")
    assert "nothing to pull" in done.out


def test_nothing_waits_for_vectors_in_an_empty_index(qmd: Qmd) -> None:
    assert qmd("embed").out == "✓ All content hashes already have embeddings.\n"
