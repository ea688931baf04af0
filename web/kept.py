"""Answers that are kept until the index changes, some for seconds: to count 50,000 documents takes half a second."""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home

_MOST = 64
# An answer that also shows what has not been indexed yet is good for so long.
FRESH_S = 2.0


class Kept:
    """The last answers about one home, by name."""

    def __init__(self) -> None:
        self._state: object = None
        self._found: dict[str, tuple[float, dict[str, Any]]] = {}

    def get(
        self, home: Home, name: str, make: Callable[[], dict[str, Any]], good_s: float = math.inf
    ) -> dict[str, Any]:
        """Return the answer ``name``, made again if the index or the day has changed, or after ``good_s`` seconds.

        The caller must not change the answer.
        """
        state, now = _state(home), time.monotonic()
        if state != self._state or len(self._found) >= _MOST:
            self._state, self._found = state, {}
        kept = self._found
        made = kept.get(name)
        if made is None or now - made[0] > good_s:
            made = kept[name] = (now, make())
        return made[1]


def _state(home: Home) -> tuple[object, ...]:
    """Return what changes whenever the index or the configuration is written to, and with the day."""
    found: list[object] = [time.localtime().tm_yday]
    for path in (home.index, f"{home.index}-wal", home.path("collections.yml")):
        try:
            status = os.stat(path)
        except OSError:
            found.append(None)
        else:
            # A reader makes an empty write-ahead log, and the last one removes it.
            found.append((status.st_ino, status.st_size, status.st_mtime_ns) if status.st_size else None)
    return tuple(found)
