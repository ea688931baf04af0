"""Another program, run for its answer: within a time, within a size, and without anything of it left behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType
    from typing import IO

    import psutil

# How often the loop looks up: a program that ended while what it started still holds its pipes, or a signal to us.
_TICK_S = 0.05
_PIECE = 1 << 16
# Rounds of looking for what a dying family has started in the meantime.
_ROUNDS = 5
_MARK = "BRAIN_CHILD"


_now = time.monotonic


class Done:
    """How a program ended: ``code`` is negative where a signal ended it (-15 for SIGTERM).

    ``timed_out`` and ``flooded`` (it wrote more than was allowed) say that we ended it; what it wrote until then is in
    ``stdout`` and ``stderr``.
    """

    __slots__ = ("code", "flooded", "stderr", "stdout", "timed_out")

    def __init__(self, code: int, stdout: bytes, stderr: bytes, *, timed_out: bool, flooded: bool) -> None:
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.timed_out = timed_out
        self.flooded = flooded


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    environ: Mapping[str, str] | None = None,
    folder: str | None = None,
    most_bytes: int = 32 << 20,
    stdin: IO[bytes] | None = None,
    mark: str = "",
) -> Done:
    """Run ``argv`` (never through a shell) in ``folder``, with the open file ``stdin`` as its input, or none.

    The child leads a session of its own. The child and its children have ended when this returns, also after an
    exception, SIGTERM or SIGHUP. ``most_bytes`` bounds the child's output. ``mark``, a unique word, extends this to
    daemons that left the session, and to processes that outlive the child: all that have ``BRAIN_CHILD=mark`` in their
    environment.
    Raises OSError if the child cannot be started.
    """
    with _Signals() as signals:
        process = subprocess.Popen(  # noqa: S603  # argv, and no shell
            argv,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**(os.environ if environ is None else environ), _MARK: mark} if mark else environ,
            start_new_session=True,
        )
        kept = _Kept(most_bytes)
        over = False
        try:
            over = _listen(process, kept, _now() + timeout_s, signals)
        finally:
            if over and process.poll() is not None and not mark:
                # It ended by itself: what it left running in its group is not waited for.
                _signal_group(process.pid)
            else:
                _end(process, mark)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()
    return Done(process.returncode, bytes(kept.stdout), bytes(kept.stderr), timed_out=not over, flooded=kept.flooded)


class _Kept:
    """The output of the program so far, up to a bound."""

    __slots__ = ("_most", "flooded", "stderr", "stdout")

    def __init__(self, most: int) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.flooded = False
        self._most = most

    def read(self, descriptor: int, into: bytearray) -> bool:
        """Take what is there; whether there may be more."""
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            return True
        into += piece
        self.flooded = len(self.stdout) + len(self.stderr) > self._most
        return bool(piece)


class _Signals:
    """While a program runs, SIGTERM and SIGHUP to us end it first, and then us, as if it had not been there."""

    __slots__ = ("_before", "got")

    def __init__(self) -> None:
        self._before: list[signal.Signals] = []
        self.got = 0

    def __enter__(self) -> _Signals:
        # Python lets only the main thread handle signals; a handler that somebody set up stays.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._note)
                    self._before.append(number)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._before:
            signal.signal(number, signal.SIG_DFL)
        if self.got:
            os.kill(os.getpid(), self.got)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.got = number


def _listen(process: subprocess.Popen[bytes], kept: _Kept, deadline: float, signals: _Signals) -> bool:
    """Read until the program has ended; False where its time was up before."""
    with selectors.DefaultSelector() as selector:
        for stream, into in ((process.stdout, kept.stdout), (process.stderr, kept.stderr)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream.fileno(), selectors.EVENT_READ, into)
        while not kept.flooded and not signals.got:
            ended = process.poll() is not None
            left = deadline - _now()
            if left <= 0 and not ended:
                # Output that is there by now came in time.
                for key, _ in selector.select(0) if selector.get_map() else []:
                    kept.read(key.fd, key.data)
                return False
            ready = selector.select(0 if ended else min(left, _TICK_S)) if selector.get_map() else []
            for key, _ in ready:
                if not kept.read(key.fd, key.data):
                    selector.unregister(key.fd)
            if ended and not ready:
                return True
            if not selector.get_map() and not ended:
                # It has closed its streams, and works on or is about to end.
                time.sleep(0 if left <= 0 else min(left, 0.002))
    return True


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the program, its group, its session, its descendants that have left those, and whoever bears its mark."""
    import psutil

    doomed: dict[int, psutil.Process] = {}
    for _ in range(_ROUNDS):
        before = len(doomed)
        for each in _family(process.pid, mark):
            doomed.setdefault(each.pid, each)
        _signal_group(process.pid)
        for each in doomed.values():
            try:
                each.kill()  # psutil makes sure that the number is still that process's
            except psutil.Error:
                continue
        if len(doomed) == before:
            break
    _await_end([each for each in doomed.values() if each.pid != process.pid])


def _await_end(killed: list[psutil.Process]) -> None:
    """Wait until killed processes run no more, for a second at most.

    One that is dead but not reaped counts as ended: its parent may be the system's first process, which takes its time.
    """
    deadline = _now() + 1
    while any(map(_runs, killed)) and _now() < deadline:
        time.sleep(0.005)


def _runs(process: psutil.Process) -> bool:
    import psutil

    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _family(leader: int, mark: str) -> list[psutil.Process]:
    import psutil

    found = []
    try:
        found += psutil.Process(leader).children(recursive=True)
    except psutil.Error:
        found = []  # it is gone; what it left is in its session
    for each in psutil.process_iter():
        try:
            if each.pid != os.getpid() and (os.getsid(each.pid) == leader or _bears(each, mark)):
                found.append(each)
        except OSError:
            continue  # gone meanwhile, or another user's
    return found


def _bears(process: psutil.Process, mark: str) -> bool:
    import psutil

    if not mark:
        return False
    try:
        return process.environ().get(_MARK) == mark
    except (psutil.Error, OSError):
        return False  # another user's, or gone: none of ours


def _signal_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # nobody is left in it (macOS says so with EPERM)
