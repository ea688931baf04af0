"""The neutral session: what every agent's transcript is read into, and the one way in which it becomes a document.

A source's parser makes a ``Session`` of each unit it finds in a file and puts into it what was said and done, in
order. Copies are united, turns made and titles found by the same code as Claude Code's.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from core import clock
from core.document import Document, Failure, Timestamp
from core.text import clean, one_line
from ingest.pipeline.names import stem
from ingest.session import agent_calls, markdown, titles, tool_calls
from ingest.session.events import (
    COMMAND,
    COMMENTARY,
    GAP,
    INTERRUPT,
    MAX_DOCUMENT,
    NOTE,
    PROMPT,
    RESULT,
    SUMMARY,
    TEXT,
    THINKING,
    TOOL,
    Event,
    Gap,
    Window,
    bounded,
    identity,
)
from ingest.session.turns import TASK, USER, merge, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading

NO_CONVERSATION = "no conversation"
COMMANDS_ONLY = "only local commands"


class Session:
    """What one file tells of one unit.

    ``uuids``: what its records are called, of all that were ever in the file, so that a longer copy is known for one;
    ``removed``: those of them that were taken back. ``first``/``last``: bounds of the conversation, as
    ``ingest.session.values.instant`` gives them. ``title`` is a person's or a machine's, ``task`` what a subagent
    was asked for; ``extra`` holds fields of this source, in their order. ``rank`` tells kinds of places apart of
    which one knows more of a session than another (``ingest.sources.cursor.copies``). ``partial``: there is no
    transcript, but what was typed. ``sign``: what stands for the folder ``cwd`` where that is not known
    (``ingest.session.project_ids``).
    """

    __slots__ = (
        "_window",
        "agent_id",
        "agent_type",
        "branch",
        "cwd",
        "digest",
        "extra",
        "first",
        "forked_from",
        "last",
        "models",
        "parent",
        "partial",
        "rank",
        "records",
        "removed",
        "repeated",
        "sign",
        "slug",
        "source",
        "task",
        "title",
        "tokens",
        "unit",
        "uuids",
        "version",
    )

    def __init__(self, unit: str, source: str) -> None:
        self.unit = unit
        self.source = source
        self.uuids: set[str] = set()
        self.removed: set[str] = set()
        self.records = self.repeated = self.rank = 0
        self.digest = ""
        self.first = self.last = ""
        self.title = self.cwd = self.sign = self.branch = self.slug = self.version = ""
        self.forked_from = self.parent = self.agent_id = self.agent_type = self.task = ""
        self.models: set[str] = set()
        self.tokens: dict[str, int] = {}
        self.extra: dict[str, object] = {}
        self.partial = False
        self._window = Window(MAX_DOCUMENT)

    @property
    def events(self) -> list[Event]:
        """What the unit's document may show, in order; a ``Gap`` where it is too long."""
        return self._window.events()

    def showing(self, events: list[Event]) -> Session:
        """A copy that shows these events alone."""
        other = copy.copy(self)
        other.extra = dict(self.extra)
        other._window = Window(MAX_DOCUMENT)
        for event in events:
            other._window.add(event)
        return other

    def seen(self, at: str) -> None:
        """Let the conversation reach to ``at``, an ``instant`` or ""."""
        if at:
            if not self.first or at < self.first:
                self.first = at
            if at > self.last:
                self.last = at

    def put(self, kind: str, text: str, at: str = "", record: str = "", message: str = "", call: str = "") -> Event:
        """Add a piece. ``text`` must be clean; ``record`` names the raw record, where it has a lasting name."""
        event = Event(kind, bounded(text), at, record, message, call, "")
        self.uuids.add(record or identity(event))
        self._window.add(event)
        return event

    def prompt(self, text: str, at: str = "", record: str = "") -> None:
        """What a person typed."""
        self._say(PROMPT, text, at, record)

    def command(self, text: str, at: str = "", record: str = "") -> None:
        """A slash command, or with ``! `` before it a shell command, that a person typed."""
        self._say(COMMAND, text, at, record)

    def say(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """What the assistant said."""
        self._say(TEXT, text, at, record, message)

    def comment(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """What the assistant said on the way to an answer."""
        self._say(COMMENTARY, text, at, record, message)

    def note(self, text: str, at: str = "", record: str = "") -> None:
        """What happened otherwise; ``text`` is one line."""
        self.put(NOTE, one_line(text, 500), at, record)

    def think(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """What the assistant thought."""
        self._say(THINKING, text, at, record, message)

    def compacted(self, text: str, at: str = "", record: str = "") -> None:
        """A machine's summary of what came before."""
        self._say(SUMMARY, text, at, record)

    def call(self, name: str, given: Any, at: str = "", record: str = "", message: str = "", call: str = "") -> None:
        """A tool call: ``given`` is what it was given, ``call`` the id by which its outcome names it."""
        self.put(TOOL, agent_calls.call(name, given), at, record, message, call)

    def failed(self, call: str, error: str, at: str = "", record: str = "") -> None:
        """The call ended with an error: its first lines are shown under it."""
        note = tool_calls.error_lines(clean(error))
        if note:
            self.put(RESULT, note, at, record, "", call)

    def noted(self, call: str, note: str, at: str = "", record: str = "") -> None:
        """A line under the call; ``note`` is one line of clean text."""
        self.put(RESULT, f"  {note}", at, record, "", call)

    def interrupted(self, at: str = "", record: str = "") -> None:
        """The person stopped the assistant."""
        self.put(INTERRUPT, "", at, record)

    def _say(self, kind: str, text: str, at: str, record: str, message: str = "") -> None:
        text = clean(text).strip()
        if text:
            self.put(kind, text, at, record, message)


def compose(unit: str, parts: list[Session], _link: str = "", mtime_ns: int = 0) -> tuple[dict[str, object], str] | str:
    """(frontmatter, body) of one unit from all its copies, or the reason why it makes no document.

    ``mtime_ns`` dates a unit that has no timestamps. The result depends on the set of ``parts`` alone, not on their
    order. A parent's link is not looked at: these sources' subagents name their parents themselves.
    """
    by_time = sorted(parts, key=lambda part: (part.last, len(part.uuids), part.records, part.digest))
    agent = any(part.parent for part in parts)
    removed = set().union(*(part.removed for part in parts))
    # The newest copy is the one whose version of a record stands: these records, unlike Claude Code's, are rewritten.
    events = merge(by_time[::-1])
    if removed:
        events = [event for event in events if event.kind == GAP or event.record not in removed]
    found = turns(events, agent=agent)
    if not found:
        return NO_CONVERSATION
    if all(turn.role == COMMAND for turn in found) and not any(
        text.startswith("- !") for turn in found for _, text in turn.blocks()
    ):
        return COMMANDS_ONLY
    task = _latest([part.task for part in by_time]) or ""
    heading = titles.first_of(_latest([part.title for part in by_time]) or "", task)
    heading = heading or titles.from_turns(found, TASK if agent else USER) or titles.UNTITLED
    first = min((part.first for part in parts if part.first), default="")
    last = max(part.last for part in parts)
    meta: dict[str, object] = {
        "session_id": unit,
        "source": parts[0].source,
        "title": heading,
        "date": _timestamp(first) if first else Timestamp(clock.iso(mtime_ns // 1_000_000_000)),
        "date_source": None if first else "mtime",
        "ended": _timestamp(last) if first else None,
        "project": next((part.cwd for part in sorted(parts, key=_age) if part.cwd), None),
        "git_branch": _latest([part.branch for part in by_time]),
        "slug": _latest([part.slug for part in by_time]),
        "models": sorted({model for part in parts for model in part.models}),
        "version": _latest([part.version for part in by_time]),
        "turns": len(found),
        "output_tokens": _tokens(by_time),
        "forked_from": _latest([part.forked_from for part in by_time]),
        "parent": _latest([part.parent for part in by_time]),
        "agent_id": _latest([part.agent_id for part in by_time]),
        "agent_type": _latest([part.agent_type for part in by_time]),
        "task": task or None,
    }
    for part in by_time:
        meta.update(part.extra)
    meta["truncated"] = sum(event.count for event in events if isinstance(event, Gap)) or None
    return {key: one_line(value) if type(value) is str else value for key, value in meta.items()}, markdown.body(
        heading, list(found)
    )


def documents(reading: Reading, prefix: str) -> Iterator[Document | Failure]:
    """The documents of one file taken alone, then what in it could not be read."""
    for unit, part in reading.parts.items():
        composed = compose(unit, [part], mtime_ns=reading.mtime_ns)
        if isinstance(composed, str):
            yield Failure(reading.path, composed)
        else:
            meta, body = composed
            yield Document(f"{prefix}{stem(unit)}.md", meta, body)
    yield from faults(reading)


def faults(reading: Reading) -> Iterator[Failure]:
    """What of a file could not be read, and why it makes no document where it makes none."""
    if reading.failed is not None:
        yield reading.failed
    elif reading.skipped:
        yield Failure(reading.path, reading.skipped)
    yield from (failure for failure in reading.failures if failure is not reading.failed)


def _age(part: Session) -> tuple[str, int, str]:
    return (part.first or "9", -len(part.uuids), part.digest)


def _latest(values: list[str]) -> str | None:
    return next((value for value in reversed(values) if value), None)


def _tokens(parts: list[Session]) -> int | None:
    counts: dict[str, int] = {}
    for part in parts:
        counts.update(part.tokens)
    return sum(counts.values()) or None


def _timestamp(at: str) -> Timestamp:
    return Timestamp(f"{at[:19]}Z")
