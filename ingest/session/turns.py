"""From events to turns: copies merged, split messages put together again, machine text kept apart from people's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

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

USER, ASSISTANT, TASK, SUBAGENT = "user", "assistant", "task", "subagent"
COMPACTION = "compaction"
# What an assistant says while it works, where its source tells that from the answer; its tool calls stand there too.
WORKING = "commentary"

_MACHINE = frozenset((TEXT, TOOL, THINKING, COMMENTARY))
# Commands that only end or begin a transcript: where they stand says as much.
SILENT = frozenset(("/clear", "/exit", "/quit"))


class PartLike(Protocol):
    """What one file tells of one unit: its events in order, and what its records are called."""

    uuids: set[str]

    @property
    def events(self) -> list[Event]: ...


class Turn:
    """One section of a document: who, when, the blocks in order and, apart from them, the reasoning.

    A block is (is a list line, text).
    """

    __slots__ = ("_messages", "at", "role")

    def __init__(self, role: str, at: str) -> None:
        self.role = role
        self.at = at
        self._messages: list[_Message] = []

    def message(self) -> _Message:
        """A new message of this turn."""
        message = _Message()
        self._messages.append(message)
        return message

    def blocks(self) -> list[tuple[bool, str]]:
        """What was said and done, in order of the messages."""
        return [block for message in self._messages for block in message.blocks]

    def reasoning(self) -> list[str]:
        """What was thought."""
        return [text for message in self._messages for text in message.reasoning]


class _Message:
    __slots__ = ("blocks", "reasoning")

    def __init__(self) -> None:
        self.blocks: list[tuple[bool, str]] = []
        self.reasoning: list[str] = []


def merge(parts: Sequence[PartLike]) -> list[Event]:
    """The union of the copies' events, deduplicated by record, in one order whatever the order of ``parts``.

    ``parts`` must be sorted by content (longest first). A copy that adds nothing changes nothing; where copies have
    diverged, what one adds follows the record it followed there, and the whole is put in order of time. The middle of
    a whole that is too long for a document is left out; whether a copy shows a record is decided by the first copy
    that has it.
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
    """The identities of the events that belong to no record with a uuid."""
    found: set[str] = set()
    for event in events:
        if isinstance(event, Gap):
            found.update(event.missing)
        elif not event.record:
            found.add(identity(event))
    return found


def _places(events: list[Event]) -> dict[str, int]:
    """Identity → where in ``events`` its last piece, or the gap that it is missing in, ends."""
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
    """The conversation as turns, then each inline sidechain's; ``agent``: the transcript is a subagent's own."""
    main: list[Event] = []
    chains: dict[str, list[Event]] = {}
    outcomes: dict[str, list[str]] = {}
    events = list(events)
    told = _told_elsewhere(events)
    for event in events:
        if event.kind == RESULT:
            outcomes.setdefault(event.call, []).append(event.text)
        if id(event) in told:
            continue
        if event.chain:
            chains.setdefault(event.chain, []).append(event)
        else:
            main.append(event)
    found = _conversation(main, outcomes, TASK if agent else USER, ASSISTANT)
    for chain in chains.values():
        found += _conversation(chain, outcomes, TASK, SUBAGENT)
    return found


def _told_elsewhere(events: list[Event]) -> set[int]:
    """The ``id`` of each queued prompt that stands again: as a prompt after it, or as a record of its own."""
    last = {_folded(event.text): place for place, event in enumerate(events) if event.kind == PROMPT}
    waiting: dict[str, int] = {}
    stood: set[tuple[str, str]] = set()
    told: set[int] = set()
    for place, event in enumerate(events):
        if event.kind != QUEUED:
            continue
        words = _folded(event.text)
        if last.get(words, -1) > place or (not event.record and (words, event.at) in stood):
            told.add(id(event))
        elif not event.record:
            stood.add((words, event.at))
            waiting[words] = waiting.get(words, 0) + 1
        elif waiting.get(words, 0):
            waiting[words] -= 1
            told.add(id(event))
    return told


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
            # What follows is not an answer to what stands before.
            messages.clear()
            current = None
        elif kind not in (RESULT, TAKEN_BACK) and event.text:
            role = {SUMMARY: COMPACTION, RECAP: RECAP, TEAMMATE: TEAMMATE}.get(kind, person)
            current = Turn(role, event.at)
            found.append(current)
            current.message().blocks.append((False, event.text))
    return found


def command_lines(text: str) -> str:
    """A command that the user typed, as a list line; further lines are indented below it."""
    return "- " + text.replace("\n", "\n  ")


def left_out(count: int) -> str:
    """The line that stands where ``count`` pieces are left out."""
    return f"… {count:,} pieces of this transcript are left out here: it is longer than a document may be."


def _folded(text: str) -> str:
    return " ".join(text.split())
