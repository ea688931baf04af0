"""The edits of a file: the actions of the index, each with the text that it replaced and wrote, from the raw record."""

from __future__ import annotations

import os
from itertools import pairwise
from os.path import basename, normpath
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import apsw

from core import clock
from core.errors import BrainError
from ingest.repositories import NoLog, git, top_of
from qmd.index.actions import edits, history
from qmd.index.actions.action import CHANGES, FAILED, path_of
from qmd.index.store import open_index
from runtime.work.traces import Trace, packed, trace, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ingest.pipeline.edit_log import Change
    from qmd.index.actions.action import Action
    from runtime.work.scope import Scope

# How long a question waits for another process that writes to the index, in ms.
_BUSY_MS = 50
# A change with its text, or its trace.
_C = TypeVar("_C", "Change", "Trace")
# Names that a file had before, followed so far back.
_MOST_NAMES = 5


class Edited(NamedTuple, Generic[_C]):
    """One action that changed a file, and its changes; none if the raw record is gone or has no text.

    ``at`` is epoch seconds, of the call where its log has the time.
    """

    action: Action
    at: int
    changes: list[_C]


def given_path(path: str) -> str:
    """Return the absolute path that a person means; a path of another system stays as it is."""
    path = os.path.expanduser(path.strip())
    return path if path[1:3] == ":\\" else os.path.abspath(path)


def of_file(scope: Scope, path: str) -> tuple[list[Action], bool]:
    """Return what was done to a file, newest first, and True if that was under this very path.

    A file that git knows by an earlier name has the actions of that name as well. If none has this path, files of other
    folders and machines whose path ends alike are taken.
    """
    whole = given_path(path)
    places = {whole, os.path.realpath(whole), *earlier_names(whole)}
    exact: list[Action] = []
    for name in sorted({basename(place) for place in places}):
        exact += (each for each in _done(scope, name) if _is_same(scope, each, places))
    if exact:
        return sorted(exact, key=lambda each: (-each.at, -each.document, -each.number)), True
    return [each for each in _done(scope, basename(whole)) if _is_like(each, path.strip(), whole)], False


def _done(scope: Scope, name: str) -> list[Action]:
    rows = history.of_file(scope.connection, name[:120], scope.since, most=-1)
    return [each for each in rows if each.outcome != FAILED and scope.holds(each.document)]


def _is_same(scope: Scope, action: Action, places: Iterable[str]) -> bool:
    """Return True if an action is about the file at ``places``: of another member, below a project of the same name."""
    if action.document not in scope.shared:
        return path_of(action) in places
    end = f"/{basename(action.folder)}/{action.subject}"
    return bool(action.folder) and any(place.endswith(end) for place in places)


def _is_like(action: Action, given: str, whole: str) -> bool:
    """Return True if a file of another folder, or of another machine, may be the one that is meant."""
    given = normpath(given)
    if "/" not in given and not os.path.exists(whole):
        return True
    subject = normpath(action.subject)
    return ("/" in given and not given.startswith("/") and path_of(action).endswith(f"/{given}")) or (
        "/" in subject and not subject.startswith("/") and whole.endswith(f"/{subject}")
    )


def earlier_names(path: str) -> list[str]:
    """Return the paths that a file had before, as git follows its renames; none without git."""
    top = top_of(os.path.dirname(path)) if os.path.isfile(path) else ""
    if not top:
        return []
    name = os.path.relpath(os.path.realpath(path), os.path.realpath(top))
    try:
        said = git(top, "log", "--follow", "-M", "--diff-filter=R", "--name-status", "--format=", "-z", "--", name)
    except NoLog:
        return []
    # A row a rename: its similarity, the old name, the new name.
    words = said.decode("utf-8", "surrogateescape").split("\0")
    return [os.path.join(top, old) for mark, old in pairwise(words) if mark[:1] == "R"][:_MOST_NAMES]


def with_spans(scope: Scope, actions: Sequence[Action], most: int) -> list[Edited[Change]]:
    """Return the actions that changed a file, newest first, with their spans: of the ``most`` newest documents."""
    groups = _by_document(actions)
    return _edited(scope, groups, _logs(scope, list(groups)[:most]))


def with_traces(scope: Scope, actions: Sequence[Action], most: int) -> list[Edited[Trace]]:
    """Return what ``with_spans`` does, with traces in place of spans; those of each document are cached."""
    groups = _by_document(actions)
    wanted = list(groups)[:most]
    cached = {document: unpacked(data) for document, data in edits.read(scope.connection, wanted).items()}
    found = {document: traces for document, traces in cached.items() if traces is not None}
    # The raw records of other members are on their machines.
    logs = _logs(scope, [document for document in wanted if document not in found and document not in scope.shared])
    found |= {document: [trace(change) for change in changes] for document, changes in logs.items()}
    # A log without edits may only be out of reach for now.
    cache(scope, {document: packed(found[document]) for document in logs if found[document]}, edits.TRACES)
    return _edited(scope, groups, found)


def _by_document(actions: Sequence[Action]) -> dict[int, list[Action]]:
    groups: dict[int, list[Action]] = {}
    for each in actions:
        if each.kind in CHANGES:
            groups.setdefault(each.document, []).append(each)
    return groups


def _logs(scope: Scope, documents: Iterable[int]) -> dict[int, list[Change]]:
    """Return the changes of documents, read from the raw records."""
    wanted: dict[str, dict[str, int]] = {}
    for document in documents:
        origin = scope.origin(document)
        wanted.setdefault(origin.source, {})[basename(origin.path)] = document
    logs: dict[int, list[Change]] = {}
    for source, names in wanted.items():
        # Imported late: with cached traces no parser is needed.
        from ingest.pipeline import edit_log

        read = edit_log.read(scope.home, scope.config.data, source, names)
        logs.update((names[name], changes) for name, changes in read.items())
    return logs


def cache(scope: Scope, rows: Mapping[int, bytes], column: str) -> None:
    """Write what raw records told to the index, unless it is busy or may not be written: they are then read again."""
    if not rows:
        return
    try:
        connection = open_index(scope.home.index, write=True, busy_ms=_BUSY_MS, hasty=True)
        try:
            edits.write(connection, rows, column)
        finally:
            connection.close()
    except (apsw.Error, BrainError, OSError):
        return


def _edited(scope: Scope, groups: dict[int, list[Action]], logs: Mapping[int, Sequence[_C]]) -> list[Edited[_C]]:
    found: list[Edited[_C]] = []
    for document, group in groups.items():
        found += _aligned(group[::-1], logs.get(document, ()), scope.origin(document).project)
    return sorted(found, key=lambda each: (-each.at, -each.action.document, -each.action.number))


def _aligned(actions: Sequence[Action], changes: Iterable[_C], project: str) -> list[Edited[_C]]:
    """Return the actions of one document, in order, with the changes of the log that are about their files."""
    places = {path_of(each) for each in actions}
    calls: dict[tuple[int, str], list[_C]] = {}
    for change in changes:
        place = _whole(change.path, project)
        if place in places:
            calls.setdefault((change.call, place), []).append(change)
    found: list[Edited[_C]] = []
    for place in places:
        own = [each for each in actions if path_of(each) == place]
        logged = [group for (_, where), group in calls.items() if where == place]
        times = [clock.parse_iso(group[0].at) or 0 if group[0].at else 0 for group in logged]
        if len(own) == len(logged):
            pairs = zip(own, times, logged, strict=True)
            found += (Edited(action, at or action.at, group) for action, at, group in pairs)
            continue
        # The document shows other calls than the log, such as one that is too long for it: by the turn's time.
        known: dict[int, list[Any]] = {each.number: [each, each.at, []] for each in own}
        for at, group in zip(times, logged, strict=True):
            action = next((each for each in reversed(own) if at and each.at <= at), own[0])
            known[action.number][1] = at or action.at
            known[action.number][2] += group
        found += (Edited(*each) for each in known.values())
    return found


def _whole(path: str, project: str) -> str:
    """Return the path of a call as ``brain_actions`` has it."""
    if not (path.startswith(("/", "~")) or path[1:3] == ":\\"):
        path = f"{project.rstrip('/')}/{path}" if project else path
    return normpath(path) if "/./" in path or "/../" in path or "//" in path else path
