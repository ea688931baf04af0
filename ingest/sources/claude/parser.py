"""Transcripts of Claude Code, JSON Lines → sessions. A record belongs to the session, and subagent, that it names.

Only what a document shows is kept of a record: nothing of tool results or images.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from os.path import basename
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, journal
from ingest.session.document import ASSISTANT
from ingest.session.session import (
    COMMAND,
    MAX_DOCUMENT,
    PROMPT,
    QUEUED,
    RESULT,
    SUMMARY,
    TAKEN_BACK,
    TEAMMATE,
    Event,
    SessionBuilder,
    bounded,
)
from ingest.session.units import is_agent, path_name, split_key, unit_key
from ingest.session.user_text import paragraphs
from ingest.session.values import blocks, mapping, moment, plain, string
from ingest.sources.claude.user_text import (
    KNOWN,
    agent_words,
    channel_words,
    extract_user_text,
    is_by_other,
    mailbox_words,
    outcome,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.raw.store import RawStore
    from ingest.session.document import Turn
    from ingest.session.session import Part

WARM_UP = "warm-up agent"
FOREIGN = "not a Claude Code transcript"
COMPACTION = "compaction agent"
SUGGESTION = "prompt suggestion agent"

_MARKS = ("sessionId", "uuid", "leafUuid", "messageId")
_PEEK = 256 * 1024
_SESSION = re.compile(rb'"sessionId" *: *"([^"]{1,300})"')
# Titles and snapshots may precede the first record that names the session: at most so many records, so many bytes.
_EARLY = 200
_EARLY_BYTES = 16 * 1024 * 1024

_DROPPED = KNOWN.words("dropped_records")
_TYPES = KNOWN.words("records") | _DROPPED
_DROPPED_SYSTEM = KNOWN.words("dropped_system")
_DROPPED_ATTACHMENTS = KNOWN.words("dropped_attachments")
_DROPPED_USER_BLOCKS = KNOWN.words("dropped_user_blocks")
_DROPPED_ASSISTANT_BLOCKS = KNOWN.words("dropped_assistant_blocks")
_MACHINES, _AGENTS = KNOWN.words("machines"), KNOWN.words("agents")
_RECORD = KNOWN.words("record")
_FIELDS = {kind: _RECORD | fields for kind, fields in KNOWN.fields("fields").items()}
_MESSAGE, _BLOCKS = KNOWN.words("message"), KNOWN.fields("blocks")
_SYNTHETIC = "<synthetic>"

# (unknown name, its value) of a record, in order.
Unknown = list[tuple[str, Any]]


def read(path: str, raw: RawStore) -> Reading:
    """Read one file. Raises nothing: faults are in the result."""
    return journal(path, raw, _Transcript, FOREIGN)


def peek(path: str) -> str:
    """Return the unit that a file most probably belongs to, from its first bytes."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb", buffering=0) as stream:
            head = stream.read(_PEEK) or b""
    except OSError:
        head = b""
    named = _SESSION.search(head)
    return unit_key(named[1].decode("utf-8", "replace") if named else path, agent_of(path))


def agent_of(path: str) -> str:
    """Return the agent's id in a file's name, or ""."""
    name = basename(path)
    if not name.startswith("agent-") or len(name) < len("agent-x.jsonl"):
        return ""
    return path_name(name[6:].rpartition(".")[0])


class _Transcript:
    """The records of one file, each added to its session. A file is normally one unit; a few hold several sessions."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._file_agent = agent_of(reading.path)
        if self._file_agent.startswith("acompact-"):
            reading.skipped = COMPACTION
        elif self._file_agent.startswith("aprompt_suggestion-"):
            reading.skipped = SUGGESTION
        # Records before the first that names its session, with their lines.
        self._early: list[tuple[int, dict[str, Any]]] = []
        self._fresh: Unknown = []
        self._part: ClaudeSession | None = None
        # What the last record that names a session has for session and agent.
        self._session: str | None = None
        self._agent: Any = None
        self._recognised = False

    def add(self, record: dict[str, Any], line: int) -> bool:
        """Add one record; return True if the file is another tool's journal."""
        self._recognised = self._recognised or _is_claude(record)
        reading, early, part = self._reading, self._early, self._part
        named = record.get("sessionId")
        if type(named) is not str or not named:
            if part is not None:
                _add(part, record, line, reading, self._fresh)
                return False
            early.append((line, record))
            if len(early) > _EARLY or reading.consumed > _EARLY_BYTES:
                if not self._recognised:
                    early.clear()
                    return True
                self._part = _nameless(reading, early, self._file_agent, self._fresh)
            return False
        who = record.get("agentId") if self._file_agent or record.get("isSidechain") is True else None
        if part is None or named != self._session or who != self._agent:
            self._session, self._agent = named, who
            known = one_line(who, 500) if type(who) is str and who else self._file_agent
            part = self._part = _session(reading, unit_key(_identity(named), known))
        if early:
            for earlier in early:
                _add(part, earlier[1], earlier[0], reading, self._fresh)
            early.clear()
        _add(part, record, line, reading, self._fresh)
        return False

    def finish(self) -> None:
        """Drop what is another tool's; records that never named a session make one."""
        if self._early and self._recognised:
            _nameless(self._reading, self._early, self._file_agent, self._fresh)
        if not self._recognised:
            self._reading.unknown.clear()
            self._reading.parts.clear()


def pieces(path: str, data: bytes) -> list[tuple[str, bytes]] | None:
    """Return (unit, bytes) of a file's whole lines in order, as ``_Transcript`` assigns them.

    The unit is "" if it is uncertain. None if no record names its session.
    """
    file_agent = agent_of(path)
    found: list[tuple[str, list[bytes]]] = []
    early: list[bytes] = []
    unit = ""
    for line in data.splitlines(keepends=True):
        try:
            record: Any = json.loads(line, strict=False)
        except (ValueError, RecursionError):
            record = None
        if type(record) is not dict:
            found.append(("", [line]))
            continue
        named = record.get("sessionId")
        if type(named) is str and named:
            who = record.get("agentId") if file_agent or record.get("isSidechain") is True else None
            unit = unit_key(_identity(named), one_line(who, 500) if type(who) is str and who else file_agent)
            if early:
                found.append((unit, early))
                early = []
        elif not unit:
            early.append(line)
            if len(early) > _EARLY:
                return None
            continue
        if found and found[-1][0] == unit:
            found[-1][1].append(line)
        else:
            found.append((unit, [line]))
    if not unit:
        return None
    return [(unit, b"".join(lines)) for unit, lines in found]


def _nameless(
    reading: Reading, early: list[tuple[int, dict[str, Any]]], file_agent: str, fresh: Unknown
) -> ClaudeSession:
    """Return a session of records that name none (fragments, very old exports), identified by the first of them."""
    mark = _fingerprint(early[0][1])
    stem = path_name(basename(reading.path).rpartition(".")[0])
    found = _session(reading, unit_key(mark, file_agent) if file_agent else unit_key(one_line(f"{stem}-{mark}")))
    for line, record in early:
        _add(found, record, line, reading, fresh)
    early.clear()
    return found


def _fingerprint(record: dict[str, Any]) -> str:
    try:
        text = json.dumps(record, sort_keys=True)
    except RecursionError:
        text = json.dumps(sorted(record))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _session(reading: Reading, unit: str) -> ClaudeSession:
    session: ClaudeSession | None = reading.parts.get(unit)
    if session is None:
        session = reading.parts[unit] = ClaudeSession(unit)
    return session


def _add(session: ClaudeSession, record: dict[str, Any], line: int, reading: Reading, fresh: Unknown) -> None:
    try:
        session.add(record, fresh)
    except BROKEN as error:
        reading.broken(error, line)
    if fresh:
        for what, value in fresh:
            reading.count(what, line, value)
        fresh.clear()


def _is_claude(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if type(kind) is not str or kind not in _TYPES:
        return False
    message = record.get("message")
    if kind in ("user", "assistant"):
        return type(message) is dict and ("content" in message or "role" in message)
    return any(mark in record for mark in _MARKS)


def _identity(session: str) -> str:
    # A tab separates session and agent in a unit's key; surrogates cannot be stored.
    return one_line(session, 4000)


# New input, input from the cache, input into the cache (https://docs.anthropic.com/en/api/messages, ``usage``).
_SENT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class ClaudeSession(SessionBuilder):
    """A session or subagent, as one transcript of Claude Code holds it.

    ``earlier``: versions of the file from before it was rewritten, each ``age`` older.
    """

    __slots__ = ("_again", "_asked", "_chains", "_planless", "_rewritten", "_room", "_shown", "earlier")

    is_append_only = True

    def __init__(self, unit: str) -> None:
        super().__init__(unit, "claude")
        self.parent, self.agent_id = split_key(unit) if is_agent(unit) else ("", "")
        self.earlier: list[ClaudeSession] = []
        # Record → root of the inline sidechain that the record belongs to.
        self._chains: dict[str, str] = {}
        # Call of a tool → type and task of the subagent that it started, until the result names the agent.
        self._asked: dict[str, str] = {}
        self._planless, self._shown = set[str](), set[str]()
        # Record → its events in the last form that fits into ``_room``, for records that the file repeats.
        self._again: dict[str, list[Event]] = {}
        self._room = MAX_DOCUMENT
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
        """Take the next record, and add unknown parts of it to ``unknown``.

        Raises one of ``ingest.pipeline.reading.BROKEN`` for a record of an unknown shape.
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
        elif kind in _DROPPED:
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
            own = {name: value for name, value in record.items() if name not in _RECORD}
            unknown.append((one_line(kind, 60) if isinstance(kind, str) and kind else "(no type)", own or None))
            return
        _check(kind, record, _FIELDS.get(kind, _RECORD), unknown)

    def _common(self, record: dict[str, Any]) -> str:
        get = record.get
        at = moment(get("timestamp"))
        self.extend_to(at)
        self.cwd = self.cwd or string(get("cwd"))
        branch = string(get("gitBranch"))
        if branch and (branch != "HEAD" or not self.branch):
            self.branch = branch
        self.version = string(get("version")) or self.version
        self.slug = string(get("slug")) or self.slug
        self.forked_from = self.forked_from or string(mapping(get("forkedFrom")).get("sessionId"))
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
        else:
            _check("assistant message", message, _MESSAGE, unknown)
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
                # The records of one streamed message repeat a growing count: the last one counts.
                self.tokens[identity or uuid] = tokens
            self.spend(model, tokens, identity or uuid, *map(usage.get, _SENT))
        for block in blocks(message.get("content")):
            kind = block.get("type")
            if type(kind) is str and kind in _BLOCKS:
                _check(f"block {kind}", block, _BLOCKS[kind], unknown)
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
            elif kind not in _DROPPED_ASSISTANT_BLOCKS:
                unknown.append((f"assistant block {one_line(str(kind), 60)}", block))

    def call_lines(self, name: str, given: Any) -> str:
        from ingest.session.tool_calls import canonical_lines

        return canonical_lines(name, given)

    def _ask(self, call: str, given: dict[str, Any]) -> None:
        """Remember a subagent's type and task."""
        kind = one_line(string(given.get("subagent_type")), 80)
        task = one_line(string(given.get("description")) or string(given.get("name")), 200)
        if call:
            self._asked[call] = f"{kind}\t{task}"

    def _user(self, record: dict[str, Any], uuid: str, at: str, unknown: Unknown) -> None:
        self.chain = self._chain_of(record, uuid)
        message = record.get("message")
        if not isinstance(message, dict):
            message = {"content": message}
        else:
            _check("user message", message, _MESSAGE, unknown)
        origin = mapping(record.get("origin"))
        by = string(origin.get("kind"))
        is_meta = bool(record.get("isMeta") or record.get("turnCompanion")) and by != "channel"
        is_machines = is_meta or by in _MACHINES
        is_others = not by and is_by_other(record)
        typed: list[str] = []
        for block in blocks(message.get("content")):
            kind = block.get("type")
            if type(kind) is str and kind in _BLOCKS:
                _check(f"block {kind}", block, _BLOCKS[kind], unknown)
            if kind == "tool_result":
                self._result(block, record.get("toolUseResult"), at, uuid)
            elif kind == "text":
                text = string(block.get("text"))
                if record.get("isCompactSummary"):
                    self.summary(text, at, uuid)
                elif by in _AGENTS:
                    self.teammate(agent_words(text, origin), at, uuid)
                elif not is_machines:
                    found = extract_user_text(text)
                    typed.append(self.pieces(found.by_teammate() if is_others else found, at, uuid))
            elif kind not in _DROPPED_USER_BLOCKS:
                unknown.append((f"user block {one_line(str(kind), 60)}", block))
        if words := paragraphs(*typed):
            self.put(PROMPT, words, at, uuid)

    def _result(self, block: dict[str, Any], result: Any, at: str, uuid: str) -> None:
        self.ran.add(call := string(block.get("tool_use_id")))
        self.edited(call, result)
        self.ended(call, at, mapping(result).get("durationMs"))
        found = outcome(block, result, wants_plan=call in self._planless)
        if found.agent and (call in self._asked or found.agent not in self.links):
            kind, _, task = self._asked.pop(call, "\t").partition("\t")
            self.links[found.agent] = f"{kind or found.agent_type}\t{task}"
        if found.note:
            self.put(RESULT, found.note, at, uuid, "", call)
        self.prompt(found.said, at, uuid)

    def _system(self, record: dict[str, Any], uuid: str, unknown: Unknown) -> None:
        subtype = record.get("subtype")
        if subtype == "model_refusal_fallback":
            # Another model took over: the app removes the first model's answer from the screen.
            self.retracted |= _names(record.get("retractedMessageUuids"))
        if subtype is None or subtype in _DROPPED_SYSTEM:
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
            for kind, words in extract_user_text(content).pieces:
                if kind == COMMAND:
                    self.command(words, self._common(record), uuid)
        else:
            unknown.append((f"system {one_line(str(subtype), 60)}", content or None))

    def _attachment(self, record: dict[str, Any], uuid: str, unknown: Unknown) -> None:
        attachment = mapping(record.get("attachment"))
        kind = attachment.get("type")
        if kind == "queued_command":
            origin = mapping(attachment.get("origin"))
            by, said = string(origin.get("kind")), plain(attachment.get("prompt"))
            if attachment.get("commandMode") == "task-notification" or by in _MACHINES:
                return
            if by in _AGENTS:
                self._mail(agent_words(said, origin), record, uuid)
            elif by == "channel":
                self._sent(channel_words(said), record, uuid)
            elif not attachment.get("isMeta"):
                self._sent(said, record, uuid)
        elif kind == "teammate_mailbox":
            self._mail(mailbox_words(attachment.get("messages")), record, uuid)
        elif kind not in _DROPPED_ATTACHMENTS:
            unknown.append((f"attachment {one_line(str(kind), 60)}", attachment))

    def _mail(self, said: str, record: dict[str, Any], uuid: str) -> None:
        if said:
            self.chain = self._chain_of(record, uuid)
            self.teammate(said, self._common(record), uuid)

    def _sent(self, said: str, record: dict[str, Any], uuid: str) -> None:
        self.chain = self._chain_of(record, uuid)
        self._prompt_queued(said, self._common(record), uuid)

    def _queue(self, record: dict[str, Any]) -> None:
        """Take a prompt typed while the assistant worked; before 2.1.101 no other record may show that it was sent."""
        operation = record.get("operation")
        if operation == "enqueue":
            self._prompt_queued(record.get("content"), moment(record.get("timestamp")), "")
        elif operation == "popAll":
            # Back in the input line: the prompt that is sent in the end is a record of its own.
            taken = plain(record.get("content"))
            for event in reversed(self.events):
                if event.kind == QUEUED and not event.record and (not taken or event.text in taken):
                    event.kind = TAKEN_BACK

    def _prompt_queued(self, content: Any, at: str, uuid: str) -> None:
        for kind, words in extract_user_text(plain(content)).pieces:
            if kind == COMMAND or (kind == PROMPT and words.startswith("/") and " " not in words):
                self.command(words, at, uuid)
            elif kind in (PROMPT, SUMMARY):
                self.queued(words, at, uuid)
            elif kind == TEAMMATE and uuid:
                self.teammate(words, at, uuid)


def _names(value: Any) -> set[str]:
    return {name for each in value if (name := string(each))} if type(value) is list else set()


def _check(what: str, found: dict[str, Any], known: frozenset[str], unknown: Unknown) -> None:
    """Add the fields of a record that are not known."""
    if not found.keys() <= known:
        unknown += ((f"{what}: field {one_line(name, 60)}", found[name]) for name in sorted(found.keys() - known))
