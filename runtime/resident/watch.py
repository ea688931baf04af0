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
    from runtime.watching.watching import Watcher


_TICK_S = 1.0
# To watch a hundred thousand folders takes seconds, in which nobody who wants to know of it need wait.
_FOLLOW_S = 2.0


class _Run:
    """One taking of the role: a watcher, and the thread that ticks it, beside that which lets callers in."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.fault: Exception | None = None
        self.followed = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Begin to watch. Raises OSError, RuntimeError (no thread to be had)."""
        self.watcher.start()
        try:
            self._thread.start()
        except RuntimeError:
            self.watcher.stop()
            raise

    def stop(self) -> None:
        """Watch no more, and end the run that is under way."""
        from runtime.watching.watching import END_S

        self._ended.set()
        self.watcher.ending.set()
        self._thread.join(END_S)
        self.watcher.stop()

    def _keep(self) -> None:
        while not self._ended.is_set():
            try:
                self.watcher.tick()
            except Exception as error:  # noqa: BLE001  # it is told by the role's tick, and the next one may go well
                self.fault = error
            self.followed.set()
            self._ended.wait(_TICK_S)


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
        # Changed under the lock. Who only looks takes it once, and may be told what was so a moment ago.
        self._run: _Run | None = None
        self._counts: dict[str, int] = {}

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {"watch": self._take, "unwatch": self._give_up}

    def start(self) -> None:
        """Begin, where the role was given with the process. Raises OSError, RuntimeError."""
        if self._wanted:
            self._begin()

    def tick(self, now: float) -> None:  # noqa: ARG002  # the watcher has a clock of its own
        """Raises what went wrong while watching, since the last time; all else has a thread of its own."""
        run = self._run
        if run is not None and run.fault is not None:
            fault, run.fault = run.fault, None
            raise fault

    def busy(self) -> bool:
        """Watching is a reason to stay."""
        return self._run is not None

    def pids(self) -> list[int]:
        """None: its children are runs with an end, as a schedule starts them, and none of them is kept."""
        return []

    def relieve(self, why: str) -> None:
        """It keeps nothing that could be given back."""

    def status(self) -> dict[str, Any]:
        """``watching``, and where it is so, what ``Watcher.status`` says."""
        run = self._run
        return {"watching": run is not None, **(run.watcher.status() if run is not None else {})}

    def done(self) -> dict[str, int]:
        """How many events came, and how many runs of each kind were started, in the life of this process."""
        run = self._run
        now = run.watcher.counts if run is not None else {}
        return {name: self._counts.get(name, 0) + now.get(name, 0) for name in {**self._counts, **now}}

    def stop(self) -> None:
        """End the watches, and the run that is under way."""
        self._end()

    def _end(self) -> bool:
        """Whether there was something to end."""
        with self._lock:
            run, self._run = self._run, None
        if run is None:
            return False
        try:
            run.stop()  # outside the lock: a run may take its time to end, and others are to be answered
        finally:
            with self._lock:
                for name, count in run.watcher.counts.items():
                    self._counts[name] = self._counts.get(name, 0) + count
        return True

    def _begin(self) -> bool:
        with self._lock:
            if self._run is not None:
                return False
            from runtime.watching.watching import Watcher

            run = _Run(Watcher(self._home, self._command))
            run.start()
            self._run = run
        run.followed.wait(_FOLLOW_S)
        return True

    def _take(self, message: dict[str, Any]) -> dict[str, Any]:
        for_the_same(self._me, message)
        taken = self._begin()
        return {"schema": 1, "ok": True, "taken": taken, **self.status()}

    def _give_up(self, message: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  # whoever says so may
        return {"schema": 1, "ok": True, "ended": self._end()}
