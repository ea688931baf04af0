"""A database that its application holds open is read whole, as of its last transaction."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from ingest.raw.sqlite_copy import Unsettled, apart, copied, is_database, parts

# A process of its own: POSIX locks do not hold against the process that took them.
_OWNER = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("ready", flush=True)
sys.stdin.read()
"""

_WRITER = """
import apsw, sys, time
connection = apsw.Connection(sys.argv[1])
print("ready", flush=True)
end = time.monotonic() + 20
while time.monotonic() < end:
    with connection:
        connection.execute("update account set amount = amount - 1 where id = 1")
        connection.execute("update account set amount = amount + 1 where id = 2")
    time.sleep(float(sys.argv[2]))
"""


@contextmanager
def running(script: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process that has said that it is ready, killed at the end."""
    words = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def make(path: Path, rows: int = 2, mode: str = "delete") -> str:
    """A database of ``rows`` accounts holding 100 each."""
    connection = apsw.Connection(str(path))
    connection.execute(f"pragma journal_mode={mode}").fetchall()
    connection.execute("create table account(id integer primary key, amount int, filling text)")
    with connection:
        connection.executemany(
            "insert into account values(?, 100, ?)", [(number, "x" * 2000) for number in range(1, rows + 1)]
        )
    connection.close()
    past = time.time() - 60.5
    os.utime(path, (past, past))
    return str(path)


def total(path: str, scratch: Path) -> int:
    with copied(path, str(scratch)) as copy:
        return int(copy.connection.execute("select sum(amount) from account").get)


def test_what_an_exclusive_lock_hides_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "History")
    hold = ["pragma locking_mode=exclusive", "begin exclusive"]
    with running(_OWNER, path, *hold):
        direct = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        with pytest.raises(apsw.BusyError):
            direct.execute("select * from account").fetchall()
        direct.close()
        assert total(path, tmp_path / "scratch") == 200


def test_half_a_transaction_on_the_disk_is_rolled_back(tmp_path: Path) -> None:
    path = make(tmp_path / "History", rows=2000)
    # So small a cache that pages of the open transaction reach the file.
    spill = ["pragma cache_size=5", "begin immediate", "update account set amount = 0, filling = 'y'"]
    with running(_OWNER, path, *spill):
        assert os.path.getsize(path + "-journal") > 0
        unprotected = apsw.Connection(
            f"file:{path}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        torn = unprotected.execute("select sum(amount) from account").get
        unprotected.close()
        assert torn != 200_000, "nothing was spilled, so nothing is tested"
        assert total(path, tmp_path / "scratch") == 200_000


def test_what_is_in_the_log_alone_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "state.vscdb", mode="wal")
    keep = ["pragma wal_autocheckpoint=0", "update account set amount = 500 where id = 1"]
    with running(_OWNER, path, *keep), copied(path, str(tmp_path / "scratch")) as copy:
        assert copy.connection.execute("select sum(amount) from account").get == 600
        assert {part.suffix for part in copy.parts} == {"", "-wal"}


def test_a_copy_made_beside_a_writer_holds_whole_transactions(tmp_path: Path) -> None:
    path = make(tmp_path / "History")
    with running(_WRITER, path, "0.2"):
        for _ in range(5):
            assert total(path, tmp_path / "scratch") == 200


def test_a_database_that_never_holds_still_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "History")

    def copy_and_write(source: str, target: str) -> None:
        Path(target).write_bytes(Path(source).read_bytes())
        os.utime(source, ns=(0, os.stat(source).st_mtime_ns + 1))

    monkeypatch.setattr("ingest.raw.sqlite_copy._copy_file", copy_and_write)
    with pytest.raises(Unsettled):
        total(path, tmp_path / "scratch")
    assert os.listdir(tmp_path / "scratch") == []


def test_the_copy_is_private_and_does_not_outlive_its_use(tmp_path: Path) -> None:
    path = make(tmp_path / "History")
    scratch = tmp_path / "scratch"
    with copied(path, str(scratch)) as copy:
        file = Path(copy.connection.db_filename("main"))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        with pytest.raises(apsw.ReadOnlyError):
            copy.connection.execute("delete from account")
    assert os.listdir(scratch) == []


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    path = make(tmp_path / "History")
    scratch = tmp_path / "scratch"
    killed = f"import sys, os; sys.path[:] = {sys.path!r}\nfrom ingest.raw.sqlite_copy import copied\n"
    killed += "with copied(*sys.argv[1:]): os._exit(9)"
    assert subprocess.run([sys.executable, "-c", killed, path, str(scratch)], check=False).returncode == 9
    assert len(list(scratch.glob("copy-*/database"))) == 1
    making = scratch / f"copy-{os.getppid()}-new"
    for folder, age in ((making, 0), (scratch / f"copy-{os.getppid()}-old", 7200), (scratch / "other", 7200)):
        folder.mkdir()
        os.utime(folder, (time.time() - age,) * 2)
    total(path, scratch)
    assert sorted(os.listdir(scratch)) == [making.name, "other"]


def test_no_copy_is_swept_while_it_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "History")
    scratch = tmp_path / "scratch"
    with copied(path, str(scratch)) as copy:
        (folder,) = scratch.iterdir()
        os.utime(folder, (1, 1))
        looking = f"import sys; sys.path[:] = {sys.path!r}\nfrom ingest.raw.sqlite_copy import sweep\n"
        looking += "print(sweep(sys.argv[1]))"
        asked = subprocess.run([sys.executable, "-c", looking, str(scratch)], capture_output=True, check=True)
        assert asked.stdout == b"0\n"
        assert copy.connection.execute("select count(*) from account").fetchone()


def test_the_original_is_not_touched(tmp_path: Path) -> None:
    path = make(tmp_path / "History")
    before = (Path(path).read_bytes(), os.stat(path).st_mtime_ns, sorted(os.listdir(tmp_path)))
    total(path, tmp_path / "away" / "scratch")
    after = (Path(path).read_bytes(), os.stat(path).st_mtime_ns, sorted(set(os.listdir(tmp_path)) - {"away"}))
    assert after == before


def test_what_is_no_database_is_an_error(tmp_path: Path) -> None:
    text = tmp_path / "History"
    text.write_text("not a database, but long enough to be taken for one" * 100, encoding="utf-8")
    os.utime(text, (1.5, 1.5))
    assert not is_database(str(text))
    with pytest.raises(apsw.NotADBError), copied(str(text), str(tmp_path / "scratch")):
        pass
    with pytest.raises(FileNotFoundError), copied(str(tmp_path / "missing"), str(tmp_path / "scratch")):
        pass
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"), copied(str(tmp_path / "pipe"), str(tmp_path / "scratch")):
        pass


def test_a_write_changes_the_parts(tmp_path: Path) -> None:
    path = make(tmp_path / "History")
    before = parts(path)
    assert parts(path) == before
    connection = apsw.Connection(path)
    connection.execute("update account set amount = 1")
    connection.close()
    assert parts(path) != before


def test_what_a_killed_process_left_apart_from_every_home_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = tmp_path / "common"
    common.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(common))
    killed = f"import sys, os; sys.path[:] = {sys.path!r}\nfrom ingest.raw.sqlite_copy import apart\n"
    killed += "import tempfile; tempfile.tempdir = sys.argv[1]\nwith apart() as folder: os._exit(9)"
    assert subprocess.run([sys.executable, "-c", killed, str(common)], check=False).returncode == 9
    (left,) = common.iterdir()
    (left / "database").write_bytes(b"visits")
    with apart() as folder:
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert [path.name for path in common.iterdir()] == [os.path.basename(folder)]
    assert list(common.iterdir()) == []
