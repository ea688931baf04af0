"""Answers that are kept until the index changes, some for seconds: to count 50,000 documents takes half a second.

Agents change the index every minute. So an answer that was right a moment ago is given once more while a thread counts
again, if that takes longer than a first byte may.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import TIMEOUT_MAX, Lock
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home

_MOST = 64
# An answer that also shows what has not been indexed yet is good for so long.
FRESH_S = 2.0
# How long a look waits for a new answer where there is one that was right up to so long ago.
PATIENCE_S = 0.01
_LATE_S = 60.0
_AT_ONCE = 2


class _Answer(NamedTuple):
    """``made`` and ``known`` are monotonic seconds: when it was made, and when it was known to be right last."""

    state: tuple[object, ...]
    made: float
    known: float
    found: dict[str, Any]


class Kept:
    """The last answers about one home, by name. A look waits ``patience_s`` for a new one, then takes the last."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._answers: dict[str, _Answer] = {}
        self._making: dict[tuple[object, ...], Future[dict[str, Any]]] = {}
        self._lock = Lock()
        self._makers = ThreadPoolExecutor(_AT_ONCE, "counting")

    def get(
        self,
        home: Home,
        name: str,
        make: Callable[[], dict[str, Any]],
        good_s: float = math.inf,
        spare: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the answer ``name``, made again if the index or the day has changed, or after ``good_s`` seconds.

        ``spare`` is given instead of a first answer that takes too long. The caller must not change the answer. Raises
        what ``make`` raises.
        """
        state, now = _state(home), time.monotonic()
        with self._lock:
            last = self._answers.get(name)
            if last is not None and last.state == state and now - last.made <= good_s:
                self._answers[name] = last._replace(known=now)
                return last.found
            making = self._making.get((name, *state))
            if making is None:
                making = self._makers.submit(self._make, self._answers, self._making, name, state, make)
                self._making[(name, *state)] = making
        is_late = last is not None and now - last.known <= _LATE_S
        patience_s = self._patience_s
        if spare is not None:
            # A page goes on without it: better shown a little later the first time, and not waited for later on.
            patience_s *= 2 if last is None else 0.25
        if last is None and spare is not None:
            last, is_late = _Answer(state, now, now, spare), True
        wait([making], min(patience_s, TIMEOUT_MAX) if is_late else None)
        return making.result() if making.done() or last is None else last.found

    def clear(self) -> None:
        """Drop every answer: its user has just changed something, and wants to see it."""
        with self._lock:
            # An answer that is being made goes into the old ones: what it read may be from before the change.
            self._answers, self._making = {}, {}

    def close(self) -> None:
        """Make no more answers."""
        self._makers.shutdown(wait=False, cancel_futures=True)

    def _make(
        self,
        answers: dict[str, _Answer],
        making: dict[tuple[object, ...], Future[dict[str, Any]]],
        name: str,
        state: tuple[object, ...],
        make: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """Make an answer; ``answers`` and ``making`` are those of the time at which it was asked for."""
        now = time.monotonic()
        try:
            found = make()
            with self._lock:
                if len(answers) >= _MOST:
                    answers.clear()
                answers[name] = _Answer(state, now, time.monotonic(), found)
            return found
        finally:
            with self._lock:
                making.pop((name, *state), None)


def _state(home: Home) -> tuple[object, ...]:
    """Return what changes whenever the index or the configuration is written to, and with the day."""
    found: list[object] = [time.localtime().tm_yday]
    for path in (home.index, f"{home.index}-wal", home.path("collections.yml")):
        try:
            status = os.stat(path)
        except OSError:
            found.append(None)
        else:
            # A reader makes an empty write-ahead log, and the last one removes it.
            found.append((status.st_ino, status.st_size, status.st_mtime_ns) if status.st_size else None)
    return tuple(found)
