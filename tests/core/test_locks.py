from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import LockContention
from core.files import FileLock

_HOLDER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from core.files import FileLock
with FileLock(sys.argv[2], 5):
    print("held", flush=True)
    time.sleep(float(sys.argv[3]))
"""
ROOT = str(Path(__file__).resolve().parents[2])


@contextmanager
def _held(path: Path, seconds: float) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _HOLDER, ROOT, str(path), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        try:
            yield child
        finally:
            child.kill()


def test_a_second_process_waits_for_the_first(tmp_path: Path) -> None:
    with _held(tmp_path / "lock", 0.4):
        started = time.monotonic()
        with FileLock(str(tmp_path / "lock"), 30):
            assert time.monotonic() - started > 0.1


def test_waiting_ends_with_lock_contention(tmp_path: Path) -> None:
    with _held(tmp_path / "lock", 30):
        started = time.monotonic()
        with (
            pytest.raises(LockContention, match="another brain process") as failure,
            FileLock(str(tmp_path / "lock"), 0.2),
        ):
            pytest.fail("two hold the lock")
        assert 0.2 <= time.monotonic() - started < 5
        assert failure.value.fix


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    with _held(tmp_path / "lock", 30) as child:
        child.kill()
        child.wait()
        with FileLock(str(tmp_path / "lock"), 0):
            pass


def test_a_lock_is_free_after_its_block_even_after_an_error(tmp_path: Path) -> None:
    lock = FileLock(str(tmp_path / "state" / "lock"), 0)
    with pytest.raises(RuntimeError), lock:
        raise RuntimeError
    with lock:
        pass
    assert (tmp_path / "state" / "lock").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_renamed_meanwhile_leaves_nobody_with_a_lock_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "state" / "lock"
    with _held(path, 30) as holder, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(FileLock(str(path), 30).__enter__)
        while not waiting.running():
            time.sleep(0.01)
        time.sleep(0.2)
        (tmp_path / "state").rename(tmp_path / "aside")
        holder.kill()
        taken = waiting.result(30)
        with pytest.raises(LockContention), FileLock(str(path), 0.1):
            pass
        taken.__exit__()
