"""Rows of the full-text tables are held back within a transaction, and share its fate."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from qmd.index.store import open_index
from qmd.index.writer import Batch, index, put
from tests.qmd.corpus import indexed, write


def _index(connection: apsw.Connection, batch: Batch, path: Path) -> None:
    status = os.stat(path)
    index(connection, "notes", path.name, path.read_text(), status, status.st_mtime_ns + 1, None, batch)


def _found(connection: apsw.Connection, word: str) -> tuple[int, int]:
    """(documents, passages) that have a word."""
    documents: int = connection.execute("SELECT count(*) FROM documents_fts(?)", (word,)).get
    passages: int = connection.execute("SELECT count(*) FROM brain_passages(?)", (word,)).get
    return documents, passages


def test_a_batch_is_searchable_by_others_once_it_has_ended(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    write(Path(folder.path), {"b.md": "penguin"})
    batch = Batch(connection)
    with batch:
        _index(connection, batch, Path(folder.path) / "b.md")
    batch.end()
    reader = open_index(str(tmp_path / "index.sqlite"))
    assert _found(reader, "penguin") == (1, 1)
    reader.close()
    connection.close()


def test_what_was_rolled_back_is_not_written_by_the_next_batch(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    write(Path(folder.path), {"b.md": "penguin", "c.md": "heron"})
    batch = Batch(connection)

    def torn() -> None:
        with batch:
            _index(connection, batch, Path(folder.path) / "b.md")
            _index(connection, batch, Path(folder.path) / "missing.md")

    with pytest.raises(FileNotFoundError):
        torn()
    with batch:
        _index(connection, batch, Path(folder.path) / "c.md")
    batch.end()
    assert _found(connection, "penguin") == (0, 0)
    assert _found(connection, "heron") == _found(connection, "walrus") == (1, 1)
    connection.close()


def test_much_text_is_written_before_the_batch_ends(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    write(Path(folder.path), {"b.md": "penguin rope " * 100_000})
    batch = Batch(connection)
    with batch:
        _index(connection, batch, Path(folder.path) / "b.md")
    assert not batch.rows.full
    assert _found(connection, "penguin")[0] == 1
    batch.end()
    connection.close()


def test_a_document_that_comes_twice_in_one_batch_is_found_by_its_last_words_only(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "walrus"})
    path = Path(folder.path) / "b.md"
    batch = Batch(connection)
    for text in ("penguin", "heron", "heron"):
        write(Path(folder.path), {"b.md": text})
        with batch:
            put(connection, "notes", "b.md", path.read_bytes(), os.stat(path), batch=batch)
    batch.end()
    assert _found(connection, "penguin") == (0, 0)
    assert _found(connection, "heron") == (1, 1)
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()
