"""Watching sources and collections: index at once, embed in idle time, each by a child process that ends.

The watching process parses, indexes and loads nothing itself, so it holds only an interpreter and its watches. An event
only triggers a run; the run finds out what has changed, as without watching.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from core import clock as dates
from core.errors import LOCKED
from core.processes import speed
from runtime.watching.places import Place, is_database, places

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchdog.observers.api import BaseObserver

    from core.home import Home

_IDLE_S = 60.0
_LOOK_S = 30.0
# A change without an event (a network folder, a lost watch) is found after this time.
_SWEEP_S = 900.0
_JUMP_S = 30.0
END_S = 10.0
# The longest wait for the ticking thread, the listening threads and the current run.
LONGEST_STOP_S = 3 * END_S
# After a run comes a pause of this many times its cpu time, so that a file that always changes costs little.
_EASE = 10.0
_LONGEST_PAUSE_S = 60.0
_STACK_BYTES = 1 << 19
_NICE = 10
_LOUD = frozenset(("created", "modified", "moved", "deleted", "closed"))
_INDEX = ("index", "--new", "--queue")
_BUDGET_S = 300
_EMBED = ("embed", "--budget", f"{_BUDGET_S}s")


def _command(source: str) -> tuple[str, ...]:
    """Return the words that index a source which is indexed on request only."""
    return ("index", "--source", source, "--new")


class Due:
    """Work that is due once its events pause for ``quiet_s``, or ``patience_s`` after the first event."""

    __slots__ = ("_first", "_last", "patience_s", "quiet_s", "waits")

    def __init__(self, quiet_s: float, patience_s: float) -> None:
        self.quiet_s = quiet_s
        self.patience_s = patience_s
        self.waits = False
        self._first = self._last = 0.0

    def note(self, now: float) -> None:
        """Record an event at ``now``."""
        self._first = self._first if self.waits else now
        self._last = now
        self.waits = True

    def at_once(self) -> None:
        """Make the work due at once."""
        self.waits = True
        self._first = self._last = float("-inf")

    def ready(self, now: float) -> bool:
        """Return True if the work is due."""
        return self.waits and (now - self._last >= self.quiet_s or now - self._first >= self.patience_s)


class Watcher:
    """``start()``, a ``tick()`` about once a second, ``stop()``; ``command`` are the words that start brain.

    One thread ticks; a tick starts nothing once ``ending`` is set. Any thread may call the other methods.
    ``clock`` pauses while the machine sleeps; ``wall`` does not, and people set it. Both are in seconds.
    """

    def __init__(
        self,
        home: Home,
        command: Sequence[str],
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        on_battery: Callable[[], bool] = speed.on_battery,
        idle_s: float = _IDLE_S,
    ) -> None:
        from watchdog.observers import Observer

        self._home = home
        self._command = tuple(command)
        self._clock = clock
        self._wall = wall
        self._on_battery = on_battery
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._files = Due(1.0, 10.0)
        # Whole databases are copied to be read, and their applications write to them all day long.
        self._databases = Due(10.0, 300.0)
        # Sources that are indexed on request only, by name.
        self._on_request: dict[str, Due] = {}
        self._files.note(self._clock())  # changes from before the start
        self._heard = self._clock()
        self._stale = True
        self._child: subprocess.Popen[bytes] | None = None
        self._words: tuple[str, ...] = ()
        self._began = self._cost = self._not_before = 0.0
        self._again: dict[tuple[str, ...], float] = {}
        self._failures = 0
        self._watched: dict[Place, tuple[Any, tuple[int, int]]] = {}
        self._looked, self._swept = self._clock() - _LOOK_S, self._clock()
        self._offset = self._wall() - self._clock()
        self._last: dict[str, Any] | None = None
        self.counts = {"events": 0, "index": 0, "embed": 0, "failed": 0}
        self.problems: dict[str, str] = {}
        self.ending = threading.Event()
        self._observer = with_small_stacks(Observer())

    def start(self) -> None:
        """Start the observer; the first tick adds the places. Raises OSError, RuntimeError."""
        self._observer.start()

    def stop(self) -> None:
        """Stop listening, and end the current run: the next run continues it."""
        self.ending.set()
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join(END_S)
        self._end()

    def status(self) -> dict[str, Any]:
        """Return the watched paths, the counts, the current run, and the places that cannot be watched, with the
        reason.
        """
        watched = [path for place in list(self._watched) for path in place.paths()]
        child = self._child
        return {
            "watched": sorted(watched),
            **self.counts,
            "running": " ".join(self._words) if child is not None else None,
            "running_pid": child.pid if child is not None else None,
            "last": self._last,
            "problems": dict(self.problems),
        }

    def noted(self, path: str, source: str = "") -> None:
        """Record an event on a file. It is called by any thread, ten thousands of times."""
        home = self._home
        if path.startswith((home.state + os.sep, home.logs + os.sep, home.index)):
            return
        now = self._clock()
        with self._lock:
            due = self._requested(source) if source else self._databases if is_database(path) else self._files
            self.counts["events"] += 1
            self._heard = now
            due.note(now)

    def tick(self) -> None:
        """Start the run that is due."""
        now = self._clock()
        offset = self._wall() - now
        if abs(offset - self._offset) > _JUMP_S:  # the machine slept, or its clock was set: events may be lost
            self._swept = self._looked = now - _SWEEP_S
        self._offset = offset
        if now - self._looked >= _LOOK_S:
            self._looked = now
            self._follow(now)
        if self.ending.is_set():
            return
        if now - self._swept >= _SWEEP_S:
            self._swept = now
            with self._lock:
                self._files.at_once()
                for source in {place.source for place in self._watched if place.source}:
                    self._requested(source).at_once()
        if self._child is not None and not self._ended(now):
            return
        words = self._next(now)
        if words:
            self._run(words, now)

    def _next(self, now: float) -> tuple[str, ...]:
        """Return the words of the run to start now, () for none."""
        with self._lock:
            for words in [words for words, at in self._again.items() if now >= at]:
                del self._again[words]
                if words == _EMBED:
                    self._stale = True
                else:
                    self._due(words).at_once()
            if now >= self._not_before:
                if self._files.ready(now) or self._databases.ready(now):
                    self._files.waits = self._databases.waits = False
                    return _INDEX
                for source, due in self._on_request.items():
                    if due.ready(now):
                        due.waits = False
                        return _command(source)
            waits = self._files.waits or self._databases.waits
            if waits or not self._stale or now - self._heard < self._idle_s:
                return ()
            self._heard = now  # on the battery, the next look comes after as long a time
        return () if self._on_battery() else _EMBED

    def _ended(self, now: float) -> bool:
        """Return True if the child has ended. New files end an embedding."""
        assert self._child is not None
        code = self._child.poll()
        if code is None:
            if self._words == _EMBED and self._files.waits:
                self._child.terminate()  # it goes on where it was
                self._stale = True
            return False
        self._child = None
        self._ran(code, now)
        return True

    def _ran(self, code: int, now: float) -> None:
        self.counts["failed"] += code > 0 and code != LOCKED
        self._last = {
            "command": " ".join(self._words),
            "exit_code": code,
            "ended": dates.iso(int(self._wall())),
            "took_s": round(now - self._began, 1),
        }
        if self._words == _EMBED:
            # It ran out of time, or another run embeds.
            self._stale |= code == LOCKED or now - self._began >= _BUDGET_S
            failed = code != 0 and not self._stale
        else:
            failed = code not in (0, LOCKED)
            self._not_before = now + min(_EASE * (children_cpu_s() - self._cost), _LONGEST_PAUSE_S)
            if code == LOCKED:  # another writer held the lock: the changes are still unread
                self._not_before = now + _LONGEST_PAUSE_S
                with self._lock:
                    self._due(self._words).note(now)
        if failed:  # the work is still due; new events do not wait for it
            self._failures += 1
            self._again[self._words] = now + min(_LONGEST_PAUSE_S * 2.0 ** min(self._failures - 1, 8), _SWEEP_S)
        elif code == 0:
            self._failures = 0
            self._again.pop(self._words, None)

    def _due(self, words: tuple[str, ...]) -> Due:
        return next((due for source, due in self._on_request.items() if words == _command(source)), self._files)

    def _requested(self, source: str) -> Due:
        return self._on_request.setdefault(source, Due(60.0, 900.0))

    def _run(self, words: tuple[str, ...], now: float) -> None:
        self._words = words
        self._began = now
        self._cost = children_cpu_s()
        self._stale = words != _EMBED
        self.counts[words[0]] += 1
        home = self._home
        environ = {**os.environ, "BRAIN_HOME": home.root, "BRAIN_INBOX_DIR": home.inbox, "BRAIN_SURFACE": "launchd"}
        quiet = subprocess.DEVNULL
        try:
            child = subprocess.Popen(  # noqa: S603  # our own program
                [*self._command, *words], stdin=quiet, stdout=quiet, stderr=quiet, env=environ
            )
        except OSError:  # no memory, no room for a process: the next sweep tries again
            self._ran(1, now)
            self._not_before = now + _LONGEST_PAUSE_S
            return
        self._child = child
        lift_limits(child.pid, patient=words == _EMBED)
        if self.ending.is_set():  # `stop` may have looked for the child too early
            self._end()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.terminate()
        try:
            child.wait(END_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _follow(self, now: float) -> None:
        """Watch the present places: folders appear, vanish and are replaced."""
        wanted: dict[Place, tuple[int, int]] = {}
        for place in places(self._home):
            try:
                status = os.stat(place.folder)
                wanted[place] = (status.st_dev, status.st_ino)
            except OSError:
                continue  # not there any more
        before = len(self._watched)
        # A new folder may have the inode of a removed one, and the watch of the removed one has ended by itself.
        deaf = (
            {each.watch for each in self._observer.emitters if not each.is_alive()} if self._observer.is_alive() else ()
        )
        gone = {
            watch
            for place, (watch, identity) in self._watched.items()
            if watch in deaf or wanted.get(place) != identity
        }
        # Two places may share a folder and its watch: both start again.
        self._watched = {place: kept for place, kept in self._watched.items() if kept[0] not in gone}
        for watch in gone:
            self._observer.unschedule(watch)
        for place, identity in wanted.items():
            if self.ending.is_set():
                return
            if place not in self._watched:
                self._listen(place, identity)
        if gone or len(self._watched) != before:
            with self._lock:
                self._files.note(now)

    def _listen(self, place: Place, identity: tuple[int, int]) -> None:
        from watchdog.events import FileSystemEventHandler

        noted = self.noted

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: Any) -> None:
                if event.event_type in _LOUD and not event.is_directory:
                    path = os.fsdecode(event.dest_path or event.src_path)
                    if place.counts(path):
                        noted(path, place.source)

        try:
            watch = self._observer.schedule(Handler(), place.folder, recursive=not place.files)
        except (OSError, RuntimeError) as error:
            # Too many watches (fs.inotify.max_user_watches), or threads: the sweep still finds its changes.
            self.problems[place.folder] = getattr(error, "strerror", None) or str(error)
            return
        self._watched[place] = (watch, identity)
        self.problems.pop(place.folder, None)


def with_small_stacks(observer: BaseObserver) -> BaseObserver:
    """Give each watch's thread a small stack, so that all of them together stay below the process's limit.

    The small size is in force only while such a thread starts.
    """
    ordinary = observer._emitter_class

    class Emitter(ordinary):  # type: ignore[misc, valid-type]
        def start(self) -> None:
            self.on_thread_start()
            before = threading.stack_size(_STACK_BYTES)
            try:
                threading.Thread.start(self)
            finally:
                threading.stack_size(before)

    observer._emitter_class = Emitter
    return observer


def children_cpu_s() -> float:
    """Return the cpu seconds of all ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lift_limits(pid: int, *, patient: bool) -> None:
    """Lift the watching process's memory limit from a run; a ``patient`` run gets a lower priority."""
    try:
        if sys.platform == "linux":
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            resource.prlimit(pid, resource.RLIMIT_DATA, (hard, hard))
        if patient:
            os.setpriority(os.PRIO_PROCESS, pid, _NICE)
    except OSError:
        return  # it has ended already, or the system forbids it: leave it as it is
