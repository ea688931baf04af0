"""The values of ``--since`` and ``--until``: durations, ISO dates, and the phrases that questions use."""

from __future__ import annotations

from core import clock
from core.errors import BadInput
from runtime.dates.question import phrase, reader
from runtime.dates.written import VAGUE

_SECONDS = {
    "s": 1, "sec": 1, "second": 1, "seconds": 1, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600, "d": 86_400, "day": 86_400, "days": 86_400,
    "w": 604_800, "wk": 604_800, "wks": 604_800, "week": 604_800, "weeks": 604_800,
}  # fmt: skip
_MONTHS = {"mo": 1, "month": 1, "months": 1, "y": 12, "yr": 12, "year": 12, "years": 12}
_FORMS = 'write 24h, 7d, 3w, 2026-05-01, 2026-05-01T14:00, yesterday or "last monday"'


def parse_day(text: str, now: int, end: bool) -> int:
    """Return epoch seconds of an option's value such as 24h, 7d, 2026-05-01, 2026-05-01T14:00 or "last monday".

    Durations count back from ``now``. Days and longer periods give their first instant, or with ``end`` the instant
    after their last, in local time. Raises BadInput, with what to write instead, on anything else.
    """
    value = " ".join(text.split())
    try:
        for form in (_instant, _duration, _phrase):
            found = form(value, now, end)
            if found is not None:
                return found
    except (OverflowError, OSError, ValueError):
        raise BadInput(f"{text!r} lies beyond the calendar", _FORMS) from None
    raise BadInput(f"{text!r} is no date that brain can read", _FORMS)


def _duration(value: str, now: int, _end: bool) -> int | None:
    """Return 24h, 7d, "2 weeks": so long before now. Months and years keep the time of day."""
    value = value.lower()
    digits = len(value) - len(value.lstrip("0123456789"))
    unit = value[digits:].strip()
    if not digits or not unit:
        return None
    count = int(value[:digits][:9])
    if unit == "m":
        raise BadInput(f"{value!r} may be minutes or months", f"write {count}min or {count}mo")
    if unit in _SECONDS:
        return max(0, now - count * _SECONDS[unit])
    if unit in _MONTHS:
        today = clock.day_of(now)
        back = clock.months_before(today, min(count, 10_000) * _MONTHS[unit])
        return clock.day_start(back) + now - clock.day_start(today) if back > 0 else 0
    return None


def _instant(value: str, _now: int, _end: bool) -> int | None:
    """Return an ISO date with a time of day; without a zone it is local."""
    if ":" not in value:
        return None
    from datetime import datetime

    try:
        return int(datetime.fromisoformat(value).timestamp())
    except ValueError as error:
        raise BadInput(f"{value!r}: {error}", _FORMS) from None


def _phrase(value: str, now: int, end: bool) -> int | None:
    if value.lower() == "now":
        return now
    over = reader(value, now)
    found = phrase(over, 0)
    if found is None or found.end != len(over.tokens):
        # A month or a year alone is a date here, where nothing else can be meant.
        alone = over.date(0, "since")
        if alone is None or alone[1] != len(over.tokens):
            return None
        named = alone[0]
    elif found.operator:
        raise BadInput(f"{value!r}: one date is wanted here", "use --since X --until Y for a range")
    else:
        named = found.days
    if named.certainty == VAGUE and named.note:
        year, month, date = clock.civil(named.first)
        raise BadInput(
            f"{value!r} may be day first or month first",
            f"write {clock.day_iso(named.first)} or {clock.day_iso(clock.day_number(year, date, month))}",
        )
    return clock.day_start(named.last if end else named.first)
