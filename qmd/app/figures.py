"""Sizes, ages and dates as qmd prints them."""

from __future__ import annotations

import time

from core import clock
from qmd import ecma

_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_HALF_A_YEAR = 6 * 30 * clock.DAY


def size(count: int) -> str:
    """``150 B``, ``1.5 KB``, ``2.0 MB``, ``1.0 GB``."""
    if count < 1024:
        return f"{count} B"
    for power, unit in ((1, "KB"), (2, "MB")):
        if count < 1024 ** (power + 1):
            return f"{ecma.to_fixed(count / 1024**power, 1)} {unit}"
    return f"{ecma.to_fixed(count / 1024**3, 1)} GB"


def ago(instant: int) -> str:
    """How long ago an instant (epoch seconds) was: ``5s ago``, ``3m ago``, ``2h ago``, ``4d ago``."""
    seconds = clock.now() - instant
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit} ago"
    return f"{seconds}s ago"


def ago_iso(text: str) -> str:
    """``ago`` for a date of the index; one that cannot be read is as old as the epoch."""
    return ago(clock.parse_iso(text) or 0)


def listed_date(text: str) -> str:
    """A date of the index as ``ls -l`` has it, in local time: with the time of day, or the year where it is old."""
    instant = clock.parse_iso(text) or 0
    local = time.localtime(instant)
    day = f"{_MONTHS[local.tm_mon - 1]} {local.tm_mday:>2}"
    if instant < time.time() - _HALF_A_YEAR:
        return f"{day}  {local.tm_year}"
    return f"{day} {local.tm_hour:02}:{local.tm_min:02}"


def milliseconds(value: float) -> str:
    """``12ms``, ``1.5s``."""
    return f"{value:.0f}ms" if value < 1000 else f"{ecma.to_fixed(value / 1000, 1)}s"


def grouped(count: int) -> str:
    """``12,345``."""
    return f"{count:,}"
