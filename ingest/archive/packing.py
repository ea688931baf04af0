"""Packing and writing the objects of a run that stores many, on a thread of its own."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from os.path import dirname

from core.files import remove_temporary, write_temporary
from core.home import make_private
from core.syncs import Syncs
from ingest.archive.archive import packed

# Objects that wait to be packed: their bytes are held.
_WAITING = 2


class Packing:
    """Packs objects and writes them, one after the other: zstd works without Python's lock.

    ``wait`` raises a failure, each time, and nothing is written after it. Objects are synced while the next are packed.
    """

    def __init__(self) -> None:
        self._syncs = Syncs()
        self._folders: set[str] = set()
        self._waiting: queue.Queue[tuple[str, bytes] | None] = queue.Queue(_WAITING)
        self._failure: BaseException | None = None
        thread = threading.Thread(target=self._work, name="archive", daemon=True)
        self._thread: threading.Thread | None = thread
        try:
            thread.start()
        except RuntimeError:  # no thread can start: no object waits
            self._thread = None

    def add(self, target: str, data: bytes) -> None:
        """Store ``data`` as ``target`` soon; a file of that name is replaced."""
        if self._thread is None:
            self._take(target, data)
        else:
            self._waiting.put((target, data))

    def wait(self) -> None:
        """Return once every added object can be read. Raises OSError."""
        self._waiting.join()
        if self._failure is not None:
            raise self._failure

    def sync(self) -> None:
        """Return once every added object is on the disk, under its name. Raises OSError."""
        self.wait()
        self._syncs.wait()
        with contextlib.suppress(OSError):  # file systems that sync no folders are left to their own timing
            for folder in self._folders:
                self._syncs.add(folder, os.open(folder, os.O_RDONLY))
            self._syncs.wait()
        self._folders.clear()

    def close(self) -> None:
        """Let the thread finish what was added, and end."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        self._syncs.close()

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            self._take(*item)
            self._waiting.task_done()

    def _take(self, target: str, data: bytes) -> None:
        try:
            if self._failure is None:
                self._store(target, data)
        except BaseException as error:  # noqa: BLE001  # raised in the thread that waits
            self._failure = error

    def _store(self, target: str, data: bytes) -> None:
        folder = dirname(target)
        make_private(folder)
        temporary, descriptor = write_temporary(folder, packed(data))
        try:
            os.rename(temporary, target)
        except BaseException:
            os.close(descriptor)
            remove_temporary(temporary)
            raise
        self._folders.add(folder)
        self._syncs.add(target, descriptor)
