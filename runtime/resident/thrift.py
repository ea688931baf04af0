"""The limits of a resident process that nobody asked for: mains power, memory to spare, 250 MB of it at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.resident.roles import Operation

# The most that the process and its model take once the model has loaded.
MEMORY_BYTES = 250 << 20
# Less available memory than this belongs to the user's programs.
FLOOR_BYTES = 1 << 30
# After a refusal, questions do not start the process for so long.
LATER_S = 900.0
_LOOK_S = 30.0


def obstacle() -> str:
    """Return why the process should not run now, "" if it may."""
    battery = getattr(psutil, "sensors_battery", lambda: None)()  # psutil has none on some systems
    if battery is not None and battery.power_plugged is False:
        return "on battery"
    if psutil.virtual_memory().available < FLOOR_BYTES:
        return f"less than {FLOOR_BYTES >> 20} MB of memory are available"
    return ""


class Thrift:
    """A role that ends the process when the machine cannot spare it any more. ``end`` takes the reason."""

    name = "thrift"

    def __init__(self) -> None:
        self.end: Callable[[str], None] | None = None
        self._looked = 0.0

    @property
    def operations(self) -> Mapping[str, Operation]:
        """It answers no messages."""
        return {}

    def start(self) -> None:
        """The process has looked before it became one."""

    def tick(self, now: float) -> None:
        """Look every 30 seconds."""
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        why = obstacle()
        if why and self.end is not None:
            self.end(why)

    def busy(self) -> bool:
        """It keeps nothing from ending."""
        return False

    def settling(self) -> bool:
        """It takes no memory."""
        return False

    def pids(self) -> list[int]:
        """It has no children."""
        return []

    def relieve(self, why: str) -> None:
        """Do nothing: it holds no memory."""

    def status(self) -> dict[str, Any]:
        """Return the memory that must be available."""
        return {"floor_bytes": FLOOR_BYTES}

    def stop(self) -> None:
        """It has nothing to stop."""
