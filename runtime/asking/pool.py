"""Open indexes that are kept for the next question: opening one takes longer than most answers."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.errors import EngineMissing
from runtime.asking import own_index, team

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.config import Config
    from core.home import Home
    from qmd.vectors.static_query import Encoder
    from runtime.asking.request import Request

# Open indexes that are kept, and for how long after their last question.
_KEPT = 2
_KEPT_S = 60.0


class Pool:
    """The open indexes of one home. Any thread may call.

    ``fresh_s``: how long the freshness that one answer states is good for the next.
    """

    def __init__(self, home: Home, fresh_s: float = 0.0) -> None:
        self._home, self._fresh_s = home, fresh_s
        self._lock = threading.Lock()
        self._kept: list[OpenIndex] = []

    @contextmanager
    def opened(self, config: Config) -> Iterator[OpenIndex]:
        """Give an open index, kept afterwards unless an exception leaves the block.

        Raises EngineMissing if there is no index, and what opening it raises.
        """
        index = self._take(config)
        try:
            yield index
        except BaseException:
            index.close()
            raise
        with self._lock:
            if len(self._kept) < _KEPT:
                self._kept.append(index)
                return
        index.close()

    def sweep(self, now: float) -> None:
        """Close indexes that nobody has asked for a while; ``now`` is monotonic seconds."""
        with self._lock:
            old = [each for each in self._kept if now - each.used > _KEPT_S]
            self._kept = [each for each in self._kept if each not in old]
        for each in old:
            each.close()

    def close(self) -> None:
        """Close all indexes that are kept."""
        with self._lock:
            kept, self._kept = self._kept, []
        for each in kept:
            each.close()

    def _take(self, config: Config) -> OpenIndex:
        state = _state(self._home, config)
        with self._lock:
            same = [each for each in self._kept if each.state == state]
            other = [each for each in self._kept if each.state != state]
            self._kept = same[:-1]
        for each in other:
            each.close()
        return same[-1] if same else OpenIndex(self._home, config, state, self._fresh_s)


class OpenIndex:
    """An open index, for one question at a time; ``state`` is what makes it another one."""

    __slots__ = ("_asker", "_fresh_s", "_read_at", "config", "state", "used")

    def __init__(self, home: Home, config: Config, state: tuple[object, ...], fresh_s: float) -> None:
        self.state, self.config = state, config
        self.used = time.monotonic()
        self._fresh_s, self._read_at = fresh_s, 0.0
        self._asker = team.asker(home, config, staying=True)
        self._asker.__enter__()

    def ask(self, question: str, request: Request, encoder: Encoder | None) -> dict[str, Any]:
        """Return the envelope of a question. Raises as ``Asker.ask``."""
        self.used = time.monotonic()
        fresh = self._asker.read_freshness() if self.used - self._read_at < self._fresh_s else None
        if fresh is None:
            self._read_at = self.used
        self._asker.refresh(encoder, fresh)
        try:
            return self._asker.ask(question, request)
        except EngineMissing as error:
            if encoder is None:
                raise
            self._asker.refresh(None)  # the model went in the middle of it
            envelope = self._asker.ask(question, request)
            envelope["route"]["reason"] += f"; {error.message}"
            return envelope

    def facets(self, fields: Sequence[str]) -> list[tuple[Any, ...]] | None:
        """Return (collection, month, how many, *fields) of all documents that the last question weighed.

        None if it weighed none: its hits are in the order of time. Raises apsw.Error.
        """
        ranking = self._asker.open_searcher().last
        return None if ranking is None else ranking.facets(fields)

    def close(self) -> None:
        """Close the index."""
        self._asker.__exit__()


def _state(home: Home, config: Config) -> tuple[object, ...]:
    own_index.ensure(home, config)
    found = []
    for path in (home.index, config.path):
        try:
            status = os.stat(path)
        except OSError:
            raise EngineMissing(f"there is no {path}", "brain index") from None
        # Every write changes the index's mtime, so only another inode means another index.
        found.append((path, status.st_ino, 0 if path == home.index else status.st_mtime_ns))
    return tuple(found)
