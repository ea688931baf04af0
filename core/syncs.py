"""Syncs of many files at a time."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING

from core.files import sync_and_close

if TYPE_CHECKING:
    import os

# Syncs at a time share one commit of the file system's journal; more than these gained nothing measurable.
_SYNCS = 8
# Files that stay open until they are synced (macOS permits a process 256).
_OPEN = 64


class Syncs:
    """Syncs files and folders, many at a time: for a disk, eight take hardly longer than one."""

    def __init__(self) -> None:
        self._done: SimpleQueue[tuple[str, os.stat_result | BaseException]] = SimpleQueue()
        self._under_way = 0
        self._synced: dict[str, os.stat_result] = {}
        self._failure: BaseException | None = None
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(_SYNCS, "sync")
        try:
            self._pool.submit(int)
        except RuntimeError:
            self._pool = None  # no thread can start: the caller syncs each file itself

    def add(self, name: str, descriptor: int) -> None:
        """Sync and close a file or folder soon. If many are open, wait for the first of them."""
        if self._under_way >= _OPEN:
            self._take()
        self._under_way += 1
        if self._pool is None:
            self._sync(name, descriptor)
            return
        # If no further thread can start, the file is queued all the same, and the others take it.
        with contextlib.suppress(RuntimeError):
            self._pool.submit(self._sync, name, descriptor)

    def wait(self) -> dict[str, os.stat_result]:
        """Return name → stat of every file that was added, once all are synced. Raises the first OSError."""
        while self._under_way:
            self._take()
        failure, self._failure = self._failure, None
        if failure is not None:
            self._synced = {}
            raise failure
        return self.ready()

    def ready(self) -> dict[str, os.stat_result]:
        """Return those files of ``wait`` that are synced by now."""
        while not self._done.empty():
            self._take()
        synced, self._synced = self._synced, {}
        return synced

    def some(self) -> dict[str, os.stat_result]:
        """Return what ``ready`` would return, once there is one more. Raises the first OSError."""
        if not self._under_way or self._failure is not None:
            return self.wait()
        self._take()
        return self.ready()

    def close(self) -> None:
        """Let the threads finish what was added, and end."""
        if self._pool is not None:
            self._pool.shutdown()

    def _sync(self, name: str, descriptor: int) -> None:
        try:
            self._done.put((name, sync_and_close(descriptor)))
        except BaseException as error:  # noqa: BLE001  # raised in the thread that waits for it
            self._done.put((name, error))

    def _take(self) -> None:
        name, result = self._done.get()
        self._under_way -= 1
        if isinstance(result, BaseException):
            self._failure = self._failure or result
        else:
            self._synced[name] = result
