"""Histories of prompts, which tools keep for their arrow keys: all there is of a session whose transcript is gone.

Codex's ``history.jsonl``, Claude Code's, and Gemini CLI's ``logs.json`` name the session of each prompt; the database
that Copilot CLI makes of its transcripts (``session-store.db``) has the answers as well. A session that
has a transcript of its own, or had one that is known, is told by that and never by its prompts as well. What is in them
is read in ``ingest._history_read``.
"""

from __future__ import annotations

import os
from os.path import basename, dirname, isfile, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingest.files import SourceFile
    from ingest.state import FileRow, UnitRow

# Why a history makes no document: it has no prompt that nothing else tells.
HISTORY = "prompt history"
# Source → (the history's name, the folders beside it that hold transcripts).
PLACES = {
    "claude": ("history.jsonl", ("projects",)),
    "codex": ("history.jsonl", ("sessions", "archived_sessions")),
    "copilot": ("session-store.db", ("session-state", "history-session-state")),
    "gemini": ("logs.json", ("chats",)),
}
_UUID = 36
# Of a session's id so much stands in the names of Gemini's transcripts.
_SHORT = 8
# What Copilot CLI calls a transcript in a session's folder.
_EVENTS = "events"


def is_history(source: str, path: str) -> bool:
    """Whether a raw file of a source is a history of prompts."""
    return source in PLACES and basename(path) == PLACES[source][0]


def above(source: str, places: Iterable[str]) -> list[str]:
    """The histories that lie beside the folders of transcripts in ``places``."""
    name, folders = PLACES[source]
    found = dict.fromkeys(join(dirname(place.rstrip("/")), name) for place in places if basename(place) in folders)
    return [path for path in found if isfile(path)]


def beside(source: str, path: str) -> Iterator[str]:
    """The transcripts that lie beside the history at ``path``, whatever a run looks at."""
    for folder in PLACES[source][1]:
        for place, _, names in os.walk(join(dirname(path), folder)):
            yield from (join(place, name) for name in names)


def names(paths: Iterable[str]) -> set[str]:
    """What the names of transcripts say of the ids of their sessions: see ``is_named``."""
    found: set[str] = set()
    for path in paths:
        stem = basename(path).partition(".")[0]
        plain = stem.partition("_")[0]
        found.update((stem, plain[-_UUID:], stem.rpartition("-")[2], stem.removeprefix("session_").rpartition("_")[0]))
        if stem == _EVENTS:
            found.add(basename(dirname(path)))
    return found


def called(unit: str) -> tuple[str, str]:
    """Which of ``names`` are the session's."""
    return unit, unit[:_SHORT]


def is_named(unit: str, held: set[str]) -> bool:
    """Whether one of ``names`` is the session's."""
    return not held.isdisjoint(called(unit))


class Transcripts:
    """Which sessions of a source a run knows a transcript of, whatever has become of it since.

    ``units`` and ``members`` are the run's own, and change while it reads: transcripts go before histories.
    """

    def __init__(self, source: str, files: Iterable[SourceFile], known: Mapping[str, FileRow]) -> None:
        self._source = source
        self._paths = [file.path for file in files]
        self._known = known
        self._names: set[str] | None = None
        self.units: Mapping[str, UnitRow] = {}
        self.members: Mapping[str, set[str]] = {}

    def tells(self, unit: str) -> bool:
        """Whether a session has, or had, a transcript: its prompts alone say nothing new then."""
        row = self.units.get(unit)
        if row is not None and row.records >= 0:
            return True
        if not all(is_history(self._source, path) for path in self.members.get(unit, ())):
            return True
        if self._names is None:
            # Of those that are excluded, or could not be read, nothing but the name is known.
            paths = [*self._paths, *self._known]
            self._names = names(path for path in paths if not is_history(self._source, path))
        return is_named(unit, self._names)

    def marks(self, path: str) -> dict[str, str]:
        """What the history at ``path`` was told before of sessions that others tell."""
        row = self._known.get(path)
        if row is None or not row.notes:
            return {}
        import json

        found: dict[str, str] = json.loads(row.notes).get("marks") or {}
        return found
