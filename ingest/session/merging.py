"""Copies of one session become one list of events, and a session too long for a document loses its middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.session.session import MAX_DOCUMENT, Event, Gap, Window, identity, weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.session.session import SessionBuilder


def fit(events: list[Event]) -> list[Event]:
    """Return the events that fit into a document: all, or the beginning, a ``Gap`` and the end."""
    if sum(map(weight, events)) <= MAX_DOCUMENT and not any(isinstance(event, Gap) for event in events):
        return events
    return Window(events=events).events()


def merge(parts: Sequence[SessionBuilder]) -> list[Event]:
    """Return the union of the copies' events, deduplicated by record.

    ``parts`` must be in an order that depends on their content alone. The first copy that has a record decides what it
    shows, and a copy without new records changes nothing. If copies diverge, a new record follows the record that it
    follows in its copy, and all events are sorted by time. A union that is too long for a document loses its middle.
    """
    events = parts[0].events
    if len(parts) == 1:
        return fit(events)
    seen = parts[0].uuids | _plain(events)
    grown = False
    for part in parts[1:]:
        position = 0
        where = _places(events)
        added: list[tuple[int, Event]] = []
        held = part.events
        for event in held:
            if isinstance(event, Gap):
                position = max([position, *(where[what] for what in event.missing if what in where)])
                unknown = {what: count for what, count in event.missing.items() if what not in seen}
                if unknown:
                    added.append((position, Gap(event.at, unknown)))
                continue
            same = identity(event)
            if event.record and same in where:
                position = where[same]
            elif same not in seen:
                added.append((position, event))
                if not event.record:
                    seen.add(same)
        seen |= part.uuids | _plain(held)
        if added:
            grown = True
            events = _insert(events, added)
    if grown:
        latest = ""
        keys: list[str] = []
        for event in events:
            latest = event.at or latest
            keys.append(latest)
        order = sorted(range(len(events)), key=keys.__getitem__)
        events = [events[index] for index in order]
    return fit(events)


def _plain(events: list[Event]) -> set[str]:
    """Return the identities of the events without a lasting record name."""
    found: set[str] = set()
    for event in events:
        if isinstance(event, Gap):
            found.update(event.missing)
        elif not event.record:
            found.add(identity(event))
    return found


def _places(events: list[Event]) -> dict[str, int]:
    """Return identity → the index after its last event in ``events``, or after the gap that it is missing in."""
    places: dict[str, int] = {}
    for index, event in enumerate(events, 1):
        if isinstance(event, Gap):
            places.update(dict.fromkeys(event.missing, index))
        else:
            places[identity(event)] = index
    return places


def _insert(events: list[Event], added: list[tuple[int, Event]]) -> list[Event]:
    merged: list[Event] = []
    start = 0
    for position, event in sorted(added, key=lambda item: item[0]):
        merged += events[start:position]
        merged.append(event)
        start = max(start, position)
    return merged + events[start:]
