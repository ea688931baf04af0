"""Cutting a document into passages of about 200 words, at line ends where there are any."""

from __future__ import annotations

import re
from array import array
from itertools import pairwise

WORDS = 200
_LONGEST_LINE = 300
# Text without spaces (minified code, CJK) counts a word every so many characters.
_CHARACTERS_A_WORD = 24

# A capital after a small letter (getUser), or the last of several before small ones (HTTPServer).
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|[A-Z][a-z][a-z])")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_IDENTIFIER = 100


def cut(text: str) -> array[int]:
    """The passages' boundaries in ``text``, in characters: passage i is ``text[b[i]:b[i + 1]]``.

    Frontmatter belongs to no passage; a text of nothing else has none.
    """
    position = _after_frontmatter(text)
    bounds = array("I", [position])
    held = 0
    for line in text[position:].splitlines(keepends=True):
        words = max(line.count(" ") + 1, len(line) // _CHARACTERS_A_WORD)
        if held and held + words > WORDS:
            bounds.append(position)
            held = 0
        if words > _LONGEST_LINE:
            starts = _pieces(line)
            bounds.extend(position + start for start in starts)
            last = starts[-1] if starts else 0
            words = max(line.count(" ", last) + 1, (len(line) - last) // _CHARACTERS_A_WORD)
        held += words
        position += len(line)
    if position > bounds[-1]:
        bounds.append(position)
    return bounds if len(bounds) > 1 else array("I")


def bodies(text: str, bounds: array[int]) -> list[str]:
    """The passages' texts."""
    return [text[start:end] for start, end in pairwise(bounds)]


def inner_words(text: str) -> str:
    """The words inside camel-case identifiers, which FTS5's tokenizer keeps whole: getUserName → get User Name."""
    found: list[str] = []
    end = 0
    for match in _HUMP.finditer(text):
        if match.start() < end:
            continue
        start = match.start()
        while start > end and text[start - 1].isalnum() and match.start() - start < _MAX_IDENTIFIER:
            start -= 1
        end = match.end()
        while end < len(text) and text[end].isalnum() and end - start < _MAX_IDENTIFIER:
            end += 1
        found.extend(_PART.findall(text[start:end]))
    return " ".join(found)


def _pieces(line: str) -> list[int]:
    """Where a line longer than a passage is cut: after every 200th word, or by force where there are no spaces."""
    starts: list[int] = []
    position = 0
    longest = WORDS * _CHARACTERS_A_WORD
    while len(line) - position > longest // 4 or line.count(" ", position) > _LONGEST_LINE:
        cut = position
        for _ in range(WORDS):
            following = line.find(" ", cut, position + longest) + 1
            if not following:
                break
            cut = following
        else:
            starts.append(cut)
            position = cut
            continue
        position = min(position + longest, len(line))
        if position < len(line):
            starts.append(position)
    return starts


def _after_frontmatter(text: str) -> int:
    if not text.startswith("---\n"):
        return 0
    end = text.find("\n---\n", 3)
    return end + 5 if end >= 0 else 0
