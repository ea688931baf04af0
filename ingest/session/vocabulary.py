"""A tool's vocabulary: ``vocabulary.json`` in the tool's package has the names and sentences that the parser knows.

A parser counts whatever the vocabulary lacks (``Reading.count``). Values are lists of lines; ``about`` is for readers:

    {"about": "Names of 1.0 to 2.1.", "records": ["user assistant"], "fields": {"*": ["type id"], "user": ["text"]}}
"""

from __future__ import annotations

import json
import re
from os.path import dirname, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FILE = "vocabulary.json"
_SHARED = "*"
_ABOUT = "about"


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
