"""How fast a run goes now, and how long it will take: for every bar that is drawn."""

from __future__ import annotations

import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# The speed is that of the last minute: short enough to follow the machine's load, long enough to outlast single steps.
_WINDOW_S = 60.0
_STEP_S = 0.5


class Pace:
    """The speed of one stage of a run, in units of its steps."""

    __slots__ = ("_now", "_seen")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seen: deque[tuple[float, float]] = deque()

    def at(self, done: float) -> None:
        """Note that ``done`` steps are done by now."""
        now, seen = self._now(), self._seen
        while len(seen) > 2 and seen[1][0] <= now - _WINDOW_S:
            seen.popleft()
        # What comes in quick succession is one observation, so that the window holds a minute of any run.
        if len(seen) > 1 and now - seen[-2][0] < _STEP_S:
            seen.pop()
        seen.append((now, done))

    def speed(self) -> float:
        """Return steps per second, 0.0 until it is known."""
        if len(self._seen) < 2:
            return 0.0
        (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return (last - first) / (ended - began) if ended > began else 0.0

    def left(self, total: float) -> float | None:
        """Return the seconds until ``total`` steps are done, None until the speed is known."""
        speed = self.speed()
        return max(0.0, total - self._seen[-1][1]) / speed if speed > 0 else None
