"""From raw Claude Code records to slim events: what a document needs, and nothing of tool results or images.

A file is read once, as a stream. Its events are held by unit of recall (see ``unit_key``): normally one session or
one subagent a file; a record always belongs to the session that it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.units import is_agent, split_key
from ingest.session import tool_calls
from ingest.session.builder import SessionBuilder
from ingest.session.events import (
    COMMAND,
    MAX_DOCUMENT,
    PROMPT,
    QUEUED,
    RESULT,
    SUMMARY,
    TAKEN_BACK,
    TEAMMATE,
    Event,
    bounded,
)
from ingest.session.turns import ASSISTANT
from ingest.session.values import blocks, instant, mapping, moment, plain, string
from ingest.sources.claude import human, vocabulary
from ingest.sources.claude.outcomes import outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.session.session import Part
    from ingest.session.turns import Turn

WARM_UP = "warm-up agent"
_SYNTHETIC = "<synthetic>"

# (what is not known, what stands there) of a record, in order.
Unknown = list[tuple[str, Any]]


class ClaudeSession(SessionBuilder):
    """What one transcript of Claude Code holds of one session or subagent.

    Of a transcript longer than a document both ends are kept, each at least as long as any document's. ``earlier``:
    versions of the file from before it was rewritten, each ``age`` older.
    """

    __slots__ = ("_again", "_asked", "_chains", "_planless", "_rewritten", "_room", "_shown", "earlier")

    is_append_only = True
    call_lines = staticmethod(tool_calls.call)

    def __init__(self, unit: str) -> None:
        super().__init__(unit, "claude")
        self.parent, self.agent_id = split_key(unit) if is_agent(unit) else ("", "")
        self.earlier: list[ClaudeSession] = []
        # Record → root of the inline sidechain that the record belongs to.
        self._chains: dict[str, str] = {}
        # Call of a tool → type and task of the subagent that it started, until the result names the agent.
        self._asked: dict[str, str] = {}
        self._planless: set[str] = set()
        # Record → its events in the last form that fits into ``_room``, for records that the file repeats.
        self._again: dict[str, list[Event]] = {}
        self._room = MAX_DOCUMENT
        self._shown: set[str] = set()
        # The events of a repeated record, while it is read.
        self._rewritten: list[Event] | None = None

    @property
    def events(self) -> list[Event]:
        """The events in the order of the file. A repeated record has its last form, in its first place.

        Claude Code reads its own files in the same way.
        """
        events = super().events
        if not self._again:
            return events
        found: list[Event] = []
        placed: set[str] = set()
        for event in events:
            if event.record not in self._again:
                found.append(event)
            elif event.record not in placed:
                placed.add(event.record)
                found += self._again[event.record]
        return found

    def copies(self) -> Sequence[ClaudeSession]:
        return (self, *self.earlier)

    def with_older(self, older: Part) -> ClaudeSession:
        """Return this session; an older version of the file with other records counts as another copy."""
        assert isinstance(older, ClaudeSession)
        if not older.uuids <= self.uuids.union(*(each.uuids for each in self.earlier)):
            self.earlier.append(older)
            older.age = len(self.earlier)
        return self

    def refusal(self, turns: list[Turn]) -> str:
        """Refuse the idle agents that every session started up to 2.0.4x to fill the prompt cache."""
        reason = super().refusal(turns)
        if reason or not self.parent or any(item for turn in turns for item, _ in turn.blocks()):
            return reason
        tasks = [text.strip() for turn in turns if turn.role != ASSISTANT for _, text in turn.blocks()]
        is_idle = tasks == ["Warmup"] or (not tasks and all(turn.role == ASSISTANT for turn in turns))
        return WARM_UP if is_idle else ""

    def put(self, kind: str, text: str, at: str = "", record: str = "", message: str = "", call_id: str = "") -> Event:
        if self._rewritten is not None:
            event = Event(kind, bounded(text), at, record, message, call_id, self.chain)
            self._rewritten.append(event)
            return event
        if record:
            self._shown.add(record)
        return super().put(kind, text, at, record, message, call_id)

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
        """Take the last form of a repeated record; an earlier form if there is no room for the last."""
        rewritten = self._rewritten = []
        try:
            self._take(record, uuid, unknown)
        finally:
            self._rewritten = None
        held, weight = (sum(len(event.text) for event in each) for each in (self._again.get(uuid, ()), rewritten))
        if rewritten and weight <= self._room + held:
            self._again[uuid] = rewritten
            self._room += held - weight

    def _take(self, record: dict[str, Any], uuid: str, unknown: Unknown) -> None:
        kind = record.get("type")
        self.chain = ""
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
            self.title = string(record.get("customTitle") or record.get("title")) or self.title
        elif kind == "ai-title":
            self.machine_title = string(record.get("aiTitle") or record.get("title")) or self.machine_title
        elif kind == "pr-link":
            self.pull_requests.add(one_line(string(record.get("prUrl")), 300))
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
        self.extend_to(at)
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

    def _chain_of(self, record: dict[str, Any], uuid: str) -> str:
        """Return the root of the inline sidechain that a record belongs to; a subagent's own transcript has none."""
        if record.get("isSidechain") is not True or self.parent:
            return ""
        parent = record.get("parentUuid")
        root = self._chains.get(parent, "") if isinstance(parent, str) else ""
        root = root or uuid or "sidechain"
        if uuid:
            self._chains[uuid] = root
        return root

    def _assistant(self, record: dict[str, Any], uuid: str, at: str, unknown: Unknown) -> None:
        self.chain = self._chain_of(record, uuid)
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
                self.tool_call(name, block.get("input"), at, uuid, identity, call)
                if name == "Task" or name == "Agent":
                    self._ask(call, mapping(block.get("input")))
            elif kind == "text":
                text = string(block.get("text"))
                if text.strip() != "(no content)":
                    self.reply(text, at, uuid, identity)
            elif kind == "thinking":
                self.thought(string(block.get("thinking")), at, uuid, identity)
            elif kind not in vocabulary.DROPPED_ASSISTANT_BLOCKS:
                unknown.append((f"assistant block {one_line(str(kind), 60)}", block))

    def _ask(self, call: str, given: dict[str, Any]) -> None:
        """Remember a subagent's type and task."""
        kind = one_line(string(given.get("subagent_type")), 80)
        task = one_line(string(given.get("description")) or string(given.get("name")), 200)
        if call:
            self._asked[call] = f"{kind}\t{task}"

    def _user(self, record: dict[str, Any], uuid: str, at: str, unknown: Unknown) -> None:
        self.chain = self._chain_of(record, uuid)
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
                self._result(block, record.get("toolUseResult"), at, uuid)
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
                    self.put(found, kept, at, uuid)
            elif kind not in vocabulary.DROPPED_USER_BLOCKS:
                unknown.append((f"user block {one_line(str(kind), 60)}", block))
        self.prompt("\n\n".join(typed), at, uuid)

    def _result(self, block: dict[str, Any], result: Any, at: str, uuid: str) -> None:
        call = string(block.get("tool_use_id"))
        self.ran.add(call)
        found = outcome(block, result, wants_plan=call in self._planless)
        if found.agent and (call in self._asked or found.agent not in self.links):
            kind, _, task = self._asked.pop(call, "\t").partition("\t")
            kind = kind or found.agent_type
            self.links[found.agent] = f"{kind}\t{task}"
        if found.note:
            self.put(RESULT, found.note, at, uuid, "", call)
        self.prompt(found.said, at, uuid)

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
                self.recap(text, self._common(record), uuid)
        elif subtype == "local_command":
            found, kept = human.classify(content)
            if found == COMMAND:
                self.command(kept, self._common(record), uuid)
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
                self._mail(human.agents_words(said, origin), record, uuid)
            elif by == "channel":
                self._sent(human.channel(said), record, uuid)
            elif not attachment.get("isMeta"):
                self._sent(said, record, uuid)
        elif kind == "teammate_mailbox":
            self._mail(human.mailbox(attachment.get("messages")), record, uuid)
        elif kind not in vocabulary.DROPPED_ATTACHMENTS:
            unknown.append((f"attachment {one_line(str(kind), 60)}", attachment))

    def _mail(self, said: str, record: dict[str, Any], uuid: str) -> None:
        if said:
            self.chain = self._chain_of(record, uuid)
            self.teammate(said, self._common(record), uuid)

    def _sent(self, said: str, record: dict[str, Any], uuid: str) -> None:
        self.chain = self._chain_of(record, uuid)
        self._queued(said, self._common(record), uuid)

    def _queue(self, record: dict[str, Any]) -> None:
        """A prompt typed while the assistant was at work; before 2.1.101 nothing else may record that it was sent."""
        operation = record.get("operation")
        at = moment(record.get("timestamp"))
        if operation == "enqueue":
            self._queued(record.get("content"), at, "")
        elif operation == "popAll":
            # Taken back into the input line: what is sent in the end is recorded then.
            taken = plain(record.get("content"))
            for event in self._window.recent():
                if event.kind == QUEUED and not event.record and (not taken or event.text in taken):
                    event.kind = TAKEN_BACK

    def _queued(self, content: Any, at: str, uuid: str) -> None:
        found, kept = human.classify(plain(content))
        if found == PROMPT and kept.startswith("/") and " " not in kept:
            found = COMMAND
        if found in (PROMPT, SUMMARY):
            self.queued(kept, at, uuid)
        elif found == COMMAND or (found == TEAMMATE and uuid):
            self.put(found, kept, at, uuid)


def _names(value: Any) -> set[str]:
    """The records that a list names."""
    return {name for each in value if (name := string(each))} if type(value) is list else set()


def _of_no_person(record: dict[str, Any]) -> bool:
    source = record.get("promptSource")
    return source == "system" or (not source and record.get("turnOrigin") in vocabulary.OTHER_ORIGINS)


def _fields(what: str, found: dict[str, Any], known: frozenset[str], unknown: Unknown) -> None:
    for name in sorted(found.keys() - known):
        unknown.append((f"{what}: field {one_line(name, 60)}", found[name]))
