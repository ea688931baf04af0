"""Calendar days of the user's time zone, as day numbers (days since 1970-01-01).

``datetime`` would cost the interactive path more than the arithmetic does. The two conversions are those of
https://howardhinnant.github.io/date_algorithms.html (``days_from_civil`` and its inverse).
"""

from __future__ import annotations

import time

_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def number(year: int, month: int, day: int) -> int:
    """The day number of a date of the Gregorian calendar."""
    shifted = year - (month <= 2)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil(day: int) -> tuple[int, int, int]:
    """(year, month, day) of a day number."""
    shifted = day + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    years = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    month = (5 * of_year + 2) // 153
    date = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return years + era * 400 + (month <= 2), month, date


def of(instant: float) -> int:
    """The local day that an instant (epoch seconds) falls on. Raises OverflowError or OSError outside any calendar."""
    local = time.localtime(instant)
    return number(local.tm_year, local.tm_mon, local.tm_mday)


def start(day: int) -> int:
    """The first instant (epoch seconds) of a local day, also where a change of clocks skips or repeats midnight."""
    instant = int(time.mktime((*civil(day), 0, 0, 0, 0, 0, -1)))
    if of(instant) < day:  # midnight is skipped, and mktime answered with the hour before it
        return instant + 3600
    return instant - 3600 if of(instant - 3600) == day else instant


def weekday(day: int) -> int:
    """0 for Monday to 6 for Sunday."""
    return (day + 3) % 7


def month_length(year: int, month: int) -> int:
    """How many days the month has."""
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTHS[month - 1] + leap


def month_start(year: int, month: int) -> int:
    """The day number of a month's first day; ``month`` may lie outside 1 to 12 and then counts on from ``year``."""
    return number(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def months_before(day: int, count: int) -> int:
    """The same date ``count`` months earlier; a date that month lacks becomes its last (31 March, 1 → 28 February)."""
    year, month, date = civil(day)
    first = month_start(year, month - count)
    there = civil(first)
    return first + min(date, month_length(there[0], there[1])) - 1


def iso(day: int) -> str:
    """``YYYY-MM-DD``."""
    year, month, date = civil(day)
    return f"{year:04d}-{month:02d}-{date:02d}"
