"""Chunks of a text that fit a model's window, cut at the best break near their ends by qmd's rule.

Positions are characters. Every character after the frontmatter lies in a chunk, except white space that would be a
chunk of its own. A numbered section (``## [3] …``: a turn of a conversation) that shares its chunk with others is also
a chunk of its own: one turn drowns in a vector of ten.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from core import frontmatter
from qmd.index.spaces import PIECE, SECTION
from qmd.vectors import chunking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Bump with any change that moves a cut: texts are then cut and embedded again.
VERSION = 1

# Tokens are counted in slabs of so many characters a token of a chunk; text that is denser is looked at again.
_SLAB = 64
_NUMBERED = re.compile(r"^## \[\d+\][^\n]*\n?", re.MULTILINE)


class Tokens(NamedTuple):
    """The tokens of a text: the place of each, in characters, and the number of the word that it belongs to."""

    offsets: Sequence[tuple[int, int]]
    words: Sequence[int | None]


Tokenize: TypeAlias = "Callable[[str], Tokens]"


class Sizes(NamedTuple):
    """In tokens: the longest chunk, how much it repeats of the one before, and how far back its end may move."""

    chunk: int
    overlap: int
    window: int


class Spans:
    """Where ``count`` tokens from a position end, for a text that is never tokenized whole: it may be 1 GB."""

    def __init__(self, text: str, tokenize: Tokenize, sizes: Sizes) -> None:
        self._text = text
        self._tokenize = tokenize
        self._longest = sizes.chunk * _SLAB
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._words: list[int | None] = []
        self._slab = (0, 0)

    def ahead(self, position: int, count: int) -> int:
        """Return the last position, at a word's end, with at most ``count`` tokens after ``position``."""
        index = self._index(position, count)
        last = index + count
        if last >= len(self._starts):
            # All that is left fits: to the end of the text, or of what could be looked at (white space, a giant word).
            return self._slab[1]
        cut = last
        while cut > index and self._words[cut] is not None and self._words[cut] == self._words[cut - 1]:
            cut -= 1
        return self._starts[cut if cut > index else last]

    def back(self, position: int, count: int, floor: int) -> int:
        """Return the first position, at a word's start, from which at most ``count`` tokens lead up to ``position``.

        Never before ``floor``, which lies in what ``ahead`` looked at last.
        """
        end = bisect_right(self._ends, position)
        begin = max(end - count, bisect_left(self._starts, floor))
        while 0 < begin < end and self._words[begin] is not None and self._words[begin] == self._words[begin - 1]:
            begin += 1
        return self._starts[begin] if begin < end else position

    def fits(self, start: int, end: int, count: int) -> bool:
        """Return True if a stretch has at most ``count`` tokens."""
        return end - start <= self._longest and len(self._tokenize(self._text[start:end]).offsets) <= count

    def _index(self, position: int, count: int) -> int:
        """Return the first token at or after ``position``, with ``count`` more after it if the text has them."""
        start, end = self._slab
        index = bisect_left(self._starts, position)
        if start <= position < end and (index + count < len(self._starts) or end == len(self._text)):
            return index
        end = min(position + self._longest, len(self._text))
        found = self._tokenize(self._text[position:end])
        starts = [position + offset for offset, _ in found.offsets]
        ends = [position + offset for _, offset in found.offsets]
        words = list(found.words)
        if end < len(self._text):
            # The last word may go on behind the slab.
            whole = len(words)
            while whole and words[whole - 1] is not None and words[whole - 1] == words[-1]:
                whole -= 1
            if whole:
                end = starts[whole]
                del starts[whole:], ends[whole:], words[whole:]
        self._starts, self._ends, self._words, self._slab = starts, ends, words, (position, end)
        return 0


def cut(text: str, tokenize: Tokenize, sizes: Sizes, more: Sequence[chunking.Break] = ()) -> list[tuple[int, int, int]]:
    """Return (start, end, kind) of each chunk: the pieces in order, then the sections.

    ``more`` are further places to cut.
    """
    found = frontmatter.bounds(text)
    position = begin = found[2] if found else 0
    places = _places(text, more)
    spans = Spans(text, tokenize, sizes)
    pieces: list[tuple[int, int, int]] = []
    while position < len(text):
        end = spans.ahead(position, sizes.chunk)
        if end < len(text):
            earliest = spans.back(end, sizes.window, position)
            if earliest < end:
                best = chunking.cutoff(places, end, end - earliest)
                end = best if best > position else end
        if not _blank(text, position, end):
            pieces.append((position, end, PIECE))
        if end >= len(text):
            break
        position = max(spans.back(end, sizes.overlap, position + 1), position + 1) if sizes.overlap else end
    return pieces + _sections(text, begin, pieces, spans, sizes)


def _places(text: str, more: Sequence[chunking.Break]) -> list[chunking.Break]:
    """Return where the text may be cut, in characters, except inside code fences."""
    found = chunking.merged(chunking.breaks_at(text), more)
    kept: list[chunking.Break] = []
    fences = iter(chunking.fences_at(text))
    fence = next(fences, None)
    for place in found:
        while fence is not None and fence[1] <= place.pos:
            fence = next(fences, None)
        if fence is None or place.pos <= fence[0]:
            kept.append(place)
    return kept


def _sections(
    text: str, begin: int, pieces: Sequence[tuple[int, int, int]], spans: Spans, sizes: Sizes
) -> list[tuple[int, int, int]]:
    heads = [match.span() for match in _NUMBERED.finditer(text, begin)]
    starts = [start for start, _, _ in pieces]
    result = []
    for number, (head, start) in enumerate(heads):
        end = heads[number + 1][0] if number + 1 < len(heads) else len(text)
        if _blank(text, start, end) or not spans.fits(start, end, sizes.chunk):
            continue  # a section of several chunks has them to itself
        if not _alone(text, head, end, pieces[max(0, bisect_right(starts, head) - 1)]):
            result.append((start, end, SECTION))
    return result


def _alone(text: str, start: int, end: int, piece: tuple[int, int, int]) -> bool:
    """Return True if a piece holds the whole of a section and nothing else."""
    first, last, _ = piece
    holds = first <= start and (end <= last or _blank(text, last, end))
    return holds and _blank(text, first, start) and _blank(text, end, last)


def _blank(text: str, start: int, end: int) -> bool:
    return start >= end or text[start:end].isspace()
