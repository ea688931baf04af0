"""Watching: what changes is indexed, what is quiet is embedded, and folders may come and go."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from core.home import Home
from runtime.watching.places import Place
from runtime.watching.watching import Watcher
from tests.waiting import until


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
    path.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\necho "$*" >> {tmp_path}/words\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def watcher(home: Home, program: Path) -> Iterator[tuple[Watcher, Clock]]:
    clock = Clock()
    made = Watcher(home, [str(program)], clock=clock, wall=clock.wall)
    made.start()
    yield made, clock
    made.stop()


def calls(tmp_path: Path) -> list[str]:
    path = tmp_path / "calls"
    return path.read_text().split() if path.exists() else []


def settle(watcher: Watcher) -> None:
    until(lambda: watcher._child is None or watcher._child.poll() is not None)


def idle(watching: Watcher, clock: Clock) -> None:
    """Nothing waits, and the places were looked at a moment ago."""
    watching._files.waits = watching._stale = False
    watching._swept = watching._looked = clock.now


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
    idle(watching, clock)
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


def test_a_new_folder_with_the_inode_of_the_old_one_is_watched(watcher: tuple[Watcher, Clock], home: Home) -> None:
    watching, clock = watcher
    Path(home.inbox).mkdir()
    watching.tick()
    (place,) = [place for place in watching._watched if place.folder == home.inbox]
    shutil.rmtree(home.inbox)
    until(lambda: any(not each.is_alive() for each in watching._observer.emitters))
    Path(home.inbox).mkdir()
    status = os.stat(home.inbox)
    # ext4 gives the next folder the number that has become free; other file systems do not.
    watching._watched[place] = (watching._watched[place][0], (status.st_dev, status.st_ino))
    clock.now += 31
    watching.tick()
    before = watching.counts["events"]
    Path(home.inbox, "a.md").write_text("x")
    until(lambda: watching.counts["events"] > before)


def test_only_the_thread_of_a_watch_has_a_small_stack(
    watcher: tuple[Watcher, Clock], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching, _ = watcher
    Path(home.inbox).mkdir()
    ordinary = threading.stack_size()
    sizes: list[tuple[str, int]] = []
    really = threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        sizes.append((type(thread).__name__, threading.stack_size()))
        really(thread)

    monkeypatch.setattr(threading.Thread, "start", noted)
    watching.tick()
    assert {size for name, size in sizes if name == "Emitter"} == {1 << 19}
    assert {size for name, size in sizes if name != "Emitter"} <= {ordinary}
    assert threading.stack_size() == ordinary


def test_of_two_places_in_one_folder_one_may_go(
    watcher: tuple[Watcher, Clock], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching, clock = watcher
    both = [Place(str(tmp_path), frozenset(("a.md",))), Place(str(tmp_path), frozenset(("b.md",)), "chrome")]
    monkeypatch.setattr("runtime.watching.watching.places", lambda _: both)
    watching.tick()
    monkeypatch.setattr("runtime.watching.watching.places", lambda _: both[:1])
    clock.now += 31
    watching.tick()
    before = watching.counts["events"]
    Path(tmp_path, "a.md").write_text("x")
    until(lambda: watching.counts["events"] > before)
    monkeypatch.setattr("runtime.watching.watching.places", lambda _: [])
    clock.now += 31
    watching.tick()
    assert watching.status()["watched"] == []


def test_a_watch_that_gets_no_thread_is_a_problem_that_passes(
    watcher: tuple[Watcher, Clock], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching, clock = watcher
    Path(home.inbox).mkdir()

    def full(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(watching._observer, "schedule", full)
        watching.tick()
    assert watching.status()["problems"] == {home.inbox: "can't start new thread"}
    clock.now += 31
    watching.tick()
    assert home.inbox in watching.status()["watched"]
    assert watching.status()["problems"] == {}


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


def test_on_the_battery_nothing_is_embedded_until_it_is_off_it(home: Home, program: Path, tmp_path: Path) -> None:
    clock = Clock()
    plugged = False
    watching = Watcher(home, [str(program)], clock=clock, wall=clock.wall, on_battery=lambda: not plugged)
    try:
        clock.now += 2
        for _ in range(130):
            clock.now += 1
            watching.tick()
            settle(watching)
        assert calls(tmp_path) == ["index"]
        plugged = True
        for _ in range(70):
            clock.now += 1
            watching.tick()
            settle(watching)
        assert calls(tmp_path) == ["index", "embed"]
    finally:
        watching.stop()


def test_an_embedding_that_ran_out_of_time_goes_on(watcher: tuple[Watcher, Clock], tmp_path: Path) -> None:
    watching, clock = watcher
    watching._files.waits = False
    clock.now += 61
    watching.tick()
    settle(watching)
    clock.now += 300
    watching._looked = watching._swept = clock.now
    watching.tick()
    settle(watching)
    watching.tick()
    assert calls(tmp_path) == ["embed", "embed"]
    clock.now += 61
    watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["embed", "embed"], "the second one had done before its time was up"


def test_a_database_is_read_less_often_than_a_transcript(watcher: tuple[Watcher, Clock], tmp_path: Path) -> None:
    watching, clock = watcher
    idle(watching, clock)
    for _ in range(100):
        watching.noted("/x/state.vscdb-wal")
        clock.now += 1
        watching._looked = clock.now
        watching.tick()
    assert calls(tmp_path) == []
    clock.now += 11
    watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["index"]


def test_after_a_run_that_cost_much_there_is_a_pause(watcher: tuple[Watcher, Clock], tmp_path: Path) -> None:
    watching, clock = watcher
    program = tmp_path / "brain"
    program.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\ni=0; while [ $i -lt 60000 ]; do i=$((i+1)); done\n')
    clock.now += 2
    watching.tick()
    settle(watching)
    watching.noted("/x/a.md")
    clock.now += 0.001
    watching._files._first = watching._files._last = 0.0
    watching.tick()
    assert calls(tmp_path) == ["index"]
    clock.now += 61
    watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["index", "index"]


def test_a_run_that_was_shut_out_is_made_again(watcher: tuple[Watcher, Clock], tmp_path: Path) -> None:
    watching, clock = watcher
    program = tmp_path / "brain"
    program.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\nexit 70\n')
    clock.now += 2
    watching.tick()
    settle(watching)
    watching.tick()
    for seconds in (30, 31):
        assert calls(tmp_path) == ["index"]
        watching._looked = watching._swept = clock.now = clock.now + seconds
        watching.tick()
    settle(watching)
    assert calls(tmp_path) == ["index", "index"]
    assert watching.status()["failed"] == 0


def test_a_run_that_failed_is_made_again_ever_later(watcher: tuple[Watcher, Clock], tmp_path: Path) -> None:
    watching, clock = watcher
    program = tmp_path / "brain"
    program.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\nexit 99\n')
    watching._stale = False
    clock.now += 2
    watching.tick()
    settle(watching)
    for number, (early, late) in enumerate(((58, 3), (117, 4)), 1):
        watching.tick()
        for seconds in (early, late):
            assert calls(tmp_path) == ["index"] * number
            watching._looked = watching._swept = watching._heard = clock.now = clock.now + seconds
            watching.tick()
        settle(watching)
        assert calls(tmp_path) == ["index"] * (number + 1)
    program.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\n')
    watching.tick()
    watching.noted("/x/a.md")  # what is new does not wait for what failed
    clock.now += 61
    watching._heard = clock.now
    watching.tick()
    settle(watching)
    watching.tick()
    assert calls(tmp_path) == ["index"] * 4
    assert not watching._again


def test_a_program_that_cannot_be_started_ends_nothing(home: Home, tmp_path: Path) -> None:
    clock = Clock()
    watching = Watcher(home, [str(tmp_path / "nowhere")], clock=clock, wall=clock.wall)
    clock.now += 2
    watching.tick()
    assert watching.status()["failed"] == 1
    watching.stop()


def test_a_shells_history_is_noticed_and_its_neighbours_are_not(watcher: tuple[Watcher, Clock], home: Home) -> None:
    watching, clock = watcher
    user = Path(os.path.expanduser("~"))
    history = user / ".zsh_history"
    history.write_text(": 1:0;ls\n")
    clock.now += 31
    watching.tick()
    assert str(history) in watching.status()["watched"]
    before = watching.counts["events"]
    (user / "notes.txt").write_text("x")
    fresh = user / ".zsh_history.new"
    fresh.write_text(": 1:0;ls\n: 2:0;make\n")
    fresh.rename(history)  # as zsh does it
    until(lambda: watching.counts["events"] > before)
    assert watching.counts["events"] == before + 1


def test_browsing_is_watched_once_it_was_asked_for(
    watcher: tuple[Watcher, Clock], home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching, clock = watcher
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sys.platform", "linux")
    profile = tmp_path / "config" / "google-chrome" / "Default"
    profile.mkdir(parents=True)
    connection = apsw.Connection(str(profile / "History"))
    connection.execute("CREATE TABLE urls (id INTEGER)")
    connection.close()
    clock.now += 31
    watching.tick()
    assert str(profile / "History") not in watching.status()["watched"]
    ledger = Path(home.state, "ledger")
    ledger.mkdir()
    (ledger / "chrome.json").write_text("{}")
    clock.now += 31
    watching.tick()
    assert str(profile / "History") in watching.status()["watched"]
    settle(watching)
    (profile / "Cookies").write_text("x")
    (profile / "History-journal").write_text("x")
    until(lambda: watching._requested("chrome").waits)
    assert not watching._databases.waits
    for _ in range(6):  # later events on the same file may still come, and be waited for
        clock.now += 61
        watching._looked = watching._swept = clock.now
        watching.tick()
        settle(watching)
    assert "--source chrome" in (tmp_path / "words").read_text()


def test_folders_that_the_configuration_adds_to_a_source_are_watched(
    watcher: tuple[Watcher, Clock], home: Home, tmp_path: Path
) -> None:
    watching, _ = watcher
    more = tmp_path / "old-machine"
    more.mkdir()
    config = (Path(__file__).parents[3] / "collections.yml").read_text()
    added = config.replace("    roots: []      # folders to read besides", f"    roots: [{more}]  # besides")
    assert added != config
    Path(home.path("collections.yml")).write_text(added)
    watching.tick()
    assert str(more) in watching.status()["watched"]
    Path(home.path("collections.yml")).write_text("[")
    watching._looked = -1000.0
    watching.tick()
    assert str(more) not in watching.status()["watched"], "without it, the sources' own places are"
