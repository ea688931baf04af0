"""A document that grew keeps the rows of the passages that did not change, and is found as a new one would be."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qmd.index import catalogue
from qmd.index.store import open_index
from qmd.index.writer import Writer
from tests.examples import examples

# Identifiers are taken apart, and text in other scripts is searched character by character.
_WORDS = st.sampled_from(["walrus", "getUser", "HTTPServer", "Name", "\u6d77\u8c61", "x" * 90, "caf\u00e9", "\n"])
_TEXTS = st.lists(st.lists(_WORDS, max_size=12), min_size=1, max_size=6)


_STATUS = os.stat(__file__)


class Index:
    """A new index with documents, a writer each time or one for all."""

    def __init__(self, path: Path) -> None:
        self.connection = open_index(str(path), write=True)

    def put(self, *documents: tuple[str, str]) -> None:
        with Writer(self.connection) as writer:
            for name, text in documents:
                writer.put("c", name, text.encode(), _STATUS)

    def passages(self) -> dict[str, list[list[Any]]]:
        """Return the terms in each passage of each document, with their column and place."""
        terms: dict[Any, list[Any]] = {}
        self.connection.execute("CREATE VIRTUAL TABLE temp.held USING fts5vocab('main', 'brain_passages', 'instance')")
        for term, passage, column, place in self.connection.execute("SELECT term, doc, col, offset FROM held"):
            terms.setdefault(passage, []).append((term, column, place))
        self.connection.execute("DROP TABLE temp.held")
        found: dict[str, list[list[Any]]] = {}
        for path, digest in self.connection.execute("SELECT path, hash FROM documents WHERE active = 1").fetchall():
            held = catalogue.passages(self.connection, str(digest))
            assert held is not None
            _, first, bounds = held
            found[str(path)] = [sorted(terms.pop(first + number, [])) for number in range(max(0, len(bounds) - 1))]
        assert not terms, "passages of no document"
        return found

    def rows(self, name: str) -> tuple[int, int]:
        """Return the first passage and the number of passages of a document."""
        contents = "documents d JOIN brain_contents b ON b.hash = d.hash"
        query = f"SELECT b.id, length(b.starts) / 4 - 1 FROM {contents} WHERE d.path = ?"
        found: tuple[int, int] = self.connection.execute(query, (name,)).get
        return found


@pytest.fixture
def indexes(tmp_path: Path) -> Iterator[Iterator[Index]]:
    made: list[Index] = []

    def new() -> Iterator[Index]:
        for number in itertools.count():
            made.append(Index(tmp_path / f"{number}.sqlite"))
            yield made[-1]

    yield new()
    for each in made:
        each.connection.close()


def turns(count: int, *, title: str = "old", last: str = "") -> str:
    said = [f"## [{number}] user\n\n{f'walrus{number} sings ' * 60}\n\n" for number in range(count)]
    return f"---\ntitle: {title}\nturns: {count}\n---\n# {title}\n\n{''.join(said)}{last}"


def written(index: Index) -> list[int]:
    """Have the rows of passages that are written from now on put into the list."""
    found: list[int] = []

    def trace(cursor: apsw.Cursor, statement: str, bindings: Sequence[object]) -> bool:
        if statement.startswith("INSERT INTO brain_passages("):
            found.append(int(str(bindings[0])))
        return True

    index.connection.exec_trace = trace  # type: ignore[assignment]
    return found


def test_passages_that_did_not_change_are_not_written_again(indexes: Iterator[Index]) -> None:
    index = next(indexes)
    index.put(("a.md", turns(40)))
    first, count = index.rows("a.md")
    rows = written(index)
    index.put(("a.md", turns(42)))
    assert index.rows("a.md")[0] == first
    assert rows == list(range(rows[0], first + index.rows("a.md")[1]))
    assert rows[0] >= first + count - 3


def test_a_document_between_others_moves_where_there_is_room(indexes: Iterator[Index]) -> None:
    index, fresh = next(indexes), next(indexes)
    index.put(("a.md", turns(10)), ("b.md", turns(12)))
    others = index.rows("b.md")
    for count in (14, 18, 30):
        index.put(("a.md", turns(count)))
    assert index.rows("b.md") == others
    fresh.put(("a.md", turns(30)), ("b.md", turns(12)))
    assert index.passages() == fresh.passages()


def test_documents_that_grow_in_turns_leave_each_others_rows(indexes: Iterator[Index]) -> None:
    index = next(indexes)
    index.put(("a.md", turns(40)), ("b.md", turns(60)), ("c.md", turns(80)))
    rows = written(index)
    for more in range(1, 5):
        index.put(("a.md", turns(40 + more)))
        index.put(("b.md", turns(60 + more)))
    assert len(rows) < 8 * 4


def test_a_text_that_another_document_has_stays(indexes: Iterator[Index]) -> None:
    index, fresh = next(indexes), next(indexes)
    index.put(("a.md", turns(10)), ("b.md", turns(10)))
    index.put(("a.md", turns(12)))
    fresh.put(("a.md", turns(12)), ("b.md", turns(10)))
    assert index.passages() == fresh.passages()


@settings(max_examples=examples(100))
@given(data=st.data(), together=st.booleans())
def test_any_history_of_documents_is_searched_as_their_last_texts(
    data: st.DataObject, together: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("index")
    index, fresh = Index(folder / "grown.sqlite"), Index(folder / "fresh.sqlite")
    history: list[tuple[str, str]] = []
    paragraphs: dict[str, list[str]] = {"a.md": [], "b.md": []}
    for _ in range(data.draw(st.integers(1, 5))):
        name = data.draw(st.sampled_from(["a.md", "b.md"]))
        kept = data.draw(st.integers(0, len(paragraphs[name])))
        more = [" ".join(words * 40) for words in data.draw(_TEXTS)]
        paragraphs[name] = [*paragraphs[name][:kept], *more]
        history.append((name, f"---\nturns: {len(history)}\n---\nseal\n{' '.join(paragraphs[name])}"))
    for each in [history] if together else [[document] for document in history]:
        index.put(*each)
    fresh.put(*dict(history).items())
    assert index.passages() == fresh.passages()
    index.connection.close()
    fresh.connection.close()
