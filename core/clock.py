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
