from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.errors import BadInput
from core.files import LIVELY_S, read_or_none, sweep_temporaries, sync_folder, write_atomic

_WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from core.files import write_atomic
pages = [bytes([97 + number]) * 1_000_000 for number in range(3)]
print("ready", flush=True)
while True:
    for page in pages:
        write_atomic(sys.argv[2], page)
"""
ROOT = str(Path(__file__).resolve().parents[2])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder."""
    place = tmp_path / "folder"
    place.mkdir()
    return place


def test_a_killed_writer_leaves_old_or_new_and_nothing_a_glob_picks_up(folder: Path) -> None:
    target = folder / "a.md"
    target.write_bytes(b"z" * 1_000_000)
    draw = random.Random(11)
    seen = set()
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", _WRITER, ROOT, target], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(draw.uniform(0.002, 0.05))
            child.kill()
        data = target.read_bytes()
        assert data == data[:1] * 1_000_000
        seen.add(data[:1])
        assert [path.name for path in folder.glob("*") if not path.name.startswith(".")] == ["a.md"]
    assert seen <= {b"a", b"b", b"c", b"z"}
    assert len(seen) > 1


def test_the_file_is_private_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0)
    try:
        status = write_atomic(str(folder / "deep" / "er" / "a.md"), b"x")
    finally:
        os.umask(before)
    assert (status.st_mode & 0o777, status.st_size) == (0o600, 1)
    assert (folder / "deep").stat().st_mode & 0o777 == 0o700
    assert (folder / "deep" / "er" / "a.md").stat().st_ino == status.st_ino


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_failure_leaves_the_old_file_and_no_temporary_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    target = folder / "a.md"
    target.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(PermissionError):
        write_atomic(str(target), b"new")
    assert target.read_bytes() == b"old"
    assert os.listdir(folder) == ["a.md"]


def test_a_folder_in_the_way_leaves_no_temporary_file(folder: Path) -> None:
    (folder / "a.md").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomic(str(folder / "a.md"), b"x")
    assert os.listdir(folder) == ["a.md"]


def test_a_file_where_the_folder_should_be_is_named(folder: Path) -> None:
    (folder / "inbox").write_text("")
    with pytest.raises(BadInput, match="not a folder") as failure:
        write_atomic(str(folder / "inbox" / "2026" / "a.md"), b"x")
    assert str(folder / "inbox") in failure.value.fix


def test_reading_tells_a_missing_file_from_an_unreadable_one(folder: Path) -> None:
    (folder / "a").write_bytes(b"x")
    assert read_or_none(str(folder / "a")) == b"x"
    assert read_or_none(str(folder / "b")) is None
    with pytest.raises(IsADirectoryError):
        read_or_none(str(folder))


def test_only_temporaries_of_ours_that_are_old_or_of_a_dead_process_are_swept(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    mine, killed, elsewhere = f".{os.getpid()}-ab.tmp", f".{dead.pid}-cd.tmp", f".{dead.pid}-ef.tmp"
    kept = [mine, elsewhere, ".0-ef.tmp", ".brain-2026.tar.zst.tmp", f".{'9' * 40}-ab.tmp", ".hidden", "a.md", "a.tmp"]
    for name in (killed, ".old-cd.tmp", *kept):
        (folder / name).write_text("x")
    hour_ago = time.time() - 7200
    minutes_ago = time.time() - 2 * LIVELY_S
    for name in (mine, killed):
        os.utime(folder / name, (minutes_ago, minutes_ago))
    for name in (".old-cd.tmp", "a.tmp", ".hidden", "a.md"):
        os.utime(folder / name, (hour_ago, hour_ago))
    assert sweep_temporaries(str(folder)) == 2
    assert sorted(os.listdir(folder)) == sorted(kept)
    assert sweep_temporaries(str(folder / "missing")) == 0


def test_syncing_a_folder_that_cannot_be_is_no_error(folder: Path) -> None:
    sync_folder(str(folder))
    sync_folder(str(folder / "missing"))


def test_a_pipe_is_no_file_to_read_and_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_or_none(str(folder / "pipe"))
