"""A file as it is now, and what it still has of the text that an edit wrote.

Lines are compared by their keys (``runtime.work.traces``). A short line such as ``}`` proves nothing alone; it counts
as part of a block whose other lines are there.
"""

from __future__ import annotations

import os
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from core.files import read_or_none
from core.redaction import clean as redacted
from runtime.work.traces import is_comparable, is_telling, keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime.work.traces import Trace

UNCHANGED, CHANGED, GONE = "unchanged", "changed since", "gone"
# Bytes of a file in which spans are looked for.
LARGEST = 4 << 20
# Places of one block: a text that is repeated more often is no mark of an edit.
_MOST_PLACES = 20


class Found(NamedTuple):
    """State of one change of a file now: ``lines`` (from 1) that it wrote, how many telling lines are ``kept``, and
    the keys of those that are ``lost``.
    """

    state: str
    lines: list[int]
    kept: int
    lost: list[str]


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
            self.lines = keys(self._text)
        self._places: dict[str, list[int]] | None = None
        self._is_redacted = False

    def look(self, change: Trace) -> Found | None:
        """Return what the file has of a change; None if there is no file, or the change says nothing of its text."""
        if self.lines is None:
            return None
        if change.is_marked and not self._is_redacted:
            # The log has marks in place of secrets: so must the file.
            self._is_redacted = True
            self.lines, self._places = keys(redacted(self._text, {})), None
        after = change.after
        if not change.written:
            return self._without(change.removed)
        found = self._found(after, change.written)
        telling = [place for place in change.written if is_telling(after[place])]
        telling = telling or [place for place in change.written if after[place]]
        if not telling:
            return None
        lost = [after[place] for place in telling if place not in found]
        kept = len(telling) - len(lost)
        lines = sorted({line for place in found for line in found[place]}) if kept else []
        return Found(_state(kept, len(lost)), lines, kept, lost)

    def _without(self, removed: Sequence[str]) -> Found | None:
        """Return what became of a change that only removes: unchanged if the file has none of these lines."""
        telling = [line for line in removed if is_telling(line)]
        if not telling:
            return None
        back = [line for line in telling if line in self._index()]
        kept = len(telling) - len(back)
        return Found(_state(kept, len(back)), [], kept, back)

    def _found(self, after: list[str], changed: Sequence[int]) -> dict[int, list[int]]:
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

    def _block(self, after: list[str]) -> list[int]:
        """Return where (from 0) the file has all of a text; nothing if that could be by chance."""
        lines, index = self.lines or [], self._index()
        anchors = [place for place, line in enumerate(after) if is_telling(line)]
        if not anchors:
            return []
        anchor = min(anchors, key=lambda place: len(index.get(after[place], ())))
        starts = [line - anchor for line in index.get(after[anchor], ())[: 10 * _MOST_PLACES] if line >= anchor]
        found = [start for start in starts if lines[start : start + len(after)] == after]
        return found if len(found) <= _MOST_PLACES else []

    def _runs(self, after: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return (line of the file, place in ``after``, number of lines) of the runs that both have, from 0."""
        lines, index = self.lines or [], self._index()
        if is_comparable(lines, after):
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


def _state(kept: int, lost: int) -> str:
    return UNCHANGED if not lost else CHANGED if kept else GONE


def state(looked: Iterable[tuple[Trace, Found]]) -> str | None:
    """Return what became of all that a session wrote; None if that is unknown.

    ``looked`` are its changes, newest first. A line that the session took away again later is not missed.
    """
    taken: set[str] = set()
    kept = lost = 0
    is_all_new = False
    for change, found in looked:
        kept += found.kept
        lost += 0 if is_all_new else sum(each not in taken for each in found.lost)
        taken.update(change.removed)
        is_all_new = is_all_new or change.is_whole
    return _state(kept, lost) if kept or lost else None


def owners(looked: Sequence[tuple[Trace, Found]]) -> dict[int, int]:
    """Return line of the file → place in ``looked`` of the change that wrote it; ``looked`` is newest first.

    The newest change has a line. A whole file, written over one that is not known, has only what no other change has:
    most of its lines were there before.
    """
    found: dict[int, int] = {}
    weak = [place for place, (change, _) in enumerate(looked) if change.is_whole and change.spans["before"] is None]
    strong = [place for place in range(len(looked)) if place not in set(weak)]
    for place in (*strong, *reversed(weak)):
        for line in looked[place][1].lines:
            found.setdefault(line, place)
    return found


def ranges(lines: Sequence[int]) -> list[list[int]]:
    """Return sorted numbers as [first, last] of each run."""
    found: list[list[int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found
