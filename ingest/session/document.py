"""All copies of a session → turns → its document: frontmatter and body. docs/documents.md has the grammar, a contract.

Copies are merged, split messages joined, and machines' text kept apart from people's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core import clock
from core.document import Failure, Timestamp
from core.text import one_line
from ingest.session import titles
from ingest.session.session import (
    COMMAND,
    COMMENTARY,
    GAP,
    INTERRUPT,
    MAX_DOCUMENT,
    NOTE,
    PROMPT,
    QUEUED,
    RECAP,
    RESULT,
    SUMMARY,
    TEAMMATE,
    TEXT,
    THINKING,
    TOOL,
    Event,
    weight,
)
from ingest.session.units import split_key, stem, unit_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Protocol

    from ingest.pipeline.reading import Reading
    from ingest.session.session import Part, SessionBuilder

    # (blocks, reasoning) of one message.
    Message = tuple[list[tuple[bool, str]], list[str]]

    class TurnLike(Protocol):
        """A turn as the renderer needs it; ``at`` is ``YYYY-MM-DDTHH:MM…`` in UTC or ""."""

        role: str
        at: str

        def blocks(self) -> list[tuple[bool, str]]: ...

        def reasoning(self) -> list[str]: ...


USER, ASSISTANT, TASK, SUBAGENT = "user", "assistant", "task", "subagent"
COMPACTION = "compaction"
# The assistant's words while it works, if its tool marks them, with its tool calls.
WORKING = "commentary"
# The roles of turns that name a session if no person's request does, each group with the least number of telling words:
# an agent's "Because." names nothing.
_NAMING = ((1, (COMPACTION, RECAP)), (1, (TEAMMATE,)), (2, (ASSISTANT, WORKING)), (1, (TASK,)), (2, (SUBAGENT,)))

_MACHINE = frozenset((TEXT, TOOL, THINKING, COMMENTARY))
# Kinds of events that begin a turn each → its role, "" for the person's.
_PROMPTS = {PROMPT: "", QUEUED: "", SUMMARY: COMPACTION, RECAP: RECAP, TEAMMATE: TEAMMATE}
# Commands that only end or begin a transcript.
SILENT = frozenset(("/clear", "/exit", "/quit"))

REASONING = "### reasoning"
COMPACTED = "### summary of what was compacted"

# Lines by which readers of a document find its turns: a payload must not contain them.
_OURS = re.compile(rf"(?m)^(?= {{0,3}}(?:## \[|{REASONING}|{COMPACTED}))")
_FENCE = re.compile(r"(?m)^ {0,3}(`{3,}|~{3,})(.*)$")


def compose(
    unit: str, parts: list[SessionBuilder], link: str = "", mtime_ns: int = 0
) -> tuple[dict[str, object], str] | str:
    """Return (frontmatter, body) of a unit from all its copies, or the reason why it makes no document.

    The result depends on the set of ``parts`` alone, not on their order.

    Args:
        link: type and task of a subagent, tab-separated, as its parent's call has them; "" if the parent has none.
        mtime_ns: dates a session without timestamps.
    """
    copies = [each for part in parts for each in part.copies()]
    by_time = sorted(copies, key=lambda each: (each.last, len(each.uuids), each.records, each.digest))
    is_agent = any(each.parent for each in copies)
    found = turns(events := _kept(_events(copies, by_time), copies), agent=is_agent)
    if reason := parts[0].refusal(found):
        return reason
    kind, _, task = link.partition("\t")
    kind = kind or _latest(each.agent_type for each in by_time)
    task = task or _latest(each.task for each in by_time)
    title = _title(by_time, found, task, TASK if is_agent or found[0].role == TASK else USER)
    first = min((each.first for each in copies if each.first), default="")
    session, agent = split_key(unit)
    meta: dict[str, object] = {
        "session_id": stem(unit) if agent else session,
        "source": parts[0].source,
        "title": title,
        "date": _timestamp(first) if first else Timestamp(clock.iso(mtime_ns // 1_000_000_000)),
        "date_source": None if first else "mtime",
        "ended": _timestamp(by_time[-1].last) if first else None,
        "project": next((each.cwd for each in sorted(copies, key=_oldest_first) if each.cwd), None),
        "git_branch": _latest(each.branch for each in by_time),
        "slug": _latest(each.slug for each in by_time),
        "models": sorted({model for each in copies for model in each.models}),
        "version": _latest(each.version for each in by_time),
        "turns": len(found),
        "output_tokens": _tokens(copies),
        "tokens": _usage(copies),
        "pull_requests": sorted({link for each in copies for link in each.pull_requests}),
        "forked_from": _latest(each.forked_from for each in by_time),
        "parent": _latest(each.parent for each in by_time),
        "agent_id": _latest(each.agent_id for each in by_time),
        "agent_type": kind,
        "task": task,
    }
    for each in by_time:
        meta.update(each.extra)
    meta["truncated"] = sum(event.count for event in events) or None
    return {key: one_line(value) if type(value) is str else value for key, value in meta.items()}, body(title, found)


def links(unit: str, parts: list[Part]) -> dict[str, str]:
    """Return for each subagent that this unit started its unit → agent type and task, tab-separated."""
    session = split_key(unit)[0]
    copies = [each for part in parts for each in part.copies()]
    return {
        unit_key(session, agent): link
        for each in sorted(copies, key=lambda each: (len(each.uuids), each.digest))
        for agent, link in each.links.items()
    }


def faults(reading: Reading) -> Iterator[Failure]:
    """Yield the records of a file that could not be read, and why the file makes no document if it makes none."""
    if reading.failed is not None:
        yield reading.failed
    elif reading.skipped:
        yield Failure(reading.path, reading.skipped)
    yield from (failure for failure in reading.failures if failure is not reading.failed)


def _events(copies: list[SessionBuilder], by_time: list[SessionBuilder]) -> list[Event]:
    """Return the events that the copies have between them, in the order in which a document shows them."""
    if len(copies) == 1:
        events = copies[0].events
        if sum(map(weight, events)) <= MAX_DOCUMENT and not any(event.count for event in events):
            return events
    from ingest.session.merging import merge

    if all(each.is_append_only for each in copies):
        return merge(sorted(copies, key=lambda each: (-len(each.uuids), each.age, -each.records, each.digest)))
    return merge(by_time[::-1])


def _kept(events: list[Event], copies: list[SessionBuilder]) -> list[Event]:
    """Return the events without removed records and without retracted answers, except calls of theirs that ran."""
    removed = set[str]().union(*(each.removed for each in copies))
    retracted = set[str]().union(*(each.retracted for each in copies))
    if removed:
        events = [event for event in events if event.kind == GAP or event.record not in removed]
    if retracted:
        ran = set[str]().union(*(each.ran for each in copies))
        events = [
            event
            for event in events
            if event.record not in retracted
            or not (event.kind in (TEXT, THINKING) or (event.kind == TOOL and event.call not in ran))
        ]
    return events


def _title(by_time: list[SessionBuilder], found: list[Turn], task: str, person: str) -> str:
    """Return a title: given by a person, by a model, a summary of these records, the task, else the turns'."""
    summaries = [summary for each in by_time for summary in each.summaries]
    uuids = set[str]().union(*(each.uuids for each in by_time)) if summaries else set[str]()
    given = (
        _latest(each.title for each in by_time),
        _latest(each.machine_title for each in by_time),
        _latest(text for leaf, text in summaries if leaf in uuids),
        task,
    )
    return titles.title(given, found, ((1, (person, COMMAND)), *_NAMING))


def _oldest_first(each: SessionBuilder) -> tuple[str, int, str]:
    return (each.first or "9", -len(each.uuids), each.digest)


def _latest(values: Iterable[str]) -> str:
    return next(filter(None, reversed([*values])), "")


def _tokens(copies: list[SessionBuilder]) -> int | None:
    counts: dict[str, int] = {}
    for each in copies:
        for message, tokens in each.tokens.items():
            counts[message] = max(tokens, counts.get(message, tokens))
    return sum(counts.values()) or None


def _usage(copies: list[SessionBuilder]) -> list[str]:
    """Return the tokens by model, an item each: new input, input that the provider's cache had or took, output.

    Records without a model are of the session's only model, which is not named.
    """
    records: dict[str, tuple[Any, ...]] = {}
    for each in copies:
        for record, spent in each.spent.items():
            records[record] = max(spent, records.get(record, spent), key=lambda counts: (sum(counts[1:]), counts))
    if not records:
        return []
    models = set[str]().union(*(each.models for each in copies))
    only = next(iter(models)) if len(models) == 1 else "unknown"
    totals: dict[str, list[int]] = {}
    for model, *counts in records.values():
        total = totals.setdefault(one_line(model, 100) or only, [0, 0, 0, 0])
        for place, count in enumerate(counts):
            total[place] += count
    # Without words: a word that is in each document would find none of them.
    named = len(totals) > 1 or only not in totals
    shown = {model: "/".join(map(str, total)) for model, total in totals.items()}
    return [f"{shown[model]} {model}" if named else shown[model] for model in sorted(totals)]


def _timestamp(at: str) -> Timestamp:
    return Timestamp(f"{at[:19]}Z")


class Turn:
    """One section of a document: author, time, and messages, each its blocks and, apart from them, its reasoning.

    A block is (is a list line, text).
    """

    __slots__ = ("at", "messages", "role")

    def __init__(self, role: str, at: str) -> None:
        self.role, self.at = role, at
        self.messages: list[Message] = []

    def message(self, *blocks: tuple[bool, str]) -> Message:
        """Add a message to this turn."""
        message: Message = list(blocks), []
        self.messages.append(message)
        return message

    def blocks(self) -> list[tuple[bool, str]]:
        """Return the blocks in order of the messages."""
        return [block for blocks, _ in self.messages for block in blocks]

    def reasoning(self) -> list[str]:
        """Return the texts of the reasoning."""
        return [text for _, reasoning in self.messages for text in reasoning]


def turns(events: list[Event], *, agent: bool) -> list[Turn]:
    """Return the turns of the conversation, then of each inline sidechain; ``agent``: the session is a subagent's."""
    main: list[Event] = []
    chains: dict[str, list[Event]] = {}
    outcomes: dict[str, list[str]] = {}
    repeated = _repeated_prompts(events) if any(event.kind == QUEUED for event in events) else set()
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
    messages: dict[str, Message] = {}
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
                message[1].append(event.text)
            elif kind in (TEXT, COMMENTARY):
                message[0].append((False, event.text))
            else:
                notes = outcomes.get(event.call) if event.call else None
                message[0].append((True, "\n".join([event.text, *notes]) if notes else event.text))
        elif kind in _PROMPTS:
            if event.text:
                current = Turn(_PROMPTS[kind] or person, event.at)
                found.append(current)
                current.message((False, event.text))
        elif kind == INTERRUPT:
            if current is not None:
                current.message((True, "- interrupted by the user"))
        elif kind == NOTE:
            if current is not None:
                current.message((True, f"- {event.text}"))
        elif kind == COMMAND:
            if event.text in SILENT:
                continue
            if current is None or current.role != COMMAND:
                current = Turn(COMMAND, event.at)
                found.append(current)
            current.message((True, command_lines(event.text)))
        elif kind == GAP:
            if current is None:
                found.append(Turn(machine, event.at))
            found[-1].message((False, left_out(event.count)))
            # The next event does not answer the one before the gap.
            messages.clear()
            current = None
    return found


def command_lines(text: str) -> str:
    """Return a person's command as a list line; its further lines are indented below."""
    return "- " + text.replace("\n", "\n  ")


def left_out(count: int) -> str:
    """Return the line at the place of ``count`` left-out events."""
    return f"… {count:,} pieces of this transcript are left out here: it is longer than a document may be."


def _folded(text: str) -> str:
    return " ".join(text.split())


def body(title: str, turns: Sequence[TurnLike]) -> str:
    """Return the markdown below the frontmatter: the title, then a numbered section for each turn."""
    pieces = [f"# {title}\n" if title else ""]
    for number, turn in enumerate(turns, 1):
        pieces.append(f"\n## [{number}] {turn.role}{_when(turn.at)}\n\n")
        if turn.role == "compaction":
            pieces.append(f"{COMPACTED}\n\n")
        before: bool | None = None  # True if the block before this one was a list line
        for item, text in turn.blocks():
            gap = "" if before is None or (item and before) else "\n"
            pieces.append(f"{gap}{text if item else escape(text)}\n")
            before = item
        reasoning = turn.reasoning()
        if reasoning:
            pieces.append(f"{'' if before is None else chr(10)}{REASONING}\n\n")
            pieces.append("\n\n".join(escape(text) for text in reasoning))
            pieces.append("\n")
    return "".join(pieces)


def escape(text: str) -> str:
    """Return ``text`` without lines that look like our headings or tool calls, and with its code fences closed."""
    if "## [" in text or "### " in text:
        text = _OURS.sub(r"\\", text)
    if text.startswith("- ") or "\n- " in text:
        text = _no_calls(text)
    if "```" in text or "~~~" in text:
        text += _unclosed(text)
    return text


def _no_calls(text: str) -> str:
    """Return ``text`` with a backslash before each line, outside code fences, that looks like a tool call."""
    from ingest.session.tool_calls import AS_CALL  # many documents have no list

    if not AS_CALL.search(text):
        return text
    pieces: list[str] = []
    last, fence = 0, ""
    for match in [*_FENCE.finditer(text), None]:
        end = len(text) if match is None else match.start()
        pieces.append(text[last:end] if fence else AS_CALL.sub(r"\\", text[last:end]))
        last = end
        if match is not None:
            fence = _after(fence, *match.groups())
    return "".join(pieces)


def _after(fence: str, mark: str, rest: str) -> str:
    """Return the fence that is open after a line of ``mark`` and ``rest``, or ""; ``fence`` was open before."""
    if not fence:
        return mark if mark[0] == "~" or "`" not in rest else ""
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip() else fence


def _unclosed(text: str) -> str:
    """Return the closing fence that ``text`` lacks: without it the next text is code (CommonMark §4.5)."""
    fence = ""
    for match in _FENCE.finditer(text):
        fence = _after(fence, *match.groups())
    return f"\n{fence}" if fence else ""


def _when(at: str) -> str:
    return f" · {at[:10]} {at[11:16]}" if at else ""
