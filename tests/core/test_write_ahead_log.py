from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from core import sqlite


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Make a database with the last writes left in its log."""
    path = str(tmp_path / "some.sqlite")
    connection = apsw.Connection(path)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    sqlite.leave_log(connection)
    connection.execute("CREATE TABLE t(a)")
    connection.execute("INSERT INTO t VALUES(zeroblob(5000000))")
    connection.close()
    return path


def test_a_writer_that_leaves_its_log_keeps_what_it_wrote(database: str) -> None:
    assert Path(f"{database}-wal").stat().st_size > 5_000_000
    assert Path(database).stat().st_size < 100_000
    assert apsw.Connection(database).execute("SELECT length(a) FROM t").get == 5_000_000


def test_a_long_log_is_written_back_and_emptied(database: str) -> None:
    assert sqlite.is_log_long(database)
    assert sqlite.checkpoint(database) is True
    assert not sqlite.is_log_long(database)
    assert Path(database).stat().st_size > 5_000_000
    assert apsw.Connection(database).execute("SELECT length(a) FROM t").get == 5_000_000


def test_a_log_that_a_reader_needs_is_written_back_as_far_as_it_lets(database: str) -> None:
    reader = apsw.Connection(database)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM t").get == 1
    assert sqlite.checkpoint(database) is False
    assert reader.execute("SELECT length(a) FROM t").get == 5_000_000
    reader.execute("COMMIT")
    assert sqlite.checkpoint(database) is True
    assert not sqlite.is_log_long(database)


def test_a_database_without_a_log_has_none_to_write_back(tmp_path: Path) -> None:
    assert not sqlite.is_log_long(str(tmp_path / "none.sqlite"))
