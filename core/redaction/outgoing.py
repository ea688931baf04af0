"""Texts that leave this machine: without secrets and private spans, also where a chunk has a part of one."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from core.redaction import clean
from core.redaction.mark import MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Sent for a text of which nothing may leave: endpoints refuse empty ones.
NOTHING = f"{MARK}private]"
_END = float("inf")


def outgoing(text: str) -> str:
    """Return ``text`` as it may be sent."""
    cleaned = clean(text, {})
    return text if cleaned == text else cleaned if cleaned.strip() else NOTHING


class Outgoing:
    """A document as it may be sent, asked for by the places that its pieces have in the document itself.

    It is cleaned as a whole, since a private span may begin in one chunk and end in another, and a secret may lie in
    both. Each answer is a piece of the clean text. In a changed stretch, the place of a cut is as near as the lines
    that both texts share allow.
    """

    __slots__ = ("_anchors", "_clean", "_common", "_text")

    def __init__(self, text: str, cleaned: str | None = None) -> None:
        """``cleaned`` is the text as a whole, where another has cleaned it."""
        self._text = text
        self._clean = clean(text, {}) if cleaned is None else cleaned
        self._anchors = [(0, 0), (len(text), len(text))] if self._clean == text else _anchors(text, self._clean)
        # Number of a stretch between two anchors → how much of its beginning and of its end is unchanged.
        self._common: dict[int, tuple[int, int]] = {}

    def piece(self, start: int, end: int) -> str:
        """Return ``text[start:end]`` as it may be sent."""
        found = self._clean[self._place(start) : self._place(end)]
        return found if found.strip() else NOTHING

    def _place(self, position: int) -> int:
        """Return where a position of the text lies in the clean one."""
        index = min(bisect_right(self._anchors, (position, _END)), len(self._anchors) - 1) - 1
        (start, begin), (end, stop) = self._anchors[index : index + 2]
        if index not in self._common:
            self._common[index] = _common(self._text[start:end], self._clean[begin:stop])
        head, tail = self._common[index]
        if position <= start + head:
            return begin + position - start
        if position >= end - tail:
            return stop - (end - position)
        old, new = end - start - head - tail, stop - begin - head - tail
        return begin + head + (position - start - head) * new // old


def _anchors(text: str, cleaned: str) -> list[tuple[int, int]]:
    """Return (position in the text, position in the clean one) of each line that both have once, between both ends."""
    places = dict(_once(cleaned))
    found = [(0, 0)]
    for line, at in _once(text):
        place = places.get(line, -1)
        if at > found[-1][0] and place > found[-1][1]:
            found.append((at, place))
    return [*found, (len(text), len(cleaned))]


def _once(text: str) -> Iterator[tuple[str, int]]:
    """Yield the lines that a text has once, and where."""
    lines = text.splitlines(keepends=True)
    counts = Counter(lines)
    at = 0
    for line in lines:
        if counts[line] == 1:
            yield line, at
        at += len(line)


def _common(old: str, new: str) -> tuple[int, int]:
    """Return how many characters two texts share at their beginning, and how many of the rest at their end."""
    most = min(len(old), len(new))
    head = _longest(most, lambda size: old.startswith(new[:size]))
    return head, _longest(most - head, lambda size: old.endswith(new[len(new) - size :]))


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """Return the largest size up to ``most`` that holds; every smaller size holds as well."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if holds(middle) else (low, middle - 1)
    return low
