"""Whom a unit worked for, and where that session may be read before its turn comes."""

from __future__ import annotations

import os
from os.path import basename, dirname, join

from ingest.pipeline.units import split_key
from ingest.raw.store import DISK
from ingest.sources.histories.source import called, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.session.session import Part
    from ingest.source import Source

# A subagent's transcript lies so many folders below its session's, at most.
_ABOVE = 4
# Agents of agents, at most; who is said to have worked for themselves comes last.
_DEEP = 64


def parent_of(unit: str, part: Part) -> str:
    """The unit that a part's unit worked for, "" where it is nobody's agent."""
    session, agent = split_key(unit)
    return session if agent else part.parent


def generations(units: Mapping[Any, Any]) -> dict[Any, int]:
    """How many each unit of a mapping to whom it worked for has above it: a database is read in that order."""
    above: dict[Any, int] = {}
    for unit in units:
        at, count = unit, 0
        while count < _DEEP and (at := units.get(at)):
            count += 1
        above[unit] = count
    return above


class Lineage:
    """Finds sessions by the names of their files: among those that a run is to read, and above their agents' own.

    ``known``: units that have a document; they are not looked up.
    """

    def __init__(self, source: Source, paths: Iterable[str], known: Collection[str]) -> None:
        self._source = source
        self._known = known
        # What the name of a file says, to the places of such files in ``_paths``.
        self._named: dict[str, list[int]] | None = None
        # Which units files hold that may be called anything, and those looked into so far: the paths of ``_paths``.
        self._held: dict[str, list[str]] | None = None
        self._paths = [path for path in paths if not source.is_history(path)]

    def look_up(self, unit: str, child: str) -> Iterator[Reading]:
        """Files that may hold a session, of which the file at ``child`` holds an agent. Nothing of them is archived."""
        if unit in self._known or not unit:
            return
        for path in self._candidates(unit, child):
            if path != child:
                yield self._read(path)

    def _read(self, path: str) -> Reading:
        *_, found = self._source.parse(path, DISK)
        return found

    def _candidates(self, unit: str, child: str) -> Iterator[str]:
        if self._named is None:
            self._named = {}
            for number, path in enumerate(self._paths):
                for name in names((path,)) | {basename(dirname(path))}:
                    self._named.setdefault(name, []).append(number)
        found = sorted({number for name in called(unit) for number in self._named.get(name, ())})
        if not found and os.sep not in unit and "\0" not in unit:
            folder = dirname(child)
            for _ in range(_ABOVE):
                path = join(folder, f"{unit}.jsonl")
                if os.path.isfile(path):
                    yield path
                folder = dirname(folder)
        yield from (self._paths[number] for number in found)
        if not found:
            yield from self._holding(unit)

    def _holding(self, unit: str) -> list[str]:
        """The files that hold a unit though their names do not say it, where a source has such; each is read once."""
        if self._held is None:
            self._held = {}
            for path in filter(self._source.may_hold_any, self._paths):
                for each in self._read(path).parts:
                    self._held.setdefault(each, []).append(path)
        return self._held.get(unit, [])
