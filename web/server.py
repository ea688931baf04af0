"""The server of the page: one process on one address, until a signal comes or nobody has looked for a while."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import uvicorn

from core.errors import BadInput
from qmd.mcp.connection import Connection, listen
from web.access import Access
from web.app import Site
from web.rendering import warm

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from core.home import Home

_STOP_S = 3
_LOOK_S = 1.0
# What the first looks show is counted before the address is given: a second for 50,000 documents, at most this.
_PREPARE_S = 3.0
# Threads that count hold the interpreter for so long: an answer takes it four times, and must not wait 5 ms for each.
_SWITCH_S = 0.001


class _Server(uvicorn.Server):
    """A server that a signal ends with exit code 0; ``used`` is when it was used last (monotonic seconds)."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.used = time.monotonic()
        self.reason = "idle"

    def capture_signals(self) -> Any:
        return contextlib.nullcontext()

    def install(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._ended, number)

    async def watch(self, site: Site, idle_s: float) -> None:
        """End the server once nobody has used it for so long; until then, let ``site`` give back what is idle."""
        while not self.should_exit:
            await asyncio.sleep(min(_LOOK_S, idle_s))
            site.sweep(time.monotonic())
            if time.monotonic() - self.used >= idle_s:
                self.should_exit = True

    def use(self) -> None:
        self.used = time.monotonic()

    def _ended(self, number: signal.Signals) -> None:
        self.reason = signal.Signals(number).name
        self.force_exit = self.should_exit
        self.should_exit = True


def serve(
    home: Home,
    environ: Mapping[str, str],
    *,
    host: str,
    port: int,
    token: str,
    idle_s: float,
    ready: Callable[[Access], object],
) -> str:
    """Serve until a signal comes, or until nobody has looked for ``idle_s`` seconds; return why it ended.

    ``port`` 0 takes any free one. ``ready`` is called once the address is listened on. Raises BadInput if it cannot be.
    """
    sockets = _listen(host, port)
    sys.setswitchinterval(_SWITCH_S)
    return asyncio.run(_serve(home, environ, host, sockets, token, idle_s, ready))


def _listen(host: str, port: int) -> list[socket.socket]:
    try:
        return listen(host, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BadInput(f"port {port} is in use", "brain web --port 0 takes a free one") from None
        raise BadInput(f"cannot listen on {host}:{port}: {error.strerror or error}", "brain web --help") from None
    except OverflowError:
        raise BadInput(f"there is no port {port}", "a port is at most 65535") from None


async def _serve(
    home: Home,
    environ: Mapping[str, str],
    host: str,
    sockets: list[socket.socket],
    token: str,
    idle_s: float,
    ready: Callable[[Access], object],
) -> str:
    access = Access(host, sockets[0].getsockname()[1], token, on_use=lambda: server.use())
    site = Site(home, environ, access)
    config = uvicorn.Config(
        site.app(), http=Connection, ws="none", lifespan="off", log_config=None,
        access_log=False, server_header=False, timeout_keep_alive=60, timeout_graceful_shutdown=_STOP_S,
        proxy_headers=False, h11_max_incomplete_event_size=65_536,
    )  # fmt: skip
    server = _Server(config)
    server.install()
    preparing = asyncio.create_task(asyncio.to_thread(_prepare, site))
    await asyncio.wait({preparing}, timeout=_PREPARE_S)
    ready(access)
    sys.stdout.flush()
    server.use()
    waiting = [asyncio.create_task(server.watch(site, idle_s)), preparing]
    await server.serve(sockets)
    for task in waiting:
        task.cancel()
    site.close()
    return server.reason


def _prepare(site: Site) -> None:
    warm()
    site.prepare()
