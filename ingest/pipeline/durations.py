"""How long the commands of sessions took, read again from their raw files as ``edit_log`` reads edits.

Some logs say how long a call took; of others the times of the call and of its result tell it, which includes the time
that a person took to permit the call.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from ingest.pipeline.edit_log import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home
    from ingest.session.edits import Log
    from ingest.session.session import Event
    from ingest.source import Settings

    # The line of a call in the document, and how long it took in ms, None if that is unknown.
    Run = tuple[str, int | None]


def read(home: Home, settings: Settings, source: str, names: Iterable[str]) -> dict[str, list[Run]]:
    """Return the commands that were run in sessions of a source, in order, by the file name of the document.

    A document whose raw files are gone, from the archive too, is left out. Raises apsw.Error if the state is broken.
    """
    log, documents = parsed(home, settings, source, names)
    found: dict[str, list[Run]] = {}
    for name, copies in documents.items():
        members = {id(each) for each in copies}
        runs: dict[object, Event] = {}
        for session, event in log.runs:
            if id(session) in members:
                runs.setdefault(event.call or (event.record, event.at, event.text), event)
        if copies:
            found[name] = [(event.text.split("\n", 1)[0], _took(log, event)) for event in runs.values()]
    return found


def _took(log: Log, event: Event) -> int | None:
    at, took = log.ends.get(event.call, ("", None))
    if took is not None:
        return took
    if not at or not event.at:
        return None
    between = datetime.fromisoformat(at) - datetime.fromisoformat(event.at)
    ms = round(between.total_seconds() * 1000)
    # Records with one time for both tell nothing.
    return ms if ms > 0 else None
