"""Traces of edits: what an edit wrote and removed, as digests of its lines, by which a file shows what it still has.

Traces are cached in the index (``qmd/index/actions/edits.py``): reading the raw records of a session takes a tenth of a
second, and the digests hold no text that would have to be forgotten. A line's key says if the line is long enough to be
recognised; the space around a line does not count.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from core.redaction.mark import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.pipeline.edit_log import Change

# A change of how traces are made or stored makes the cached ones void.
_FORM = 1
# Pairs of lines, of all and of equal ones, up to which two texts are compared line by line: seconds for a text that
# repeats two lines a thousand times.
_MOST_PAIRS, _MOST_EQUAL = 1_000_000, 50_000
# Letters and digits of a line that tells one place from another.
_TELLING = 8


class Trace(NamedTuple):
    """One change: ``after`` are the keys of the lines after it, ``written`` the places of those that are its own,
    ``removed`` the keys of the lines that it took away. ``is_marked``: secrets in it are replaced by marks.
    """

    call: int
    at: str
    path: str
    is_whole: bool
    is_marked: bool
    spans: dict[str, Any]
    after: list[str]
    written: list[int]
    removed: list[str]


def key(line: str) -> str:
    """Return the key of a line: "" if it is blank, else its digest behind a plus if it tells a place, or a minus."""
    line = line.strip()
    if not line:
        return ""
    telling = sum(map(str.isalnum, line)) >= _TELLING
    return ("+" if telling else "-") + blake2b(line.encode("utf-8", "replace"), digest_size=8).hexdigest()


def is_telling(line_key: str) -> bool:
    """Return True if the line of a key is long enough to be recognised."""
    return line_key[:1] == "+"


def keys(text: str) -> list[str]:
    """Return the keys of a text's lines; a line ends as in any editor."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [key(line) for line in (lines[:-1] if lines and not lines[-1].strip() else lines)]


def trace(change: Change) -> Trace:
    """Return the trace of a change."""
    before, after = keys(change.before or ""), keys(change.after)
    written, removed = difference(before, after)
    marked = MARK in change.after
    return Trace(
        change.call, change.at, change.path, change.is_whole, marked, change.hashes(), after, written, removed
    )  # fmt: skip


def difference(before: Sequence[str], after: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return (places in ``after`` of the lines that are new, lines of ``before`` that are gone)."""
    most = min(len(before), len(after))
    first = 0
    while first < most and before[first] == after[first]:
        first += 1
    last = 0
    while last < most - first and before[-1 - last] == after[-1 - last]:
        last += 1
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if not old or not new or not is_comparable(old, new):
        return list(range(first, len(after) - last)), list(old)
    written: list[int] = []
    removed: list[str] = []
    for kind, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            written += range(first + start, first + end)
            removed += old[low:high]
    return written, removed


def is_comparable(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if two texts are short enough, and repeat few enough lines, to be compared line by line."""
    if len(one) * len(other) > _MOST_PAIRS:
        return False
    counts = Counter(other)
    return sum(counts[line] for line in one) <= _MOST_EQUAL


def packed(traces: Iterable[Trace]) -> bytes:
    """Return traces as they are cached."""
    return zlib.compress(json.dumps([_FORM, *traces], ensure_ascii=False).encode("utf-8", "surrogatepass"), 3)


def unpacked(data: bytes) -> list[Trace] | None:
    """Return cached traces, None if they are of another form or damaged."""
    try:
        form, *rows = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
        return [Trace(*row) for row in rows] if form == _FORM else None
    except (zlib.error, ValueError, TypeError):
        return None
