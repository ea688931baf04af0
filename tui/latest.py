"""Work in a thread of its own, of which only the newest counts: typing never waits for an answer to an older text."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message import Message


class Latest:
    """One thread that does what was asked for last.

    Work that has not begun when newer work comes is never done; the result of work that has begun is dropped.

    Args:
        post: takes the message that the work returns; called in the thread.
        failed: makes the message of an exception.
    """

    def __init__(self, post: Callable[[Message], object], failed: Callable[[Exception], Message]) -> None:
        self._post, self._failed = post, failed
        self._changed = threading.Condition()
        self._work: Callable[[], Message] | None = None
        self._number = 0
        self._is_open = True
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], Message]) -> None:
        """Do ``work`` next, instead of whatever waits."""
        with self._changed:
            self._number += 1
            self._work = work
            if self._thread is None:
                # The process may end while a search runs.
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            self._changed.notify()

    def cancel(self) -> None:
        """Forget what waits, and drop what is being done."""
        with self._changed:
            self._number += 1
            self._work = None

    def close(self) -> None:
        """End the thread once it has done what it does, and wait for that."""
        with self._changed:
            self._is_open = False
            self._number += 1
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._work is not None or not self._is_open)
                if not self._is_open or self._work is None:
                    return
                work, number, self._work = self._work, self._number, None
            try:
                message = work()
            except Exception as error:  # noqa: BLE001  # whatever it is, the screen says so
                message = self._failed(error)
            with self._changed:
                is_newest = number == self._number
            if is_newest:
                self._post(message)


# Seconds that the end of the program waits for a search that nobody needs any more.
_PATIENCE_S = 0.5
