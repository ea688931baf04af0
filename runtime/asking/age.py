"""How old a document is, in words, by the calendar days of the user's time zone."""

from __future__ import annotations

from runtime.dates import days

FRESH_DAYS = 1


def label(instant: int, now: int) -> tuple[int, str]:
    """(age in days, ``today`` | ``yesterday`` | ``N days ago``) of an instant (epoch seconds) seen at ``now``.

    Calendar dates are compared, not spans of 86,400 seconds: 23:59 is yesterday two minutes later, and a day with a
    change of clocks counts once. An instant in the future (another machine's clock) is ``today``, 0 days old.
    """
    age = max(0, days.of(now) - days.of(instant))
    if age == 0:
        return 0, "today"
    return age, "yesterday" if age == 1 else f"{age} days ago"


def stale(age_days: int) -> bool:
    """Whether what the document says should be checked before it is acted on: past one day."""
    return age_days > FRESH_DAYS


def warning(age_days: int) -> str | None:
    """What a stale hit is labelled with, None for a fresh one."""
    return f"{age_days} days old: verify before you act on it" if stale(age_days) else None
