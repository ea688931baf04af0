"""Watching sources and collections: lexical at once, semantic in idle time, each by a child process that ends.

This process parses, indexes and loads nothing itself, so that what stays in memory is an interpreter and its watches.
An event says only that there is something to do; what, the index run finds out, as it does without watching.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from os.path import basename, isdir, join
from typing import TYPE_CHECKING, Any

from core.config import load
from core.errors import BrainError
from core.locks import FileLock
from ingest import sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from core.home import Home

LOCK = "watch.lock"
# Quiet for so long, and a burst is over; but nobody waits longer than the second for it to be.
_QUIET_S = 1.0
_PATIENCE_S = 10.0
_IDLE_S = 60.0
_LOOK_S = 30.0
# What no event told (a network folder, a lost watch) is found this much later.
_SWEEP_S = 900.0
_TICK_S = 1.0
_JUMP_S = 30.0
_END_S = 10.0
_LOUD = frozenset(("created", "modified", "moved", "deleted", "closed"))


class Watcher:
    """``Watcher(home, command).run(stop)`` watches until ``stop`` is set; ``command`` are the words that start brain.

    ``clock`` stands still while the machine sleeps, ``wall`` does not, and is set by people; both in seconds.
    """

    name = "watch"

    def __init__(
        self,
        home: Home,
        command: Sequence[str],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        idle_s: float = _IDLE_S,
    ) -> None:
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        self._home = home
        self._command = tuple(command)
        self._clock = clock
        self._wall = wall
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._first = self._last = self._clock()
        self._dirty = True  # what happened while nobody watched
        self._stale = True
        self._child: subprocess.Popen[bytes] | None = None
        self._embedding = False
        self._watched: dict[str, tuple[Any, tuple[int, int]]] = {}
        self._looked = self._swept = -_SWEEP_S
        self._offset = self._wall() - self._clock()
        self.counts = {"events": 0, "index": 0, "embed": 0, "failed": 0}
        self.problems: dict[str, str] = {}
        self._observer = Observer()
        watcher = self

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: Any) -> None:
                if event.event_type in _LOUD and not event.is_directory:
                    watcher.noted(os.fsdecode(event.dest_path or event.src_path))

        self._handler = Handler()

    def run(self, stop: threading.Event) -> dict[str, Any]:
        """Watch; returns what was done. Raises LockContention where another process watches this home."""
        with FileLock(join(self._home.state, LOCK), 0):
            self._observer.start()
            try:
                while not stop.is_set():
                    self.tick()
                    stop.wait(_TICK_S)
            finally:
                self._observer.stop()
                self._observer.join(_END_S)
                self._end()
        return self.status()

    def status(self) -> dict[str, Any]:
        """What is watched, what was done, and which folders cannot be watched, with the reason."""
        return {"watched": sorted(self._watched), **self.counts, "problems": dict(self.problems)}

    def noted(self, path: str) -> None:
        """An event on a file: any thread, and as cheap as can be, for they come by the ten thousand."""
        if basename(path).startswith(".") or path.startswith((self._home.state, self._home.logs, self._home.index)):
            return
        now = self._clock()
        with self._lock:
            self.counts["events"] += 1
            self._first = self._first if self._dirty else now
            self._last = now
            self._dirty = True

    def tick(self) -> None:
        """Do what is due."""
        now = self._clock()
        offset = self._wall() - now
        if abs(offset - self._offset) > _JUMP_S:  # the machine slept, or its clock was set: events may be lost
            self._swept = self._looked = now - _SWEEP_S
        self._offset = offset
        if now - self._looked >= _LOOK_S:
            self._looked = now
            self._follow()
        if now - self._swept >= _SWEEP_S:
            self._swept = now
            self._dirty = True
        if self._child is not None and not self._ended():
            return
        with self._lock:
            ready = self._dirty and (now - self._last >= _QUIET_S or now - self._first >= _PATIENCE_S)
            if ready:
                self._dirty = False
        if ready:
            self._start("index", "--new", "--queue")
            self._stale = True
        elif self._stale and not self._dirty and now - self._last >= self._idle_s:
            self._stale = False
            self._start("embed", "--budget", "5m")

    def _ended(self) -> bool:
        """Whether the child has ended; an embedding gives way to what is new."""
        assert self._child is not None
        if self._child.poll() is None:
            if self._embedding and self._dirty:
                self._child.terminate()  # it goes on where it was
                self._stale = True
            return False
        self.counts["failed"] += self._child.returncode > 0
        self._child = None
        return True

    def _start(self, *words: str) -> None:
        environ = {**os.environ, "BRAIN_SURFACE": "launchd"}
        self._embedding = words[0] == "embed"
        self.counts[words[0]] += 1
        quiet = subprocess.DEVNULL
        self._child = subprocess.Popen([*self._command, *words], stdin=quiet, stdout=quiet, stderr=quiet, env=environ)  # noqa: S603

    def _end(self) -> None:
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _follow(self) -> None:
        """Watch what is there now: folders come, go, and come back as others."""
        wanted = {}
        for folder in _folders(self._home):
            try:
                status = os.stat(folder)
                wanted[folder] = (status.st_dev, status.st_ino)
            except OSError:
                continue  # not there, or not any more
        for folder, (watch, identity) in list(self._watched.items()):
            if wanted.get(folder) != identity:
                self._observer.unschedule(watch)
                del self._watched[folder]
                self._dirty = True
        for folder, identity in wanted.items():
            if folder in self._watched:
                continue
            try:
                watch = self._observer.schedule(self._handler, folder, recursive=True)
                self._watched[folder] = (watch, identity)
                self.problems.pop(folder, None)
                self._dirty = True
            except OSError as error:  # too many watches (fs.inotify.max_user_watches): sweeping still finds it
                self.problems[folder] = error.strerror or str(error)


def _folders(home: Home) -> Iterable[str]:
    """The folders of collections and of sources; a configuration that does not hold has the sources' own."""
    found: list[str] = []
    try:
        found += [each.path for each in load(home).collections.values()]
    except BrainError:
        found = []
    for name in sources.present(home):
        if name == "claude":
            from ingest.claude import default_roots

            found += default_roots()
        else:
            found += sources.roots(name)
    folders = sorted(dict.fromkeys(folder for folder in found if isdir(folder)))
    # What lies below another is watched with it.
    return [each for each in folders if not any(each.startswith(other + os.sep) for other in folders)]
