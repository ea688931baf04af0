"""Whether the machine runs on its battery."""

from __future__ import annotations


def on_battery() -> bool:
    """Whether the machine runs on its battery now; not where it has none, or does not say."""
    import psutil

    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return battery is not None and battery.power_plugged is False
