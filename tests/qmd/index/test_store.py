from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.errors import BrainError, DiskFull, EngineMissing, EngineTimeout, Internal, LockContention
from qmd.index import store
from qmd.index.store import Deadline, Transaction, open_index, translate
from tests.qmd.corpus import indexed

ROOT = str(Path(__file__).resolve().parents[3])
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def index(tmp_path: Path) -> str:
    """The path of an index with a few documents, closed."""
    connection, _ = indexed(tmp_path, {f"{number}.md": f"walrus {number} " + "word " * 400 for number in range(40)})
    connection.close()
    return str(tmp_path / "index.sqlite")


def _fails(path: str, **options: Any) -> BrainError:
    with pytest.raises(BrainError) as failure:
        open_index(path, **options)
    assert failure.value.fix
    return failure.value


def test_a_missing_index_is_not_made_by_reading(tmp_path: Path) -> None:
    failure = _fails(str(tmp_path / "index.sqlite"))
    assert (failure.code, failure.fix) == (65, "brain index")
    assert not (tmp_path / "index.sqlite").exists()


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("size", [11, 99, 100, 5000])
def test_a_text_file_is_not_a_database(tmp_path: Path, write: bool, size: int) -> None:
    path = tmp_path / "index.sqlite"
    path.write_text(("notes on the walrus\n" * 300)[:size])
    failure = _fails(str(path), write=write)
    assert failure.code == 65
    assert "is not a database" in failure.message or "is damaged" in failure.message
    assert path.stat().st_size == size


@pytest.mark.parametrize("write", [False, True])
def test_a_folder_or_a_pipe_is_not_a_database(tmp_path: Path, write: bool) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        failure = _fails(str(tmp_path / name), write=write)
        assert (failure.code, failure.message) == (65, f"{tmp_path / name} is not a file")


@pytest.mark.parametrize("kept", [0.02, 0.3, 0.6, 0.95])
def test_a_truncated_index_is_damaged(index: str, kept: float) -> None:
    os.truncate(index, int(os.path.getsize(index) * kept))
    failure = _fails(index)
    assert (failure.code, failure.error) == (65, "qmd_missing")
    assert "damaged" in failure.message


@pytest.mark.parametrize("start", [0.05, 0.3, 0.6])
@pytest.mark.damages_full_text
def test_damage_inside_is_reported_when_it_is_read(index: str, start: float) -> None:
    size = os.path.getsize(index) // 4096
    with open(index, "r+b") as stream:
        stream.seek(int(size * start) * 4096)
        stream.write(b"\xa5" * (size - int(size * start)) * 4096)
    try:
        connection = open_index(index)
        connection.execute("SELECT sum(length(doc)) FROM content").fetchall()
        connection.execute("SELECT sum(length(body)) FROM documents_fts WHERE documents_fts MATCH 'walrus'").fetchall()
        connection.execute("SELECT count(*) FROM brain_passages WHERE brain_passages MATCH 'walrus'").fetchall()
    except apsw.Error as error:
        failure: BrainError = translate(error, index)
    except BrainError as error:
        failure = error
    assert (failure.code, "damaged" in failure.message) == (65, True)


def test_a_database_of_others_has_no_brain_tables(tmp_path: Path) -> None:
    path = str(tmp_path / "index.sqlite")
    connection = apsw.Connection(path)
    connection.execute("CREATE TABLE t(a)")
    connection.close()
    assert _fails(path).message.endswith("has no brain tables")
    (tmp_path / "empty.sqlite").write_bytes(b"")
    assert _fails(str(tmp_path / "empty.sqlite")).message.endswith("has no brain tables")


@pytest.mark.parametrize("version", [0, 99, "x", None])
def test_an_index_of_another_version_must_be_made_again(index: str, version: int | str | None) -> None:
    connection = apsw.Connection(index)
    connection.execute("UPDATE brain_state SET value = ? WHERE key = 'index_version'", (version,))
    connection.close()
    failure = _fails(index)
    assert (failure.code, failure.fix) == (65, "brain index")
    assert "another version" in failure.message


def test_a_reader_cannot_write(index: str) -> None:
    connection = open_index(index)
    with pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM documents")
    connection.close()


def test_the_index_is_private_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    before = os.umask(0o022)
    try:
        connection = open_index(str(path), write=True)
        connection.execute("INSERT INTO content VALUES('h', 'text', 'now')")
        modes = {
            name: (tmp_path / name).stat().st_mode & 0o777 for name in os.listdir(tmp_path) if name.startswith("index")
        }
        connection.close()
    finally:
        os.umask(before)
    assert modes == {"index.sqlite": 0o600, "index.sqlite-wal": 0o600, "index.sqlite-shm": 0o600}


def test_a_folder_that_takes_no_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *_: int) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    failure = _fails(str(tmp_path / "index.sqlite"), write=True)
    assert (failure.code, "Permission denied" in failure.message) == (64, True)


def test_an_index_in_a_folder_that_takes_no_files_is_read(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="index with 100% odd #signs? "))
    try:
        connection, _ = indexed(tmp_path, {"a.md": "walrus"})
        connection.close()
        shutil.copy(tmp_path / "index.sqlite", place)
        (place / "index.sqlite").chmod(0o444)
        place.chmod(0o555)
        code = (
            "import os, sys; sys.path.insert(0, sys.argv[1])\n"
            "import core.version, qmd.index.store\n"
            "if os.getuid() == 0: os.setuid(65534)\n"  # modes do not bind root
            "connection = qmd.index.store.open_index(sys.argv[2])\n"
            "print(connection.execute('SELECT path FROM documents').get)"
        )
        command = [sys.executable, "-c", code, ROOT, str(place / "index.sqlite")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("a.md\n", "")
        assert os.listdir(place) == ["index.sqlite"]
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)


def test_a_deadline_interrupts_a_running_statement(index: str) -> None:
    connection = open_index(index)
    started = time.monotonic()
    with pytest.raises(apsw.InterruptError) as failure, Deadline(connection, 0.15):
        connection.execute(_ENDLESS).fetchall()
    assert 0.14 < time.monotonic() - started < 5
    assert isinstance(translate(failure.value, index), EngineTimeout)
    assert connection.execute("SELECT count(*) FROM documents").get == 40
    connection.close()


def test_a_deadline_ends_with_its_block(index: str) -> None:
    connection = open_index(index)
    with Deadline(connection, 0.05) as deadline:
        assert not deadline.passed()
    time.sleep(0.06)
    assert deadline.passed()
    assert connection.execute(_ENDLESS.replace("FROM n)", "FROM n LIMIT 300000)")).get == 300_000
    connection.close()


def test_a_block_that_ends_after_its_deadline_raises(index: str) -> None:
    connection = open_index(index)
    with pytest.raises(apsw.InterruptError), Deadline(connection, 0.01):
        time.sleep(0.02)
    connection.close()


def test_a_writer_that_another_holds_up_is_lock_contention(index: str) -> None:
    holder = open_index(index, write=True)
    holder.execute("BEGIN IMMEDIATE")
    reader = open_index(index)
    assert reader.execute("SELECT count(*) FROM documents").get == 40
    waiter = open_index(index, write=True, busy_ms=100)
    started = time.monotonic()
    with pytest.raises(apsw.BusyError) as failure, Transaction(waiter):
        pytest.fail("two write")
    assert time.monotonic() - started >= 0.09
    assert isinstance(translate(failure.value, index), LockContention)
    holder.execute("ROLLBACK")
    with Transaction(waiter):
        waiter.execute("DELETE FROM brain_files")
    for connection in (holder, reader, waiter):
        connection.close()


def test_an_index_that_another_has_to_itself_is_lock_contention(index: str) -> None:
    holder = apsw.Connection(index)
    holder.execute("PRAGMA journal_mode=DELETE").fetchall()
    holder.execute("BEGIN EXCLUSIVE")
    for write in (False, True):
        assert _fails(index, write=write, busy_ms=50).code == 70
    holder.close()


def test_a_transaction_is_whole_or_nothing_and_joins_an_open_one(index: str) -> None:
    connection = open_index(index, write=True)
    with pytest.raises(apsw.SQLError), Transaction(connection):
        connection.execute("DELETE FROM brain_files; SELECT no_such_function()")
    assert connection.execute("SELECT count(*) FROM brain_files").get == 40
    connection.execute("BEGIN")
    with Transaction(connection):
        connection.execute("DELETE FROM brain_files")
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM brain_files").get == 40
    connection.close()


def test_a_killed_writer_leaves_a_whole_index(index: str) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from qmd.index.store import open_index\n"
        "c = open_index(sys.argv[2], write=True); c.execute('BEGIN IMMEDIATE'); c.execute('DELETE FROM documents')\n"
        "print('deleted', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, ROOT, index]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"deleted\n"
        child.kill()
    connection = open_index(index)
    assert connection.execute("SELECT count(*) FROM documents").get == 40
    assert connection.execute("PRAGMA integrity_check").get == "ok"
    connection.close()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (apsw.NotADBError, EngineMissing),
        (apsw.CorruptError, EngineMissing),
        (apsw.CantOpenError, EngineMissing),
        (apsw.ReadOnlyError, EngineMissing),
        (apsw.BusyError, LockContention),
        (apsw.LockedError, LockContention),
        (apsw.InterruptError, EngineTimeout),
        (apsw.FullError, DiskFull),
        (apsw.SQLError, Internal),
    ],
)
def test_each_failure_of_sqlite_is_one_of_ours_with_a_fix(error: type[apsw.Error], kind: type[BrainError]) -> None:
    ours = translate(error("what"), "/i.sqlite")
    assert type(ours) is kind
    assert ours.fix


def test_two_may_create_the_index_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from qmd.index.store import open_index\n"
        "open_index(sys.argv[2], write=True)"
    )
    command = [sys.executable, "-c", code, ROOT, str(tmp_path / "index.sqlite")]
    children = [subprocess.Popen(command) for _ in range(6)]
    assert [child.wait(60) for child in children] == [0] * 6
    store.open_index(str(tmp_path / "index.sqlite")).close()


def test_a_full_disk_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.statvfs_result((4096, 4096, 1000, 0, 0, 10, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    assert translate(apsw.IOError("disk I/O error"), "/x/index.sqlite").message == "the disk is full"
    monkeypatch.undo()
    assert translate(apsw.IOError("disk I/O error"), "/").message != "the disk is full"
