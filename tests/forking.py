"""Commands in processes of their own that need not import the product first.

A server imports the product once and forks for each command. The fork gets the arguments, environment, folder and
streams of the command, runs ``brain.entry()`` and exits, as a started program does.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

_ROOMS = ("brain", "cli", "core", "evals", "ingest", "ops", "qmd", "runtime")
# Libraries that start threads or take a second to import; a command that needs one imports it itself.
_LEFT_OUT = ("mcp", "numpy")
# An interpreter or a library reads variables with these beginnings when it starts.
_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC", "OMP_", "OPENBLAS_")
# For ``code``: a command that distils does without the local model, which takes longer to load than the rest.
WITHOUT_MODEL = "import sys; sys.modules['onnxruntime'] = None"
# RE2 builds its automata while it reads: words, words near a secret, secrets, and another script.
_TEXTS = (
    "What is a walrus?",
    "api_key = x; it's in /a/b.py: 3",
    f"the password is {'q7Rz' * 4} and the token ghp_{'a1B2' * 9}",
    "\u00dcber \u201cpassword\u201d: 12",
)
_CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tests.forking import serve; serve()"


class Forks:
    """One server; ``run`` and ``start`` may be called by several threads.

    The server has imported the product, and ``libraries`` that most commands do without.
    """

    def __init__(self, root: str, *libraries: str) -> None:
        self._channel, theirs = socket.socketpair()
        self._environ = _at_start(os.environ)
        self._lock = threading.Lock()
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-c", _CODE, root, str(theirs.fileno()), *libraries],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
            )

    def close(self) -> None:
        """End the server."""
        self._channel.close()
        self._server.communicate(timeout=60)

    def fits(self, environ: Mapping[str, str]) -> bool:
        """Return True if an interpreter that starts with ``environ`` is set up as the server is."""
        return _at_start(environ) == self._environ

    def run(
        self, words: Sequence[str], stdin: str, environ: Mapping[str, str], timeout: float, cwd: str, code: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run ``brain`` with arguments ``words`` after the Python ``code``; ``timeout`` in seconds.

        Raises:
            subprocess.TimeoutExpired: The process ran longer, and was killed.
        """
        (theirs_in, ours_in), *outputs = (os.pipe() for _ in range(3))
        pid, status = self.start(words, [theirs_in, *(write for _, write in outputs)], environ, cwd, code)
        out, err = (read for read, _ in outputs)
        try:
            printed, complained = _talk(ours_in, stdin.encode(), out, err, time.monotonic() + timeout)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout) from None
        else:
            (ended,) = struct.unpack("i", os.read(status, 4))
        finally:
            for descriptor in (out, err, status):
                os.close(descriptor)
        ended_with = os.waitstatus_to_exitcode(ended)
        return subprocess.CompletedProcess(words, ended_with, _text(printed), _text(complained))

    def start(
        self, words: Sequence[str], streams: Sequence[int], environ: Mapping[str, str], cwd: str, code: str
    ) -> tuple[int, int]:
        """Start a command with three ``streams``, which are closed here.

        Returns:
            Its pid, and a descriptor that gives its wait status once it has ended, as a C ``int``.
        """
        status, theirs = os.pipe()
        given = [*streams, theirs]
        request = json.dumps([words, dict(environ), cwd, code], default=os.fspath).encode()
        with self._lock:
            socket.send_fds(self._channel, [struct.pack("q", len(request))], given)
            self._channel.sendall(request)
        for descriptor in given:
            os.close(descriptor)
        (pid,) = struct.unpack("i", os.read(status, 4))
        return pid, status


class Process:
    """A command in a fork that runs on: as much of ``subprocess.Popen`` as tests of servers use.

    A stream is a pipe, or the open file that is given for it.
    """

    def __init__(
        self,
        forks: Forks,
        words: Sequence[str],
        environ: Mapping[str, str],
        *,
        code: str = "",
        stdin: IO[bytes] | None = None,
        stdout: IO[bytes] | None = None,
        stderr: IO[bytes] | None = None,
    ) -> None:
        self.returncode: int | None = None
        ours: list[IO[bytes] | None] = []
        theirs: list[int] = []
        for number, stream in enumerate((stdin, stdout, stderr)):
            if stream is not None:
                ours.append(None)
                theirs.append(os.dup(stream.fileno()))
                continue
            read, write = os.pipe()
            kept, given = (write, read) if number == 0 else (read, write)
            ours.append(os.fdopen(kept, "rb" if number else "wb"))
            theirs.append(given)
        self.stdin, self.stdout, self.stderr = ours
        self.pid, self._status = forks.start(words, theirs, environ, os.getcwd(), code)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, or the negative number of the signal that ended it; ``timeout`` in seconds.

        Raises:
            subprocess.TimeoutExpired: It runs still.
        """
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            (ended,) = struct.unpack("i", os.read(self._status, 4))
            os.close(self._status)
            self.returncode = os.waitstatus_to_exitcode(ended)
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code if it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        """Send it a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, data: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Write ``data``, close its input, and return what it printed until it ended; ``timeout`` in seconds.

        Raises:
            subprocess.TimeoutExpired: It ran longer, and was killed.
        """
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            outputs = [stream and pool.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                if self.stdin is not None:
                    with contextlib.suppress(BrokenPipeError), self.stdin:
                        self.stdin.write(data)
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            out, err = (each.result() if each else b"" for each in outputs)
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        return out, err


def _at_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(_AT_START)}


def _text(data: bytes) -> str:
    return data.decode().replace("\r\n", "\n").replace("\r", "\n")


def _talk(stdin: int, data: bytes, out: int, err: int, until: float) -> tuple[bytes, bytes]:
    """Write ``data`` to ``stdin`` and return what ``out`` and ``err`` give.

    Raises:
        TimeoutError: It is ``until`` by the monotonic clock (seconds).
    """
    found = {out: bytearray(), err: bytearray()}
    left = memoryview(data)
    os.set_blocking(stdin, False)
    with selectors.DefaultSelector() as selector:
        selector.register(stdin, selectors.EVENT_WRITE)
        selector.register(out, selectors.EVENT_READ)
        selector.register(err, selectors.EVENT_READ)
        try:
            while selector.get_map():
                ready = selector.select(max(0, until - time.monotonic()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fd == stdin:
                        with contextlib.suppress(BrokenPipeError):
                            left = left[os.write(stdin, left[:65536]) :] if left else left
                            if left:
                                continue
                        selector.unregister(stdin)
                        os.close(stdin)
                        stdin = -1
                    elif piece := os.read(key.fd, 1 << 16):
                        found[key.fd] += piece
                    else:
                        selector.unregister(key.fd)
        finally:
            if stdin >= 0:
                os.close(stdin)
    return bytes(found[out]), bytes(found[err])


def serve() -> None:
    """Fork for each request on the socket that ``sys.argv`` names, and run the command in the fork."""
    _import(sys.argv[2:])
    _load()
    os.cpu_count = lambda: 1  # as for the tests in the worker itself
    channel = socket.socket(fileno=int(sys.argv[1]))
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    # Python writes to the pipe for a signal that has a handler.
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}
    sources: list[Any] = [channel, ended]
    while True:
        ready = select.select(sources, [], [])[0]
        if ended in ready:
            os.read(ended, 4096)
            _report(running)
        if channel not in ready:
            continue
        head, given, _, _ = socket.recv_fds(channel, 8, 4)
        if not head:
            os._exit(0)
        (length,) = struct.unpack("q", head)
        request = bytearray()
        while len(request) < length:
            request += channel.recv(length - len(request))
        status = given.pop()
        if (pid := os.fork()) == 0:
            break
        os.write(status, struct.pack("i", pid))
        running[pid] = status
        for each in given:
            os.close(each)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    channel.close()
    for each in (ended, wake, status, *running.values()):
        os.close(each)
    for number, each in enumerate(given):
        os.dup2(each, number)
        os.close(each)
    words, environ, cwd, code = json.loads(request)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    sys.argv[1:] = words
    brain = importlib.import_module("brain")
    exec(code, {})
    vars(brain)["_START"] = time.perf_counter()
    brain.entry()


def _report(running: dict[int, int]) -> None:
    """Write the status of each child that has ended to its descriptor."""
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            status = running.pop(found[0])
            with contextlib.suppress(BrokenPipeError):  # the caller has killed the command and gone
                os.write(status, struct.pack("i", found[1]))
            os.close(status)


def _import(libraries: Sequence[str]) -> None:
    """Import ``libraries``, and every module of the product that needs none of ``_LEFT_OUT`` but them."""
    left_out = [name for name in _LEFT_OUT if name not in libraries]
    sys.modules.update(dict.fromkeys(left_out))  # type: ignore[arg-type]
    for room in map(importlib.import_module, _ROOMS):
        for module in pkgutil.walk_packages(getattr(room, "__path__", []), f"{room.__name__}."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ImportError):
                    importlib.import_module(module.name)
    for name in left_out:
        del sys.modules[name]


def _load() -> None:
    """Load what a command loads at first use, which takes longer than most commands: patterns and the configuration."""
    redaction = importlib.import_module("core.redaction")
    for text in _TEXTS:
        redaction.shown(text)
        redaction.clean_document(json.dumps({"text": text}).encode(), {})
    config, home = importlib.import_module("core.config"), importlib.import_module("core.home")
    config.load(home.Home(os.devnull))
    importlib.import_module("ingest.registry").names()
    gc.collect()
    gc.freeze()
