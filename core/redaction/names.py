"""Does a name speak of a secret, and of which kind?"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from core.redaction.screen import NAMED, PASSWORD


@lru_cache(1024)
def named(name: str) -> re.Match[str] | None:
    """Where a name, of which a transcript has few, speaks of a secret."""
    return _names().search(name)


@cache
def _names() -> re.Pattern[str]:
    return re.compile(
        rf"(?:(?P<pass>{PASSWORD}|^pass$)|(?P<sure>{NAMED})|(?P<loose>(?<=[a-z0-9])(?:[_-]key|(?-i:Key))$))"
        r"(?(loose)|[\w.-]{0,30}$)",
        re.IGNORECASE,
    )
