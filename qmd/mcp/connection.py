"""Listening sockets, and HTTP connections that no client can occupy: for every HTTP server of a brain."""

from __future__ import annotations

import errno
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from qmd.mcp.guard import is_loopback

if TYPE_CHECKING:
    import asyncio

# Seconds from a connection, or from the first byte of a further request on it, to the end of the request's headers.
HEADERS_S = 10.0
# How many connections may wait for their clients at a time.
WAITING = 64


class Connection(H11Protocol):
    """An HTTP/1.1 connection that no client can occupy: with a deadline for headers, and a bound on idle connections.

    It waits while its client owes it a request, a body, or the reading of an answer. uvicorn's own limit on connections
    (``limit_concurrency``) also counts the connections that work, so a silent client would keep others out.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # The time of the last complete answer: bytes that the client sends meanwhile do not count.
        self.since = 0.0
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """True if nothing can happen before the client does something."""
        return self._between or self.cycle.more_body or self.flow.write_paused

    @property
    def _between(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()
        self._expect_headers()
        victim = _too_many([each for each in self.connections if isinstance(each, Connection) and each.waits])
        if victim is not None:
            self.connections.discard(victim)  # before the next one is made, which would find the same victim
            # Abort instead of close: unread output would keep the connection open.
            victim.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._between:
            self._forget_deadline()
        elif self._deadline is None:
            self._expect_headers()

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        self._deadline = self.loop.call_later(HEADERS_S, self.transport.abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _too_many(waiting: list[Connection]) -> Connection | None:
    """Return the connection to give up: the one that waits longest, of the address that has most; None for few."""
    if len(waiting) <= WAITING:
        return None
    ((most, _),) = Counter(map(_address, waiting)).most_common(1)
    return min((each for each in waiting if _address(each) == most), key=lambda each: each.since)


def _address(connection: Connection) -> str:
    return connection.client[0] if connection.client else ""


def listen(host: str, port: int) -> list[socket.socket]:
    """Listening sockets on every address of ``host``, all on one port. Raises OSError, OverflowError."""
    wanted = "" if host == "*" else host.strip("[]")
    found = socket.getaddrinfo(wanted or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    failure: OSError | None = None
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            sockets.append(_bound(family, kind, protocol, (address[0], port or _port(sockets), *address[2:])))
        except OSError as error:
            # getaddrinfo also names an IPv6 address on machines without IPv6.
            if error.errno == errno.EADDRINUSE or not is_loopback(str(address[0])):
                for each in sockets:
                    each.close()
                raise
            failure = error
    if not sockets:
        raise failure or OSError(errno.EADDRNOTAVAIL, "no such address")
    return sockets


def _bound(family: int, kind: int, protocol: int, address: tuple[Any, ...]) -> socket.socket:
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(128)
        bound.setblocking(False)
    except BaseException:
        bound.close()
        raise
    return bound


def _port(sockets: list[socket.socket]) -> int:
    return int(sockets[0].getsockname()[1]) if sockets else 0
