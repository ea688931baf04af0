"""Events → turns: copies are merged, split messages joined, and machines' text kept apart from people's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ingest.session.events import (
    COMMAND,
    COMMENTARY,
    INTERRUPT,
    NOTE,
    PROMPT,
    QUEUED,
    RECAP,
    RESULT,
    SUMMARY,
    TAKEN_BACK,
    TEAMMATE,
    TEXT,
    THINKING,
    TOOL,
    Event,
    Gap,
    fit,
    identity,
)

if TYPE_CHECKING:
    from ingest.session.session import Session

USER, ASSISTANT, TASK, SUBAGENT = "user", "assistant", "task", "subagent"
COMPACTION = "compaction"
# The assistant's words while it works, if its tool marks them, with its tool calls.
WORKING = "commentary"

_MACHINE = frozenset((TEXT, TOOL, THINKING, COMMENTARY))
# Commands that only end or begin a transcript.
SILENT = frozenset(("/clear", "/exit", "/quit"))


class Turn:
    """One section of a document: author, time, blocks in order and, apart from them, the reasoning.

    A block is (is a list line, text).
    """

    __slots__ = ("_messages", "at", "role")

    def __init__(self, role: str, at: str) -> None:
        self.role = role
        self.at = at
        self._messages: list[_Message] = []

    def message(self) -> _Message:
        """Add a message to this turn."""
        message = _Message()
        self._messages.append(message)
        return message

    def blocks(self) -> list[tuple[bool, str]]:
        """Return the blocks in order of the messages."""
        return [block for message in self._messages for block in message.blocks]

    def reasoning(self) -> list[str]:
        """Return the texts of the reasoning."""
        return [text for message in self._messages for text in message.reasoning]


class _Message:
    __slots__ = ("blocks", "reasoning")

    def __init__(self) -> None:
        self.blocks: list[tuple[bool, str]] = []
        self.reasoning: list[str] = []


def merge(parts: Sequence[Session]) -> list[Event]:
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


def turns(events: Iterable[Event], *, agent: bool) -> list[Turn]:
    """Return the turns of the conversation, then of each inline sidechain; ``agent``: the session is a subagent's."""
    main: list[Event] = []
    chains: dict[str, list[Event]] = {}
    outcomes: dict[str, list[str]] = {}
    events = list(events)
    repeated = _repeated_prompts(events)
    for event in events:
        if event.kind == RESULT:
            outcomes.setdefault(event.call, []).append(event.text)
        if id(event) in repeated:
            continue
        if event.chain:
            chains.setdefault(event.chain, []).append(event)
        else:
            main.append(event)
    found = _conversation(main, outcomes, TASK if agent else USER, ASSISTANT)
    for chain in chains.values():
        found += _conversation(chain, outcomes, TASK, SUBAGENT)
    return found


def _repeated_prompts(events: list[Event]) -> set[int]:
    """Return the ``id`` of each queued prompt that comes again, as a later prompt or as a record of its own."""
    last = {_folded(event.text): place for place, event in enumerate(events) if event.kind == PROMPT}
    waiting: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    repeated: set[int] = set()
    for place, event in enumerate(events):
        if event.kind != QUEUED:
            continue
        words = _folded(event.text)
        if last.get(words, -1) > place or (not event.record and (words, event.at) in seen):
            repeated.add(id(event))
        elif not event.record:
            seen.add((words, event.at))
            waiting[words] = waiting.get(words, 0) + 1
        elif waiting.get(words, 0):
            waiting[words] -= 1
            repeated.add(id(event))
    return repeated


def _conversation(events: list[Event], outcomes: dict[str, list[str]], person: str, machine: str) -> list[Turn]:
    found: list[Turn] = []
    messages: dict[str, _Message] = {}
    current: Turn | None = None
    for event in events:
        kind = event.kind
        if kind in _MACHINE:
            message = messages.get(event.message) if event.message else None
            if message is None:
                role = WORKING if kind == COMMENTARY else machine
                if current is None or (current.role != role and (current.role != WORKING or kind == TEXT)):
                    current = Turn(role, event.at)
                    found.append(current)
                message = current.message()
                if event.message:
                    messages[event.message] = message
            if kind == THINKING:
                message.reasoning.append(event.text)
            elif kind in (TEXT, COMMENTARY):
                message.blocks.append((False, event.text))
            else:
                notes = outcomes.get(event.call) if event.call else None
                message.blocks.append((True, "\n".join([event.text, *notes]) if notes else event.text))
        elif kind == INTERRUPT:
            if current is not None:
                current.message().blocks.append((True, "- interrupted by the user"))
        elif kind == NOTE:
            if current is not None:
                current.message().blocks.append((True, f"- {event.text}"))
        elif kind == COMMAND:
            if event.text in SILENT:
                continue
            if current is None or current.role != COMMAND:
                current = Turn(COMMAND, event.at)
                found.append(current)
            current.message().blocks.append((True, command_lines(event.text)))
        elif isinstance(event, Gap):
            if current is None:
                found.append(Turn(machine, event.at))
            found[-1].message().blocks.append((False, left_out(event.count)))
            # The next event does not answer the one before the gap.
            messages.clear()
            current = None
        elif kind not in (RESULT, TAKEN_BACK) and event.text:
            role = {SUMMARY: COMPACTION, RECAP: RECAP, TEAMMATE: TEAMMATE}.get(kind, person)
            current = Turn(role, event.at)
            found.append(current)
            current.message().blocks.append((False, event.text))
    return found


def command_lines(text: str) -> str:
    """Return a person's command as a list line; its further lines are indented below."""
    return "- " + text.replace("\n", "\n  ")


def left_out(count: int) -> str:
    """Return the line at the place of ``count`` left-out events."""
    return f"… {count:,} pieces of this transcript are left out here: it is longer than a document may be."


def _folded(text: str) -> str:
    return " ".join(text.split())
