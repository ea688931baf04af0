"""The resident process: one per home, on a private socket. It ends when idle, on request, or above its memory limit.

It reads one line of JSON per connection and answers with one. It answers ``status`` and ``stop``, and the operations of
its roles (``runtime.resident.roles``).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.errors import BadInput, BrainError, EngineMissing, Internal, LockContention, Refused
from core.files import FileLock, write_atomic
from core.home import PRIVATE_FILE, make_private
from core.version import VERSION
from qmd.index.store import damaged, translate
from runtime.resident.client import is_ours, peer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.home import Home
    from runtime.resident.roles import Role

LOCK = "serve.lock"
PID = "serve.pid"
IDLE_S = 900.0
MEMORY_BYTES = 600 << 20
# With less the process has no room for the threads that answer, each of which has a stack.
LEAST_BYTES = 64 << 20
_TICK_S = 1.0
_LOCK_S = 1.0
# One message: a question has at most 2,000 characters.
_MOST_BYTES = 1 << 16
_HEAR_S = 2.0
_AT_ONCE = 8
_FAREWELL_S = 3.0


class Server:
    """``Server(home, roles).run()`` serves until there is a reason to end, and returns it."""

    def __init__(
        self, home: Home, roles: Sequence[Role], *, idle_s: float = IDLE_S, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        self._home = home
        self._roles = roles
        self._idle_s = idle_s
        self._memory = memory_bytes
        self._operations = {name: call for role in roles for name, call in role.operations.items()}
        self._path = home.socket
        self._why = ""
        self._began = time.monotonic()
        self._used = self._began
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._served = 0
        self._faults: dict[str, dict[str, str]] = {}
        self._wake, self._woken = os.pipe()

    def run(self) -> str:
        """Serve, and return why it ended. Raises LockContention if another process serves this
        home, Refused, OSError.
        """
        with FileLock(join(self._home.state, LOCK), wait_s=_LOCK_S):
            write_atomic(join(self._home.state, PID), str(os.getpid()).encode())
            listener = self._listen()
            inode = os.lstat(self._path).st_ino
            before = {number: signal.signal(number, self._on_signal) for number in _ending_signals()}
            try:
                for role in self._roles:
                    role.start()
                self._loop(listener, inode)
            finally:
                listener.close()
                if is_ours(self._path) and os.lstat(self._path).st_ino == inode:
                    os.unlink(self._path)
                self._shut_down()
                for number, handler in before.items():
                    signal.signal(number, handler)
        return self._why

    def end(self, why: str) -> None:
        """End soon for the reason ``why``; the first reason counts. Any thread or signal handler may call it."""
        self._why = self._why or why
        os.write(self._woken, b".")

    def _listen(self) -> socket.socket:
        folder = dirname(self._path)
        make_private(folder)
        found = os.lstat(folder)
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise Refused(f"{folder} is open to others: its socket would be as well", f"chmod 700 {folder}")
        # The former holder of the lock is gone; nobody uses its socket.
        if os.path.lexists(self._path):
            os.unlink(self._path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(self._path)
        os.chmod(self._path, PRIVATE_FILE)
        listener.listen(_AT_ONCE)
        listener.setblocking(False)
        return listener

    def _on_signal(self, number: int, _: object) -> None:
        self.end(signal.Signals(number).name)

    def _loop(self, listener: socket.socket, inode: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            next_tick = time.monotonic()
            while not self._why:
                ready = selector.select(max(0.0, next_tick - time.monotonic()))
                if any(key.fileobj is listener for key, _ in ready):
                    self._accept(listener)
                if time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + _TICK_S
                    self._tick(inode)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # the caller left before it was accepted
        if not self._room.acquire(blocking=False):
            connection.close()  # too many at once: this caller answers its question alone
            return
        self._used = time.monotonic()
        threading.Thread(target=self._serve_one, args=(connection,), daemon=True).start()

    def _serve_one(self, connection: socket.socket) -> None:
        try:
            with connection:
                if peer(connection) != os.getuid():
                    return
                connection.settimeout(_HEAR_S)
                line = _line(connection)
                if line:
                    connection.sendall(_dumps(self._answer(line)).encode() + b"\n")
        except OSError:
            return  # the caller has gone, or stays silent
        finally:
            self._used = time.monotonic()
            self._room.release()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise BadInput(f"not JSON: {error}", "one object a line") from None
            if not isinstance(message, dict):
                raise BadInput("a message is an object")
            operation = message.get("op")
            if operation == "status":
                return self.status()
            if operation == "stop":
                self.end("told to")
                return {"schema": 1, "ok": True, "pid": os.getpid()}
            if not isinstance(operation, str) or operation not in self._operations:
                raise BadInput(f"no role answers to {str(operation)[:40]!r}", "status, stop, " + self._names())
            self._served += 1
            return self._operations[operation](message)
        except BrainError as error:
            return error.envelope()
        except apsw.Error as error:
            return translate(error, self._home.index).envelope()
        except Exception as error:  # noqa: BLE001  # a message that causes a failure gets an answer, and so does the next one
            fault = damaged(error, self._home.index)
            return (fault or Internal(f"{type(error).__name__}: {error}")).envelope()

    def status(self) -> dict[str, Any]:
        """Return the envelope of ``brain serve --status``."""
        now = time.monotonic()
        return {
            "schema": 1,
            "ok": True,
            "running": True,
            "pid": os.getpid(),
            "version": VERSION,
            "socket": self._path,
            "since": clock.iso(int(time.time() - (now - self._began))),
            "idle_s": self._idle_s,
            "memory_bytes": self._resident(),
            "memory_limit_bytes": self._memory,
            "served": self._served,
            "roles": {role.name: {"fault": None, **role.status(), **self._fault(role)} for role in self._roles},
        }

    def _fault(self, role: Role) -> dict[str, Any]:
        return {"fault": self._faults[role.name]} if role.name in self._faults else {}

    def _names(self) -> str:
        return ", ".join(self._operations)

    def _tick(self, inode: int) -> None:
        now = time.monotonic()
        for role in self._roles:
            try:
                role.tick(now)
            except Exception as error:  # noqa: BLE001  # the other roles go on, and so does this one
                message = f"{type(error).__name__}: {error}"
                self._faults[role.name] = {"message": message, "at": clock.iso(int(time.time()))}
        try:
            there = os.lstat(self._path).st_ino == inode
        except OSError:
            there = False
        if not there:
            return self.end("its socket is gone")
        if self._resident() > self._memory and not any(role.settling() for role in self._roles):
            for role in self._roles:
                role.relieve("it took more memory than it may")
            if self._resident() > self._memory:
                return self.end("it takes more memory than it may")
        if now - self._used > self._idle_s and not any(role.busy() for role in self._roles):
            self.end("idle")
        return None

    def _resident(self) -> int:
        pids = [os.getpid(), *(pid for role in self._roles for pid in role.pids())]
        return sum(resident(pid) for pid in pids)

    def _shut_down(self) -> None:
        """Finish the answers in progress, then stop every role, also if one of them fails."""
        deadline = time.monotonic() + _FAREWELL_S
        for _ in range(_AT_ONCE):
            if not self._room.acquire(timeout=max(0.0, deadline - time.monotonic())):
                break
        failures = []
        for role in reversed(self._roles):
            try:
                role.stop()
            except Exception as error:  # noqa: BLE001  # the other roles must stop as well
                failures.append(error)
        os.close(self._wake)
        if failures:
            raise failures[0]


def resident(pid: int) -> int:
    """Return bytes of memory that a process takes, 0 if it has gone."""
    if sys.platform == "linux":
        try:
            with open(f"/proc/{pid}/statm", "rb") as stream:
                return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def serve(
    home: Home,
    *,
    idle_s: float = IDLE_S,
    memory_bytes: int = MEMORY_BYTES,
    watch: bool = False,
    auto: bool = False,
) -> dict[str, Any]:
    """Serve a home with all the roles there are.

    With ``watch`` (or ``serve: {watch: true}`` in collections.yml) it watches as well, and no model is loaded before
    something is asked. With ``auto`` the process ends when the machine cannot spare it any more
    (``runtime.resident.thrift``). Returns {"reason" (why it ended), "watched" (counts, empty if it did not watch)}.
    Raises as ``Server.run``, EngineMissing where there is neither an index nor a watch that would make one.
    """
    from core.config import load
    from runtime.resident import control
    from runtime.resident.encoder import Model
    from runtime.resident.model import limit
    from runtime.resident.roles import Asking, Watching
    from runtime.resident.starting import command
    from runtime.resident.thrift import Thrift

    watch = watch or load(home).section("serve").get("watch") is True
    if not watch and not os.path.exists(home.index):
        raise EngineMissing(f"there is no index yet at {home.index}", "brain index")
    limit(memory_bytes)
    model = Model(os.environ, memory_bytes, idle_s)
    watching = Watching(home, command(), taken=watch)
    roles: list[Role] = [model, Asking(home, model, warm=not watch), watching]
    thrift = Thrift()
    server = Server(home, [*roles, thrift] if auto else roles, idle_s=idle_s, memory_bytes=memory_bytes)
    thrift.end = server.end
    try:
        reason = server.run()
    except LockContention:
        raise LockContention(
            f"brain serve runs already for this home (process {control.holder(home)})", "brain serve --status"
        ) from None
    return {"reason": reason, "watched": watching.done()}


def _ending_signals() -> list[signal.Signals]:
    """Return the signals that end the process; SIGHUP is one unless it is ignored (nohup)."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGINT, *([] if ignored else [signal.SIGHUP])]


def _line(connection: socket.socket) -> bytes:
    parts = b""
    deadline = time.monotonic() + _HEAR_S
    while not parts.endswith(b"\n"):
        if time.monotonic() > deadline:
            return b""
        part = connection.recv(_MOST_BYTES)
        parts += part
        if not part or len(parts) > _MOST_BYTES:
            return b""
    return parts


def _dumps(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=True)
