"""What a transcript says, piece by piece, and the two ends that are kept of one too long for a document.

The kinds are the same for every source; what makes a turn of them is in ``ingest.session.turns``.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable

from core.counting import add

# One pasted log must not make a document that no index can use.
MAX_BLOCK = 256 * 1024
# Of one document, in characters: thirty times the longest real session it was tried on. At four bytes a character,
# which one emoji is enough for, a document, its parts and its index entry stay below 200 MB of memory.
MAX_DOCUMENT = 4 * 1024 * 1024
# Of that, the beginning: what was wanted. The rest goes to the end: where it has come to.
MAX_HEAD = 1024 * 1024
# What a piece costs besides its text: its heading or bullet in a document, its objects in memory.
OVERHEAD = 100

# A person's words; a command typed by one; a machine's summary of what came before; the user's interruption; another
# agent's message; a prompt typed while the assistant was at work, and one taken back before it was sent; the
# assistant's text, what it says on the way to an answer, its reasoning and tool calls; what became of a call; the recap
# shown to a user who comes back; anything else that happened, in a line.
PROMPT, COMMAND, SUMMARY, INTERRUPT, TEAMMATE = "prompt", "command", "summary", "interrupt", "teammate"
QUEUED, TAKEN_BACK = "queued", "taken back"
TEXT, COMMENTARY, THINKING, TOOL, RESULT, RECAP = "text", "commentary", "thinking", "tool", "result", "recap"
NOTE = "note"

GAP = "gap"


class Event:
    """One thing that a document may show.

    ``record`` is the record's uuid ("" where it has none), ``at`` its normalised timestamp, ``message`` the API
    message it is a piece of, ``call`` a tool call's id, ``chain`` the root of its inline sidechain ("": none).
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
    """The place of events that are left out; ``missing``: ``identity`` of each → how many pieces it stands for."""

    __slots__ = ("missing",)

    def __init__(self, at: str, missing: dict[str, int]) -> None:
        super().__init__(GAP, "", at, "", "", "", "")
        self.missing = missing

    @property
    def count(self) -> int:
        """How many pieces are missing here."""
        return sum(self.missing.values())


def identity(event: Event) -> str:
    """What copies of an event have in common: its record's uuid, a digest of its content where it has none."""
    if event.record:
        return event.record
    content = f"{event.kind}\0{event.at}\0{event.text}".encode("utf-8", "replace")
    return f"={hashlib.blake2b(content, digest_size=12).hexdigest()}"


def bounded(text: str) -> str:
    """``text``, cut at ``MAX_BLOCK`` characters with a note of how many follow."""
    if len(text) <= MAX_BLOCK:
        return text
    return f"{text[:MAX_BLOCK]}\n… ({len(text) - MAX_BLOCK} more characters)"


class Window:
    """A head that fills once and a tail that moves on: events go in in order, those between the two are forgotten.

    ``tail``: characters kept at the end; None for what the head leaves of a document, so that nothing is forgotten
    that a document could hold. Memory is bounded by the two, apart from the identities of what is missing.
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
        """Take the next event in."""
        weight = _weight(event)
        # A gap ends the head, as what is missing in it would have.
        if not self._tail and event.kind != GAP and self._weight + weight <= MAX_HEAD:
            self._weight += weight
            self._head.append(event)
            return
        self._tail.append(event)
        self._tail_weight += weight
        limit = MAX_DOCUMENT - self._weight if self._tail_limit is None else self._tail_limit
        while self._tail_weight > limit:
            self._forget(self._tail.popleft())

    def _forget(self, event: Event) -> None:
        self._tail_weight -= _weight(event)
        self._at = self._at or event.at
        add(self._missing, event.missing if isinstance(event, Gap) else {identity(event): 1})

    def events(self) -> list[Event]:
        """What is kept, in order, with a ``Gap`` where something is missing."""
        if not self._missing:
            return [*self._head, *self._tail]
        events: list[Event] = []
        for event in (*self._head, Gap(self._at, dict(self._missing)), *self._tail):
            # Gaps with nothing between them are one.
            if isinstance(event, Gap) and events and isinstance(before := events[-1], Gap):
                add(before.missing, event.missing)
            else:
                events.append(event)
        return events

    def recent(self) -> Iterable[Event]:
        """What is kept, last first."""
        yield from reversed(self._tail)
        yield from reversed(self._head)


def fit(events: list[Event]) -> list[Event]:
    """``events`` within the limit of a document: all of them, or the beginning, the end and a ``Gap`` between."""
    if sum(map(_weight, events)) <= MAX_DOCUMENT and not any(isinstance(event, Gap) for event in events):
        return events
    window = Window()
    for event in events:
        window.add(event)
    return window.events()


def _weight(event: Event) -> int:
    return 0 if event.kind == GAP else len(event.text) + OVERHEAD
