"""From raw Claude Code records to slim events: what a document needs, and nothing of tool results or images.

A file is read once, as a stream. Its events are held by unit of recall (see ``unit_key``): normally one session or
one subagent a file; a record always belongs to the session that it names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from core.text import clean, one_line
from ingest.pipeline.units import is_agent
from ingest.session import tool_calls
from ingest.session.events import (
    COMMAND,
    MAX_DOCUMENT,
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
    Window,
    bounded,
    identity,
)
from ingest.session.values import blocks, instant, mapping, moment, plain, string
from ingest.sources.claude import human, vocabulary
from ingest.sources.claude.outcomes import outcome

_SYNTHETIC = "<synthetic>"

# (what is not known, what stands there) of a record, in order.
Unknown = list[tuple[str, Any]]


class Rewritten:
    """The events of one record that stands again, in order."""

    __slots__ = ("_events",)

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, event: Event) -> None:
        """Take the next event in."""
        self._events.append(event)

    def events(self) -> list[Event]:
        """All of them."""
        return self._events

    def recent(self) -> Iterable[Event]:
        """All of them, last first."""
        return reversed(self._events)


class Part:
    """What one file tells of one unit. ``first``/``last`` are the bounds of its conversation's timestamps.

    Of a transcript longer than a document it keeps both ends, each at least as long as any document's: what it
    forgets no union with other copies would show. ``earlier``: what the file told of it before, each ``age`` older.
    ``retracted``: the records of answers that others took the place of; ``ran``: the calls that have a result.
    """

    __slots__ = (
        "_again",
        "_chains",
        "_planless",
        "_room",
        "_shown",
        "_window",
        "age",
        "ai_title",
        "branch",
        "custom_title",
        "cwd",
        "digest",
        "earlier",
        "first",
        "forked_from",
        "last",
        "links",
        "models",
        "prs",
        "ran",
        "records",
        "repeated",
        "retracted",
        "slug",
        "summaries",
        "tokens",
        "unit",
        "uuids",
        "version",
    )

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.uuids: set[str] = set()
        self.records = self.repeated = self.age = 0
        self.earlier: list[Part] = []
        self.digest = ""
        self.first = self.last = ""
        self.cwd = self.branch = self.slug = self.version = ""
        self.custom_title = self.ai_title = self.forked_from = ""
        self.summaries: list[tuple[str, str]] = []
        self.models: set[str] = set()
        self.tokens: dict[str, int] = {}
        self.prs: set[str] = set()
        self.links: dict[str, str] = {}
        self._chains: dict[str, str] = {}
        self.retracted: set[str] = set()
        self.ran: set[str] = set()
        self._planless: set[str] = set()
        # What records say where they stand again, as much as a document may hold: uuid → events.
        self._again: dict[str, list[Event]] = {}
        self._room = MAX_DOCUMENT
        self._shown: set[str] = set()
        self._window: Window | Rewritten = Window(MAX_DOCUMENT)

    @property
    def events(self) -> list[Event]:
        """What the unit's document may show, in the order of the file; a ``Gap`` where it is too long.

        A record that stands again says what it says last, where it stood first: so Claude Code reads its own files.
        """
        events = self._window.events()
        if not self._again:
            return events
        found: list[Event] = []
        told: set[str] = set()
        for event in events:
            if event.record not in self._again:
                found.append(event)
            elif event.record not in told:
                told.add(event.record)
                found += self._again[event.record]
        return found

    def add(self, record: dict[str, Any], unknown: Unknown) -> None:
        """Take one record in; what is not known is added to ``unknown``.

        Raises the usual TypeError, ValueError … where a record's shape is none that was ever seen.
        """
        self.records += 1
        uuid = record.get("uuid")
        if type(uuid) is str and uuid:
            if uuid in self.uuids:
                self.repeated += 1
                if uuid in self._shown:
                    self._rewrite(record, uuid, unknown)
                    return
            self.uuids.add(uuid)
        else:
            uuid = ""
        self._take(record, uuid, unknown)

    def _rewrite(self, record: dict[str, Any], uuid: str, unknown: Unknown) -> None:
        """Take the last form of a record that stood already; one before it where there is no room for that."""
        window, self._window = self._window, Rewritten()
        try:
            self._take(record, uuid, unknown)
        finally:
            rewritten, self._window = self._window.events(), window
        held, weight = (sum(len(event.text) for event in each) for each in (self._again.get(uuid, ()), rewritten))
        if rewritten and weight <= self._room + held:
            self._again[uuid] = rewritten
            self._room += held - weight

    def _take(self, record: dict[str, Any], uuid: str, unknown: Unknown) -> None:
        kind = record.get("type")
        if kind == "assistant":
            self._assistant(record, uuid, self._common(record), unknown)
        elif kind == "user":
            self._user(record, uuid, self._common(record), unknown)
        elif kind in vocabulary.DROPPED:
            return
        elif kind == "system":
            self._system(record, uuid, unknown)
        elif kind == "attachment":
            self._attachment(record, uuid, unknown)
        elif kind == "queue-operation":
            self._queue(record)
        elif kind == "summary":
            self.summaries.append((string(record.get("leafUuid")), string(record.get("summary"))))
        elif kind == "custom-title":
            self.custom_title = string(record.get("customTitle") or record.get("title")) or self.custom_title
        elif kind == "ai-title":
            self.ai_title = string(record.get("aiTitle") or record.get("title")) or self.ai_title
        elif kind == "pr-link":
            self.prs.add(one_line(string(record.get("prUrl")), 300))
        elif kind == "fork-context-ref":
            origin = string(record.get("parentSessionId"))
            self.forked_from = self.forked_from or ("" if origin == record.get("sessionId") else origin)
        else:
            own = {name: value for name, value in record.items() if name not in vocabulary.RECORD}
            unknown.append((one_line(kind, 60) if isinstance(kind, str) and kind else "(no type)", own or None))
            return
        known = vocabulary.FIELDS.get(kind, vocabulary.RECORD)
        if not record.keys() <= known:
            _fields(kind, record, known, unknown)

    def _common(self, record: dict[str, Any]) -> str:
        get = record.get
        stamp = get("timestamp")
        at = instant(stamp) if type(stamp) is str else moment(stamp)
        if at:
            if not self.first or at < self.first:
                self.first = at
            if at > self.last:
                self.last = at
        value = get("cwd")
        if value and not self.cwd and type(value) is str:
            self.cwd = value
        value = get("gitBranch")
        if value and type(value) is str and (value != "HEAD" or not self.branch):
            self.branch = value
        value = get("version")
        if value and type(value) is str:
            self.version = value
        value = get("slug")
        if value and type(value) is str:
            self.slug = value
        value = get("forkedFrom")
        if value and type(value) is dict and not self.forked_from:
            self.forked_from = string(value.get("sessionId"))
        return at

    def _put(
        self, kind: str, text: str, at: str, record: str, message: str = "", call: str = "", chain: str = ""
    ) -> None:
        event = Event(kind, bounded(text), at, record, message, call, chain)
        if not record:
            self.uuids.add(identity(event))  # so that a copy that says less is known for one
        else:
            self._shown.add(record)
        self._window.add(event)

    def _chain(self, record: dict[str, Any], uuid: str) -> str:
        """The root of the inline sidechain that the record stands in; subagents of their own have none."""
        if record.get("isSidechain") is not True or is_agent(self.unit):
            return ""
        parent = record.get("parentUuid")
        root = self._chains.get(parent, "") if isinstance(parent, str) else ""
        root = root or uuid or "sidechain"
        if uuid:
            self._chains[uuid] = root
        return root

    def _assistant(self, record: dict[str, Any], uuid: str, at: str, unknown: Unknown) -> None:
        chain = self._chain(record, uuid)
        message = record.get("message")
        if not isinstance(message, dict):
            message = {"content": message}
        elif not message.keys() <= vocabulary.MESSAGE:
            _fields("assistant message", message, vocabulary.MESSAGE, unknown)
        model = message.get("model")
        if record.get("isApiErrorMessage") or model == _SYNTHETIC:
            return
        if type(model) is str and model:
            self.models.add(model)
        if "supersedesUuids" in record:
            self.retracted |= _names(record["supersedesUuids"]) - {uuid}
        identity = string(message.get("id"))
        usage = message.get("usage")
        if type(usage) is dict:
            tokens = usage.get("output_tokens")
            if type(tokens) is int:
                # The pieces of one streamed message repeat a growing count: the last one stands.
                self.tokens[identity or uuid] = tokens
        for block in blocks(message.get("content")):
            kind = block.get("type")
            fields = vocabulary.BLOCKS.get(kind) if type(kind) is str else None
            if fields is not None and not block.keys() <= fields:
                _fields(f"block {kind}", block, fields, unknown)
            if kind == "tool_use" or kind == "server_tool_use" or kind == "mcp_tool_use":
                name, call = string(block.get("name")), string(block.get("id"))
                if name in ("ExitPlanMode", "exit_plan_mode") and not string(mapping(block.get("input")).get("plan")):
                    self._planless.add(call)
                self._put(TOOL, tool_calls.call(name, block.get("input")), at, uuid, identity, call, chain)
                if name == "Task" or name == "Agent":
                    self._asked(call, mapping(block.get("input")))
            elif kind == "text":
                text = clean(string(block.get("text"))).strip()
                if text and text != "(no content)":
                    self._put(TEXT, text, at, uuid, identity, "", chain)
            elif kind == "thinking":
                text = clean(string(block.get("thinking"))).strip()
                if text:
                    self._put(THINKING, text, at, uuid, identity, "", chain)
            elif kind not in vocabulary.DROPPED_ASSISTANT_BLOCKS:
                unknown.append((f"assistant block {one_line(str(kind), 60)}", block))

    def _asked(self, call: str, given: dict[str, Any]) -> None:
        """Keep what a subagent was asked for under the call's id, until its result names the agent."""
        kind = one_line(string(given.get("subagent_type")), 80)
        task = one_line(string(given.get("description")) or string(given.get("name")), 200)
        if call:
            self.links[f"call {call}"] = f"{kind}\t{task}"

    def _user(self, record: dict[str, Any], uuid: str, at: str, unknown: Unknown) -> None:
        chain = self._chain(record, uuid)
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else message
        if isinstance(message, dict) and not message.keys() <= vocabulary.MESSAGE:
            _fields("user message", message, vocabulary.MESSAGE, unknown)
        origin = mapping(record.get("origin"))
        by = string(origin.get("kind"))
        meta = bool(record.get("isMeta") or record.get("turnCompanion")) and by != "channel"
        machine = meta or by in vocabulary.MACHINES
        summary = bool(record.get("isCompactSummary"))
        typed: list[str] = []
        for block in blocks(content):
            kind = block.get("type")
            fields = vocabulary.BLOCKS.get(kind) if type(kind) is str else None
            if fields is not None and not block.keys() <= fields:
                _fields(f"block {kind}", block, fields, unknown)
            if kind == "tool_result":
                self._result(block, record.get("toolUseResult"), at, uuid, chain)
            elif kind == "text":
                text = string(block.get("text"))
                if summary:
                    found, kept = SUMMARY, clean(text).strip()
                elif by in vocabulary.AGENTS:
                    found, kept = TEAMMATE, human.agents_words(text, origin)
                elif machine:
                    continue
                else:
                    found, kept = human.classify(text)
                if found == PROMPT and not by and _of_no_person(record):
                    found = TEAMMATE  # a scheduled task's, or another session's
                if found == PROMPT:
                    typed.append(kept)
                elif found and (kept or found != TEAMMATE):
                    self._put(found, kept, at, uuid, "", "", chain)
            elif kind not in vocabulary.DROPPED_USER_BLOCKS:
                unknown.append((f"user block {one_line(str(kind), 60)}", block))
        if typed:
            self._put(PROMPT, "\n\n".join(typed), at, uuid, "", "", chain)

    def _result(self, block: dict[str, Any], result: Any, at: str, uuid: str, chain: str) -> None:
        call = string(block.get("tool_use_id"))
        self.ran.add(call)
        found = outcome(block, result, wants_plan=call in self._planless)
        if found.agent and (f"call {call}" in self.links or found.agent not in self.links):
            kind, _, task = self.links.pop(f"call {call}", "\t").partition("\t")
            kind = kind or found.agent_type
            self.links[found.agent] = f"{kind}\t{task}"
        if found.note:
            self._put(RESULT, found.note, at, uuid, "", call, chain)
        if found.said:
            self._put(PROMPT, found.said, at, uuid, "", "", chain)

    def _system(self, record: dict[str, Any], uuid: str, unknown: Unknown) -> None:
        subtype = record.get("subtype")
        if subtype == "model_refusal_fallback":
            # What was said before another model took over: the app takes it off the screen.
            self.retracted |= _names(record.get("retractedMessageUuids"))
        if subtype is None or subtype in vocabulary.DROPPED_SYSTEM:
            value = record.get("slug")
            if value and type(value) is str:
                self.slug = value
            return
        content = string(record.get("content"))
        if subtype == "away_summary":
            text = clean(content).strip().removesuffix("(disable recaps in /config)").rstrip()
            if text:
                self._put(RECAP, text, self._common(record), uuid)
        elif subtype == "local_command":
            found, kept = human.classify(content)
            if found == COMMAND:
                self._put(COMMAND, kept, self._common(record), uuid)
        else:
            unknown.append((f"system {one_line(str(subtype), 60)}", content or None))

    def _attachment(self, record: dict[str, Any], uuid: str, unknown: Unknown) -> None:
        attachment = mapping(record.get("attachment"))
        kind = attachment.get("type")
        if kind == "queued_command":
            origin = mapping(attachment.get("origin"))
            by, said = string(origin.get("kind")), plain(attachment.get("prompt"))
            if attachment.get("commandMode") == "task-notification" or by in vocabulary.MACHINES:
                return
            if by in vocabulary.AGENTS:
                self._teammate(human.agents_words(said, origin), record, uuid)
            elif by == "channel":
                self._queued(human.channel(said), self._common(record), uuid, self._chain(record, uuid))
            elif not attachment.get("isMeta"):
                self._queued(said, self._common(record), uuid, self._chain(record, uuid))
        elif kind == "teammate_mailbox":
            self._teammate(human.mailbox(attachment.get("messages")), record, uuid)
        elif kind not in vocabulary.DROPPED_ATTACHMENTS:
            unknown.append((f"attachment {one_line(str(kind), 60)}", attachment))

    def _teammate(self, said: str, record: dict[str, Any], uuid: str) -> None:
        if said:
            self._put(TEAMMATE, said, self._common(record), uuid, "", "", self._chain(record, uuid))

    def _queue(self, record: dict[str, Any]) -> None:
        """A prompt typed while the assistant was at work; before 2.1.101 nothing else may record that it was sent."""
        operation = record.get("operation")
        at = moment(record.get("timestamp"))
        if operation == "enqueue":
            self._queued(record.get("content"), at, "", "")
        elif operation == "popAll":
            # Taken back into the input line: what is sent in the end is recorded then.
            taken = plain(record.get("content"))
            for event in self._window.recent():
                if event.kind == QUEUED and not event.record and (not taken or event.text in taken):
                    event.kind = TAKEN_BACK

    def _queued(self, content: Any, at: str, uuid: str, chain: str) -> None:
        found, kept = human.classify(plain(content))
        if found == PROMPT and kept.startswith("/") and " " not in kept:
            found = COMMAND
        if found in (PROMPT, SUMMARY):
            self._put(QUEUED, kept, at, uuid, "", "", chain)
        elif found == COMMAND or (found == TEAMMATE and uuid):
            self._put(found, kept, at, uuid, "", "", chain)


def _names(value: Any) -> set[str]:
    """The records that a list names."""
    return {name for each in value if (name := string(each))} if type(value) is list else set()


def _of_no_person(record: dict[str, Any]) -> bool:
    source = record.get("promptSource")
    return source == "system" or (not source and record.get("turnOrigin") in vocabulary.OTHER_ORIGINS)


def _fields(what: str, found: dict[str, Any], known: frozenset[str], unknown: Unknown) -> None:
    for name in sorted(found.keys() - known):
        unknown.append((f"{what}: field {one_line(name, 60)}", found[name]))
