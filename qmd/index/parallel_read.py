"""Parallel reads of the index: another connection, in a thread of its own.

SQLite works outside the interpreter's lock, so two searches take no longer than one if there are two cores. The other
connection may see the index as it was a moment later. This does no harm: it finds ids, and the caller looks them up in
the state that the question began with.
"""

from __future__ import annotations

# Not `threading`: importing that costs as much as a good part of the work it would save.
import _thread

import apsw

from core.errors import BrainError
from qmd.index import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Found = TypeVar("Found")

# Seconds to wait, at the end, for what cannot be interrupted: opening, or another process's lock.
_END_S = 5.0


class SecondReader:
    """The index at ``path`` once more, opened by the first task.

    It does one task at a time. ``deadline`` is when whoever waits for one gives up, None for never.
    """

    __slots__ = ("_closing", "_connection", "_free", "_path", "deadline")

    def __init__(self, path: str) -> None:
        self._path = path
        self._free = _thread.allocate_lock()
        self._connection: apsw.Connection | None = None
        self._closing = False
        self.deadline: store.Deadline | None = None

    def begin(self, task: Callable[[apsw.Connection], Found], *, queued: bool = False) -> Callable[[], Found] | None:
        """Have ``task`` done now; what is returned waits for what it returns or raises, any number of times.

        It raises apsw.InterruptError where the deadline passes first. None where another task is under way, unless this
        one may be ``queued`` behind it, or where there is no thread to be had: the caller does it itself.
        """
        waits = not self._free.acquire(False)
        if waits and not queued:
            return None
        outcome: list[tuple[Any, BaseException | None]] = []
        done = _thread.allocate_lock()
        done.acquire()

        def run() -> None:
            if waits:
                self._free.acquire()
            try:
                if self._closing:
                    raise apsw.InterruptError("the other connection is closed")
                if self._connection is None:
                    self._connection = store.open_index(self._path)
                    self._connection.set_progress_handler(self._is_over, store.STEPS)
                outcome.append((task(self._connection), None))
            except BaseException as error:  # noqa: BLE001  # raised where the outcome is waited for
                outcome.append((None, error))
            finally:
                self._free.release()
                done.release()

        def wait() -> Found:
            if not outcome:
                left = -1.0 if self.deadline is None else self.deadline.left()
                if not done.acquire(timeout=left):
                    raise apsw.InterruptError("the other search did not end in time")
                done.release()
            found, error = outcome[0]
            if error is not None:
                raise error
            result: Found = found
            return result

        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:
            if not waits:
                self._free.release()
            return None
        return wait

    def close(self) -> None:
        """End what is under way, and close the connection; what is still queued is never done.

        A second call does no harm.
        """
        self._closing = True
        if not self._free.acquire(timeout=_END_S):
            return
        try:
            if self._connection is not None:
                self._connection.close()
        finally:
            self._free.release()  # for what is queued, which would wait for ever

    def _is_over(self) -> bool:
        """Return True if nobody waits for the running statement, so that SQLite is to interrupt it."""
        return self._closing or (self.deadline is not None and self.deadline.passed())


class Later:
    """A task that ``second`` does as soon as it is free, unless the caller needs the outcome first and does it."""

    __slots__ = ("_taken", "_wait")

    def __init__(self, second: SecondReader, task: Callable[[apsw.Connection], Any]) -> None:
        self._taken = _thread.allocate_lock()
        self._wait = second.begin(lambda other: task(other) if self._taken.acquire(False) else None, queued=True)

    def outcome(self) -> Any:
        """Return or raise what the task does; None if the caller must do it, in the state its question began with.

        So it is if the task has not begun, if there is no thread or connection for it, or if a table has gone
        since.
        """
        if self._wait is not None and self._taken.acquire(False):
            self._wait = None
        try:
            return self._wait() if self._wait is not None else None
        except (BrainError, apsw.SQLError):
            return None
