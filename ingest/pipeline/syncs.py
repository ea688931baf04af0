"""Syncing many files: a disk that takes milliseconds to sync one file syncs many at a time in hardly more."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from core.files import sync_and_close

if TYPE_CHECKING:
    import queue
    import threading

# Syncs at a time share a commit of the file system's journal; more than these gained nothing measurable.
_SYNCS = 8
# Files that are open until they are synced (macOS permits a process 256).
_OPEN = 64


class Syncs:
    """Syncs files on threads of its own, which start with the second file (by hand: half of what an executor imports).

    One file alone is synced by whoever waits for it, who needs no threads and does not import them.
    """

    def __init__(self) -> None:
        self._first: tuple[str, int] | None = None
        self._waiting: queue.SimpleQueue[tuple[str, int] | None] | None = None
        self._done: queue.SimpleQueue[tuple[str, os.stat_result | BaseException]]
        self._threads: list[threading.Thread] = []
        self._under_way = 0
        self._found: dict[str, os.stat_result] = {}
        self._failure: BaseException | None = None

    def add(self, name: str, descriptor: int) -> None:
        """Have a file, or a folder, synced and closed soon; whoever adds many waits for the first of them."""
        if self._waiting is None:
            if self._first is None:
                self._first = name, descriptor
                return
            import queue

            self._waiting, self._done = queue.SimpleQueue(), queue.SimpleQueue()
            first, self._first = self._first, None
            self._hand_over(*first, self._waiting)
        self._hand_over(name, descriptor, self._waiting)

    def _hand_over(self, name: str, descriptor: int, waiting: queue.SimpleQueue[tuple[str, int] | None]) -> None:
        if self._under_way >= len(self._threads) < _SYNCS:
            import threading

            thread = threading.Thread(target=self._work, args=(waiting,), name="sync", daemon=True)
            # Without one more the others do it, and without any whoever adds the file.
            with contextlib.suppress(RuntimeError):
                thread.start()
                self._threads.append(thread)
        if self._under_way >= _OPEN:
            self._take()
        self._under_way += 1
        if self._threads:
            waiting.put((name, descriptor))
        else:
            self._sync(name, descriptor)

    def wait(self) -> dict[str, os.stat_result]:
        """Name → stat of every file that was added, all of them synced. Raises the first OSError there was."""
        if self._first is not None:
            (name, descriptor), self._first = self._first, None
            self._found[name] = sync_and_close(descriptor)
        while self._under_way:
            self._take()
        found, self._found = self._found, {}
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return found

    def ready(self) -> dict[str, os.stat_result]:
        """Those of the files that ``wait`` would give that are synced by now."""
        while self._under_way and not self._done.empty():
            self._take()
        found, self._found = self._found, {}
        return found

    def some(self) -> dict[str, os.stat_result]:
        """What ``ready`` would give, once there is one more. Raises the first OSError there was."""
        if not self._under_way or self._failure is not None:
            return self.wait()
        self._take()
        return self.ready()

    def _take(self) -> None:
        name, result = self._done.get()
        self._under_way -= 1
        if isinstance(result, BaseException):
            self._failure = self._failure or result
        else:
            self._found[name] = result

    def close(self) -> None:
        """Let the threads finish what was added, and end."""
        if self._first is not None:
            (_, descriptor), self._first = self._first, None
            os.close(descriptor)
        for _ in self._threads:
            if self._waiting is not None:
                self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, waiting: queue.SimpleQueue[tuple[str, int] | None]) -> None:
        while (item := waiting.get()) is not None:
            self._sync(*item)

    def _sync(self, name: str, descriptor: int) -> None:
        try:
            self._done.put((name, sync_and_close(descriptor)))
        except BaseException as error:  # noqa: BLE001  # handed over to the thread that waits for it
            self._done.put((name, error))
