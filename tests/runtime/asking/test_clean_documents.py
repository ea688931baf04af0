"""Answers show the text of clean documents as it is, and redact all others."""

from __future__ import annotations

import pytest

from core import clock
from core.home import Home
from core.version import REDACTION
from qmd.index.store import open_index
from qmd.index.writer import judge, of_cleaned
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf

_TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
_ANSWERS = (
    ("ask", "walrus harbour"),
    ("recent", "--since", "7d"),
    ("why", "walrus harbour"),
    ("show", "qmd://inbox/own.md"),
    ("trace", "qmd://inbox/own.md"),
)


@pytest.fixture
def shelf(home: Home) -> Shelf:
    """An empty memory."""
    return Shelf(home)


def _put(shelf: Shelf, text: str) -> None:
    shelf.put(
        "inbox", "own.md", text, session_id="n1", source="note", type="decision", title=text[:80], date=clock.now()
    )


@pytest.mark.parametrize("words", _ANSWERS, ids=lambda words: words[0])
def test_no_answer_shows_a_secret_that_a_person_wrote_down(shelf: Shelf, brain: Brain, words: tuple[str, ...]) -> None:
    _put(shelf, f"walrus harbour key {_TOKEN}\n\nThe walrus harbour key is {_TOKEN}.")
    done = brain(*words, "--json")
    assert done.returncode == 0, done
    assert "own.md" in done.stdout
    assert _TOKEN not in done.stdout
    plain = brain(*words)
    assert words[0] == "show" or _TOKEN not in plain.stdout


@pytest.mark.parametrize("policy", [0, REDACTION - 1, -REDACTION])
@pytest.mark.parametrize("words", _ANSWERS[:4], ids=lambda words: words[0])
def test_a_document_without_the_present_mark_is_redacted(
    shelf: Shelf, brain: Brain, words: tuple[str, ...], policy: int
) -> None:
    _put(shelf, f"The walrus harbour key is {_TOKEN}.")
    shelf.sql(f"UPDATE brain_facts SET policy = {policy}")
    done = brain(*words, "--json")
    assert "own.md" in done.stdout
    assert _TOKEN not in done.stdout


def test_each_document_is_marked_when_it_is_indexed(shelf: Shelf) -> None:
    _put(shelf, f"The walrus harbour key is {_TOKEN}.")
    shelf.put("inbox", "plain.md", "The heron harbour.")
    shelf.put("inbox", f"{_TOKEN}.md", "The duck harbour.")
    rows = shelf.sql("SELECT d.path, f.policy FROM documents d JOIN brain_facts f ON f.document_id = d.id")
    assert set(rows) == {("own.md", -REDACTION), ("plain.md", REDACTION), (f"{_TOKEN}.md", -REDACTION)}


def test_what_an_older_policy_marked_is_looked_at_again(shelf: Shelf) -> None:
    _put(shelf, f"The walrus harbour key is {_TOKEN}.")
    shelf.put("inbox", "plain.md", "The heron harbour.")
    shelf.sql(f"UPDATE brain_facts SET policy = {REDACTION - 1}")
    connection = open_index(shelf.home.index, write=True)
    try:
        assert judge(connection) == 2
        assert judge(connection) == 0
    finally:
        connection.close()
    assert sorted(shelf.sql("SELECT policy FROM brain_facts")) == [(-REDACTION,), (REDACTION,)]


def test_a_document_of_clean_parts_is_looked_at_only_if_it_hides_characters() -> None:
    split = f"{_TOKEN[:10]}\u200b{_TOKEN[10:]}"
    assert of_cleaned("The walrus harbour.", "brain/a.md") == REDACTION
    assert of_cleaned(f"The walrus harbour key is {split}.", "brain/a.md") == -REDACTION
    assert of_cleaned("The walrus harbour.", f"brain/{_TOKEN}.md") == -REDACTION
