"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(met: Callable[[], T], seconds: float = 60) -> T:
    """Return the first true value of ``met()``.

    Raises:
        AssertionError: none came in time.
    """
    deadline = time.monotonic() + seconds
    while not (found := met()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return found
