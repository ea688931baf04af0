"""What the resident process does, each a role; the process itself (``runtime.resident.server``) knows none of them."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from core.config import load
from core.errors import EngineMissing, Refused
from runtime.asking.ask import Asker, Request
from runtime.resident.client import caller

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.config import Config
    from core.home import Home
    from runtime.resident.encoder import Model

    Operation = Callable[[dict[str, Any]], dict[str, Any]]

# Open indexes that are kept for the next question, and for how long.
_KEPT = 2
_KEPT_S = 60.0


class Role(Protocol):
    """One thing that wants to stay alive.

    ``operations`` are the messages that it answers: name → a function from the message to the answer, called from any
    thread; what it raises (BrainError) is told to the caller. ``tick`` is called about once a second, by the thread
    that lets callers in: what takes time is for a thread of the role. What it raises is kept, and shown by ``status``.
    A role that is ``busy`` keeps the process from ending idle. Its child processes (``pids``) count against the memory
    that the process may take; ``relieve`` asks for memory back at once. After ``stop`` nothing of it may be left.
    """

    name: str

    @property
    def operations(self) -> Mapping[str, Operation]: ...
    def start(self) -> None: ...
    def tick(self, now: float) -> None: ...
    def busy(self) -> bool: ...
    def pids(self) -> list[int]: ...
    def relieve(self, why: str) -> None: ...
    def status(self) -> dict[str, Any]: ...
    def stop(self) -> None: ...


def for_the_same(me: Mapping[str, object], message: Mapping[str, Any]) -> None:
    """Raises Refused where the caller of ``message`` would have done otherwise than this process, which is ``me``."""
    # The time zone moves with its user.
    if {**me, "zone": time.localtime().tm_gmtoff} != message.get("caller"):
        raise Refused("this process answers for another version or environment", "brain serve --stop")


class Asking:
    """Questions over an index that stays open, encoded by the model where that is in memory."""

    name = "ask"

    def __init__(self, home: Home, model: Model, *, warm: bool = True) -> None:
        self._home = home
        self._model = model
        self._warm = warm
        self._lock = threading.Lock()
        self._kept: list[_Open] = []
        self._me = caller(home)
        self._answered = 0

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {"ask": self._ask, "encode": self._encode}

    def start(self) -> None:
        """Have the model loaded before it is asked for, where somebody is about to ask (``warm``)."""
        if self._warm:
            self._model.encoder(load(self._home).section("embedding"))

    def tick(self, now: float) -> None:
        """Close indexes that nobody has asked for a while."""
        with self._lock:
            old = [each for each in self._kept if now - each.used > _KEPT_S]
            self._kept = [each for each in self._kept if each not in old]
        for each in old:
            each.close()

    def busy(self) -> bool:
        return False

    def pids(self) -> list[int]:
        return []

    def relieve(self, why: str) -> None:  # noqa: ARG002  # there is one thing that it can do, whatever the reason
        """Close all indexes that are kept."""
        self.stop()

    def status(self) -> dict[str, Any]:
        return {"answered": self._answered}

    def stop(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, []
        for each in kept:
            each.close()

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The envelope of a question. Raises BrainError; Refused where the caller would have answered otherwise."""
        for_the_same(self._me, message)
        request = Request(**{name: value for name, value in message["request"].items() if name in Request.__slots__})
        question = str(message["question"])
        opened = self._open()
        try:
            envelope = opened.ask(question, request, self._model)
        except BaseException:
            opened.close()
            raise
        with self._lock:
            self._answered += 1
            if len(self._kept) < _KEPT:
                self._kept.append(opened)
                return envelope
        opened.close()
        return envelope

    def _encode(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the model in memory makes of ``text``, and without one what it is. Raises EngineMissing, Refused."""
        for_the_same(self._me, message)
        encoder = self._model.encoder(load(self._home).section("embedding"))
        if encoder is None:
            raise EngineMissing("no model is in memory yet")
        found: dict[str, Any] = {"schema": 1, "ok": True, "fingerprint": encoder.fingerprint, "level": encoder.level}
        if "text" in message:
            found["vector"] = encoder.begin(str(message["text"])).vector().hex()
        return found

    def _open(self) -> _Open:
        config = load(self._home)
        state = _Open.state_of(self._home, config)
        with self._lock:
            same = [each for each in self._kept if each.state == state]
            other = [each for each in self._kept if each.state != state]
            self._kept = same[:-1]
        for each in other:
            each.close()
        return same[-1] if same else _Open(self._home, config, state)


class _Open:
    """An open index, for one question at a time; ``state`` is what makes it another one."""

    __slots__ = ("_asker", "_config", "state", "used")

    def __init__(self, home: Home, config: Config, state: tuple[object, ...]) -> None:
        self.state = state
        self.used = time.monotonic()
        self._config = config
        self._asker = Asker(home, config, staying=True)
        self._asker.__enter__()

    @staticmethod
    def state_of(home: Home, config: Config) -> tuple[object, ...]:
        found = []
        for path in (home.index, config.path):
            try:
                status = os.stat(path)
            except OSError:
                raise EngineMissing(f"there is no {path}", "brain index") from None
            # The index changes with every write; it is another one where another file stands in its place.
            found.append((path, status.st_ino, 0 if path == home.index else status.st_mtime_ns))
        return tuple(found)

    def ask(self, question: str, request: Request, model: Model) -> dict[str, Any]:
        self.used = time.monotonic()
        encoder = model.encoder(self._config.section("embedding"))
        if encoder is not None:
            encoder.timeout_s = (request.timeout_s or 1.0) / 2
        self._asker.refresh(encoder)
        try:
            return self._asker.ask(question, request)
        except EngineMissing as error:
            if encoder is None:
                raise
            self._asker.refresh(None)  # the model went in the middle of it
            envelope = self._asker.ask(question, request)
            envelope["route"]["reason"] += f"; {error.message}"
            return envelope

    def close(self) -> None:
        self._asker.__exit__()
