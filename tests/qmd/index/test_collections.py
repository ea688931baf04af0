"""Collections change in configuration and index together, and our tables follow."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from qmd.index import cleanup, collections, handles
from qmd.index.catalogue import Filters, content_of
from qmd.index.store import open_index
from qmd.index.update import update
from qmd.search import lex
from qmd.search.search import Searcher
from qmd.settings import Config, Settings
from tests.qmd.corpus import Folder, write


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(str(tmp_path / "index.yml"), str(tmp_path / "i.sqlite"), "index", str(tmp_path), str(tmp_path))


@pytest.fixture
def index(tmp_path: Path, settings: Settings) -> apsw.Connection:
    """Two collections that share a text, in the configuration and in the index."""
    connection = open_index(settings.database, write=True)
    folders = [Folder(tmp_path / name, name) for name in ("one", "two")]
    for folder in folders:
        write(
            Path(folder.path),
            {"a.md": "# Same\n\nshared walrus\n", f"{folder.name}.md": f"# 検索 {folder.name}\n\nwalrus 検索\n"},
        )
        collections.add(settings, folder.name, folder.path)
    update(connection, folders)
    collections.sync(connection, _config(settings))
    return connection


def _config(settings: Settings) -> Config:
    from qmd.settings import read

    return read(settings)


def check(connection: apsw.Connection) -> None:
    """Our tables have what the active documents have, no more and no less."""

    def rows(query: str) -> set[object]:
        return {row[0] for row in connection.execute(query)}

    active = rows("SELECT id FROM documents WHERE active = 1")
    hashes = rows("SELECT hash FROM documents WHERE active = 1")
    assert rows("SELECT document_id FROM brain_facts") == active
    assert rows("SELECT hash FROM brain_contents") == hashes
    assert hashes <= rows("SELECT hash FROM content")
    assert rows("SELECT rowid FROM documents_fts") == active
    bounds = connection.execute("SELECT sum(length(starts) / 4 - 1) FROM brain_contents").get or 0
    assert connection.execute("SELECT count(*) FROM brain_passages").get == bounds
    assert None not in rows(f"SELECT {content_of('rowid')} FROM brain_passages")
    numbered: list[Any] = connection.execute("SELECT id, length(starts) / 4 - 1 FROM brain_contents").fetchall()
    assert rows("SELECT rowid FROM brain_passages") == {
        first + seq for first, count in numbered for seq in range(count)
    }
    connection.execute("INSERT INTO brain_passages(brain_passages) VALUES('integrity-check')")
    connection.execute("INSERT INTO documents_fts(documents_fts) VALUES('integrity-check')")


def test_a_removed_collection_takes_only_its_own_texts(index: apsw.Connection, settings: Settings) -> None:
    assert collections.remove(settings, index, "one") == (2, 1)
    check(index)
    assert list(_config(settings).collections) == ["two"]
    assert {hit.uri for hit in lex.search(index, "walrus", 9)} == {"qmd://two/two.md", "qmd://two/a.md"}
    assert {hit.path for hit in Searcher(index).search("walrus", limit=9, filters=Filters())} == {"a.md", "two.md"}


def test_a_renamed_collection_keeps_its_documents(index: apsw.Connection, settings: Settings) -> None:
    collections.rename(settings, index, "one", "三")
    check(index)
    assert {hit.uri for hit in lex.search(index, "検索", 9)} == {"qmd://三/one.md", "qmd://two/two.md"}
    assert [hit.uri for hit in lex.search(index, "三 walrus", 9, ["三"])] != []
    assert not collections.sync(index, _config(settings))


def test_a_cleanup_removes_what_nothing_has(index: apsw.Connection, tmp_path: Path) -> None:
    (tmp_path / "one" / "one.md").unlink()
    update(index, [Folder(tmp_path / "one", "one")], keep=True)
    index.execute("INSERT INTO llm_cache VALUES('k', 'r', '2026-01-01')")
    index.execute("INSERT INTO content_vectors VALUES('gone', 0, 0, 'm', '', 1, '2026-01-01')")
    counts = cleanup.preview(index)
    assert (counts.cached, counts.vectors, counts.inactive, counts.contents) == (1, 1, 1, 1)
    counts = cleanup.clean(index)
    assert (counts.cached, counts.vectors, counts.kept, counts.inactive, counts.contents) == (1, 0, 1, 1, 1)
    check(index)
    counts = cleanup.preview(index)
    assert (counts.cached, counts.inactive, counts.contents) == (0, 0, 0)
    assert index.execute("SELECT count(*) FROM content_vectors").get == 1


def test_the_real_qmd_has_to_look_for_itself(index: apsw.Connection, settings: Settings) -> None:
    index.execute("INSERT INTO store_config VALUES('config_hash', 'of an older configuration')")
    assert not collections.sync(index, _config(settings))
    collections.set_included(settings, "one", False)
    assert collections.sync(index, _config(settings))
    assert index.execute("SELECT count(*) FROM store_config WHERE key = 'config_hash'").get == 0
    assert index.execute("SELECT include_by_default FROM store_collections WHERE name = 'one'").get == 0


def test_several_collections_are_merged_by_score(index: apsw.Connection) -> None:
    merged = lex.search(index, "walrus", 3, ["two", "one"])
    assert [hit.score for hit in merged] == sorted((hit.score for hit in merged), reverse=True)
    assert len(merged) == 3
    assert {hit.collection for hit in lex.search(index, "walrus", 9, ["one"])} == {"one"}
    assert lex.search(index, "-walrus", 9) == []
    assert lex.search(index, "walrus", 9, filters=Filters(until=int(time.time()) - 86_400)) == []


def test_only_a_path_without_a_file_of_its_own_is_adopted(index: apsw.Connection) -> None:
    index.execute("DELETE FROM brain_files")
    index.execute("UPDATE documents SET path = 'my-file.md' WHERE path = 'one.md'")
    assert handles.adopt(index, "one", ["a.md", "my-file.md", "my file.md"]) == 0
    assert handles.adopt(index, "one", ["a.md", "my file.md", "---.md"]) == 1
    assert index.execute("SELECT count(*) FROM documents WHERE path = 'my file.md'").get == 1
