"""Copies of one session become one list of events, and a session too long for a document loses its middle."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from core.counting import add
from ingest.session.session import GAP, MAX_DOCUMENT, MAX_HEAD, Event, identity, weight

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ingest.session.session import SessionBuilder


class Gap(Event):
    """The place of events that are left out; ``missing``: ``identity`` → number of events with that identity."""

    __slots__ = ("missing",)

    def __init__(self, at: str, missing: dict[str, int]) -> None:
        super().__init__(GAP, "", at, "", "", "", "")
        self.missing = missing

    @property
    def count(self) -> int:  # type: ignore[override]
        """The number of missing events."""
        return sum(self.missing.values())


class Window:
    """The first and the last events of a session, added in order; the events between them are dropped.

    ``tail`` is the number of characters kept at the end. With None, head and tail fill a document: nothing is dropped
    that a document could hold. Memory is bounded, except for the identities of dropped events.
    """

    __slots__ = ("_at", "_head", "_missing", "_tail", "_tail_limit", "_tail_weight", "_weight")

    def __init__(self, tail: int | None = None, events: Iterable[Event] = ()) -> None:
        self._head: list[Event] = []
        self._tail: deque[Event] = deque()
        self._tail_limit = tail
        self._weight = self._tail_weight = 0
        self._missing: dict[str, int] = {}
        self._at = ""
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add the next event."""
        size = weight(event)
        # A gap ends the head: the events missing in it would have filled the head.
        if not self._tail and event.kind != GAP and self._weight + size <= MAX_HEAD:
            self._weight += size
            self._head.append(event)
            return
        self._tail.append(event)
        self._tail_weight += size
        limit = MAX_DOCUMENT - self._weight if self._tail_limit is None else self._tail_limit
        while self._tail_weight > limit:
            self._drop(self._tail.popleft())

    def _drop(self, event: Event) -> None:
        self._tail_weight -= weight(event)
        self._at = self._at or event.at
        add(self._missing, event.missing if isinstance(event, Gap) else {identity(event): 1})

    def events(self) -> list[Event]:
        """Return the kept events in order, with a ``Gap`` at the place of dropped ones."""
        if not self._missing:
            return [*self._head, *self._tail]
        events: list[Event] = []
        for event in (*self._head, Gap(self._at, dict(self._missing)), *self._tail):
            # Adjacent gaps become one.
            if isinstance(event, Gap) and events and isinstance(before := events[-1], Gap):
                add(before.missing, event.missing)
            else:
                events.append(event)
        return events


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
