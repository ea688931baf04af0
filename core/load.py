"""How busy other processes keep this machine, and its source of power."""

from __future__ import annotations

import time
from typing import Any

# Above this share, and with less of the machine idle, other processes are why a run is slow.
_BUSY = 0.25
_IDLE = 0.1


class Load:
    """What other processes took of the machine's CPU time since this object was made."""

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
