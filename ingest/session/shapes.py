"""What something unknown looks like, without what it says: kinds, sizes and the names of fields, for the ledger."""

from __future__ import annotations

import re
from typing import Any

# A name that a program chose; keys that are data (paths, questions, identities) are counted, not shown.
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,39}")
_NAMES = 8


def shape(value: Any) -> str:
    """``an object of id, kind``, ``a list of 3``, ``text of 12 characters``, ``true``, ``a number``, ``null``."""
    if isinstance(value, dict):
        names = sorted(key for key in value if type(key) is str and _NAME.fullmatch(key) and not _is_made_up(key))
        shown = ", ".join(names[:_NAMES])
        more = len(value) - min(len(names), _NAMES)
        if not shown:
            return f"an object of {more} fields"
        return f"an object of {shown}{f' and {more} more' if more else ''}"
    if isinstance(value, list):
        inner = f", first {shape(value[0])}" if value and isinstance(value[0], dict) else ""
        return f"a list of {len(value)}{inner}"
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else "a number"


def _is_made_up(name: str) -> bool:
    """Whether a name holds more digits than a field's would: an identity, or a key."""
    return sum(character.isdigit() for character in name) > 3
