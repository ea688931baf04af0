"""How long commands took: derived from the raw records when somebody asks, and cached by the line of the document.

Documents have no durations: numbers of each call would make every session longer and its words weigh less.
"""

from __future__ import annotations

import os
from os.path import basename, join
from typing import TYPE_CHECKING

from ingest.pipeline.state import FILE
from qmd.index import catalogue
from qmd.index.actions import edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from qmd.index.actions.action import Action
    from runtime.work.scope import Scope

# Sessions whose raw records one question reads: a person waits. The next question reads the next ones.
_READ = 4


def took(scope: Scope, actions: Iterable[Action]) -> dict[tuple[int, int], int]:
    """Return how many ms the commands took, by document and line; those whose logs do not tell are left out."""
    wanted = list(dict.fromkeys(each.document for each in actions))
    found = {document: _unpacked(data) for document, data in edits.read(scope.connection, wanted, edits.TOOK).items()}
    missing = [document for document in wanted if document not in found]
    # Without the state nothing leads to a raw record, and no parser need be imported.
    if missing and os.path.exists(join(scope.home.state, FILE)):
        logged = _logged(scope, missing[:_READ])
        _keep(scope, logged)
        found |= logged
    return {(document, line): ms for document, lines in found.items() for line, ms in lines.items()}


def _logged(scope: Scope, documents: Iterable[int]) -> dict[int, dict[int, int]]:
    from ingest.pipeline import durations

    wanted: dict[str, dict[str, int]] = {}
    for document in documents:
        origin = scope.origin(document)
        wanted.setdefault(origin.source, {})[basename(origin.path)] = document
    found: dict[int, dict[int, int]] = {}
    for source, names in wanted.items():
        for name, runs in durations.read(scope.home, scope.config.data, source, names).items():
            found[names[name]] = _by_line(_text(scope, names[name]), runs)
    return found


def _text(scope: Scope, document: int) -> str:
    origin = scope.origin(document)
    row = catalogue.by_path(scope.connection, origin.collection, origin.path)
    return (catalogue.text(scope.connection, catalogue.Document(row).hash) or "") if row is not None else ""


def _by_line(text: str, runs: Sequence[tuple[str, int | None]]) -> dict[int, int]:
    """Return the durations by the lines of a document, counted from 1: the first call with a text is its first line.

    A text that the document has another number of times than the log has calls tells nothing.
    """
    calls: dict[str, list[int | None]] = {}
    for line, ms in runs:
        calls.setdefault(line, []).append(ms)
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if line in calls:
            places.setdefault(line, []).append(number)
    return {
        number: ms
        for line, numbers in places.items()
        if len(numbers) == len(calls[line])
        for number, ms in zip(numbers, calls[line], strict=True)
        if ms is not None
    }


def _unpacked(data: bytes) -> dict[int, int]:
    import json

    try:
        found = json.loads(data)
        return {int(line): int(ms) for line, ms in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _keep(scope: Scope, durations: Mapping[int, dict[int, int]]) -> None:
    import json

    from runtime.work.edits import cache

    cache(scope, {document: json.dumps(lines).encode() for document, lines in durations.items()}, edits.TOOK)


def words(ms: int) -> str:
    """Return a duration for people: ``0.4 s``, ``41 s``, ``3 min``, ``2 h``."""
    if ms < 10_000:
        return f"{ms / 1000:.1f} s"
    if ms < 120_000:
        return f"{ms / 1000:.0f} s"
    return f"{ms / 60_000:.0f} min" if ms < 7_200_000 else f"{ms / 3_600_000:.0f} h"
