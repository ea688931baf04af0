"""Resident processes that run in a thread of the tests' process."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.home import Home
from runtime.resident import control
from runtime.resident.encoder import Model
from runtime.resident.roles import Asking, Role
from runtime.resident.server import Server
from tests.waiting import until


class NoModel(Model):
    """A model that never gets ready, so that no process is started for it."""

    def encoder(self, section: dict[str, Any]) -> None:
        return None


class Running:
    """A server in a thread of this process, which signals do not reach.

    The process is the tests' own, and what it takes depends on which of them ran before: it may take what it likes.
    """

    def __init__(self, home: Home, model: Model | None = None) -> None:
        model = model or NoModel({}, 0, 1.0)
        roles: list[Role] = [model, Asking(home, model)]
        self.server = Server(home, roles, memory_bytes=sys.maxsize)
        self.why = ""
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        until(lambda: control.status(home)["running"])

    def _run(self) -> None:
        self.why = self.server.run()

    def end(self) -> str:
        if self.thread.is_alive():
            self.server.end("the test is over")
        self.thread.join(20)
        assert not self.thread.is_alive()
        return self.why


Serve = Callable[..., Running]


@pytest.fixture
def unsignalled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave this process's handlers of signals alone."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)


@pytest.fixture
def serve(home: Home, unsignalled: None) -> Iterator[Serve]:
    """Start a server of the home, by default without a model; it ends with the test."""
    started: list[Running] = []

    def start(model: Model | None = None) -> Running:
        started.append(Running(home, model))
        return started[-1]

    yield start
    for running in started:
        running.end()
