"""A text that counts how much of it is looked at: what takes time in proportion to the text looks at it a few times."""

from __future__ import annotations

from typing import Any, SupportsIndex


class Scanned(str):
    """``looked[0]`` counts characters that were searched, copied or counted, in it and in what was cut out of it."""

    looked: list[int]

    def __new__(cls, text: str, looked: list[int] | None = None) -> Scanned:
        made = super().__new__(cls, text)
        made.looked = [0] if looked is None else looked
        return made

    def _part(self, text: str) -> Scanned:
        self.looked[0] += len(text)
        return Scanned(text, self.looked)

    def __contains__(self, key: Any) -> bool:
        return self.find(key) >= 0

    def __getitem__(self, key: Any) -> Scanned:
        return self._part(super().__getitem__(key))

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        found = super().find(sub, start, end)
        self.looked[0] += (min(len(self), len(self) if end is None else end) if found < 0 else found + len(sub)) - start
        return found

    def count(self, sub: str, start: Any = 0, end: Any = None) -> int:
        self.looked[0] += len(self) - start
        return super().count(sub, start, end)

    def partition(self, sep: str) -> Any:
        return tuple(self._part(part) for part in super().partition(sep))

    def splitlines(self, keepends: bool = False) -> Any:
        return [self._part(line) for line in super().splitlines(keepends)]

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> Any:
        return [self._part(part) for part in super().split(sep, maxsplit)]
