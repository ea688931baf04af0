"""HTTP/1.1 connections that no client can use up: a deadline for headers, and a bound on those that wait for a client.

uvicorn has options for the size of headers and for idle connections. Its limit on all connections together
(``limit_concurrency``) counts those that wait like those that work: a client that sends nothing keeps others out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds from a connection, or from the first byte of a further request on it, to the end of the request's headers.
HEADERS_S = 10.0
# How many connections may wait for their clients at a time.
WAITING = 64


class Connection(H11Protocol):
    """One connection. It waits while its client owes it a request, a body, or the reading of an answer."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # When its client had last got what it asked for: what the client sends meanwhile does not make it younger.
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
            # Not closed: what a client does not read would keep the connection.
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
