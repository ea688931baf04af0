"""What the index derives of a document's text: its title, dates and fields, and its passages.

A title is chosen by qmd's rules. Dates and fields are of the frontmatter; filters test them. Passages have about 200
words, cut at line ends where there are any.
"""

from __future__ import annotations

import re
from array import array
from functools import lru_cache
from itertools import pairwise, takewhile
from posixpath import basename, splitext
from typing import TYPE_CHECKING, Any

import apsw

from core import clock, document
from qmd.index import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_FIELDS = 64
_MAX_TEXT = 2000
_MAX_HEAD = 65_536

WORDS = 200
_LONGEST_LINE = 300
# Text without spaces (minified code, CJK) counts a word every so many characters.
_CHARACTERS_A_WORD = 24

# The parts of an identifier, how long it may be, and what it ends before.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_IDENTIFIER = 100
_BEYOND = re.compile(r"[\W_]")

# By character what it is in a hump: a capital, a small letter, a digit, or nothing.
_KINDS = b" " * 48 + b"0" * 10 + b" " * 7 + b"A" * 26 + b" " * 6 + b"a" * 26 + b" " * 133
# A hump's capital comes after a small letter or a digit (getUser), or is the last of several before small ones
# (HTTPServer). The pattern begins with it, as what is looked for fast.
_BEFORE, _LAST = b"a0", b"AAaa"
_HUMP = re.compile(rb"A(?:(?<=[a0]A)|(?=Aaa))")


class Facts:
    """``date`` and ``ended`` in epoch seconds; ``dated`` is False where they are the file's mtime.

    ``body``: where the frontmatter has ended, in characters. ``may_tell_work``: ``qmd.index.actions`` may find an
    action in the text.
    """

    __slots__ = ("body", "date", "dated", "ended", "fields", "may_tell_work")

    def __init__(
        self, date: int, ended: int, dated: bool, fields: dict[str, Any], body: int, may_tell_work: bool
    ) -> None:
        self.date, self.ended, self.dated, self.fields = date, ended, dated, fields
        self.body, self.may_tell_work = body, may_tell_work

    def packed(self) -> bytes:
        """Return the fields as JSONB, as ``brain_facts.fields`` stores them."""
        return apsw.jsonb_encode(self.fields)


def read(text: str, mtime: int) -> Facts:
    """Return the facts of a markdown text; ``mtime`` (epoch seconds) is the date if the text names none."""
    meta: dict[str, Any] = {}
    found = document.bounds(text)
    if found is not None and found[1] - found[0] <= _MAX_HEAD:
        meta = document.fields(text[found[0] : found[1]]) or {}
    start = clock.first_written(meta.get("date"), meta.get("created"))
    end = clock.first_written(meta.get("ended"), meta.get("updated"))
    fields = {str(key)[:100]: kept for key, value in meta.items() if (kept := _plain(value)) is not None}
    fields = dict(list(fields.items())[:_MAX_FIELDS])
    # `date_source: mtime` marks a date that is the file's, not the document's own: it still orders, but does not date.
    dated = (start is not None or end is not None) and fields.get("date_source") != "mtime"
    first = start if start is not None else end if end is not None else mtime
    last = end if end is not None else first
    body = found[2] if found else 0
    # A session without a list below its frontmatter has run nothing.
    may_tell_work = text.find("\n- ", body) >= 0 or "distiller" in fields or "type" in fields
    return Facts(first, max(first, last), dated, fields, body, may_tell_work)


def _plain(value: Any) -> Any:
    """Scalars and flat lists of them; anything nested (or an alias bomb) is not a field to filter by."""
    if isinstance(value, bool | int):
        if abs(int(value)) < 2**63:
            return value
        # Python refuses to print the longest ones in decimal (sys.set_int_max_str_digits).
        return (str(value) if value.bit_length() < 10_000 else hex(value))[:_MAX_TEXT]
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, str):
        return value[:_MAX_TEXT].encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_plain(item) for item in value[:_MAX_FIELDS] if isinstance(item, str | int | float)]
    return None


_HEADING = re.compile(r"^##?\s+(.+)$", re.MULTILINE)
_SECOND = re.compile(r"^##\s+(.+)$", re.MULTILINE)
_ORG_TITLE = re.compile(r"^#\+TITLE:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_ORG_HEADING = re.compile(r"^\*+\s+(.+)$", re.MULTILINE)


def title(text: str, path: str) -> str:
    """Return the first heading of a markdown or org text, else the file name's stem.

    A first heading "Notes" gives way to the first second-level heading. Headings inside fences count.
    """
    name = basename(path)
    extension = splitext(name)[1].lower()
    found = ""
    if extension == ".md":
        match = _HEADING.search(text)
        found = match.group(1).strip() if match else ""
        if found in ("Notes", "📝 Notes"):
            second = _SECOND.search(text)
            found = second.group(1).strip() if second else found
    elif extension == ".org":
        match = _ORG_TITLE.search(text) or _ORG_HEADING.search(text)
        found = match.group(1).strip() if match else ""
    return found or (splitext(name)[0] if "." in name[1:] else name)


def cut(text: str, spaced: bool | None = None, body: int | None = None) -> array[int]:
    """Return the passages' boundaries in ``text``, in characters: passage i is ``text[b[i]:b[i + 1]]``.

    Frontmatter belongs to no passage; a text of nothing else has none. ``spaced`` is ``terms.has_cjk`` of the text,
    ``body`` is ``Facts.body``.
    """
    if body is None:
        found = document.bounds(text)
        body = found[2] if found else 0
    position = body
    bounds = array("I", [position])
    held = 0
    plain = not (terms.has_cjk(text) if spaced is None else spaced)
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
    """Return the passages' texts."""
    return [text[start:end] for start, end in pairwise(bounds)]


def split(text: str, body: int | None = None) -> tuple[array[int], Iterable[str], list[str]]:
    """Return a text's passages: their boundaries; then, of each, its searchable form and its ``inner_words``."""
    spaced = terms.has_cjk(text)
    bounds = cut(text, spaced, body)
    return bounds, *searchable(text, bounds, spaced)


def searchable(text: str, bounds: array[int], spaced: bool) -> tuple[Iterable[str], list[str]]:
    """Return of each passage its searchable form and its ``inner_words``; ``spaced`` as for ``cut``."""
    found = bodies(text, bounds)
    return map(terms.spaced_out, found) if spaced else found, inner_words_of(text, bounds)


def same_passages(text: str, bounds: Sequence[int], other: str, others: Sequence[int]) -> int:
    """Return how many equal passages two texts begin with."""
    pairs = zip(pairwise(bounds), pairwise(others), strict=False)
    equal = (text[start:end] == other[first:last] for (start, end), (first, last) in pairs)
    return sum(1 for _ in takewhile(bool, equal))


def inner_words(text: str) -> str:
    """Return the words inside camel-case identifiers, which FTS5 keeps whole: getUserName → get User Name."""
    return inner_words_of(text, array("I", (0, len(text))))[0]


def inner_words_of(text: str, bounds: array[int]) -> list[str]:
    """Return ``inner_words`` of each of a text's passages, in one pass: pass by pass takes half as long again."""
    found: list[list[str]] = [[] for _ in bounds[1:]]
    if not found:
        return []
    kinds = text.encode("latin-1", "replace").translate(_KINDS)
    passage = end = 0
    for hump in _HUMP.finditer(kinds, bounds[0]):
        capital = hump.start()
        if capital < end:
            continue
        while capital >= bounds[passage + 1]:
            passage += 1
        first, last = bounds[passage], bounds[passage + 1]
        # The letters that decide may be in the passage before, or in the next.
        least = capital + 1 if capital > first and kinds[capital - 1] in _BEFORE else capital + len(_LAST)
        if least > last or (least > capital + 1 and not kinds.startswith(_LAST, capital)):
            continue
        start = capital
        while start > first and start > end and text[start - 1].isalnum() and capital - start < _MAX_IDENTIFIER:
            start -= 1
        stop = min(last, max(least, start + _MAX_IDENTIFIER))
        beyond = _BEYOND.search(text, least, stop)
        end = beyond.start() if beyond else stop
        found[passage].append(_parts(text[start:end]))
    return list(map(" ".join, found))


@lru_cache(4096)
def _parts(identifier: str) -> str:
    return " ".join(_PART.findall(identifier))


def _characters_a_word(line: str) -> int:
    """Return how many characters of a line without spaces count as a word: two if all are CJK."""
    share = terms.count_cjk(line) / len(line)
    return max(2, min(_CHARACTERS_A_WORD, int(2 / share))) if share else _CHARACTERS_A_WORD


def _pieces(line: str, dense: int) -> list[int]:
    """Return the cuts of a line longer than a passage: after every 200th word, or by force without spaces."""
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
