"""Is it still true? The files of an attempt, its dependencies and later attempts, compared with the present."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from core import clock
from core.text import one_line
from qmd.index import catalogue
from qmd.index.actions import table
from qmd.index.actions.action import CHANGES, COMMAND, path_of
from qmd.index.actions.action import FAILED as ENDED_BADLY
from runtime.distill.words import words
from runtime.validity import CHANGED, CURRENT, SUPERSEDED, UNKNOWN
from runtime.validity.file_changes import changed_files
from runtime.work.attempts import ASKED, SAID, SHARE, Attempt, stems
from runtime.work.dependencies import Dependencies
from runtime.work.outcomes import DECIDED, FAILED, GIVEN_UP, REJECTED, WORKED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runtime.work.dependencies import Moved
    from runtime.work.scope import Scope

# Another state besides those of ``runtime.validity``.
MOVED = "dependency moved"
# Turns before an attempt's end in which its files were changed, and files that are compared.
_TURNS, _MOST_FILES = 2, 8
# Outcome → the later outcome of the same thing that takes its place.
_AGAINST = {FAILED: WORKED, GIVEN_UP: WORKED, WORKED: GIVEN_UP, DECIDED: REJECTED}


class Standing:
    """Is an attempt's result still true? By the files of its turns, its dependencies, and what was said later."""

    def __init__(self, scope: Scope, tries: Iterable[Attempt], wanted: frozenset[str]) -> None:
        self._scope = scope
        self._later = sorted((each for each in tries if each.share >= SHARE), key=lambda each: each.at)
        self._wanted = wanted
        self._projects: dict[str, Dependencies] = {}

    def of(self, each: Attempt) -> dict[str, Any]:
        """Return the ``validity`` of an attempt: ``state``, ``by``, changed ``files`` and ``dependencies``."""
        changed, are_known = changed_files(self._files(each), each.at)
        moved = self._moved(each)
        by = self._successor(each)
        if by:
            state = SUPERSEDED
        elif moved:
            state = MOVED
        elif changed:
            state = CHANGED
        else:
            state = CURRENT if moved == [] or are_known else UNKNOWN
        return {
            "state": state,
            "by": by,
            "files": changed,
            "dependencies": [one._asdict() for one in moved or ()],
        }

    def _files(self, each: Attempt) -> list[str]:
        """Return the files that were changed around an attempt, those that this machine can have."""
        done = table.of_documents(self._scope.connection, (each.document,), CHANGES)
        near = [one for one in done if each.turn - _TURNS <= one.turn <= each.turn and one.outcome != ENDED_BADLY]
        # Files of another machine cannot be looked at.
        paths = dict.fromkeys(path_of(one) for one in near if os.path.isdir(one.folder or os.path.dirname(one.subject)))
        return list(paths)[-_MOST_FILES:]

    def _moved(self, each: Attempt) -> list[Moved] | None:
        project = self._scope.origin(each.document).project
        if project not in self._projects:
            self._projects[project] = Dependencies(project)
        named = {*words(each.what), *words(each.quote), *self._wanted}
        return self._projects[project].moved(named, each.at)

    def _successor(self, each: Attempt) -> list[dict[str, Any]]:
        """Return what took the place of an attempt: the note that says so, or a later one with another outcome."""
        if each.kind not in (SAID, ASKED, COMMAND) and (entry := self._named(each)):
            return [{"entry_id": entry}]
        against = _AGAINST.get(each.outcome)
        own = stems(f"{each.what} {each.quote}")
        for later in reversed(self._later):
            if later.at <= each.at:
                break
            other = stems(f"{later.what} {later.quote}")
            # The same subject: most words of the shorter text are in the other.
            least = min(len(own), len(other))
            if later.outcome == against and least and len(own & other) >= SHARE * least:
                return [self._place(later)]
        return []

    def _named(self, each: Attempt) -> str:
        """Return the entry that took the place of a note, as the note says."""
        origin = self._scope.origin(each.document)
        row = catalogue.by_path(self._scope.connection, origin.collection, origin.path)
        return (catalogue.Document(row).field("superseded_by") or "") if row is not None else ""

    def _place(self, each: Attempt) -> dict[str, Any]:
        return {
            "uri": self._scope.uri(each.document),
            "line": each.line,
            "text": f"{each.outcome}: {one_line(each.quote or each.what, 180)}",
            "date": clock.iso(each.at),
        }
