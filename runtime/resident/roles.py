"""The roles of the resident process: asking and watching. ``runtime.resident.server`` runs them and
knows none by name.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from core.config import load
from core.errors import EngineMissing, Refused
from runtime.asking.pool import Pool
from runtime.asking.request import Request
from runtime.resident.client import caller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.home import Home
    from runtime.resident.encoder import Model

    Operation = Callable[[dict[str, Any]], dict[str, Any]]
    from collections.abc import Sequence

    from runtime.watching.watching import Watcher

_TICK_S = 1.0
# Watching a hundred thousand folders takes seconds; a caller does not wait longer than this.
_FOLLOW_S = 2.0


class Role(Protocol):
    """One service of the resident process.

    ``operations`` maps a message's name to a function from the message to the answer. It is called from any thread; its
    BrainError becomes the caller's. ``tick`` is called about once a second by the thread that accepts callers, so slow
    work needs a thread of the role; its exception is kept and shown by ``status``. A ``busy`` role keeps the process
    from ending when idle. A ``settling`` role takes memory for a moment that it gives back. The child processes
    (``pids``) count against the memory limit, unless they are runs that end; ``relieve`` asks for memory at once. After
    ``stop`` nothing of the role is left. A class that inherits writes only what is not the default.
    """

    name: str

    @property
    def operations(self) -> Mapping[str, Operation]:
        """Return none: it answers no messages."""
        return {}

    def start(self) -> None:
        """Do nothing: there is nothing to begin with."""
        return

    def tick(self, now: float) -> None: ...

    def busy(self) -> bool:
        """Return False: it is no reason to stay."""
        return False

    def settling(self) -> bool:
        """Return False: what it takes, it keeps."""
        return False

    def pids(self) -> list[int]:
        """Return none: it has no children that stay."""
        return []

    def relieve(self, why: str) -> None:  # noqa: ARG002  # for those that hold some
        """Do nothing: it holds no memory that it could give back."""
        return

    def status(self) -> dict[str, Any]: ...

    def stop(self) -> None:
        """Do nothing: nothing of it is left."""
        return


def require_same_caller(me: Mapping[str, object], message: Mapping[str, Any]) -> None:
    """Raise Refused if the caller of ``message`` has another version or environment than this process, ``me``."""
    # The time zone moves with its user.
    if {**me, "zone": time.localtime().tm_gmtoff} != message.get("caller"):
        raise Refused("this process answers for another version or environment", "brain serve --stop")


class Asking(Role):
    """Answers questions from an index that stays open, by the model if it is in memory."""

    name = "ask"

    def __init__(self, home: Home, model: Model, *, warm: bool = True) -> None:
        self._home = home
        self._model = model
        self._warm = warm
        self._pool = Pool(home)
        self._me = caller(home)
        self._answered = 0

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {"ask": self._ask, "encode": self._encode}

    def start(self) -> None:
        """Load the model in advance, if ``warm``."""
        if self._warm:
            self._model.encoder(load(self._home).section("embedding"))

    def tick(self, now: float) -> None:
        """Close indexes that nobody has asked for a while."""
        self._pool.sweep(now)

    def relieve(self, why: str) -> None:  # noqa: ARG002  # the same for every reason
        """Close all indexes that are kept."""
        self.stop()

    def status(self) -> dict[str, Any]:
        return {"answered": self._answered}

    def stop(self) -> None:
        self._pool.close()

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the envelope of a question. Raises BrainError; Refused where the caller would have
        answered otherwise.
        """
        require_same_caller(self._me, message)
        request = Request(**{name: value for name, value in message["request"].items() if name in Request.__slots__})
        question = str(message["question"])
        with self._pool.opened(load(self._home)) as index:
            encoder = self._model.encoder(index.config.section("embedding"))
            if encoder is not None:
                encoder.timeout_s = (request.timeout_s or 1.0) / 2
            envelope = index.ask(question, request, encoder)
        self._answered += 1
        return envelope

    def _encode(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the model in memory and its vector of ``text``, if given. Raises EngineMissing, Refused."""
        require_same_caller(self._me, message)
        encoder = self._model.encoder(load(self._home).section("embedding"))
        if encoder is None:
            raise EngineMissing("no model is in memory yet")
        found: dict[str, Any] = {"schema": 1, "ok": True, "fingerprint": encoder.fingerprint, "level": encoder.level}
        if "text" in message:
            found["vector"] = encoder.begin(str(message["text"])).vector().hex()
        return found


class _Run:
    """A running watch: a watcher and the thread that ticks it, apart from the thread that accepts callers."""

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
        """Stop watching, and end the current run."""
        from runtime.watching.watching import END_S

        self._ended.set()
        self.watcher.ending.set()
        self._thread.join(END_S)
        self.watcher.stop()

    def _keep(self) -> None:
        while not self._ended.is_set():
            try:
                self.watcher.tick()
            except Exception as error:  # noqa: BLE001  # the role's tick raises it, and the next one may succeed
                self.fault = error
            self.followed.set()
            self._ended.wait(_TICK_S)


class Watching(Role):
    """Watches sources and collections while the role is taken; ``command`` are the words that start brain.

    A process that watches does not end when idle. Until the role is taken, no module of watching is in memory.
    """

    name = "watch"

    def __init__(self, home: Home, command: Sequence[str], *, taken: bool = False) -> None:
        self._home = home
        self._command = tuple(command)
        self._me = caller(home)
        self._lock = threading.Lock()
        self._wanted = taken
        # Changed under the lock. A reader copies the reference once, and may see a state of a moment ago.
        self._run: _Run | None = None
        self._counts: dict[str, int] = {}

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {"watch": self._take, "unwatch": self._give_up}

    def start(self) -> None:
        """Start watching if the process was started for it. Raises OSError, RuntimeError."""
        if self._wanted:
            self._begin()

    def tick(self, now: float) -> None:  # noqa: ARG002  # the watcher has a clock of its own
        """Raise a fault of the watching thread since the last tick."""
        run = self._run
        if run is not None and run.fault is not None:
            fault, run.fault = run.fault, None
            raise fault

    def busy(self) -> bool:
        """Watching is a reason to stay."""
        return self._run is not None

    def status(self) -> dict[str, Any]:
        """Return ``watching``, and where it is so, what ``Watcher.status`` says."""
        run = self._run
        return {"watching": run is not None, **(run.watcher.status() if run is not None else {})}

    def done(self) -> dict[str, int]:
        """Return how many events came, and how many runs of each kind were started, in the life of this process."""
        run = self._run
        now = run.watcher.counts if run is not None else {}
        return {name: self._counts.get(name, 0) + now.get(name, 0) for name in {**self._counts, **now}}

    def stop(self) -> None:
        """End the watches, and the run that is under way."""
        self._end()

    def _end(self) -> bool:
        """Stop watching; return True if it was watching."""
        with self._lock:
            run, self._run = self._run, None
        if run is None:
            return False
        try:
            run.stop()  # outside the lock: a run may take time to end, and callers must be answered
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
        require_same_caller(self._me, message)
        taken = self._begin()
        return {"schema": 1, "ok": True, "taken": taken, **self.status()}

    def _give_up(self, message: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  # any caller may end it
        return {"schema": 1, "ok": True, "ended": self._end()}
