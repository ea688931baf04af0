"""A connection of psycopg that waits so long for the server and no longer, whatever happens to the packets.

``statement_timeout`` is the server's word, and ``tcp_user_timeout`` the kernel's: a proxy that accepts bytes and passes
none on keeps both quiet.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from core.errors import EngineTimeout
from qmd.team.failures import late

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_Answer = TypeVar("_Answer")

# Seconds after which a wait looks at the clock.
_LOOK_S = 0.1
# Seconds that the server has to say by itself that a statement took too long.
_GRACE_S = 5.0


class BoundedConnection(psycopg.Connection[Any]):
    """A connection of which no statement takes longer than ``patience_s``, and none goes on after ``until``.

    ``member`` is who logged in, "" before the space is entered. ``until`` is in monotonic seconds. A statement that is
    late closes the connection, and raises EngineTimeout: nobody knows what the server still sends.
    """

    member: str = ""
    patience_s: float = float("inf")
    until: float = float("inf")

    def wait(self, gen: Any, interval: float = _LOOK_S, timeout: float | None = None) -> Any:
        """Consume a generator of psycopg's, as ``psycopg.Connection.wait``. Raises EngineTimeout."""
        until = min(self.until, time.monotonic() + self.patience_s)
        try:
            return super().wait(_bounded(gen, until), min(interval, _LOOK_S), timeout)
        except EngineTimeout:
            self.close()
            raise

    @contextlib.contextmanager
    def given(self, seconds: float) -> Iterator[None]:
        """Let each statement of the block take so many seconds, at the server as well."""
        before = self.patience_s
        self.allow(seconds)
        try:
            yield
        finally:
            if not self.closed and self.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                self.allow(before - _GRACE_S)

    def allow(self, seconds: float, before: str = "") -> None:
        """Let each statement take so many seconds from now on, at the server as well; ``before`` is sent with it."""
        self.patience_s = seconds + _GRACE_S
        milliseconds = 0 if seconds == float("inf") else max(1, int(seconds * 1000))
        self.execute(f"{before}SET statement_timeout = {milliseconds}".encode())


def _bounded(gen: Generator[Any, Any, _Answer], until: float) -> Generator[Any, Any, _Answer]:
    """Pass on what a generator waits for, and end with EngineTimeout if it is not done by then."""
    ready: Any = None
    while True:
        try:
            wanted = gen.send(ready)
        except StopIteration as done:
            answer: _Answer = done.value
            return answer
        ready = yield wanted
        if time.monotonic() >= until:
            gen.close()
            raise late()
