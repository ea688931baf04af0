"""Cutting a document into passages of about 200 words, at line ends where there are any."""

from __future__ import annotations

import re
from array import array
from itertools import pairwise

from core import frontmatter
from qmd import cjk

WORDS = 200
_LONGEST_LINE = 300
# Text without spaces (minified code, CJK) counts a word every so many characters.
_CHARACTERS_A_WORD = 24

# A capital after a small letter (getUser), or the last of several before small ones (HTTPServer).
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|[A-Z][a-z][a-z])")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_IDENTIFIER = 100

# By character: bit 0 for what a hump's capital may follow, bits 1 and 3 for a capital.
_KINDS = bytes(0b1010 if chr(i).isupper() else int(chr(i).isalnum()) for i in range(128)) + bytes(128)


def cut(text: str) -> array[int]:
    """The passages' boundaries in ``text``, in characters: passage i is ``text[b[i]:b[i + 1]]``.

    Frontmatter belongs to no passage; a text of nothing else has none.
    """
    found = frontmatter.bounds(text)
    position = found[2] if found else 0
    bounds = array("I", [position])
    held = 0
    plain = not cjk.has_cjk(text)
    for line in text[position:].splitlines(keepends=True):
        length = len(line)
        dense = _CHARACTERS_A_WORD if plain else _characters_a_word(line)
        words = line.count(" ") + 1
        if length > words * dense:
            words = length // dense
        if held and held + words > WORDS:
            bounds.append(position)
            held = 0
        if words > _LONGEST_LINE:
            starts = _pieces(line, dense)
            bounds.extend(position + start for start in starts)
            last = starts[-1] if starts else 0
            words = max(line.count(" ", last) + 1, (length - last) // dense)
        held += words
        position += length
    if position > bounds[-1]:
        bounds.append(position)
    return bounds if len(bounds) > 1 else array("I")


def bodies(text: str, bounds: array[int]) -> list[str]:
    """The passages' texts."""
    return [text[start:end] for start, end in pairwise(bounds)]


def inner_words(text: str) -> str:
    """The words inside camel-case identifiers, which FTS5's tokenizer keeps whole: getUserName → get User Name."""
    if not _may_have_humps(text):
        return ""
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


def _may_have_humps(text: str) -> bool:
    """Whether any capital follows a letter or a digit at once, in half the time of a regular expression.

    The text is a number whose bytes are its characters' kinds. A kind's bits 0, 1 and 3 fall, moved by 7, upon bits 1,
    2 and 4 of the next byte and, moved by 6, upon 2, 3 and 5; kinds have no others than 0, 1 and 3, so that a bit is
    left only where 0 falls upon 1 (a small letter or a digit, then a capital) or 1 upon 3 (two capitals).
    """
    kinds = int.from_bytes(text.encode("latin-1", "replace").translate(_KINDS), "big")
    return bool(kinds & (kinds >> 7 | kinds >> 6))


def _characters_a_word(line: str) -> int:
    """How many characters of a line without spaces are worth a word: two where all are CJK, each a token of its own."""
    share = cjk.count(line) / len(line)
    return max(2, min(_CHARACTERS_A_WORD, int(2 / share))) if share else _CHARACTERS_A_WORD


def _pieces(line: str, dense: int) -> list[int]:
    """Where a line longer than a passage is cut: after every 200th word, or by force where there are no spaces."""
    starts: list[int] = []
    position = 0
    longest = WORDS * dense
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
