"""The structure of an index that another program made: taken as it is, completed, or refused."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from core.errors import EngineMissing
from qmd.index import schema
from qmd.index.store import open_index
from qmd.search import lex

EARLIER = {
    "before contents": "CREATE TABLE documents (id INTEGER PRIMARY KEY, name TEXT, body TEXT)",
    "full text over documents": "CREATE VIRTUAL TABLE documents_fts USING fts5(name, body, content='documents')",
    "vectors without fingerprint": "CREATE TABLE content_vectors (hash TEXT, seq INTEGER, pos INTEGER, model TEXT)",
}


@pytest.mark.parametrize("statement", EARLIER.values(), ids=EARLIER)
def test_an_index_of_an_earlier_qmd_is_refused_and_left_as_it_is(tmp_path: Path, statement: str) -> None:
    place = str(tmp_path / "index.sqlite")
    with closing(apsw.Connection(place)) as connection:
        connection.execute(statement)
        before = connection.execute("SELECT * FROM sqlite_master").fetchall()
    with pytest.raises(EngineMissing, match=r"before 2\.8") as caught:
        open_index(place, write=True)
    assert "qmd update" in caught.value.fix
    with closing(apsw.Connection(place)) as connection:
        assert connection.execute("SELECT * FROM sqlite_master").fetchall() == before


def test_full_text_that_was_not_spaced_out_is_filled_again(tmp_path: Path) -> None:
    place = str(tmp_path / "index.sqlite")
    texts = {"tides.md": "# Tides\n\nThe ebb runs.\n", "cjk.md": "# 検索\n\n全文検索\n", "gone.md": "# Gone\n\nebb\n"}
    with closing(open_index(place, write=True)) as connection:
        for name, text in texts.items():
            connection.execute("INSERT INTO content VALUES(?, ?, '2025-11-01')", (f"h-{name}", text))
            connection.execute(
                "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active)"
                " VALUES('notes', ?, ?, ?, '2025-11-01', '2025-11-01T00:00:00Z', ?)",
                (name, name[:-3], f"h-{name}", name != "gone.md"),
            )
        assert not lex.search(connection, "検索", 10)
        for table in ("brain_state", "brain_facts"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM store_config")
    with closing(open_index(place, write=True)) as connection:
        assert [found.path for found in lex.search(connection, "ebb", 10)] == ["tides.md"]
        assert [found.path for found in lex.search(connection, "検索", 10)] == ["cjk.md"]
        schema.require_current(connection)
