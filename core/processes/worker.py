"""A function in a child process: hostile input may stall it, flood it or crash it, and harms nothing else.

The parent sends one JSON line for each request and reads one JSON line back. The child stays for many requests. A
request that exceeds a bound ends the child; the next request gets a new child.
"""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from core.errors import Internal

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# -P: nothing is imported from the folder that the user happens to be in.
_CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from core.processes.worker import serve; serve(*sys.argv[1:])"
_READY = b"ready\n"
_MOST_ANSWER = 64 << 20
_START_S = 60.0
_PIECE = 1 << 16
_IDLE_S = 60
# How often the memory of a child that takes long is looked at, for systems that do not enforce RLIMIT_AS.
_LOOK_S = 0.2


class Exceeded(Exception):
    """A request exceeded its time."""


class Ended(Exception):
    """The child ended before it answered: it crashed, or it exceeded its memory or the size of an answer."""


class Worker:
    """A child process that calls one function, request by request; it starts with the first and ends with ``close``.

    A child that has been idle for a minute ends by itself. Threads may share a worker.
    """

    def __init__(self, function: str, *, memory: int, timeout_s: float, cpu_s: float = math.inf) -> None:
        """Bound what the child may use.

        Args:
            function: ``module:name`` of a function that takes and returns plain data, as JSON has it.
            memory: bytes of address space.
            timeout_s: seconds of wall time for one request, for a child that waits or is kept from working.
            cpu_s: seconds of CPU time for one request. A busy machine does not change what exceeds them.
        """
        self._function = function
        self._memory = memory
        self._timeout_s = timeout_s
        self._cpu_s = cpu_s
        self._lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, request: Any, *, cpu_s: float | None = None) -> Any:
        """Return what the function returns for ``request``; ``cpu_s`` replaces the bound for this request alone.

        Raises:
            Exceeded: the time was up.
            Ended: the child crashed, or exceeded its memory.
            Internal: no child can be started, or the function raised an exception.
        """
        bound = self._cpu_s if cpu_s is None else cpu_s
        line = json.dumps([None if math.isinf(bound) else bound, request]).encode() + b"\n"
        with self._lock:
            done, value = json.loads(self._answer(line))
        if not done:
            raise Internal(f"{self._function} failed: {value}", "report it with the input that shows it")
        return value

    def _answer(self, line: bytes) -> bytes:
        while True:
            if self.process is not None and self.process.poll() is not None:
                self.close()
            process = self.process or self._start()
            try:
                answer = self._exchange(process, line, self._timeout_s)
            except TimeoutError:
                self.close()
                raise Exceeded from None
            if answer is not None:
                return answer
            self.close()
            if process.returncode == -signal.SIGXCPU:
                raise Exceeded
            if process.returncode != -signal.SIGALRM:
                raise Ended
            # It had been idle for too long just as the request came.

    def close(self) -> None:
        """End the child, if there is one."""
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # a request that the child did not read any more
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603  # this interpreter, and no shell
            [sys.executable, "-P", "-c", _CODE, _ROOT, self._function, str(self._memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.process = process
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        try:
            ready = self._exchange(process, b"", _START_S)
        except TimeoutError:
            ready = None
        if ready != _READY:
            self.close()
            raise Internal(f"no process for {self._function} can be started", "brain doctor")
        return process

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes, seconds: float) -> bytes | None:
        """Send ``line`` and return the line that answers it, None if the child ended. Raises TimeoutError."""
        assert process.stdin is not None
        assert process.stdout is not None
        given, taken = process.stdin.fileno(), process.stdout.fileno()
        deadline = time.monotonic() + seconds
        unsent, kept = memoryview(line), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(taken, selectors.EVENT_READ)
            if unsent:
                selector.register(given, selectors.EVENT_WRITE)
            while not kept.endswith(b"\n"):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                ready = selector.select(min(left, _LOOK_S))
                if (not ready and self._is_too_large(process)) or len(kept) > _MOST_ANSWER:
                    return None
                for key, _ in ready:
                    if key.fd == given:
                        unsent = unsent[_sent(given, unsent) :]
                        if not unsent:
                            selector.unregister(given)
                    elif piece := os.read(taken, _PIECE):
                        kept += piece
                    else:
                        process.wait()
                        return None
        return bytes(kept)

    def _is_too_large(self, process: subprocess.Popen[bytes]) -> bool:
        import psutil

        try:
            return bool(psutil.Process(process.pid).memory_info().rss > self._memory)
        except psutil.Error:
            return False  # it has ended, which its pipe says


def _sent(descriptor: int, data: memoryview) -> int:
    """Write what the pipe takes now; all of ``data`` counts as written if nobody reads any more."""
    try:
        return os.write(descriptor, data)
    except BrokenPipeError:
        return len(data)


def serve(function: str, memory: str) -> None:
    """Run in the child: answer until the input ends."""
    import importlib
    import logging
    import warnings

    _bound(int(memory))
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    answers = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    module, _, name = function.partition(":")
    call: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    with os.fdopen(answers, "wb") as stream:
        stream.write(_READY)
        stream.flush()
        signal.alarm(_IDLE_S)
        for line in sys.stdin.buffer:
            signal.alarm(0)
            cpu_s, request = json.loads(line)
            _bound_cpu(cpu_s)
            try:
                answer = [True, call(request)]
            except MemoryError:
                return
            except Exception as error:  # noqa: BLE001  # whatever it is, the parent raises it
                answer = [False, f"{type(error).__name__}: {error}"]
            stream.write(json.dumps(answer).encode() + b"\n")
            stream.flush()
            signal.alarm(_IDLE_S)


def _bound(memory: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (memory if hard < 0 else min(memory, hard), hard))


def _bound_cpu(seconds: float | None) -> None:
    """Have the system end this process after ``seconds`` more of CPU time, rounded up; None for no bound."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = hard if seconds is None else math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard < 0 else min(soft, hard), hard))
