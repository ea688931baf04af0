"""The server on standard input and output: it has one client and ends with that client.

Input is read and output written by threads of their own that nothing waits for, so that a signal ends the server while
its client neither writes nor reads. Output that is no message (a stray print) goes to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from qmd.mcp.server import ToolServer

MOST_BYTES = 4_000_000
_DRAIN_S = 5.0
_PARENT_S = 1.0
_READ = 65_536
_AHEAD = 32
_ENDS = (signal.SIGINT, signal.SIGTERM)


def serve(service: ToolServer, parent: int) -> int:
    """Serve until the client is gone (0) or a signal comes (128 + its number); answer pending requests first.

    The client counts as gone with ``parent``, the pid of the process that started this one, unless that is 1.
    """
    return asyncio.run(_serve(service, parent))


async def _serve(service: ToolServer, parent: int) -> int:
    code = 0
    wire = _Wire(asyncio.get_running_loop())
    with anyio.CancelScope() as scope:

        def ended(number: int) -> None:
            nonlocal code
            code = 128 + number
            scope.cancel()

        loop = asyncio.get_running_loop()
        for number in _ENDS:
            loop.add_signal_handler(number, ended, number)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch_parent, wire, parent)
            stdin, stdout = cast("Any", wire), cast("Any", wire)
            async with stdio_server(stdin, stdout) as (incoming, outgoing):
                await service.server.run(incoming, outgoing, service.options)
            tasks.cancel_scope.cancel()
    service.interrupt()
    return code


async def _watch_parent(wire: _Wire, parent: int) -> None:
    """Close the input when the parent process ends: another process may still hold its end of the pipe."""
    while parent != 1 and os.getppid() == parent:
        await anyio.sleep(_PARENT_S)
    if parent != 1:
        wire.close()


class _Wire:
    """Standard input as lines and standard output, as the SDK's transport takes them.

    It reports the end of input once every earlier request has its answer, or after five seconds.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._asked = 0
        self._answered = 0
        self._progress = asyncio.Event()
        self._written = b""
        self._outgoing: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._input = os.dup(0)
        self._output = os.dup(1)
        sys.stdout.flush()
        os.dup2(2, 1)
        for target, name in ((self._read, "stdin"), (self._send, "stdout")):
            threading.Thread(target=target, name=name, daemon=True).start()

    def __aiter__(self) -> _Wire:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            _say("Shutting down (stdin closed)...")
            with anyio.move_on_after(_DRAIN_S):
                while self._answered < self._asked:
                    self._progress.clear()
                    await self._progress.wait()
            raise StopAsyncIteration
        self._room.release()
        self._asked += _expects(line)
        return line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        self._written += text.encode("utf-8", "replace")

    async def flush(self) -> None:
        done = self._loop.create_future()
        data, self._written = self._written, b""
        self._outgoing.put((data, done))
        await done
        self._answered += 1
        self._progress.set()

    def close(self) -> None:
        """End the input, as if the client had."""
        self._lines.put_nowait(None)

    def _read(self) -> None:
        pending = bytearray()
        dropping = False
        while data := os.read(self._input, _READ):
            pending += data
            *lines, rest = pending.split(b"\n")
            pending = rest
            for line in lines:
                if not dropping and line.strip():
                    self._put(bytes(line) if len(line) <= MOST_BYTES else b"{")
                dropping = False
            if len(pending) > MOST_BYTES:
                dropping = True
                pending.clear()
        if pending.strip() and not dropping:
            self._put(bytes(pending))
        self._put(None)

    def _send(self) -> None:
        while True:
            data, done = self._outgoing.get()
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self._output, view) :]
            except OSError:
                # Nobody reads any more: drop the remaining output; the end of input will follow.
                self._tell(self.close)
            self._tell(_settle, done)

    def _put(self, line: bytes | None) -> None:
        self._room.acquire()
        self._tell(self._lines.put_nowait, line)

    def _tell(self, what: Callable[..., None], *arguments: Any) -> None:
        # The loop may have ended already.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, *arguments)


def _expects(line: bytes) -> int:
    """Return how many answers a message adds: 1 for a request, -1 for a cancellation, else 0."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return 0
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return 0
    if message["method"] == "notifications/cancelled":
        return -1
    return 1 if message.get("id") is not None else 0


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        # Standard error went with the client.
        return
