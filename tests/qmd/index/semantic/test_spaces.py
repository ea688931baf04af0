from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from core.errors import EngineMissing
from qmd.index import cleanup
from qmd.index.semantic import spaces
from qmd.index.store import open_index
from qmd.index.update import update
from tests.qmd.corpus import Folder


def _vectors(connection: apsw.Connection, *hashes: str) -> None:
    """qmd's own table, as it creates it, with two chunks of each content."""
    spaces.load(connection)
    connection.execute(
        "CREATE VIRTUAL TABLE vectors_vec USING vec0(hash_seq TEXT PRIMARY KEY,"
        " embedding float[4] distance_metric=cosine)"
    )
    for number, digest in enumerate(hashes):
        for seq in (0, 1):
            vector = struct.pack("4f", 1.0, number, seq, 0.5)
            connection.execute("INSERT INTO vectors_vec VALUES(?, ?)", (f"{digest}_{seq}", vector))
            connection.execute("INSERT INTO content_vectors VALUES(?, ?, 0, 'm', '', 2, '2026-01-01')", (digest, seq))


def test_tables_of_vectors_are_readable_once_it_is_loaded_and_nothing_else_can_be() -> None:
    connection = apsw.Connection(":memory:")
    with pytest.raises(apsw.SQLError, match="vec_version"):
        connection.execute("SELECT vec_version()")
    spaces.load(connection)
    spaces.load(connection)
    assert str(connection.execute("SELECT vec_version()").get).startswith("v0.")
    with pytest.raises(apsw.SQLError, match="not authorized"):
        connection.execute("SELECT load_extension(?)", (spaces.extension_path(),))


def test_the_package_around_it_is_not_imported() -> None:
    code = (
        "import sys, apsw\nfrom qmd.index.semantic import spaces\nspaces.load(apsw.Connection(':memory:'))\n"
        "sys.exit(bool({'sqlite_vec', 'sqlite3', 'numpy'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_it_the_reason_and_the_way_out_are_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    connection = apsw.Connection(":memory:")
    monkeypatch.setattr(spaces, "extension_path", lambda: str(tmp_path / "vec0"))
    with pytest.raises(EngineMissing, match=r"sqlite-vec does not load: .*vec0") as caught:
        spaces.load(connection)
    assert "pip install" in caught.value.fix
    monkeypatch.setattr(spaces, "extension_path", lambda: None)
    with pytest.raises(EngineMissing, match="not installed"):
        spaces.load(connection)


@pytest.fixture
def index(tmp_path: Path) -> apsw.Connection:
    """Two documents, and vectors of one of them and of a content that is gone."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nwalrus\n")
    (folder / "b.md").write_text("# B\n\ntokens\n")
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    update(connection, [Folder(folder, "notes")])
    digest = connection.execute("SELECT hash FROM documents WHERE path = 'a.md'").get
    _vectors(connection, digest, "gone")
    return connection


def test_a_cleanup_removes_the_vectors_that_no_document_has(index: apsw.Connection, tmp_path: Path) -> None:
    assert cleanup.preview(index).vectors == 2
    counts = cleanup.clean(index)
    assert (counts.vectors, counts.kept) == (2, 0)
    kept = index.execute("SELECT hash || '_' || seq FROM content_vectors ORDER BY 1").fetchall()
    assert kept == index.execute("SELECT hash_seq FROM vectors_vec ORDER BY 1").fetchall()
    assert len(kept) == 2
    assert not any(str(key).startswith("gone") for (key,) in kept)
    assert cleanup.clean(index).vectors == 0
    index.close()


def test_vectors_that_cannot_be_reached_stay_whole_and_are_counted(
    index: apsw.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.close()
    monkeypatch.setattr(spaces, "extension_path", lambda: None)
    connection = open_index(str(tmp_path / "index.sqlite"), write=True)
    counts = cleanup.clean(connection)
    assert (counts.vectors, counts.kept) == (0, 2)
    assert connection.execute("SELECT count(*) FROM content_vectors").get == 4
    connection.close()
