"""The speed of a run and the time that is left, other processes that slow it, and the source of power."""

from __future__ import annotations

import time
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The speed is that of the last minute: short enough to follow the machine's load, long enough to outlast single steps.
_WINDOW_S = 60.0
_STEP_S = 0.5
# Above this share, and with less of the machine idle, other processes are why a run is slow.
_BUSY = 0.25
_IDLE = 0.1


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
        # Steps in quick succession are one observation, so that the window holds a minute of any run.
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


class Load:
    """The share of other processes in the machine's CPU time since this object was made."""

    def __init__(self) -> None:
        self._before = _times()
        self._own = time.process_time()

    def others(self) -> float:
        """Return the share (0–1) of the CPU time that others took, 0.0 if there was enough for everybody."""
        total, idle = (now - before for now, before in zip(_times(), self._before, strict=True))
        own = time.process_time() - self._own
        if total <= 0:
            return 0.0
        share = max(0.0, total - idle - own) / total
        return share if share > _BUSY and idle / total < _IDLE else 0.0


def _times() -> tuple[float, float]:
    """Return the seconds of all processors since the system started, and those of them in which they were idle."""
    import psutil

    found: Any = psutil.cpu_times()
    fields = found._asdict()
    # Linux counts a guest's time as user time already (proc(5)).
    total = sum(value for name, value in fields.items() if name not in ("guest", "guest_nice"))
    return total, fields["idle"] + fields.get("iowait", 0.0)


def on_battery() -> bool:
    """Return True if the machine runs on its battery; False if it has none or does not report its state."""
    import psutil

    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return battery is not None and battery.power_plugged is False
