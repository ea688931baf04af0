"""The doctor on the resident process: that it answers, that what was to be watched is, and that its runs end well."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config import load
from core.files import FileLock
from core.home import Home
from ops.checks import engine
from ops.checks.finding import CheckContext
from ops.checks.surfaces import watch
from runtime.resident import control, starting
from runtime.resident.roles import Watching
from runtime.resident.server import LOCK, Server
from runtime.watching.watching import Watcher
from tests.waiting import until


def found(home: Home) -> dict[str, str]:
    context = CheckContext(home, os.environ, time.time())
    try:
        return {finding.id: finding.fix for finding in watch(context)}
    finally:
        context.close()


@contextlib.contextmanager
def watched(home: Home, monkeypatch: pytest.MonkeyPatch, program: str = "pass") -> Iterator[threading.Thread]:
    """A resident process that watches, in a thread of this one; ``program`` is what it runs for the brain."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    server = Server(home, [Watching(home, [sys.executable, "-c", program], taken=True)], memory_bytes=sys.maxsize)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield thread
    finally:
        server.end("the test is over")
        thread.join(20)


def test_a_home_that_is_to_be_watched_and_is_not_is_noticed(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.make()
    assert found(home) == {}
    Path(home.path("collections.yml")).write_text(Path(load(home).path).read_text() + "\nserve: {watch: true}\n")
    assert found(home) == {"watch": "brain watch --start"}
    with watched(home, monkeypatch) as thread:
        until(lambda: control.status(home)["running"] or not thread.is_alive())
        assert found(home) == {}
        assert thread.is_alive()


def test_a_run_that_fails_while_watching_is_found(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.make()
    with watched(home, monkeypatch, "raise SystemExit(99)"):
        until(lambda: "watch-run" in found(home))
        assert found(home) == {"watch-run": "brain index --new --queue"}


def test_a_role_that_fails_ends_nothing_and_is_found(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.make()

    def fails(_: Watcher) -> None:
        raise KeyError("no such watch")

    monkeypatch.setattr(Watcher, "tick", fails)
    with watched(home, monkeypatch) as thread:
        until(lambda: found(home) or not thread.is_alive())
        assert found(home) == {"resident-role": "brain serve --stop"}
        role = control.status(home)["roles"]["watch"]
        assert (role["watching"], role["fault"]["message"]) == (True, "KeyError: 'no such watch'")


def test_a_process_that_holds_the_place_and_does_not_answer_is_found(home: Home) -> None:
    home.make()
    with FileLock(os.path.join(home.state, LOCK), 0):
        assert found(home) == {"resident": "brain serve --stop"}
    assert found(home) == {}


def test_a_run_of_the_process_that_watches_is_known_for_one_of_ours() -> None:
    class Process:
        @staticmethod
        def environ() -> dict[str, str]:
            return {"BRAIN_HOME": "/somewhere"}

    words = [*starting.command(), "index", "--new"]
    assert engine._is_ours(words, "/somewhere", Process())
    assert not engine._is_ours([*starting.command(), "serve"], "/somewhere", Process())
    assert not engine._is_ours(words, "/elsewhere", Process())
