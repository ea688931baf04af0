"""The edits of sessions, read again from their raw files, or from the archive where a raw file is gone.

Documents hold no text of edits: what an edit replaced is in the raw record alone. Reading is like a run's: secrets are
replaced, and what was forgotten or is excluded is left out.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from os.path import join
from typing import TYPE_CHECKING, NamedTuple

from core.sqlite import open_to_read
from core.text import clean
from ingest import registry
from ingest.pipeline.reading import BROKEN
from ingest.pipeline.state import FILE
from ingest.policy.exclusions import Withholding
from ingest.session.edits import Log, logged
from ingest.session.session import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from core.home import Home
    from ingest.raw.store import RawStore
    from ingest.session.edits import Span
    from ingest.source import Settings

# A person waits: no longer than this for another process's lock.
_BUSY_MS = 2_000
# Lines below a call which say that it changed nothing.
_UNDONE = ("  ! ", "  rejected by", "  cancelled by", "  interrupted by")
_MEMBERS = """
SELECT u.unit, m.path FROM units u JOIN members m ON m.source = u.source AND m.unit = u.unit
WHERE u.source = ? AND u.name = ? ORDER BY m.path
"""


class Change(NamedTuple):
    """One span of a file that a session replaced. ``call`` counts the calls, ``at`` is the call's time, "" if unknown;
    ``before`` is None if it is unknown; ``is_whole``: the span is the whole file.
    """

    call: int
    at: str
    path: str
    before: str | None
    after: str
    is_whole: bool

    def hashes(self) -> dict[str, Any]:
        """Return the span as numbers of lines and digests (BLAKE2b, 16 hex digits) of its two texts."""
        return {"before": _digest(self.before), "after": _digest(self.after), "whole_file": self.is_whole}


def read(home: Home, settings: Settings, source: str, names: Iterable[str]) -> dict[str, list[Change]]:
    """Return the changes that were made in sessions of a source, in order, by the file name of the document.

    A document whose raw files are gone, from the archive too, has no changes. Raises apsw.Error if the state is broken.
    """
    log, copies = parsed(home, settings, source, names)
    return {name: _changes(log, each) for name, each in copies.items()}


def parsed(home: Home, settings: Settings, source: str, names: Iterable[str]) -> tuple[Log, dict[str, list[Any]]]:
    """Return the log of the calls in the raw files of documents, and the copies of each session by its document's name.

    A document whose raw files are gone, from the archive too, has no copies. Raises as ``read``.
    """
    maker = registry.find(source)
    units, paths = _members(home, source, names)
    found: dict[str, list[Any]] = {name: [] for name in units.values()}
    if maker is None or not paths:
        return Log(), found
    disk, shelf = Withholding(home, source, settings), None
    with logged() as log:
        parts: dict[str, list[Any]] = {}
        for path in paths:
            raw: RawStore = disk
            if not os.path.exists(path):
                from ingest.archive.reading_back import ReadBack

                raw = shelf = shelf or ReadBack(home, source, settings)
                if not raw.is_shelved(path):
                    continue
            try:
                for reading in maker.parse(path, raw):
                    raw.remove(reading)
                    for unit, part in reading.hand_over().items():
                        if unit in units:
                            parts.setdefault(unit, []).append(part)
            except (OSError, *BROKEN):
                continue  # the doctor reports a file that cannot be read
    for unit, copies in parts.items():
        found[units[unit]] = [each for part in copies for each in part.copies()]
    return log, found


def _members(home: Home, source: str, names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return unit → name of its document, and the raw files of these units."""
    units: dict[str, str] = {}
    paths: dict[str, None] = {}
    place = join(home.state, FILE)
    if os.path.exists(place):
        connection = open_to_read(place, _BUSY_MS)
        try:
            for name in names:
                for unit, path in connection.execute(_MEMBERS, (source, name)):
                    units[unit] = name
                    paths[os.fsdecode(path)] = None
        finally:
            connection.close()
    return units, list(paths)


def _changes(log: Log, copies: list[Any]) -> list[Change]:
    """Return the changes of one unit: each call once, however many copies have it, without those that failed."""
    members = {id(each) for each in copies}
    events = [event for each in copies for event in each.events]
    undone = {event.call for event in events if event.kind == RESULT and event.call and event.text.startswith(_UNDONE)}
    removed = set[str]().union(*(each.removed for each in copies))
    seen: set[object] = set()
    found: list[Change] = []
    for session, event, spans in log.edits:
        if id(session) not in members or (event.call and event.call in undone) or event.record in removed:
            continue
        key = event.call or (event.record, event.at, event.text, tuple(spans))
        if key not in seen:
            seen.add(key)
            found += (_change(len(seen), event.at, span, log.before.get(event.call, {})) for span in spans)
    latest = ""
    keys: list[str] = []
    for each in found:
        latest = each.at or latest
        keys.append(latest)
    return [found[place] for place in sorted(range(len(found)), key=keys.__getitem__)]


def _digest(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    data = text.encode("utf-8", "replace")
    return {"lines": len(text.splitlines()), "hash": blake2b(data, digest_size=8).hexdigest()}


def _change(call: int, at: str, span: Span, files: dict[str, str]) -> Change:
    before = span.before
    if before is None and span.is_whole and files:
        # The log of a result may have the whole path where the call had one from the project.
        ending = f"/{span.path}"
        before = next((text for path, text in files.items() if path == span.path or path.endswith(ending)), None)
    return Change(call, at, clean(span.path).strip(), before, span.after, span.is_whole)
