"""Values out of records whose shapes are promised by nobody."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

# Windows has codes of ten digits (NTSTATUS).
_CODE = re.compile("-?[0-9]{1,10}")


def vocabulary(text: str) -> frozenset[str]:
    """The words of a vocabulary: types of records, names of fields."""
    return frozenset(text.split())


def instant(stamp: object) -> str:
    """A timestamp as ``YYYY-MM-DDTHH:MM:SS.mmm``, UTC, which sorts as text; "" where it is none."""
    if type(stamp) is not str or len(stamp) < 10:
        return ""
    try:
        moment = datetime.fromisoformat(stamp)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        elif moment.tzinfo is not UTC:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat(timespec="milliseconds")[:23]


def moment(value: object) -> str:
    """``instant`` of a timestamp in any of the usual forms: ISO 8601, or seconds, milliseconds … since 1970; or ""."""
    if type(value) is str:
        if not value.isdecimal() or not value.isascii() or not 9 <= len(value) <= 20:
            return instant(value)
        value = int(value)
    if type(value) is float and value == value and abs(value) < 1e19:
        seconds = value
    elif type(value) is int and abs(value) < 1 << 63:
        seconds = float(value)
    else:
        return ""
    return _written(seconds)


# A record's time stands in several of its fields.
@lru_cache(maxsize=64)
def _written(seconds: float) -> str:
    if seconds <= 0:
        return ""
    # Seconds of the years up to 5138 are below 1e11; each finer unit has three digits more.
    while seconds >= 1e11:
        seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:23]


def blocks(content: Any) -> list[dict[str, Any]]:
    """A message's content as blocks: a string is one text block, what is neither string nor list is none."""
    if type(content) is str:
        return [{"type": "text", "text": content}]
    if type(content) is not list:
        return []
    return [block if type(block) is dict else _odd(block) for block in content]


def _odd(block: Any) -> dict[str, Any]:
    return {"type": "text", "text": block} if type(block) is str else {"type": f"({type(block).__name__})"}


def plain(content: Any) -> str:
    """The text blocks of a content, joined."""
    return "\n\n".join(string(block.get("text")) for block in blocks(content) if block.get("type") == "text")


def string(value: Any) -> str:
    """``value`` if it is a string, else ""."""
    return value if type(value) is str else ""


def mapping(value: Any) -> dict[str, Any]:
    """``value`` if it is a dict, else an empty one."""
    return value if type(value) is dict else {}


def exit_code(text: str) -> int:
    """The exit code that ``text`` is, which may have white space around it; 0 where it is no number of ten digits."""
    text = text.strip()
    return int(text) if _CODE.fullmatch(text) else 0
