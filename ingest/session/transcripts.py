"""Sessions and the files that hold them: parents of subagents, transcripts by name, prompts without a transcript."""

from __future__ import annotations

import os
from os.path import basename, dirname, join

from ingest.raw.store import DISK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow, UnitRow
    from ingest.raw.store import SourceFile
    from ingest.source import Source

# Why a history of prompts makes no document: transcripts have all of its prompts.
PROMPT_HISTORY = "prompt history"
_UUID = 36
# Some tools put only the first characters of a session's id into the names of its files.
_SHORT = 8
# A transcript of this name is in a folder that has the session's id as its name.
_EVENTS = "events"
# A subagent's transcript is at most so many folders below its session's.
_LEVELS = 4
# Agents of agents, at most; agents in a circle come last.
_MAX_GENERATIONS = 64


def generations(parents: Mapping[Any, Any]) -> dict[Any, int]:
    """Return the number of ancestors of each unit in a mapping to parents: a database is read in their order."""
    found: dict[Any, int] = {}
    for unit in parents:
        parent, count = unit, 0
        while count < _MAX_GENERATIONS and (parent := parents.get(parent)):
            count += 1
        found[unit] = count
    return found


def transcripts_near(path: str, folders: Iterable[str]) -> Iterator[str]:
    """Yield the transcripts in the ``folders`` next to the history of prompts at ``path``, whatever a run reads."""
    for folder in folders:
        for place, _, names in os.walk(join(dirname(path), folder)):
            yield from (join(place, name) for name in names)


def session_names(paths: Iterable[str]) -> set[str]:
    """Return the parts of transcripts' names that may be ids of sessions: see ``has_transcript``."""
    found: set[str] = set()
    for path in paths:
        stem = basename(path).partition(".")[0]
        plain = stem.partition("_")[0]
        found.update((stem, plain[-_UUID:], stem.rpartition("-")[2], stem.removeprefix("session_").rpartition("_")[0]))
        if stem == _EVENTS:
            found.add(basename(dirname(path)))
    return found


def _spellings(unit: str) -> tuple[str, str]:
    """Return the forms in which a session's id may be among ``session_names``."""
    return unit, unit[:_SHORT]


def has_transcript(unit: str, names: set[str]) -> bool:
    """Return True if one of ``names`` (``session_names``) is a session's."""
    return not names.isdisjoint(_spellings(unit))


class Lineage:
    """The sessions that a run may have to read before their turn, by the names of their files.

    ``known``: units that have a document; they are not looked up.
    """

    def __init__(self, source: Source, paths: Iterable[str], known: Collection[str]) -> None:
        self._source = source
        self._known = known
        self._paths = [path for path in paths if not source.is_history(path)]
        # Part of a file's name → indexes of ``_paths``.
        self._by_name: dict[str, list[int]] | None = None
        # Unit → paths, for files that may hold any session; each is read once.
        self._by_content: dict[str, list[str]] | None = None

    def look_up(self, unit: str, child: str) -> Iterator[Reading]:
        """Yield the files that may hold the parent ``unit`` of an agent in the file ``child``. Nothing is archived."""
        if unit in self._known or not unit:
            return
        for path in self._candidates(unit, child):
            if path != child:
                yield self._read(path)

    def _read(self, path: str) -> Reading:
        *_, reading = self._source.parse(path, DISK)
        return reading

    def _candidates(self, unit: str, child: str) -> Iterator[str]:
        if self._by_name is None:
            self._by_name = {}
            for number, path in enumerate(self._paths):
                for name in session_names((path,)) | {basename(dirname(path))}:
                    self._by_name.setdefault(name, []).append(number)
        found = sorted({number for name in _spellings(unit) for number in self._by_name.get(name, ())})
        if not found and os.sep not in unit and "\0" not in unit:
            folder = dirname(child)
            for _ in range(_LEVELS):
                path = join(folder, f"{unit}.jsonl")
                if os.path.isfile(path):
                    yield path
                folder = dirname(folder)
        yield from (self._paths[number] for number in found)
        if not found:
            yield from self._holding(unit)

    def _holding(self, unit: str) -> list[str]:
        """Return the files that hold a unit without its name, if the source has such files."""
        if self._by_content is None:
            self._by_content = {}
            for path in filter(self._source.may_hold_any, self._paths):
                for each in self._read(path).parts:
                    self._by_content.setdefault(each, []).append(path)
        return self._by_content.get(unit, [])


class Transcripts:
    """The sessions of a source that have, or had, a transcript as far as a run knows.

    ``units`` and ``members`` are the run's own and change while it reads: it reads transcripts before histories.
    """

    def __init__(
        self,
        source: Source,
        files: Iterable[SourceFile],
        known: Mapping[str, FileRow],
        units: Mapping[str, UnitRow],
        members: Mapping[str, set[str]],
    ) -> None:
        self._source = source
        self._paths = [file.path for file in files]
        self._known = known
        self._names: set[str] | None = None
        self._units = units
        self._members = members

    def covers(self, unit: str) -> bool:
        """Return True if a session has, or had, a transcript: then its prompts alone are not news."""
        row = self._units.get(unit)
        if row is not None and row.records >= 0:
            return True
        if not all(self._source.is_history(path) for path in self._members.get(unit, ())):
            return True
        if self._names is None:
            # Only names are known of files that are excluded or unreadable.
            paths = [*self._paths, *self._known]
            self._names = session_names(path for path in paths if not self._source.is_history(path))
        return has_transcript(unit, self._names)

    def marks(self, path: str) -> dict[str, str]:
        """Return what the last run noted about sessions of the history at ``path``: see ``Reading.marks``."""
        row = self._known.get(path)
        if row is None or not row.notes:
            return {}
        import json

        found: dict[str, str] = json.loads(row.notes).get("marks") or {}
        return found
