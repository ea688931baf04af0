"""Pack the archive's objects while a run reads. The format of an object: ``ingest.archive.archive``."""

from __future__ import annotations

import contextlib
import os
from os.path import dirname
from typing import TYPE_CHECKING

import zstandard

from core.files import remove_temporary, write_temporary
from core.home import make_private
from ingest.pipeline.syncs import Syncs

if TYPE_CHECKING:
    import queue
    import threading

_LEVEL = 5
# Objects that wait to be packed: their bytes are held.
_WAITING = 2
# An object of so many bytes does not wait to be packed.
_LARGE = 1 << 20


class Packing:
    """Packs objects and writes them, one after the other, on a thread that starts with the second, or a large one.

    zstd works without Python's lock. One small object alone is packed by whoever waits for it, as a hook does. What
    fails is raised by ``wait``, each time, and nothing is written after it. Objects are synced while the next are
    packed.
    """

    def __init__(self) -> None:
        self._syncs = Syncs()
        self._folders: set[str] = set()
        self._anew: set[str] = set()
        self._first: tuple[str, bytes] | None = None
        self._waiting: queue.Queue[tuple[str, bytes] | None]
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def add(self, target: str, data: bytes, *, anew: bool = False) -> None:
        """Have ``data`` stored as ``target`` soon, unless that is there, or in its place (``anew``)."""
        if anew:
            self._anew.add(target)
        if self._thread is None:
            if self._first is None and len(data) < _LARGE:
                self._first = target, data
                return
            import queue
            import threading

            self._waiting = queue.Queue(_WAITING)
            thread = threading.Thread(target=self._work, name="archive", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # there is none to be had: this object does not wait
                self._take(target, data)
                return
            self._thread = thread
            if self._first is not None:
                self._waiting.put(self._first)
                self._first = None
        self._waiting.put((target, data))

    def wait(self) -> None:
        """Return once all that was added is there. Raises OSError."""
        if self._first is not None:
            self._take(*self._first)
            self._first = None
        if self._thread is not None:
            self._waiting.join()
        if self._failure is not None:
            raise self._failure

    def sync(self) -> None:
        """Return once all that was added is on the disk, by its name. Raises OSError."""
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
        except BaseException as error:  # noqa: BLE001  # handed over to whoever waits for it
            self._failure = error

    def _store(self, target: str, data: bytes) -> None:
        if target not in self._anew and os.path.exists(target):
            return
        self._anew.discard(target)
        folder = dirname(target)
        make_private(folder)
        packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(data)
        temporary, descriptor = write_temporary(folder, packed)
        try:
            os.rename(temporary, target)
        except BaseException:
            os.close(descriptor)
            remove_temporary(temporary)
            raise
        self._folders.add(folder)
        self._syncs.add(target, descriptor)
