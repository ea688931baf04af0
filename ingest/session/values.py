"""Values in records of undocumented formats: read without assumptions, and described without their content.

``vocabulary.json`` in a tool's package has the names and sentences that the tool's parser knows. A parser counts
whatever the vocabulary lacks (``Reading.count``). Values are lists of lines; ``about`` is for readers:

    {"about": "Names of 1.0 to 2.1.", "records": ["user assistant"], "fields": {"*": ["type id"], "user": ["text"]}}
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import lru_cache
from os.path import dirname, join
from typing import Any

# Windows has codes of ten digits (NTSTATUS).
_CODE = re.compile("-?[0-9]{1,10}")
# A name that a program chose. Keys that are data (paths, questions, ids) are counted, not shown.
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,39}")
_NAMES = 8
_FILE = "vocabulary.json"
_SHARED = "*"
_ABOUT = "about"


def instant(stamp: object) -> str:
    """Return an ISO 8601 timestamp as ``YYYY-MM-DDTHH:MM:SS.mmm`` in UTC, which sorts as text; "" for anything else."""
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
    """Return ``instant`` of a timestamp in ISO 8601, or in seconds, ms, µs or ns since 1970; or ""."""
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


# A record often has the same time in several fields.
@lru_cache(maxsize=64)
def _written(seconds: float) -> str:
    if seconds <= 0:
        return ""
    # Seconds of the years up to 5138 are below 1e11; each finer unit has three digits more.
    while seconds >= 1e11:
        seconds /= 1000
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:23]


def string(value: Any) -> str:
    """Return ``value`` if it is a string, else ""."""
    return value if type(value) is str else ""


def mapping(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is a dict, else an empty one."""
    return value if type(value) is dict else {}


def sequence(value: Any) -> list[Any]:
    """Return ``value`` if it is a list, else an empty one."""
    return value if type(value) is list else []


def blocks(content: Any) -> list[dict[str, Any]]:
    """Return a message's content as blocks: a string is one text block, another value than a list has none."""
    if type(content) is str:
        return [{"type": "text", "text": content}]
    if type(content) is not list:
        return []
    return [block if type(block) is dict else _odd(block) for block in content]


def _odd(block: Any) -> dict[str, Any]:
    return {"type": "text", "text": block} if type(block) is str else {"type": f"({type(block).__name__})"}


def plain(content: Any) -> str:
    """Return the text blocks of a content, joined."""
    return "\n\n".join(string(block.get("text")) for block in blocks(content) if block.get("type") == "text")


def exit_code(text: str) -> int:
    """Return the exit code that a text is, white space around it aside; 0 if it is no number of ten digits."""
    text = text.strip()
    return int(text) if _CODE.fullmatch(text) else 0


def shape(value: Any) -> str:
    """Describe a value for the ledger without its content: ``an object of id, kind``, ``a list of 3``, ``a number``."""
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
    """Return True if a name has more digits than a field's name: it is an id."""
    return sum(character.isdigit() for character in name) > 3


class Vocabulary:
    """The vocabulary of the package that the module ``file`` is in."""

    def __init__(self, file: str) -> None:
        with open(join(dirname(file), _FILE), encoding="utf-8") as stream:
            self._data: dict[str, Any] = json.load(stream)

    def words(self, name: str) -> frozenset[str]:
        """Return the words of all lines."""
        return _words(self._data[name])

    def fields(self, name: str) -> dict[str, frozenset[str]]:
        """Return the words of each entry of a table; those under ``*`` belong to every entry."""
        table = self._data[name]
        shared = _words(table.get(_SHARED, ()))
        return {key: shared | _words(lines) for key, lines in table.items() if key not in (_SHARED, _ABOUT)}

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the lines as they are."""
        return tuple(self._data[name])

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return (beginning, end) of blocks or sentences."""
        return tuple((begin, end) for begin, end in self._data[name])

    def pattern(self, name: str, form: str = "{}", flags: int = 0) -> re.Pattern[str]:
        """Return a pattern that matches any of the lines, which are regular expressions, within ``form``."""
        return re.compile(form.replace("{}", f"(?:{'|'.join(self._data[name])})"), flags)


def _words(lines: Any) -> frozenset[str]:
    return frozenset(" ".join(lines).split())
