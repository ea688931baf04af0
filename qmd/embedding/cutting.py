"""Chunks of a text that fit a model's window, cut at the best break near their ends by qmd's rule.

Positions are characters. Every character after the frontmatter lies in a chunk, except white space that would be a
chunk of its own. Each exchange of a session is also a chunk: a question resembles a prompt and what came of it more
than it resembles a stretch of the work between both.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from core.document import bounds
from qmd.index import exchanges
from qmd.index.semantic import vectors
from qmd.index.semantic.spaces import EXCHANGE, PIECE
from qmd.vectors import chunking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Bump with any change that moves a cut: texts are then cut and embedded again.
VERSION = 2

# Tokens are counted in slabs of so many characters a token of a chunk; text that is denser is looked at again.
_SLAB = 64
# A gist may have so many times the tokens of a chunk: a model's window is larger than a chunk.
_LONGEST_GIST = 1.5


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
    """Return (start, end, kind) of each chunk: the pieces in order, then the exchanges.

    ``more`` are further places to cut.
    """
    found = bounds(text)
    position = found[2] if found else 0
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
    return pieces + _exchanges(text, tokenize, sizes)


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


def _exchanges(text: str, tokenize: Tokenize, sizes: Sizes) -> list[tuple[int, int, int]]:
    """Return the exchanges with a gist that the model reads at once, or nearly so."""
    return [
        (start, end, EXCHANGE)
        for start, end in exchanges.spans(text)
        if len(tokenize(vectors.chunk_text(text, start, end, EXCHANGE)).offsets) <= sizes.chunk * _LONGEST_GIST
    ]


def _blank(text: str, start: int, end: int) -> bool:
    return start >= end or text[start:end].isspace()
