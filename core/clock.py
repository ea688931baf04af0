"""Instants as integers (epoch seconds, UTC) and their ISO 8601 text.

``datetime`` is imported only to parse: printing, which every hit needs, does without.
"""

from __future__ import annotations

import time

DAY = 86_400


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
