"""The limits of a resident process that nobody asked for: mains power, memory to spare, 250 MB of it at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psutil

from runtime.resident.roles import Role

if TYPE_CHECKING:
    from collections.abc import Callable

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


class Thrift(Role):
    """A role that ends the process when the machine cannot spare it any more. ``end`` takes the reason."""

    name = "thrift"

    def __init__(self) -> None:
        self.end: Callable[[str], None] | None = None
        self._looked = 0.0

    def tick(self, now: float) -> None:
        """Look every 30 seconds."""
        if now - self._looked < _LOOK_S:
            return
        self._looked = now
        why = obstacle()
        if why and self.end is not None:
            self.end(why)

    def status(self) -> dict[str, Any]:
        """Return the memory that must be available."""
        return {"floor_bytes": FLOOR_BYTES}
