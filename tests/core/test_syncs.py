"""Many files are synced at a time, and none is lost on the way."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from core import syncs
from core.syncs import Syncs


def _opened(folder: Path, count: int) -> list[tuple[str, int]]:
    folder.mkdir(exist_ok=True)
    paths = [folder / str(number) for number in range(count)]
    return [(path.name, os.open(path, os.O_CREAT | os.O_WRONLY)) for path in paths]


@pytest.mark.parametrize("threads", [True, False])
def test_every_file_is_synced_and_closed_however_often_it_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, threads: bool
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))

    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    if not threads:
        monkeypatch.setattr(threading.Thread, "start", none_left)
    several = Syncs()
    for count in (1, 5, 1, 2):
        files = _opened(tmp_path / "files", count)
        for name, descriptor in files:
            several.add(name, descriptor)
        found = several.wait()
        assert found.keys() == {name for name, _ in files}
    several.close()
    assert len(synced) == 9
    assert {path.stat().st_ino for path in (tmp_path / "files").iterdir()} == set(synced)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def test_no_more_files_are_open_than_a_process_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncs, "_OPEN", 4)
    several = Syncs()
    added: set[int] = set()
    for number in range(40):
        descriptor = os.open(tmp_path / str(number), os.O_CREAT | os.O_WRONLY)
        added.add(descriptor)
        several.add(str(number), descriptor)
        assert sum(map(_is_open, added)) <= 4
    assert len(several.wait()) == 40
    several.close()
    assert not any(map(_is_open, added))


def test_what_failed_is_raised_once_all_the_others_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = _opened(tmp_path / "files", 3)
    done: list[int] = []

    def fsync(descriptor: int) -> None:
        if descriptor == files[0][1]:
            raise OSError(5, "Input/output error")
        done.append(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    several = Syncs()
    for name, descriptor in files:
        several.add(name, descriptor)
    with pytest.raises(OSError, match="Input/output"):
        several.wait()
    assert len(done) == 2
    assert several.wait() == {}
    several.close()


def test_who_waits_for_some_gets_one_at_least_and_hears_of_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = Syncs()
    files = _opened(tmp_path / "files", 5)
    for name, descriptor in files:
        several.add(name, descriptor)
    found: dict[str, os.stat_result] = {}
    while len(found) < len(files):
        more = several.some()
        assert more
        found |= more
    assert found.keys() == {name for name, _ in files}
    assert not several.some()

    def fails(_: int) -> None:
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr(os, "fsync", fails)
    for name, descriptor in _opened(tmp_path / "more", 3):
        several.add(name, descriptor)
    with pytest.raises(OSError, match="broken"):
        list(iter(several.some, None))
    several.close()
