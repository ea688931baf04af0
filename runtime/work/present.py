"""A file as it is now, and what it still has of the text that an edit wrote.

Lines are compared without the space around them: tools that replace a block indent it as they see fit. A short line
such as ``}`` proves nothing alone; it counts as part of a block whose other lines are there.
"""

from __future__ import annotations

import os
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from core.files import read_or_none
from core.redaction import clean as redacted
from core.redaction.mark import MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.pipeline.edit_log import Change

UNCHANGED, CHANGED, GONE = "unchanged", "changed since", "gone"
# Bytes of a file in which spans are looked for.
LARGEST = 4 << 20
# Two texts with more pairs of lines are compared by the lines that both have once.
_MOST_PAIRS = 1_000_000
# Letters and digits of a line that tells one place from another.
_TELLING = 8
# Places of one block: a text that is repeated more often is no mark of an edit.
_MOST_PLACES = 20


class Found(NamedTuple):
    """What a file has of one change: ``lines`` (from 1) that it wrote, ``kept`` of ``written`` lines that tell."""

    state: str
    lines: list[int]
    kept: int
    written: int


class Present:
    """A file of this machine; ``lines`` is None if there is none, or it is too large or binary."""

    def __init__(self, path: str) -> None:
        self.lines: list[str] | None = None
        self._text = ""
        try:
            is_small = path.startswith("/") and os.stat(path).st_size <= LARGEST
            data = read_or_none(path) if is_small else None
        except (OSError, ValueError):
            data = None
        if data is not None and b"\0" not in data[:8192]:
            self._text = data.decode("utf-8", "replace")
            self.lines = stripped(self._text)
        self._places: dict[str, list[int]] | None = None
        self._is_redacted = False

    def look(self, change: Change) -> Found | None:
        """Return what the file has of a change; None if there is no file, or the change says nothing of its text."""
        if self.lines is None:
            return None
        if MARK in change.after and not self._is_redacted:
            # The log has marks in place of secrets: so must the file.
            self._is_redacted = True
            self.lines, self._places = stripped(redacted(self._text, {})), None
        after, changed, removed = difference(change)
        if not changed:
            return self._without(removed)
        found = self._found(after, changed)
        telling = [place for place in changed if is_telling(after[place])]
        telling = telling or [place for place in changed if after[place]]
        if not telling:
            return None
        kept = sum(place in found for place in telling)
        state = UNCHANGED if kept == len(telling) else CHANGED if kept else GONE
        lines = sorted({line for place in found for line in found[place]}) if kept else []
        return Found(state, lines, kept, len(telling))

    def _without(self, removed: Sequence[str]) -> Found | None:
        """Return what became of a change that only removes: unchanged if the file has none of these lines."""
        telling = [line for line in removed if is_telling(line)]
        if not telling:
            return None
        back = sum(line in self._index() for line in telling)
        state = UNCHANGED if not back else GONE if back == len(telling) else CHANGED
        return Found(state, [], len(telling) - back, len(telling))

    def _found(self, after: Sequence[str], changed: Sequence[int]) -> dict[int, list[int]]:
        """Return place in ``after`` → lines of the file, for the changed places that the file still has."""
        starts = self._block(after)
        if starts:
            return {place: [start + place + 1 for start in starts] for place in changed}
        matched: dict[int, list[int]] = {}
        index = self._index()
        for first, place, count in self._runs(after):
            telling = [after[place + step] for step in range(count) if is_telling(after[place + step])]
            # A run is proof if it has a line that the file has once, or three lines of which one tells the place.
            if any(len(index[line]) == 1 for line in telling) or (telling and count >= 3):
                matched.update({place + step: [first + step + 1] for step in range(count)})
        return {place: matched[place] for place in changed if place in matched}

    def _block(self, after: Sequence[str]) -> list[int]:
        """Return where (from 0) the file has all of a text; nothing if that could be by chance."""
        lines, index = self.lines or [], self._index()
        anchors = [place for place, line in enumerate(after) if is_telling(line)]
        if not anchors:
            return []
        anchor = min(anchors, key=lambda place: len(index.get(after[place], ())))
        block = list(after)
        starts = [line - anchor for line in index.get(after[anchor], ())[: 10 * _MOST_PLACES] if line >= anchor]
        found = [start for start in starts if lines[start : start + len(block)] == block]
        return found if len(found) <= _MOST_PLACES else []

    def _runs(self, after: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return (line of the file, place in ``after``, number of lines) of the runs that both have, from 0."""
        lines, index = self.lines or [], self._index()
        if len(lines) * len(after) <= _MOST_PAIRS:
            blocks = SequenceMatcher(None, lines, after, autojunk=False).get_matching_blocks()
            return [(block.a, block.b, block.size) for block in blocks if block.size]
        counts: dict[str, int] = {}
        for line in after:
            counts[line] = counts.get(line, 0) + 1
        runs: list[tuple[int, int, int]] = []
        for place, line in enumerate(after):
            where = index.get(line, ())
            if len(where) != 1 or counts[line] != 1:
                continue
            number = where[0]
            if runs and 0 <= place - runs[-1][1] < runs[-1][2] and number - runs[-1][0] == place - runs[-1][1]:
                continue
            # From a line that both have once, as far as both go on alike.
            first = 0
            while min(number, place) > first and lines[number - first - 1] == after[place - first - 1]:
                first += 1
            end = 1
            while number + end < len(lines) and place + end < len(after) and lines[number + end] == after[place + end]:
                end += 1
            runs.append((number - first, place - first, first + end))
        return runs

    def _index(self) -> dict[str, list[int]]:
        if self._places is None:
            self._places = {}
            for number, line in enumerate(self.lines or ()):
                self._places.setdefault(line, []).append(number)
        return self._places


def stripped(text: str) -> list[str]:
    """Return the lines of a text without the space around them; a line ends as in any editor."""
    lines = [line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def difference(change: Change) -> tuple[list[str], list[int], list[str]]:
    """Return (lines after a change, places of those that it wrote, lines that it removed)."""
    before, after = stripped(change.before or ""), stripped(change.after)
    most = min(len(before), len(after))
    first = 0
    while first < most and before[first] == after[first]:
        first += 1
    last = 0
    while last < most - first and before[-1 - last] == after[-1 - last]:
        last += 1
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if not old or not new or len(old) * len(new) > _MOST_PAIRS:
        return after, list(range(first, len(after) - last)), old
    written: list[int] = []
    removed: list[str] = []
    for kind, low, high, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            written += range(first + start, first + end)
            removed += old[low:high]
    return after, written, removed


def is_telling(line: str) -> bool:
    """Return True if a line is long enough to be recognised."""
    return sum(map(str.isalnum, line)) >= _TELLING


def ranges(lines: Sequence[int]) -> list[list[int]]:
    """Return sorted numbers as [first, last] of each run."""
    found: list[list[int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found
