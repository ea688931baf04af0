from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import apsw
import pytest

from core.sqlite import connect, denied, is_full, open_store, write_ahead


@pytest.mark.parametrize(
    ("blocks", "free", "full"),
    [(10**6, 255, True), (10**6, 256, False), (100, 0, True), (0, 0, False)],
    ids=["below a megabyte", "a megabyte", "nothing free", "file system that does not say"],
)
def test_no_database_is_opened_where_less_than_a_megabyte_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: int, free: int, full: bool
) -> None:
    connect(str(tmp_path / "a.sqlite")).close()
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=blocks, f_bavail=free, f_frsize=4096))
    assert is_full(str(tmp_path)) == full
    if full:
        with pytest.raises(apsw.FullError):
            connect(str(tmp_path / "a.sqlite"))
    else:
        connect(str(tmp_path / "a.sqlite")).close()


def test_a_folder_that_is_not_there_is_not_full(tmp_path: Path) -> None:
    assert not is_full(str(tmp_path / "gone"))


def test_the_file_that_writers_share_has_its_blocks_before_the_first_change(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    connection = connect(str(path))
    write_ahead(connection)
    shared = (tmp_path / "a.sqlite-shm").stat()
    assert shared.st_blocks * 512 >= shared.st_size >= 32_768


def test_allocating_blocks_keeps_the_locks_of_a_connection_that_is_open(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sqlite")
    first = connect(path)
    write_ahead(first)
    first.execute("CREATE TABLE texts (text); BEGIN IMMEDIATE; INSERT INTO texts VALUES ('a')")
    connect(path).close()
    again = subprocess.run(
        [sys.executable, "-c", f"import apsw; apsw.Connection({path!r}).execute('BEGIN IMMEDIATE')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "BusyError" in again.stderr
    first.execute("COMMIT")


def test_a_store_is_made_with_its_folder_its_tables_and_a_log(tmp_path: Path) -> None:
    path = tmp_path / "private" / "a.sqlite"
    connection = open_store(str(path), "PRAGMA secure_delete=on; PRAGMA synchronous=normal", "CREATE TABLE t(a);", 3)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [connection.pragma(name) for name in ("journal_mode", "secure_delete", "user_version")] == ["wal", 1, 3]
    assert not connection.in_transaction
    connection.execute("INSERT INTO t VALUES(1)")
    connection.close()
    again = open_store(str(path), schema="a schema of this version is not run again", version=3)
    assert again.execute("SELECT a FROM t").get == 1
    again.close()


def test_a_store_of_another_version_gets_the_tables_that_it_lacks(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sqlite")
    open_store(path, schema="CREATE TABLE t(a);", version=1).close()
    newer = open_store(path, schema="CREATE TABLE IF NOT EXISTS t(a); CREATE TABLE u(b);", version=2)
    assert newer.execute("SELECT count(*) FROM t, u").get == 0
    assert newer.pragma("user_version") == 2
    newer.close()
    with pytest.raises(apsw.SQLError):
        open_store(path, schema="CREATE TABLE v(c); no statement;", version=3)
    unchanged = connect(path)
    assert unchanged.pragma("user_version") == 2
    assert unchanged.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'v'").get == 0


@pytest.mark.parametrize("hasty", [True, False])
def test_only_a_hasty_writer_leaves_its_log(tmp_path: Path, hasty: bool) -> None:
    path = tmp_path / "a.sqlite"
    connection = open_store(str(path), schema="CREATE TABLE t(a);", version=1, hasty=hasty)
    connection.execute("INSERT INTO t VALUES(1)")
    connection.close()
    assert (tmp_path / "a.sqlite-wal").exists() == hasty


class _Contended:
    """A connection that SQLite tells so many times at once that the database is busy."""

    def __init__(self, times: int, busy_ms: int) -> None:
        self.times, self.busy_ms = times, busy_ms

    def pragma(self, name: str) -> int | str:
        return self.busy_ms if name == "busy_timeout" else "delete"

    def execute(self, _: str) -> _Contended:
        self.times -= 1
        if self.times >= 0:
            raise apsw.BusyError("database is locked")
        return self

    def fetchall(self) -> list[object]:
        return []


def test_whoever_is_told_too_early_that_a_database_is_busy_tries_again_until_the_timeout() -> None:
    write_ahead(cast("apsw.Connection", _Contended(3, 10_000)))
    with pytest.raises(apsw.BusyError):
        write_ahead(cast("apsw.Connection", _Contended(1_000_000, 50)))


def test_a_companion_that_goes_meanwhile_denies_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, log = tmp_path / "a.sqlite", tmp_path / "a.sqlite-wal"
    access = os.access

    def late(place: str, mode: int) -> bool:
        log.unlink(missing_ok=True)  # as by the process that closes it
        return access(place, mode)

    path.touch()
    log.touch()
    monkeypatch.setattr(os, "access", late)
    assert denied(str(path)) is None
