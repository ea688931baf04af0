"""Watching: what changes is indexed, what is quiet is embedded, and folders may come and go."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


class Trial:
    """A watcher, its clock, and a program in place of the brain that notes how it was called."""

    def __init__(self, home: Home, folder: Path, **given: Any) -> None:
        self.folder = folder
        self.clock = Clock()
        self.program = folder / "brain"
        self.set_program()
        self.watching = Watcher(home, [str(self.program)], clock=self.clock, wall=self.clock.wall, **given)

    def set_program(self, end: str = "exit 0") -> None:
        self.program.write_text(
            f'#!/bin/sh\necho "$1" >> {self.folder}/calls\necho "$*" >> {self.folder}/words\n{end}\n'
        )
        self.program.chmod(0o755)

    def step(self, seconds: float = 0.0) -> None:
        self.clock.now += seconds
        self.watching.tick()

    def run(self, seconds: float = 0.0) -> None:
        """Step, and wait for the program that was started."""
        self.step(seconds)
        self.settle()

    def settle(self) -> None:
        until(lambda: self.watching._child is None or self.watching._child.poll() is not None)

    def pass_quietly(self, seconds: float = 0.0) -> None:
        """Let time pass as if the places had been looked at just now."""
        self.clock.now += seconds
        self.watching._swept = self.watching._looked = self.clock.now

    def idle(self) -> None:
        """Have nothing wait."""
        self.watching._files.waits = self.watching._stale = False
        self.pass_quietly()

    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().split() if path.exists() else []

    def watched(self) -> list[str]:
        found: list[str] = self.watching.status()["watched"]
        return found

    @contextlib.contextmanager
    def event(self) -> Iterator[None]:
        """Wait for an event of what is done meanwhile."""
        before = self.watching.counts["events"]
        yield
        until(lambda: self.watching.counts["events"] > before)


@pytest.fixture
def trial(home: Home, tmp_path: Path) -> Iterator[Trial]:
    made = Trial(home, tmp_path)
    made.watching.start()
    yield made
    made.watching.stop()


def test_a_burst_is_one_run_and_quiet_is_an_embedding(trial: Trial, home: Home) -> None:
    Path(home.inbox).mkdir()
    trial.step()
    trial.run(2)
    assert trial.calls() == ["index"], "what happened before it watched"
    for number in range(10_000):
        trial.watching.noted(f"{home.inbox}/{number}.md")
        trial.clock.now += 0.0001
        if number % 1000 == 0:
            trial.step()
    trial.run(2)
    assert trial.calls() == ["index", "index"]
    trial.run(61)
    trial.step()
    assert trial.calls() == ["index", "index", "embed"]


def test_a_stream_without_an_end_is_not_waited_for(trial: Trial) -> None:
    trial.idle()
    for _ in range(24):
        trial.watching.noted("/x/a.md")
        trial.step(0.5)
    trial.settle()
    assert trial.calls() == ["index"]


def test_a_file_that_is_written_is_noticed_and_our_own_state_is_not(trial: Trial, home: Home) -> None:
    Path(home.inbox).mkdir()
    trial.step()
    Path(home.state, "x").write_text("x")
    Path(home.inbox, ".hidden.tmp").write_text("x")
    Path(home.inbox, "a.md").write_text("x")
    until(lambda: trial.watching.counts["events"] > 0)


def test_a_folder_that_vanishes_and_comes_back_is_watched_again(trial: Trial, home: Home) -> None:
    Path(home.inbox).mkdir()
    trial.step()
    assert home.inbox in trial.watched()
    shutil.rmtree(home.inbox)
    trial.step(31)
    assert home.inbox not in trial.watched()
    Path(home.inbox).mkdir()
    trial.step(31)
    assert home.inbox in trial.watched()
    with trial.event():
        Path(home.inbox, "a.md").write_text("x")


def test_a_new_folder_with_the_inode_of_the_old_one_is_watched(trial: Trial, home: Home) -> None:
    Path(home.inbox).mkdir()
    trial.step()
    (place,) = [place for place in trial.watching._watched if place.folder == home.inbox]
    shutil.rmtree(home.inbox)
    until(lambda: any(not each.is_alive() for each in trial.watching._observer.emitters))
    Path(home.inbox).mkdir()
    status = os.stat(home.inbox)
    # ext4 gives the next folder the number that has become free; other file systems do not.
    trial.watching._watched[place] = (trial.watching._watched[place][0], (status.st_dev, status.st_ino))
    trial.step(31)
    with trial.event():
        Path(home.inbox, "a.md").write_text("x")


def test_only_the_thread_of_a_watch_has_a_small_stack(
    trial: Trial, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(home.inbox).mkdir()
    ordinary = threading.stack_size()
    sizes: list[tuple[str, int]] = []
    really = threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        sizes.append((type(thread).__name__, threading.stack_size()))
        really(thread)

    monkeypatch.setattr(threading.Thread, "start", noted)
    trial.step()
    assert {size for name, size in sizes if name == "Emitter"} == {1 << 19}
    assert {size for name, size in sizes if name != "Emitter"} <= {ordinary}
    assert threading.stack_size() == ordinary


def test_of_two_places_in_one_folder_one_may_go(trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [Place(str(tmp_path), frozenset(("a.md",))), Place(str(tmp_path), frozenset(("b.md",)), "chrome")]
    monkeypatch.setattr("runtime.watching.watching.places", lambda _: both)
    trial.step()
    monkeypatch.setattr("runtime.watching.watching.places", lambda _: both[:1])
    trial.step(31)
    with trial.event():
        Path(tmp_path, "a.md").write_text("x")
    monkeypatch.setattr("runtime.watching.watching.places", lambda _: [])
    trial.step(31)
    assert trial.watched() == []


def test_a_watch_that_gets_no_thread_is_a_problem_that_passes(
    trial: Trial, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(home.inbox).mkdir()

    def full(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(trial.watching._observer, "schedule", full)
        trial.step()
    assert trial.watching.status()["problems"] == {home.inbox: "can't start new thread"}
    trial.step(31)
    assert home.inbox in trial.watched()
    assert trial.watching.status()["problems"] == {}


def test_after_sleep_everything_is_looked_at_again(trial: Trial) -> None:
    trial.step()
    trial.run(2)
    trial.step()
    trial.clock.slept += 7200
    trial.run(2)
    assert trial.calls() == ["index", "index"]


def test_on_the_battery_nothing_is_embedded_until_it_is_off_it(home: Home, tmp_path: Path) -> None:
    plugged = False
    trial = Trial(home, tmp_path, on_battery=lambda: not plugged)
    try:
        trial.clock.now += 2
        for _ in range(130):
            trial.run(1)
        assert trial.calls() == ["index"]
        plugged = True
        for _ in range(70):
            trial.run(1)
        assert trial.calls() == ["index", "embed"]
    finally:
        trial.watching.stop()


def test_an_embedding_that_ran_out_of_time_goes_on(trial: Trial) -> None:
    trial.watching._files.waits = False
    trial.run(61)
    trial.pass_quietly(300)
    trial.run()
    trial.step()
    assert trial.calls() == ["embed", "embed"]
    trial.run(61)
    assert trial.calls() == ["embed", "embed"], "the second one had done before its time was up"


def test_a_database_is_read_less_often_than_a_transcript(trial: Trial) -> None:
    trial.idle()
    for _ in range(100):
        trial.watching.noted("/x/state.vscdb-wal")
        trial.clock.now += 1
        trial.watching._looked = trial.clock.now
        trial.step()
    assert trial.calls() == []
    trial.run(11)
    assert trial.calls() == ["index"]


def test_after_a_run_that_cost_much_there_is_a_pause(trial: Trial) -> None:
    trial.set_program("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done")
    trial.run(2)
    trial.watching.noted("/x/a.md")
    trial.clock.now += 0.001
    trial.watching._files._first = trial.watching._files._last = 0.0
    trial.step()
    assert trial.calls() == ["index"]
    trial.run(61)
    assert trial.calls() == ["index", "index"]


def test_a_run_that_was_shut_out_is_made_again(trial: Trial) -> None:
    trial.set_program("exit 70")
    trial.run(2)
    trial.step()
    for seconds in (30, 31):
        assert trial.calls() == ["index"]
        trial.pass_quietly(seconds)
        trial.run()
    assert trial.calls() == ["index", "index"]
    assert trial.watching.status()["failed"] == 0


def test_a_run_that_failed_is_made_again_ever_later(trial: Trial) -> None:
    trial.set_program("exit 99")
    trial.watching._stale = False
    trial.run(2)
    for number, (early, late) in enumerate(((58, 3), (117, 4)), 1):
        trial.step()
        for seconds in (early, late):
            assert trial.calls() == ["index"] * number
            trial.pass_quietly(seconds)
            trial.watching._heard = trial.clock.now
            trial.run()
        assert trial.calls() == ["index"] * (number + 1)
    trial.set_program()
    trial.step()
    trial.watching.noted("/x/a.md")  # what is new does not wait for what failed
    trial.clock.now += 61
    trial.watching._heard = trial.clock.now
    trial.run()
    trial.step()
    assert trial.calls() == ["index"] * 4
    assert not trial.watching._again


def test_a_program_that_cannot_be_started_ends_nothing(home: Home, tmp_path: Path) -> None:
    trial = Trial(home, tmp_path)
    trial.program.unlink()
    trial.step(2)
    assert trial.watching.status()["failed"] == 1
    trial.watching.stop()


def test_a_shells_history_is_noticed_and_its_neighbours_are_not(trial: Trial, home: Home) -> None:
    user = Path(os.path.expanduser("~"))
    history = user / ".zsh_history"
    history.write_text(": 1:0;ls\n")
    trial.step(31)
    assert str(history) in trial.watched()
    before = trial.watching.counts["events"]
    (user / "notes.txt").write_text("x")
    fresh = user / ".zsh_history.new"
    fresh.write_text(": 1:0;ls\n: 2:0;make\n")
    fresh.rename(history)  # as zsh does it
    until(lambda: trial.watching.counts["events"] > before)
    assert trial.watching.counts["events"] == before + 1


def test_browsing_is_watched_once_it_was_asked_for(
    trial: Trial, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sys.platform", "linux")
    profile = tmp_path / "config" / "google-chrome" / "Default"
    profile.mkdir(parents=True)
    connection = apsw.Connection(str(profile / "History"))
    connection.execute("CREATE TABLE urls (id INTEGER)")
    connection.close()
    trial.step(31)
    assert str(profile / "History") not in trial.watched()
    ledger = Path(home.state, "ledger")
    ledger.mkdir()
    (ledger / "chrome.json").write_text("{}")
    trial.step(31)
    assert str(profile / "History") in trial.watched()
    trial.settle()
    (profile / "Cookies").write_text("x")
    (profile / "History-journal").write_text("x")
    until(lambda: trial.watching._requested("chrome").waits)
    assert not trial.watching._databases.waits
    for _ in range(6):  # later events on the same file may still come, and be waited for
        trial.pass_quietly(61)
        trial.run()
    assert "--source chrome" in (tmp_path / "words").read_text()


def test_folders_that_the_configuration_adds_to_a_source_are_watched(trial: Trial, home: Home, tmp_path: Path) -> None:
    more = tmp_path / "old-machine"
    more.mkdir()
    config = (Path(__file__).parents[3] / "collections.yml").read_text()
    added = config.replace("    roots: []      # folders to read besides", f"    roots: [{more}]  # besides")
    assert added != config
    Path(home.path("collections.yml")).write_text(added)
    trial.step()
    assert str(more) in trial.watched()
    Path(home.path("collections.yml")).write_text("[")
    trial.watching._looked = -1000.0
    trial.step()
    assert str(more) not in trial.watched(), "without it, the sources' own places are"
