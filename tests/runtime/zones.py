"""The local time zone, for the length of a test."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from zoneinfo import ZoneInfo


@contextmanager
def zone(name: str) -> Iterator[None]:
    """Everything inside sees local time as ``name`` has it; what was set before is set again after."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def at(text: str, name: str = "UTC") -> int:
    """Epoch seconds of ``YYYY-MM-DD HH:MM`` in a zone."""
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(name)).timestamp())
