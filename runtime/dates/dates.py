"""Calendar days, and a quick look whether a question may name a date.

Every question imports this module, so it is cheap. ``runtime.dates.question`` reads phrases; a caller imports it once
``may_name_a_date`` holds. ``datetime`` would cost the interactive path more than the arithmetic does.

A day is a number of days since 1970-01-01, in the user's time zone. The two conversions are those of
https://howardhinnant.github.io/date_algorithms.html (``days_from_civil`` and its inverse).
"""

from __future__ import annotations

import time

# Every date phrase has one of these words, or one that begins with a digit.
_SIGNS = frozenset((
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "q1", "q2",
    "q3", "q4", "spring", "summer", "autumn", "fall", "winter", "monday", "tuesday", "wednesday", "thursday",
    "friday", "saturday", "sunday", "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "today", "tonight",
    "yesterday", "recently", "lately", "morning", "afternoon", "evening", "night", "weekend", "minute", "minutes",
    "min", "mins", "hour", "hours", "hr", "hrs", "day", "days", "week", "weeks", "wk", "wks", "fortnight",
    "fortnights", "month", "months", "quarter", "quarters", "year", "years", "yr", "yrs", "decade", "decades",
))  # fmt: skip
# Parts of words without which a question does not ask for the latest (``runtime.asking.chronology``).
_NEWEST = ("last", "latest", "newest", "recent", "previous", "these", "off")
_MARKS = dict.fromkeys(map(ord, ',.;:!?()[]{}<>|/"`“”«»‹›-–—…~*_=+#&\\^%$@'), " ")
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def may_name_a_date(question: str) -> bool:
    """False where no reader could find a date in the question: a few microseconds instead of an import."""
    for word in question.lower().replace("’", "'").translate(_MARKS).split():
        if word[0].isdigit() or word in _SIGNS or word.strip("'").removesuffix("'s") in _SIGNS:
            return True
    return False


def may_concern_time(question: str, mode: str) -> bool:
    """Return False if a question, asked in ``mode``, can neither name a date nor ask for the newest documents."""
    lowered = question.lower()
    return mode == "time" or any(sign in lowered for sign in _NEWEST) or may_name_a_date(question)


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
    local = time.localtime(instant)
    return day_number(local.tm_year, local.tm_mon, local.tm_mday)


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
