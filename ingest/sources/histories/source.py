"""Histories of prompts, which tools keep for their arrow keys: all there is of a session whose transcript is gone.

Codex's ``history.jsonl``, Claude Code's, and Gemini CLI's ``logs.json`` name the session of each prompt; the database
that Copilot CLI makes of its transcripts (``session-store.db``) has the answers as well. A session that
has a transcript of its own, or had one that is known, is told by that and never by its prompts as well. What is in them
is read in ``ingest.sources.histories.reading``.
"""

from __future__ import annotations

import os
from os.path import basename, dirname, join

from ingest import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingest.pipeline.state import FileRow, UnitRow
    from ingest.raw.files import SourceFile
    from ingest.source import Source

# Why a history makes no document: it has no prompt that nothing else tells.
HISTORY = "prompt history"
_UUID = 36
# Of a session's id so much stands in the names of Gemini's transcripts.
_SHORT = 8
# What Copilot CLI calls a transcript in a session's folder.
_EVENTS = "events"


def is_history(source: str, path: str) -> bool:
    """Return True if a raw file of a source is a history of prompts; the source may no longer be installed."""
    found = registry.find(source)
    return found is not None and found.is_history(path)


def beside(source: str, path: str) -> Iterator[str]:
    """The transcripts that lie beside the history at ``path``, whatever a run looks at."""
    for folder in registry.source(source).beside:
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

    def __init__(self, source: Source, files: Iterable[SourceFile], known: Mapping[str, FileRow]) -> None:
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
        if not all(self._source.is_history(path) for path in self.members.get(unit, ())):
            return True
        if self._names is None:
            # Of those that are excluded, or could not be read, nothing but the name is known.
            paths = [*self._paths, *self._known]
            self._names = names(path for path in paths if not self._source.is_history(path))
        return is_named(unit, self._names)

    def marks(self, path: str) -> dict[str, str]:
        """What the history at ``path`` was told before of sessions that others tell."""
        row = self._known.get(path)
        if row is None or not row.notes:
            return {}
        import json

        found: dict[str, str] = json.loads(row.notes).get("marks") or {}
        return found
