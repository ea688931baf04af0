"""A session as its parser describes it, in one vocabulary for all tools.

=============== =====================================================================================
``prompt``      a person's words
``queued``      a person's words, typed while the assistant worked; they may come again as a prompt
``command``     a slash command that a person typed, or a shell command with ``! `` in front
``reply``       the assistant's words
``commentary``  the assistant's words between two steps of its work
``thought``     the assistant's reasoning
``tool_call``   a call of a tool
``edited``      the result of a call that may have the file from before it
``tool_error``  the call ended with an error
``tool_note``   one line about the call: an answer, a refusal, the subagent that it started
``summary``     a machine's summary of the conversation so far, which replaced it in the model's context
``recap``       a machine's summary for a person who comes back
``teammate``    another agent's or a schedule's words, in a person's place
``interrupt``   the person stopped the assistant
``note``        anything else that happened, in one line
``usage``       the model of an answer, and its tokens
``pieces``      one text of a user message, as the tool's ``extract_user_text`` returned it
=============== =====================================================================================

A parser assigns what describes the whole session; ``SessionBuilder`` documents the other attributes:

================= ===================================================================================
``title``         the title that a person or the tool gave
``machine_title`` the title that a model gave
``cwd``           the folder in which the session worked; it decides the project
``branch``        the branch of the repository in that folder
``version``       the version of the tool
``parent``        the unit of the session that started this one
``extra``         frontmatter of this source alone, by name
================= ===================================================================================

Text is cleaned of control characters here; empty text adds nothing. Common arguments: ``at``, the record's time as
``ingest.session.values.moment`` gives it; ``record``, the record's lasting name ("" if it has none), by which copies
are merged; ``message``, the message of the API that the record is a piece of; ``call_id``, the id of the tool call.
"""

from __future__ import annotations

import copy
import hashlib
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from core.counting import add
from core.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ingest.session.document import Turn
    from ingest.session.edits import Log
    from ingest.session.user_text import UserText

# Characters of one event: a pasted log must not make a document that no index can use.
MAX_BLOCK = 256 * 1024
# Characters of one document: thirty times the longest session at hand. At four bytes a character, for which one emoji
# suffices, a document, its parts and its index entry stay below 200 MB of memory.
MAX_DOCUMENT = 4 * 1024 * 1024
# Characters of its beginning, where the task is. The rest is for the end, where the result is.
MAX_HEAD = 1024 * 1024
# The cost of an event besides its text: a heading or bullet in the document, objects in memory.
OVERHEAD = 100

# Kinds of events, as they are described above. A prompt that a person took back is not shown; RESULT is
# an outcome or a note under a tool call.
PROMPT, COMMAND, SUMMARY, INTERRUPT, TEAMMATE = "prompt", "command", "summary", "interrupt", "teammate"
QUEUED, TAKEN_BACK = "queued", "taken back"
TEXT, COMMENTARY, THINKING, TOOL, RESULT, RECAP = "text", "commentary", "thinking", "tool", "result", "recap"
NOTE = "note"

GAP = "gap"

# The log of edits, if somebody asked for one (``ingest.session.edits.logged``). Parsers make their sessions themselves:
# a parameter would have to go through each of them.
EDIT_LOG: ContextVar[Log | None] = ContextVar("EDIT_LOG", default=None)

NO_CONVERSATION = "no conversation"
COMMANDS_ONLY = "only local commands"


class Event:
    """One piece of a session.

    ``record`` is the lasting name of its record and ``at`` the normalised timestamp; either may be "". ``message`` is
    the message of the API that the record is a piece of, ``call`` the id of a tool call. ``chain`` is the root of an
    inline sidechain. ``count``: the number of events that are left out here (``Gap``).
    """

    __slots__ = ("at", "call", "chain", "kind", "message", "record", "text")

    count = 0

    def __init__(self, kind: str, text: str, at: str, record: str, message: str, call: str, chain: str) -> None:
        self.kind, self.text, self.at, self.record = kind, text, at, record
        self.message, self.call, self.chain = message, call, chain


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


def weight(event: Event) -> int:
    """Return how much of a document an event takes, in characters."""
    return 0 if event.kind == GAP else len(event.text) + OVERHEAD


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


class Part:
    """One file's copy of a unit of recall: of a session, or of a day in a history of commands.

    ``uuids`` identifies the part's records: two copies of a unit are compared by them. ``repeated`` counts records that
    the file holds twice, ``hidden`` those that are not in ``uuids``. The other attributes are empty for units that have
    no folder, no parent and no version of a tool.
    """

    __slots__ = ("digest", "repeated", "unit")

    cwd = sign = parent = version = ""
    partial = False
    hidden = 0
    links: Mapping[str, str] = {}

    def __init__(self, unit: str) -> None:
        self.unit, self.digest, self.repeated = unit, "", 0

    @property
    def uuids(self) -> set[Any]:
        """The identities of all records that were ever in the file."""
        raise NotImplementedError

    @property
    def distinct(self) -> int:
        """The number of distinct records."""
        return len(self.uuids)

    def copies(self) -> Sequence[Part]:
        """Return the part, and the versions that the file held before it was rewritten, if these count as copies."""
        return (self,)

    def with_older(self, older: Part) -> Part:
        """Return the part to keep, given the part that an ``older`` version of the file holds."""
        return older if len(older.uuids) > len(self.uuids) else self


class SessionBuilder(Part):
    """One file's copy of a session, which a parser fills record by record, in the order of the file.

    ``removed``: records that were taken back; ``retracted``: records of answers that others replaced, which stay if
    they ran a tool; ``ran``: calls that have a result. ``first`` and ``last`` bound the
    conversation, in the form of ``ingest.session.values.instant``. ``title`` was given by a person or by the tool,
    ``machine_title`` by a model, ``summaries`` are (record that one describes, text); ``task`` is what a subagent was
    asked to do. ``links`` maps each subagent to its type and task, tab-separated. ``extra`` holds frontmatter of this
    source alone, in order.

    ``rank`` orders the places of one tool by how much they know of a session. ``partial``: the transcript is missing,
    only a person's prompts are known. ``sign`` identifies the folder ``cwd`` if that is unknown
    (``ingest.session.project_ids``).
    ``chain`` is the root of the inline sidechain that the next events belong to, "" for the conversation itself.
    """

    __slots__ = (
        "_events",
        "_weight",
        "_window",
        "age",
        "agent_id",
        "agent_type",
        "branch",
        "chain",
        "cwd",
        "extra",
        "first",
        "forked_from",
        "last",
        "links",
        "machine_title",
        "models",
        "parent",
        "partial",
        "pull_requests",
        "ran",
        "rank",
        "records",
        "removed",
        "retracted",
        "sign",
        "slug",
        "source",
        "spent",
        "summaries",
        "task",
        "title",
        "tokens",
        "uuids",
        "version",
    )

    # True if the tool only appends to its files: the longest copy decides what a record says; else the newest copy.
    is_append_only = False

    def __init__(self, unit: str, source: str) -> None:
        super().__init__(unit)
        self.source = source
        self.uuids: set[str] = set()
        self.removed, self.retracted, self.ran = (set[str]() for _ in range(3))
        self.records = self.rank = self.age = 0
        self.first = self.last = ""
        self.title = self.machine_title = ""
        self.summaries: list[tuple[str, str]] = []
        self.cwd = self.sign = self.branch = self.slug = self.version = ""
        self.forked_from = self.parent = self.agent_id = self.agent_type = self.task = ""
        self.links: dict[str, str] = {}
        self.models, self.pull_requests = set[str](), set[str]()
        self.tokens: dict[str, int] = {}
        # Record → model, and tokens: new input, input from the cache, input into the cache, output.
        self.spent: dict[str, tuple[Any, ...]] = {}
        self.extra: dict[str, object] = {}
        self.partial, self.chain = False, ""
        self._events: list[Event] = []
        self._weight = 0
        self._window: Window | None = None

    @property
    def events(self) -> list[Event]:
        """The events that the session's document may show, in order; a ``Gap`` where it is too long."""
        return self._events if self._window is None else self._window.events()

    def _keep(self, event: Event) -> None:
        if self._window is None:
            self._weight += weight(event)
            if self._weight <= MAX_HEAD:
                self._events.append(event)
                return
            self._window = Window(MAX_DOCUMENT, self._events)
        self._window.add(event)

    def copies(self) -> Sequence[SessionBuilder]:
        """Return the session, and the earlier versions of a rewritten file, if these count as copies."""
        return (self,)

    def showing(self, events: list[Event]) -> SessionBuilder:
        """Return a copy that shows only these events."""
        other = copy.copy(self)
        other.extra = dict(self.extra)
        other._window = Window(MAX_DOCUMENT, events)
        return other

    def refusal(self, turns: list[Turn]) -> str:
        """Return the reason why turns make no document, "" if they make one."""
        if not turns:
            return NO_CONVERSATION
        is_shell = any(text.startswith("- !") for turn in turns for _, text in turn.blocks())
        return COMMANDS_ONLY if not is_shell and all(turn.role == "command" for turn in turns) else ""

    def date(self, record: str, at: str) -> None:
        """Give the events of a record that has no time of its own a timestamp."""
        for event in self.events if record else ():
            if event.record == record and not event.at:
                event.at = at

    def extend_to(self, at: str) -> None:
        """Extend the conversation's time span to a timestamp; "" changes nothing."""
        if at:
            self.first = min(self.first or at, at)
            self.last = max(self.last, at)

    def put(self, kind: str, text: str, at: str = "", record: str = "", message: str = "", call_id: str = "") -> Event:
        """Add an event of any kind; ``text`` must be clean."""
        event = Event(kind, bounded(text), at, record, message, call_id, self.chain)
        self.uuids.add(record or identity(event))
        self._keep(event)
        return event

    def prompt(self, text: str, at: str = "", record: str = "") -> None:
        """Add a person's words."""
        self._say(PROMPT, text, at, record)

    def queued(self, text: str, at: str = "", record: str = "") -> None:
        """Add a person's words, typed while the assistant worked."""
        self._say(QUEUED, text, at, record)

    def command(self, text: str, at: str = "", record: str = "") -> None:
        """Add a slash command, or a shell command with ``! `` in front."""
        self._say(COMMAND, text, at, record)

    def reply(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """Add the assistant's words."""
        self._say(TEXT, text, at, record, message)

    def commentary(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """Add the assistant's words between two steps of its work."""
        self._say(COMMENTARY, text, at, record, message)

    def thought(self, text: str, at: str = "", record: str = "", message: str = "") -> None:
        """Add the assistant's reasoning."""
        self._say(THINKING, text, at, record, message)

    def tool_call(
        self, name: str, given: Any, at: str = "", record: str = "", message: str = "", call_id: str = ""
    ) -> None:
        """Add a call of a tool; ``given`` is its input as recorded."""
        event = self.put(TOOL, self.call_lines(name, given), at, record, message, call_id)
        log = EDIT_LOG.get()
        if log is not None:
            log.record(self, event, name, given)

    def edited(self, call_id: str, details: object) -> None:
        """Take the files as they were before a call from the details of its result; nothing of them is shown."""
        log = EDIT_LOG.get()
        if log is not None:
            log.record_result(call_id, details)

    def ended(self, call_id: str, at: str = "", ms: object = None) -> None:
        """Take when a call ended, and how long it took (ms) if its log says so; nothing of that is shown."""
        log = EDIT_LOG.get()
        if log is not None:
            log.record_end(call_id, at, ms)

    def call_lines(self, name: str, given: Any) -> str:
        """Return the lines of a tool call, from its name and input."""
        from ingest.session.tool_calls import call_lines  # many sessions call no tool

        return call_lines(name, given)

    def tool_error(self, call_id: str, error: str, at: str = "", record: str = "") -> None:
        """Add the first lines of an error under its call."""
        from ingest.session.tool_calls import error_lines

        lines = error_lines(clean(error))
        if lines:
            self.put(RESULT, lines, at, record, "", call_id)

    def tool_note(self, call_id: str, note: str, at: str = "", record: str = "") -> None:
        """Add one line of clean text under a call."""
        self.put(RESULT, f"  {note}", at, record, "", call_id)

    def summary(self, text: str, at: str = "", record: str = "") -> None:
        """Add a machine's summary of the conversation so far."""
        self._say(SUMMARY, text, at, record)

    def recap(self, text: str, at: str = "", record: str = "") -> None:
        """Add a machine's summary for a person who comes back."""
        self._say(RECAP, text, at, record)

    def teammate(self, text: str, at: str = "", record: str = "") -> None:
        """Add another agent's or a schedule's words."""
        self._say(TEAMMATE, text, at, record)

    def interrupt(self, at: str = "", record: str = "") -> None:
        """Add that the person stopped the assistant."""
        self.put(INTERRUPT, "", at, record)

    def note(self, text: str, at: str = "", record: str = "") -> None:
        """Add anything else that happened, in one line."""
        self.put(NOTE, one_line(text, 500), at, record)

    def usage(self, model: object, tokens: object = 0, record: str = "", sent: Sequence[object] = ()) -> None:
        """Add the model of an answer and the number of its output tokens; a value of another type is left out.

        ``sent`` is what ``spend`` takes.
        """
        if type(model) is str and model:
            self.models.add(model)
        if type(tokens) is int and tokens:
            self.tokens[record] = tokens
        self.spend(model, tokens, record, *sent)

    def spend(
        self, model: object, tokens: object, record: str, sent: object = 0, cached: object = 0, stored: object = 0
    ) -> None:
        """Add the tokens of an answer: output, and input that was new, came from the provider's cache, went into it."""
        counts = tuple(each if type(each) is int and each > 0 else 0 for each in (sent, cached, stored, tokens))
        if any(counts):
            self.spent[record] = (model if type(model) is str else "", *counts)

    def pieces(self, text: UserText, at: str = "", record: str = "") -> str:
        """Add the pieces of one user text that are no prompt, and return the person's words.

        A message may hold several texts: the caller joins their words and adds one prompt.
        """
        for kind, words in text.pieces:
            if kind != PROMPT and (words or kind == INTERRUPT):
                self.put(kind, words, at, record)
        return text.typed

    def _say(self, kind: str, text: str, at: str, record: str, message: str = "") -> None:
        text = clean(text).strip()
        if text:
            self.put(kind, text, at, record, message)
