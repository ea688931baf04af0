"""Folders that a conversation speaks of: which of them it was in, a digest or a name made of the path can tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PATHS = re.compile(r"(?:/|\b[A-Za-z]:\\)[^\s\"'`<>|*?;:,()\[\]{}]{2,400}")
_MOST = 5_000


def spoken_of(texts: Iterable[str], is_it: Callable[[str], bool]) -> str:
    """The first absolute path in ``texts``, or folder above one, that ``is_it``; or "". Looks at 5,000 at most."""
    seen: set[str] = set()
    for text in texts:
        for match in _PATHS.finditer(text):
            place = match[0].rstrip("/\\.")
            cut = "/" if place.startswith("/") else "\\"
            while len(place) > 1 and place not in seen:
                if len(seen) >= _MOST:
                    return ""
                if is_it(place):
                    return place
                seen.add(place)
                place = place.rpartition(cut)[0]
    return ""
