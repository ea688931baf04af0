"""Watching as a role of the resident process: taken when it starts or when it is asked to, and given up when told."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from runtime.resident.client import caller
from runtime.resident.roles import for_the_same

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.home import Home
    from runtime.resident.roles import Operation
    from runtime.watching import Watcher


class Watching:
    """Sources and collections watched while the role is taken; ``command`` are the words that start brain.

    While it is, the process does not end idle. Until then, nothing of what watching needs is in memory.
    """

    name = "watch"

    def __init__(self, home: Home, command: Sequence[str], *, taken: bool = False) -> None:
        self._home = home
        self._command = tuple(command)
        self._me = caller(home)
        self._lock = threading.Lock()
        self._wanted = taken
        self._watcher: Watcher | None = None
        self._counts: dict[str, int] = {}

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {"watch": self._take, "unwatch": self._give_up}

    def start(self) -> None:
        """Begin, where the role was given with the process. Raises OSError."""
        if self._wanted:
            self._begin()

    def tick(self, now: float) -> None:  # noqa: ARG002  # the watcher has a clock of its own
        """Do what is due."""
        with self._lock:
            if self._watcher is not None:
                self._watcher.tick()

    def busy(self) -> bool:
        """Watching is a reason to stay."""
        return self._watcher is not None

    def pids(self) -> list[int]:
        """None: its children are runs with an end, as a schedule starts them, and none of them is kept."""
        return []

    def relieve(self, why: str) -> None:
        """It keeps nothing that could be given back."""

    def status(self) -> dict[str, Any]:
        """``watching``, and where it is so, what ``Watcher.status`` says."""
        watcher = self._watcher
        return {"watching": watcher is not None, **(watcher.status() if watcher is not None else {})}

    def done(self) -> dict[str, int]:
        """How many events came, and how many runs of each kind were started, in the life of this process."""
        watcher = self._watcher
        now = watcher.counts if watcher is not None else {}
        return {name: self._counts.get(name, 0) + now.get(name, 0) for name in {**self._counts, **now}}

    def stop(self) -> None:
        """End the watches, and the run that is under way."""
        with self._lock:
            watcher, self._watcher = self._watcher, None
            for name, count in (watcher.counts if watcher is not None else {}).items():
                self._counts[name] = self._counts.get(name, 0) + count
        if watcher is not None:  # outside the lock: a run may take its time to end, and others are to be answered
            watcher.stop()

    def _begin(self) -> bool:
        with self._lock:
            if self._watcher is not None:
                return False
            from runtime.watching import Watcher

            watcher = Watcher(self._home, self._command)
            watcher.start()
            self._watcher = watcher
            return True

    def _take(self, message: dict[str, Any]) -> dict[str, Any]:
        for_the_same(self._me, message)
        taken = self._begin()
        return {"schema": 1, "ok": True, "taken": taken, **self.status()}

    def _give_up(self, message: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  # whoever says so may
        before = self._watcher is not None
        self.stop()
        return {"schema": 1, "ok": True, "ended": before}
