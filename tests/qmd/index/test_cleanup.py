"""An erased document leaves no term in the full text, and the full text stays sound."""

from __future__ import annotations

import os
import random
import string
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from qmd.index.cleanup import erase
from qmd.index.segments import TABLES, merge
from qmd.index.store import open_index
from qmd.index.writer import put
from tests.full_text import faults, terms

_WORDS = [f"w{number:03d}" for number in range(300)]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[apsw.Connection]:
    """An empty index."""
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    yield connection
    connection.close()


class _History:
    """Notes that grow: each version adds a word that no other note has, and keeps those of the versions before."""

    def __init__(self, connection: apsw.Connection, seed: int) -> None:
        self.own: dict[int, list[str]] = {}
        self._connection = connection
        self._draw = random.Random(seed)  # the same history every time

    def grow(self, changes: int, notes: int = 45) -> None:
        """Write ``changes`` versions, as hooks and whole runs write them, and merge some segments in between."""
        for _ in range(changes):
            self.write(self._draw.randint(1, notes), merged=self._draw.random() < 0.5)
            if self._draw.random() < 0.4:
                steps = iter([False] * self._draw.randint(1, 8))
                merge(self._connection, lambda steps=steps: next(steps, True))  # type: ignore[misc]

    def write(self, note: int, *, merged: bool = True) -> None:
        own = "".join(self._draw.choices(string.ascii_lowercase, k=15)) + "9"  # no stemmer shortens it
        said = self.own.setdefault(note, [])
        said.append(own)
        words = self._draw.choices(_WORDS, k=self._draw.randint(20, 200))
        text = f"# note {note}\n\n{' '.join(said)} {' '.join(words)}"
        assert put(self._connection, "notes", f"{note}.md", text.encode(), os.stat(__file__), merge=merged)

    def forget(self, note: int) -> list[str]:
        """Erase a note; returns the words of all its versions."""
        erase(self._connection, [("notes", f"{note}.md")])
        return self.own.pop(note)

    def words(self) -> set[str]:
        """The words of all notes that are still there."""
        return {word for words in self.own.values() for word in words}

    def some(self) -> int:
        """One of the notes, drawn."""
        return self._draw.choice(sorted(self.own))


def _sound(connection: apsw.Connection) -> bool:
    for table in TABLES:
        try:
            connection.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
        except apsw.CorruptError:
            return False
    return True


def _bytes(connection: apsw.Connection) -> bytes:
    with open(connection.filename, "rb") as stream:
        return stream.read()


@pytest.mark.parametrize("seed", range(12))
def test_no_version_of_an_erased_document_is_left_in_the_full_text(index: apsw.Connection, seed: int) -> None:
    history = _History(index, seed)
    for note in range(1, 31):
        history.write(note)
    for _ in range(3):
        history.grow(25)
        gone = history.forget(history.some())
        assert _sound(index)
        assert terms(index.filename).isdisjoint(gone)
        # A leaf page cuts what a term begins with like the one before it.
        assert not [word for word in gone if word[4:].encode() in _bytes(index)]
        assert history.words() <= terms(index.filename)


def _forget_as_before(connection: apsw.Connection, note: int) -> None:
    """Erase a note as earlier versions did, which brings older versions of a note back (``secure-delete`` of FTS5)."""
    from qmd.index.writer import drop

    for table in TABLES:
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('secure-delete', 1)")
    assert drop(connection, "notes", f"{note}.md")
    for table in TABLES:
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('secure-delete', 0)")
        connection.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")


def _damaged_as_before(connection: apsw.Connection) -> tuple[_History, list[str]]:
    """A history whose full text an earlier version's forgetting has damaged, and what it was to forget."""
    history = _History(connection, 0)
    gone: list[str] = []
    for note in range(1, 31):
        history.write(note)
    for _ in range(9):
        history.grow(20)
        note = history.some()
        _forget_as_before(connection, note)
        gone += history.own.pop(note)
        if not terms(connection.filename).isdisjoint(gone):
            break
    assert not _sound(connection)
    return history, gone


def _lose_pages(connection: apsw.Connection, table: str) -> None:
    """Overwrite each segment; the rows before them hold averages and the list of segments."""
    connection.execute(f"UPDATE {table}_data SET block = zeroblob(length(block)) WHERE id > 10")


def test_an_index_that_an_earlier_version_damaged_is_made_sound(index: apsw.Connection) -> None:
    history, gone = _damaged_as_before(index)
    assert not terms(index.filename).isdisjoint(gone)
    erase(index, [])
    assert _sound(index)
    assert terms(index.filename).isdisjoint(gone)
    assert history.words() <= terms(index.filename)


@pytest.mark.parametrize("table", TABLES)
def test_full_text_that_cannot_be_read_is_made_of_the_texts_again(index: apsw.Connection, table: str) -> None:
    history = _History(index, 1)
    history.grow(40)
    _lose_pages(index, table)
    assert not _sound(index)
    gone = history.forget(history.some())
    assert _sound(index)
    assert terms(index.filename).isdisjoint(gone)
    assert history.words() <= terms(index.filename)


def test_passages_are_not_erased_while_their_terms_stay(
    index: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = _History(index, 2)
    history.grow(40)

    def rows_alone(connection: apsw.Connection, collection: str, path: str) -> None:
        """Leave the terms of a passage behind, which FTS5's own check cannot see."""
        connection.execute("DELETE FROM brain_passages_docsize WHERE id = (SELECT min(id) FROM brain_passages_docsize)")

    monkeypatch.setattr("qmd.index.cleanup.drop", rows_alone)
    with pytest.raises(apsw.CorruptError, match="brain_passages still has terms"):
        history.forget(history.some())


def test_a_term_that_an_earlier_version_left_of_a_removed_passage_goes_with_the_next_forget(
    index: apsw.Connection,
) -> None:
    history = _History(index, 3)
    history.grow(40)
    (row,) = index.execute("SELECT min(id) FROM brain_passages_docsize").fetchall()
    # The row is gone and its terms are left, which neither FTS5's own check nor the rows of this forget show.
    index.execute("DELETE FROM brain_passages_docsize WHERE id = ?", row)
    erase(index, [])
    index.execute("CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', 'brain_passages', 'instance')")
    there = {doc for (doc,) in index.execute("SELECT DISTINCT doc FROM temp.seen").fetchall()}
    index.execute("DROP TABLE temp.seen")
    assert there == {each for (each,) in index.execute("SELECT id FROM brain_passages_docsize").fetchall()}
    assert _sound(index)


def test_the_check_of_tests_finds_damage(tmp_path: Path) -> None:
    path = str(tmp_path / "elsewhere" / "index.sqlite")
    os.mkdir(os.path.dirname(path))
    connection = open_index(path, write=True)
    _damaged_as_before(connection)
    connection.close()
    assert [fault for fault in faults(path) if "documents_fts" in fault]
    os.unlink(path)
