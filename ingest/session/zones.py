"""Local days of instants, in recorded time zones.

A day of browsing or of commits is a local day. It must stay the same if its owner travels, or if another machine makes
the document: each zone is recorded with the instant from which it holds, and the document names the zone.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DAY_S = 86_400
# Offsets change at whole quarters of an hour, UTC (https://data.iana.org/time-zones/theory.html).
_STEP_S = 900
_FIXED = re.compile(r"UTC([+-])(\d\d):(\d\d)")
_LOCALTIME = "/etc/localtime"


def system_zone() -> str:
    """Return the name of this machine's time zone (``Europe/Berlin``), or its present offset (``UTC+02:00``)."""
    given = (os.environ.get("TZ") or "").lstrip(":")
    if given:
        name = _below_zoneinfo(given) if given.startswith("/") else given
    else:
        name = _below_zoneinfo(os.path.realpath(_LOCALTIME))
    if name and is_zone(name):
        return name
    offset = time.localtime().tm_gmtoff // 60
    return "UTC" if not offset else f"UTC{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"


def is_zone(name: str) -> bool:
    """Return True if ``name`` is a zone of the IANA database, or an offset in the form of ``system_zone``."""
    if _FIXED.fullmatch(name):
        return True
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return False
    return True


class Zones:
    """Zones with the instants from which they hold: ``[(0, "Europe/Berlin"), (1774000000, "Asia/Tokyo")]``.

    The first also holds before its instant. Raises LookupError for a zone that this machine does not know.
    """

    def __init__(self, since: Sequence[tuple[int, str]]) -> None:
        self._since = sorted(since, reverse=True)
        self._rules: dict[str, ZoneInfo | int] = {name: _rule(name) for _, name in since}
        self._steps: dict[int, tuple[int, str]] = {}

    def day(self, instant: int) -> int:
        """Return the number of the day of an instant, in seconds since 1970."""
        return (instant + self._step(instant)[0]) // _DAY_S

    def clock(self, instant: int) -> str:
        """Return the local time of an instant, ``HH:MM``."""
        minute = (instant + self._step(instant)[0]) % _DAY_S // 60
        return f"{minute // 60:02d}:{minute % 60:02d}"

    def names(self, instants: Iterable[int]) -> list[str]:
        """Return the zones in force at some instants, each once, in the order of the instants."""
        firsts = {instant // _STEP_S: instant for instant in instants}
        return list(dict.fromkeys(self._step(instant)[1] for instant in firsts.values()))

    def _step(self, instant: int) -> tuple[int, str]:
        """Return (seconds east of UTC, the zone's name) at an instant."""
        # A step has the zone of its first second: a change within a quarter of an hour takes effect after it.
        step = instant // _STEP_S
        known = self._steps.get(step)
        if known is None:
            known = self._steps[step] = self._offset(step * _STEP_S)
        return known

    def _offset(self, instant: int) -> tuple[int, str]:
        name = next((name for since, name in self._since if since <= instant), self._since[-1][1])
        rule = self._rules[name]
        if isinstance(rule, int):
            return rule, name
        from datetime import UTC, datetime

        offset = datetime.fromtimestamp(instant, UTC).astimezone(rule).utcoffset()
        return (int(offset.total_seconds()) if offset is not None else 0), name


def iso_day(day: int) -> str:
    """Return ``YYYY-MM-DD`` of a day number. Raises OverflowError or OSError outside the calendar."""
    return time.strftime("%Y-%m-%d", time.gmtime(day * _DAY_S))


def day_number(text: str) -> int:
    """Return the day number of ``YYYY-MM-DD``. Raises ValueError."""
    from datetime import date

    return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()


def _rule(name: str) -> ZoneInfo | int:
    fixed = _FIXED.fullmatch(name)
    if fixed is None:
        return ZoneInfo(name)
    seconds = int(fixed[2]) * 3600 + int(fixed[3]) * 60
    return -seconds if fixed[1] == "-" else seconds


def _below_zoneinfo(path: str) -> str:
    _, found, name = path.partition("zoneinfo/")
    return name.removeprefix("posix/").removeprefix("right/") if found else ""
