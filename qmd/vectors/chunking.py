"""Cutting a document into overlapping chunks at the best break near their ends, by qmd 2.8.3's rules.

Positions are UTF-16 units, as in ``content_vectors.pos``. Pure functions; no model is asked.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK_CHARS = 3600
OVERLAP_CHARS = 540
WINDOW_CHARS = 800
_DECAY = 0.7

# Where a text may be cut, how good the place is, and what it is called. Headings before blank lines before newlines.
_BREAKS = (
    (re.compile(r"\n#(?!#)"), 100, "h1"),
    (re.compile(r"\n##(?!#)"), 90, "h2"),
    (re.compile(r"\n###(?!#)"), 80, "h3"),
    (re.compile(r"\n####(?!#)"), 70, "h4"),
    (re.compile(r"\n#####(?!#)"), 60, "h5"),
    (re.compile(r"\n######(?!#)"), 50, "h6"),
    (re.compile(r"\n```"), 80, "codeblock"),
    (re.compile(r"\n(?:---|\*\*\*|___)\s*\n"), 60, "hr"),
    (re.compile(r"\n\n+"), 20, "blank"),
    (re.compile(r"\n[-*]\s"), 5, "list"),
    (re.compile(r"\n[0-9]+\.\s"), 5, "numlist"),
    (re.compile(r"\n"), 1, "newline"),
)


class Break(NamedTuple):
    """A place to cut: before position ``pos``."""

    pos: int
    score: int
    kind: str


class Chunk(NamedTuple):
    """A piece of a text that begins at ``pos``."""

    text: str
    pos: int


Fence = tuple[int, int]


def breaks(text: str) -> list[Break]:
    """Return the places where ``text`` may be cut, in order; of several at one position the best."""
    return breaks_at(_Units(text).searchable())


def fences(text: str) -> list[Fence]:
    """Return (start, end) of each fenced code block; a block that nothing closes runs to the end."""
    return fences_at(_Units(text).searchable())


def cutoff(
    places: list[Break],
    target: int,
    window: int = WINDOW_CHARS,
    decay: float = _DECAY,
    closed: list[Fence] | None = None,
) -> int:
    """Return the best place to cut in the ``window`` before ``target``, nearer ones preferred, never inside a fence."""
    best, score = target, -1.0
    for place in places[bisect_left(places, (target - window,)) :]:
        if place.pos > target:
            break
        if any(start < place.pos < end for start, end in closed or ()):
            continue
        away = (target - place.pos) / window
        rated = place.score * (1.0 - away * away * decay)
        if rated > score:
            best, score = place.pos, rated
    return best


def chunk(
    text: str,
    size: int = CHUNK_CHARS,
    overlap: int = OVERLAP_CHARS,
    window: int = WINDOW_CHARS,
    more: Sequence[Break] = (),
) -> list[Chunk]:
    """Return ``text`` in chunks of at most ``size`` units that overlap by ``overlap``; at least one, however short.

    ``more`` are further places to cut, in characters.
    """
    units = _Units(text)
    if units.length <= size:
        return [Chunk(text, 0)]
    searchable = units.searchable()
    places, closed = merged(breaks_at(searchable), units.places(more)), fences_at(searchable)
    chunks: list[Chunk] = []
    position = 0
    while position < units.length:
        target = min(position + size, units.length)
        end = target
        if end < units.length:
            best = cutoff(places, target, window, _DECAY, closed)
            if position < best <= target:
                end = best
        end = units.whole(end, position)
        chunks.append(Chunk(units.cut(position, end), position))
        if end >= units.length:
            break
        start, position = position, end - overlap
        if position <= start:
            position = end
        position = units.whole(position, start)
    return chunks


class _Units:
    """A text addressed in UTF-16 units."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Positions of both kinds are the same unless some character takes two units.
        self._raw = None if text.isascii() or max(text) < "\U00010000" else text.encode("utf-16-le")
        self.length = len(text) if self._raw is None else len(self._raw) // 2

    def cut(self, start: int, end: int) -> str:
        if self._raw is None:
            return self.text[start:end]
        return self._raw[2 * start : 2 * end].decode("utf-16-le", "replace")

    def whole(self, position: int, floor: int) -> int:
        """Return ``position``, moved by one if it would split a surrogate pair: back, unless that is at ``floor``."""
        if self._raw is None or not 0 < position < self.length:
            return position
        if not (_is_high(self._raw, position - 1) and _is_low(self._raw, position)):
            return position
        return position - 1 if position - 1 > floor else position + 1

    def places(self, found: Sequence[Break]) -> list[Break]:
        """Ascending places in characters, in units."""
        if self._raw is None:
            return list(found)
        moved = []
        last = unit = 0
        for place in found:
            unit += len(self.text[last : place.pos].encode("utf-16-le")) // 2
            last = place.pos
            moved.append(place._replace(pos=unit))
        return moved

    def searchable(self) -> str:
        """Return a text of one character per unit, in which line ends, marks and digits keep their places."""
        if self._raw is None:
            return self.text
        return "".join(map(chr, memoryview(self._raw).cast("H")))


def breaks_at(text: str) -> list[Break]:
    """Return ``breaks``, in characters."""
    found: dict[int, Break] = {}
    for pattern, score, kind in _BREAKS:
        for match in pattern.finditer(text):
            known = found.get(match.start())
            if known is None or score > known.score:
                found[match.start()] = Break(match.start(), score, kind)
    return sorted(found.values())


def merged(places: list[Break], more: Sequence[Break]) -> list[Break]:
    """Both in order; of two at one position the better, of two alike the former."""
    if not more:
        return places
    found = {place.pos: place for place in places}
    for place in more:
        known = found.get(place.pos)
        if known is None or place.score > known.score:
            found[place.pos] = place
    return sorted(found.values())


def fences_at(text: str) -> list[Fence]:
    """Return ``fences``, in characters."""
    marks = [match.span() for match in re.finditer(r"\n```", text)]
    found = [(opening[0], closing[1]) for opening, closing in zip(marks[::2], marks[1::2], strict=False)]
    if len(marks) % 2:
        found.append((marks[-1][0], len(text)))
    return found


def _is_high(raw: bytes, position: int) -> bool:
    return 0xD8 <= raw[2 * position + 1] <= 0xDB


def _is_low(raw: bytes, position: int) -> bool:
    return 0xDC <= raw[2 * position + 1] <= 0xDF
