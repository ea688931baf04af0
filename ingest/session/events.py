"""Events, the pieces of a session, and the two ends that are kept of a session too long for a document.

``ingest.session.builder`` makes them for every tool, ``ingest.session.turns`` makes turns of them.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable

from core.counting import add

# Characters of one event: a pasted log must not make a document that no index can use.
MAX_BLOCK = 256 * 1024
# Characters of one document: thirty times the longest session at hand. At four bytes a character, for which one emoji
# suffices, a document, its parts and its index entry stay below 200 MB of memory.
MAX_DOCUMENT = 4 * 1024 * 1024
# Characters of its beginning, where the task is. The rest is for the end, where the result is.
MAX_HEAD = 1024 * 1024
# The cost of an event besides its text: a heading or bullet in the document, objects in memory.
OVERHEAD = 100

# Kinds of events: ``ingest.session.builder`` describes each. A prompt that a person took back is not shown; RESULT is
# an outcome or a note under a tool call.
PROMPT, COMMAND, SUMMARY, INTERRUPT, TEAMMATE = "prompt", "command", "summary", "interrupt", "teammate"
QUEUED, TAKEN_BACK = "queued", "taken back"
TEXT, COMMENTARY, THINKING, TOOL, RESULT, RECAP = "text", "commentary", "thinking", "tool", "result", "recap"
NOTE = "note"

GAP = "gap"


class Event:
    """One piece of a session.

    ``record`` is the lasting name of its record and ``at`` the normalised timestamp; either may be "". ``message`` is
    the message of the API that the record is a piece of, ``call`` the id of a tool call. ``chain`` is the root of an
    inline sidechain.
    """

    __slots__ = ("at", "call", "chain", "kind", "message", "record", "text")

    def __init__(self, kind: str, text: str, at: str, record: str, message: str, call: str, chain: str) -> None:
        self.kind = kind
        self.text = text
        self.at = at
        self.record = record
        self.message = message
        self.call = call
        self.chain = chain


class Gap(Event):
    """The place of events that are left out; ``missing``: ``identity`` → number of events with that identity."""

    __slots__ = ("missing",)

    def __init__(self, at: str, missing: dict[str, int]) -> None:
        super().__init__(GAP, "", at, "", "", "", "")
        self.missing = missing

    @property
    def count(self) -> int:
        """The number of missing events."""
        return sum(self.missing.values())


def identity(event: Event) -> str:
    """Return the identity that all copies of an event share: its record, or a digest of its content."""
    if event.record:
        return event.record
    content = f"{event.kind}\0{event.at}\0{event.text}".encode("utf-8", "replace")
    return f"={hashlib.blake2b(content, digest_size=12).hexdigest()}"


def bounded(text: str) -> str:
    """Return ``text``, cut at ``MAX_BLOCK`` characters with a note of the number that follow."""
    if len(text) <= MAX_BLOCK:
        return text
    return f"{text[:MAX_BLOCK]}\n… ({len(text) - MAX_BLOCK} more characters)"


class Window:
    """The first and the last events of a session, added in order; the events between them are dropped.

    ``tail`` is the number of characters kept at the end. With None, head and tail fill a document: nothing is dropped
    that a document could hold. Memory is bounded, except for the identities of dropped events.
    """

    __slots__ = ("_at", "_head", "_missing", "_tail", "_tail_limit", "_tail_weight", "_weight")

    def __init__(self, tail: int | None = None) -> None:
        self._head: list[Event] = []
        self._tail: deque[Event] = deque()
        self._tail_limit = tail
        self._weight = self._tail_weight = 0
        self._missing: dict[str, int] = {}
        self._at = ""

    def add(self, event: Event) -> None:
        """Add the next event."""
        weight = _weight(event)
        # A gap ends the head: the events missing in it would have filled the head.
        if not self._tail and event.kind != GAP and self._weight + weight <= MAX_HEAD:
            self._weight += weight
            self._head.append(event)
            return
        self._tail.append(event)
        self._tail_weight += weight
        limit = MAX_DOCUMENT - self._weight if self._tail_limit is None else self._tail_limit
        while self._tail_weight > limit:
            self._drop(self._tail.popleft())

    def _drop(self, event: Event) -> None:
        self._tail_weight -= _weight(event)
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

    def recent(self) -> Iterable[Event]:
        """Yield the kept events, last first."""
        yield from reversed(self._tail)
        yield from reversed(self._head)


def fit(events: list[Event]) -> list[Event]:
    """Return the events that fit into a document: all, or the beginning, a ``Gap`` and the end."""
    if sum(map(_weight, events)) <= MAX_DOCUMENT and not any(isinstance(event, Gap) for event in events):
        return events
    window = Window()
    for event in events:
        window.add(event)
    return window.events()


def _weight(event: Event) -> int:
    return 0 if event.kind == GAP else len(event.text) + OVERHEAD
