"""Segments of the full-text tables, and rows that are held back within a transaction."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import pytest

from qmd.index.segments import TABLES, merge
from qmd.index.store import Transaction, open_index
from qmd.index.writer import Writer, leave_merging, put
from tests.qmd.corpus import indexed, write

ROOT = Path(__file__).resolve().parents[3]
_USUAL = {"automerge": 4, "crisismerge": 16}


@pytest.fixture
def index(tmp_path: Path) -> str:
    """An index of one document, as an update leaves it."""
    connection, _ = indexed(tmp_path, {"a.md": "# first\n\nwalrus common"})
    connection.close()
    return str(tmp_path / "index.sqlite")


def _text(number: int, words: int = 40) -> str:
    return f"# note {number}\n\ncommon " + " ".join(f"w{number}x{word}" for word in range(words))


def _put(connection: apsw.Connection, numbers: Iterable[int], words: int = 40, *, merged: bool = False) -> None:
    for number in numbers:
        data = _text(number, words).encode()
        assert put(connection, "notes", f"n{number}.md", data, os.stat(ROOT / "MAP.md"), merge=merged)


def _segments(connection: apsw.Connection, table: str) -> int:
    found: int = connection.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").get
    return found


def _settings(connection: apsw.Connection, table: str) -> dict[str, Any]:
    rows: list[Any] = connection.execute(f"SELECT k, v FROM {table}_config").fetchall()
    return {key: dict(rows).get(key, usual) for key, usual in _USUAL.items()}


def _answers(connection: apsw.Connection) -> list[list[tuple[Any, ...]]]:
    """What questions find, with their scores, in both tables; both are sound."""
    answers = []
    for table in TABLES:
        connection.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
        for question in ("common", "w3x7 OR w5x1", "w1*"):
            sql = f"SELECT rowid, bm25({table}) FROM {table} WHERE {table} MATCH ? ORDER BY rowid"
            answers.append(connection.execute(sql, (question,)).fetchall())
    return answers


def test_a_write_that_leaves_merging_adds_a_segment_and_touches_no_other(index: str) -> None:
    connection = open_index(index, write=True)
    before = {table: _segments(connection, table) for table in TABLES}
    for number in range(20):  # more than FTS5 itself ever leaves in a level
        _put(connection, [number])
        for table in TABLES:
            assert _segments(connection, table) == before[table] + number + 1
            assert _settings(connection, table) == _USUAL
    connection.close()


def test_answers_are_the_same_whoever_merges_and_when(tmp_path: Path) -> None:
    answers = []
    for merged in (True, False):
        folder = tmp_path / str(merged)
        folder.mkdir()
        connection, _ = indexed(folder, {"a.md": "walrus common"})
        _put(connection, range(20), merged=merged)
        _put(connection, range(0, 20, 3), words=30, merged=merged)  # written anew: what they were is deleted
        answers.append(_answers(connection))
        if not merged:
            assert merge(connection, lambda: False)
            answers.append(_answers(connection))
        connection.close()
    assert answers[0][0]
    assert answers[0] == answers[1] == answers[2]


def test_merging_leaves_few_segments_and_then_finds_nothing_to_do(index: str) -> None:
    connection = open_index(index, write=True)
    _put(connection, range(40))
    assert merge(connection, lambda: False)
    assert all(_segments(connection, table) <= 6 for table in TABLES)
    written = connection.total_changes()
    assert merge(connection, lambda: False)
    assert connection.total_changes() - written <= 2  # the commands themselves
    connection.close()


def test_segments_are_bounded_where_nobody_ever_merges(index: str) -> None:
    connection = open_index(index, write=True)
    _put(connection, range(150))
    for table in TABLES:
        assert 20 < _segments(connection, table) < 100
    assert len(_answers(connection)[0]) == 151
    connection.close()


def test_others_write_between_two_steps(index: str) -> None:
    connection, other = open_index(index, write=True), open_index(index, write=True, busy_ms=0)
    _put(connection, range(12), words=3000)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        _put(other, [100 + len(asked)])  # raises BusyError where the lock is held
        return len(asked) == 3

    assert not merge(connection, stop)
    assert len(asked) == 3
    assert len(_answers(connection)[0]) == 16
    other.close()
    connection.close()


def test_a_setting_of_the_users_own_stays(index: str) -> None:
    connection = open_index(index, write=True)
    connection.execute("INSERT INTO documents_fts(documents_fts, rank) VALUES('automerge', 8)")
    _put(connection, [1])
    assert _settings(connection, "documents_fts") == {"automerge": 8, "crisismerge": 16}
    assert _settings(connection, "brain_passages") == _USUAL
    connection.close()


def test_a_write_that_fails_leaves_no_setting_behind(index: str) -> None:
    connection = open_index(index, write=True)

    def torn() -> None:
        with Transaction(connection):
            leave_merging(connection)
            assert _settings(connection, "documents_fts")["automerge"] == 0
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        torn()
    _put(connection, range(40), merged=True)
    assert all(_settings(connection, table) == _USUAL for table in TABLES)
    assert all(_segments(connection, table) < 20 for table in TABLES)
    connection.close()


_KILLED = """
import os, signal, sys
from qmd.index import segments
from qmd.index.writer import leave_merging
from qmd.index.store import open_index
connection = open_index(sys.argv[1], write=True)
steps = iter(range(int(sys.argv[2])))
segments._STEP = 1
def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "between":
    segments.merge(connection, lambda: next(steps, None) is None and kill())
else:
    connection.execute("BEGIN IMMEDIATE")
    if sys.argv[3] == "writing":
        leave_merging(connection)
    for table in segments.TABLES:
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', 16)")
    connection.execute("INSERT INTO documents_fts(rowid, body) VALUES(10000, 'common torn')")
    kill()
"""


@pytest.mark.parametrize("when", ["between", "merging", "writing"])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_kill_loses_nothing_and_the_next_one_goes_on(index: str, when: str, steps: int) -> None:
    connection = open_index(index, write=True)
    _put(connection, range(12), words=3000)
    before = _answers(connection)
    connection.close()
    done = subprocess.run([sys.executable, "-c", _KILLED, index, str(steps), when], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    connection = open_index(index, write=True)
    assert _answers(connection) == before
    assert all(_settings(connection, table) == _USUAL for table in TABLES)
    assert merge(connection, lambda: False)
    assert _answers(connection) == before
    assert all(_segments(connection, table) <= 6 for table in TABLES)
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()


def _index(writer: Writer, path: Path) -> str:
    return writer.put("notes", path.name, path.read_bytes(), os.stat(path))


def _found(connection: apsw.Connection, word: str) -> tuple[int, int]:
    """(documents, passages) that have a word."""
    documents: int = connection.execute("SELECT count(*) FROM documents_fts(?)", (word,)).get
    passages: int = connection.execute("SELECT count(*) FROM brain_passages(?)", (word,)).get
    return documents, passages


def test_what_a_writer_wrote_is_searchable_by_others_once_it_has_ended(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    write(Path(folder.path), {"b.md": "penguin"})
    with Writer(connection) as writer:
        _index(writer, Path(folder.path) / "b.md")
    reader = open_index(str(tmp_path / "index.sqlite"))
    assert _found(reader, "penguin") == (1, 1)
    reader.close()
    connection.close()


def test_what_was_rolled_back_is_not_written_by_the_next_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    write(Path(folder.path), {"b.md": "penguin", "c.md": "heron"})

    def full(*_: object) -> None:
        raise apsw.FullError("database or disk is full")

    def torn(writer: Writer) -> None:
        with writer:
            _index(writer, Path(folder.path) / "b.md")
            monkeypatch.setattr("qmd.index.derived.searchable", full)
            _index(writer, Path(folder.path) / "c.md")

    writer = Writer(connection)
    with pytest.raises(apsw.FullError):
        torn(writer)
    assert writer.torn
    assert not connection.in_transaction
    monkeypatch.undo()
    with Writer(connection) as writer:
        _index(writer, Path(folder.path) / "c.md")
    assert _found(connection, "penguin") == (0, 0)
    assert _found(connection, "heron") == _found(connection, "walrus") == (1, 1)
    connection.close()


def test_whole_documents_stay_where_something_else_fails(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    write(Path(folder.path), {"b.md": "penguin"})
    writer = Writer(connection)

    def two() -> None:
        with writer:
            _index(writer, Path(folder.path) / "b.md")
            _index(writer, Path(folder.path) / "missing.md")

    with pytest.raises(FileNotFoundError):
        two()
    assert not writer.torn
    assert _found(connection, "penguin") == (1, 1)
    connection.close()


def test_triggers_are_on_again_whatever_happens(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    for name in ("a.md", "missing.md"):
        with contextlib.suppress(FileNotFoundError), Writer(connection) as writer:
            assert not connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)
            _index(writer, Path(folder.path) / name)
        assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)
    connection.close()


def test_much_text_is_written_before_the_writer_ends(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    write(Path(folder.path), {"b.md": "penguin rope " * 100_000})
    with Writer(connection) as writer:
        _index(writer, Path(folder.path) / "b.md")
        assert _found(connection, "penguin")[0] == 1
    connection.close()


def test_a_document_that_comes_twice_in_one_batch_is_found_by_its_last_words_only(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    path = Path(folder.path) / "b.md"
    outcomes = []
    with Writer(connection) as writer:
        for text in ("penguin", "heron", "heron"):
            write(Path(folder.path), {"b.md": text})
            outcomes.append(_index(writer, path))
    assert outcomes == ["added", "updated", "unchanged"]
    assert _found(connection, "penguin") == (0, 0)
    assert _found(connection, "heron") == (1, 1)
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()
