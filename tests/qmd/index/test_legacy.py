"""An index that an older qmd wrote is brought up to date when it is opened, and loses nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from core.errors import EngineMissing
from qmd.index import legacy, update
from qmd.index.store import open_index
from qmd.search import lex
from qmd.vectors import models

# As qmd 1.0 made them: a full-text table over `documents` itself, vectors without fingerprint and number of chunks.
OLD = """
CREATE TABLE content (hash TEXT PRIMARY KEY, doc TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE documents (id INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, path TEXT NOT NULL,
  title TEXT NOT NULL, hash TEXT NOT NULL, created_at TEXT NOT NULL, modified_at TEXT NOT NULL,
  active INTEGER NOT NULL DEFAULT 1, UNIQUE(collection, path));
CREATE TABLE content_vectors (hash TEXT NOT NULL, seq INTEGER NOT NULL DEFAULT 0, pos INTEGER NOT NULL DEFAULT 0,
  model TEXT NOT NULL, embedded_at TEXT NOT NULL, PRIMARY KEY (hash, seq));
CREATE VIRTUAL TABLE documents_fts USING fts5(name, body, content='documents', content_rowid='id',
  tokenize='porter unicode61');
CREATE TRIGGER documents_ai AFTER INSERT ON documents BEGIN
  INSERT INTO documents_fts(rowid, name, body) SELECT new.id, new.path, doc FROM content WHERE hash = new.hash; END;
"""
STANDING_ALONE = """
DROP TRIGGER documents_ai;
DROP TABLE documents_fts;
CREATE VIRTUAL TABLE documents_fts USING fts5(filepath, title, body, tokenize='porter unicode61');
INSERT INTO documents_fts(rowid, filepath, title, body)
  SELECT d.id, 'notes/' || path, title, doc FROM documents d JOIN content c USING (hash);
"""
TEXTS = {"tides.md": "# Tides\n\nThe ebb runs.\n", "cjk.md": "# 検索\n\n全文検索\n", "gone.md": "# Gone\n\nebb\n"}


@pytest.fixture(params=["over documents", "standing alone"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An old index of three documents, of which one is inactive."""
    place = str(tmp_path / "index.sqlite")
    with closing(apsw.Connection(place)) as connection:
        connection.execute(OLD).fetchall()
        for name, text in TEXTS.items():
            connection.execute("INSERT INTO content VALUES(?, ?, '2025-11-01')", (f"h-{name}", text))
            connection.execute(
                "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active)"
                " VALUES('notes', ?, ?, ?, '2025-11-01', '2025-11-01T00:00:00Z', ?)",
                (name, name[:-3], f"h-{name}", name != "gone.md"),
            )
        connection.execute(f"INSERT INTO content_vectors VALUES('h-tides.md', 0, 0, '{models.EMBED}', '2025')")
        if request.param == "standing alone":
            connection.execute(STANDING_ALONE).fetchall()
    return place


def test_an_old_index_answers_once_it_is_opened(path: str) -> None:
    with closing(open_index(path, write=True)) as connection:
        assert [found.path for found in lex.search(connection, "ebb", 10)] == ["tides.md"]
        assert [found.path for found in lex.search(connection, "検索", 10)] == ["cjk.md"]
        assert models.pending(connection) == 2
        row = connection.execute("SELECT hash, embed_fingerprint, total_chunks FROM content_vectors").fetchall()
        assert row == [("h-tides.md", "", 1)]
        assert not legacy.is_old(connection)


def test_documents_that_change_later_are_mirrored(path: str, tmp_path: Path) -> None:
    class Notes:
        name, path, pattern, ignore = "notes", str(tmp_path / "notes"), "**/*.md", ()

    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/tides.md").write_text("# Tides\n\nThe flood runs.\n")
    with closing(open_index(path, write=True)) as connection:
        changes = update.update(connection, [Notes()])["notes"]
        assert (changes.updated, changes.removed) == (1, 1)
        assert [found.path for found in lex.search(connection, "flood", 10)] == ["tides.md"]
        assert not lex.search(connection, "ebb", 10)
        # The real one's triggers stand, for what it writes itself.
        connection.execute("UPDATE documents SET active = 0")
        assert not lex.search(connection, "flood", 10)


def test_an_index_of_another_age_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    place = str(tmp_path / "index.sqlite")
    with closing(apsw.Connection(place)) as connection:
        connection.execute("CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT, body TEXT)")
    with pytest.raises(EngineMissing, match="long ago"):
        open_index(place, write=True)
    with closing(apsw.Connection(place)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("documents",)]
