"""Instants as integers (epoch seconds, UTC) with their ISO 8601 text, and calendar days.

A day is a number of days since 1970-01-01, in the user's time zone. ``day_number`` and ``civil`` are those of
https://howardhinnant.github.io/date_algorithms.html (``days_from_civil`` and its inverse).

``datetime`` is imported only to parse: printing, which every hit needs, does without.
"""

from __future__ import annotations

import time

DAY = 86_400
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def now() -> int:
    """Epoch seconds, UTC."""
    return int(time.time())


def iso(instant: float) -> str:
    """``YYYY-MM-DDTHH:MM:SSZ`` for epoch seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(instant))


def parse_iso(text: str) -> int | None:
    """Epoch seconds of an ISO 8601 date or date-time (no zone means UTC), or None where it is neither."""
    from datetime import UTC, datetime

    try:
        instant = datetime.fromisoformat(text.strip())
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=UTC)
        return int(instant.timestamp())
    except (ValueError, OverflowError, OSError):
        return None


def first_written(*values: object) -> int | None:
    """Return the first of ``values`` that is a text with a date or date-time, as epoch seconds; None if none is.

    A day that a person wrote down is a day where the person is.
    """
    for value in values:
        if not (isinstance(value, str) and value[4:5] == value[7:8] == "-"):
            continue
        instant, day = parse_iso(value), value.strip()
        if instant is not None and len(day) > len("YYYY-MM-DD"):
            return instant
        if instant is not None:
            try:
                return int(time.mktime((int(day[:4]), int(day[5:7]), int(day[8:]), 0, 0, 0, 0, 0, -1)))
            except (OverflowError, ValueError):
                return instant  # a year that the C library does not know
    return None


# Calendar days.


def day_number(year: int, month: int, day: int) -> int:
    """Return the day number of a date of the Gregorian calendar."""
    shifted = year - (month <= 2)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil(day: int) -> tuple[int, int, int]:
    """Return (year, month, day) of a day number."""
    shifted = day + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    years = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    month = (5 * of_year + 2) // 153
    date = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return years + era * 400 + (month <= 2), month, date


def day_of(instant: float) -> int:
    """Return the local day of an instant (epoch seconds). Raises OverflowError or OSError outside any calendar."""
    return int((instant + time.localtime(instant).tm_gmtoff) // DAY)


def day_start(day: int) -> int:
    """Return the first instant (epoch seconds) of a local day, also if a change of clocks skips or repeats midnight."""
    instant = int(time.mktime((*civil(day), 0, 0, 0, 0, 0, -1)))
    if day_of(instant) < day:  # midnight is skipped, and mktime answered with the hour before it
        return instant + 3600
    return instant - 3600 if day_of(instant - 3600) == day else instant


def weekday(day: int) -> int:
    """Return 0 for Monday to 6 for Sunday."""
    return (day + 3) % 7


def month_length(year: int, month: int) -> int:
    """Return how many days the month has."""
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTHS[month - 1] + leap


def month_start(year: int, month: int) -> int:
    """Return the first day of a month; a ``month`` outside 1 to 12 counts on from ``year``."""
    return day_number(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def months_before(day: int, count: int) -> int:
    """Return the same date ``count`` months earlier, or the last of a shorter month (31 March, 1 → 28 February)."""
    year, month, date = civil(day)
    first = month_start(year, month - count)
    there = civil(first)
    return first + min(date, month_length(there[0], there[1])) - 1


def day_iso(day: int) -> str:
    """Return ``YYYY-MM-DD``."""
    year, month, date = civil(day)
    return f"{year:04d}-{month:02d}-{date:02d}"
