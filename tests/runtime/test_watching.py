"""Watching: what changes is indexed, what is quiet is embedded, and folders may come and go."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.errors import LockContention
from core.home import Home
from core.locks import FileLock
from runtime.watching import LOCK, Watcher


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept = 0.0

    def wall(self) -> float:
        return self.now + self.slept

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A brain that notes what it was called for."""
    path = tmp_path / "brain"
    path.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def watcher(home: Home, program: Path) -> Iterator[tuple[Watcher, Clock]]:
    clock = Clock()
    made = Watcher(home, [str(program)], clock=clock, wall=clock.wall)
    made._observer.start()
    yield made, clock
    made._observer.stop()
    made._observer.join(10)
    made._end()


def calls(tmp_path: Path) -> list[str]:
    path = tmp_path / "calls"
    return path.read_text().split() if path.exists() else []


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def settle(watcher: Watcher) -> None:
    until(lambda: watcher._child is None or watcher._child.poll() is not None)


def test_a_burst_is_one_run_and_quiet_is_an_embedding(
    watcher: tuple[Watcher, Clock], home: Home, tmp_path: Path
) -> None:
    watching, clock = watcher
    Path(home.inbox).mkdir()
    watching.tick()
    clock.now += 2
    watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["index"], "what happened before it watched"
    for number in range(10_000):
        watching.noted(f"{home.inbox}/{number}.md")
        clock.now += 0.0001
        if number % 1000 == 0:
            watching.tick()
    clock.now += 2
    watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["index", "index"]
    clock.now += 61
    watching.tick()
    settle(watching)
    watching.tick()
    assert calls(tmp_path) == ["index", "index", "embed"]


def test_a_stream_without_an_end_is_not_waited_for(watcher: tuple[Watcher, Clock], tmp_path: Path) -> None:
    watching, clock = watcher
    watching._dirty = watching._stale = False
    watching._swept = watching._looked = clock.now
    for _ in range(24):
        watching.noted("/x/a.md")
        clock.now += 0.5
        watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["index"]


def test_a_file_that_is_written_is_noticed_and_our_own_state_is_not(watcher: tuple[Watcher, Clock], home: Home) -> None:
    watching, _ = watcher
    Path(home.inbox).mkdir()
    watching.tick()
    Path(home.state, "x").write_text("x")
    Path(home.inbox, ".hidden.tmp").write_text("x")
    Path(home.inbox, "a.md").write_text("x")
    until(lambda: watching.counts["events"] > 0)


def test_a_folder_that_vanishes_and_comes_back_is_watched_again(watcher: tuple[Watcher, Clock], home: Home) -> None:
    watching, clock = watcher
    Path(home.inbox).mkdir()
    watching.tick()
    assert home.inbox in watching.status()["watched"]
    shutil.rmtree(home.inbox)
    clock.now += 31
    watching.tick()
    assert home.inbox not in watching.status()["watched"]
    Path(home.inbox).mkdir()
    clock.now += 31
    watching.tick()
    assert home.inbox in watching.status()["watched"]
    before = watching.counts["events"]
    Path(home.inbox, "a.md").write_text("x")
    until(lambda: watching.counts["events"] > before)


def test_after_sleep_everything_is_looked_at_again(watcher: tuple[Watcher, Clock], tmp_path: Path) -> None:
    watching, clock = watcher
    watching.tick()
    clock.now += 2
    watching.tick()
    settle(watching)
    watching.tick()
    clock.slept += 7200
    clock.now += 2
    watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["index", "index"]


def test_one_process_watches_a_home(home: Home, program: Path) -> None:
    with FileLock(os.path.join(home.state, LOCK), 0), pytest.raises(LockContention):
        Watcher(home, [str(program)]).run(threading.Event())
