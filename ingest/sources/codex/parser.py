"""Rollouts of Codex CLI → sessions.

Three generations of files:

- up to 0.31, bare items after a first line ``{id, timestamp, instructions, git}``; the TypeScript client of 2025 wrote
  one document ``{session, items}`` (codex-cli/src/utils/storage/save-rollout.ts);
- then ``{timestamp, type, payload}``, with each message twice: as an item of the conversation and as an event. The
  first of the two is kept, with the event's text for a person's words;
- from 0.145 on also ``ordinal`` and messages between agents. "Paginated" histories (0.146 and later) have
  ``item_completed`` instead of events, and ``realtime_item`` for speech (codex-rs/protocol/src/items.rs, realtime.rs).

The rollout of a forked subagent begins with a copy of its parent's records. Later versions name the copy's end
(``subagent_history_start_ordinal``). Before, the copy begins with the parent's first line and ends where the agent's
first turn begins: UUIDs of threads and turns contain their time, and all turns of the parent began before the agent was
made. The first versions end the copy with an output of the harness, ``FORKED`` (codex-rs/core/src/agent/control.rs).
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from os.path import basename
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, journal, whole
from ingest.session.session import PROMPT, TAKEN_BACK, TEAMMATE, Event, SessionBuilder
from ingest.session.tool_calls import command_text
from ingest.session.units import path_name
from ingest.session.values import mapping, moment, string
from ingest.sources.codex.user_text import (
    KNOWN,
    answer_pieces,
    delegated,
    duration,
    extract_user_text,
    imported_arguments,
    imported_parts,
    is_one_block,
    is_persons,
    is_same_prompt,
    outcome,
    output_text,
    printed_answers,
    subagent_link,
    total_tokens,
)
from ingest.sources.detection import detect_tool

if TYPE_CHECKING:
    from ingest.raw.store import RawStore
    from ingest.sources.codex.source import SessionName

NAME = "codex"
FOREIGN = "not a Codex transcript"
REVIEWER = "reviewer of approvals"
FORKED = (
    "You are the newly spawned agent. The prior conversation history was forked from your parent agent. Treat the next"
    " user message as your new task, and use the forked history only as background context."
)

_ENVELOPE, _RECORDS, _RECORD_FIELDS = KNOWN.words("envelope"), KNOWN.words("records"), KNOWN.fields("record_fields")
_ITEMS, _DROPPED_ITEMS = KNOWN.fields("items"), KNOWN.words("dropped_items")
_EVENTS, _DROPPED_EVENTS = KNOWN.fields("events"), KNOWN.words("dropped_events")
_PARTS = KNOWN.fields("parts")
_DROPPED_TURN_ITEMS, _DROPPED_REALTIME = KNOWN.words("dropped_turn_items"), KNOWN.words("dropped_realtime")
_TIMED = ("response_item", "turn_context", "compacted", "inter_agent_communication")
_BARE_STATE = "record_type"
_HEADS = ("instructions", "git", "cwd", "originator")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_TEXTS = ("input_text", "output_text", "text")
_FINAL = ("", "final_answer", "partial_answer")
_UUID = 36
_HEX = frozenset("0123456789abcdef")
# The two records of a message.
_ITEM, _EVENT = 1, -1


def read(path: str, raw: RawStore, session_name: SessionName) -> Reading:
    """Read one transcript. Raises nothing: faults are in the result."""
    if path.endswith(".json"):
        return whole(path, raw, partial(_document, session_name), FOREIGN)
    return journal(path, raw, partial(_Rollout, session_name=session_name), FOREIGN)


def _document(session_name: SessionName, value: Any, reading: Reading) -> None:
    head, items = mapping(mapping(value).get("session")), mapping(value).get("items")
    if type(items) is not list or type(head.get("id")) is not str:
        return
    rollout = _Rollout(reading, session_name)
    for record in ({"timestamp": "", "instructions": None, **head}, *items):
        rollout.add(record, 0)
    rollout.finish()


def _stem(path: str) -> str:
    """Return a transcript's name without its endings."""
    return path_name(basename(path).removesuffix(".zst").removesuffix(".jsonl"))


def _session_in_name(path: str) -> str:
    """Return the session's id in a rollout's file name, or ""."""
    name = _stem(path)
    end = name[-_UUID:]
    is_id = len(end) == _UUID and end.count("-") == 4 and set(end) <= _HEX | {"-"}
    return end if is_id and name.startswith("rollout-") else ""


class _Rollout:
    """One file's records, in order."""

    def __init__(self, reading: Reading, session_name: SessionName) -> None:
        self._reading = reading
        self._session_name = session_name
        self._line = 0
        self._recognised = self._begun = self._is_headed = False
        # The ordinal of a subagent's first own record; the first line; True while a parent's records may follow.
        self._own_from = 0
        self._opening: tuple[dict[str, Any], str] = ({}, "")
        self._is_copy = False
        # Why the file is another tool's, if its first record shows that.
        self._foreign = ""
        self._begin(SessionBuilder(_session_in_name(reading.path), NAME))

    def _begin(self, session: SessionBuilder) -> None:
        """Start a session without records."""
        self._session = session
        self._linked: set[str] = set()
        # The last goal, and True if the assistant may have set one since its last words.
        self._objective, self._sets_goal, self._asks = "", False, False
        self._named_at = ""
        self._has_events = False
        # True if speech has records of its own: then requests that hand speech on are left out.
        self._is_voiced = False
        # Digest of a text → its count as item less its count as event.
        self._balance: dict[bytes, int] = {}
        # Prompts that are items, until an event repeats them.
        self._prompts: list[Event] = []
        self._event_prompt = ""

    def add(self, record: dict[str, Any], line: int) -> None:
        """Add the next record; count it if its shape is unknown."""
        self._line = line
        try:
            kind, payload = record.get("type"), record.get("payload")
            if type(payload) is dict and type(kind) is str:
                self._enveloped(kind, payload, record)
            else:
                self._bare(kind, record)
        except BROKEN as error:
            self._reading.broken(error, line)

    def finish(self) -> None:
        """Add the session to the reading, if there is one."""
        is_foreign = bool(self._foreign) and not self._is_headed
        if is_foreign:
            self._reading.dismiss(self._foreign)
        if is_foreign or not self._recognised:
            return
        for event in self._prompts if self._has_events else ():
            event.kind = TAKEN_BACK  # the harness's: a person's words have an event as well
        session = self._session
        session.unit = session.unit or _stem(self._reading.path)
        self._reading.parts[session.unit] = session
        (at, name), later = self._session_name(self._reading, session.unit)
        if name and at >= self._named_at:
            session.title = name
        self._reading.raw.keep_with(self._reading, later)

    # Records

    def _enveloped(self, kind: str, payload: dict[str, Any], record: dict[str, Any]) -> None:
        if kind not in _RECORDS:
            self._unknown(f"record {one_line(kind, 60)}")
            return
        # Another tool writes bare items, but no envelope.
        self._recognised = self._is_headed = True
        self._session.records += 1
        at = moment(record.get("timestamp"))
        self._check("record", record, _ENVELOPE)
        ordinal = record.get("ordinal")
        if kind != "session_meta" and type(ordinal) is int and ordinal < self._own_from:
            return
        if self._session.parent and not self._own_from and self._leave_copy(kind, payload):
            return
        session = self._session
        if kind in _RECORD_FIELDS:
            self._check(kind, payload, _RECORD_FIELDS[kind])
        if kind in _TIMED:
            session.extend_to(at)
        if kind == "response_item":
            self._item(payload, at)
        elif kind == "event_msg":
            self._event(payload, at)
        elif kind == "turn_context":
            if model := string(payload.get("model")):
                session.models.add(model)
            session.cwd = session.cwd or string(payload.get("cwd"))
        elif kind == "session_meta":
            self._meta(payload, at)
        elif kind == "compacted":
            session.summary(string(payload.get("message")), at)
        elif kind == "inter_agent_communication":
            self._teammate(payload, at)
        elif kind == "realtime_item":
            self._realtime(payload, at)

    def _bare(self, kind: Any, record: dict[str, Any]) -> None:
        at = moment(record.get("timestamp"))
        is_head = "timestamp" in record and not record.keys().isdisjoint(_HEADS)
        if _BARE_STATE in record:
            self._recognised = self._is_headed = True
        elif type(kind) is str and (kind in _ITEMS or kind in _DROPPED_ITEMS) and "message" not in record:
            self._recognised = self._recognised or "role" in record or "call_id" in record or kind == "reasoning"
            self._session.records += 1
            self._item(record, at)
        elif not self._begun and type(record.get("id")) is str and is_head:
            self._recognised = True
            self._is_headed = self._is_headed or kind is None
            self._session.records += 1
            self._meta(record, at)
        else:
            self._foreign = self._foreign or ("" if self._recognised else detect_tool(record))
            self._unknown(f"record {one_line(kind, 60)}" if type(kind) is str and kind else "record without type")

    def _meta(self, payload: dict[str, Any], at: str) -> None:
        if self._begun:
            # A fork repeats the first line of its origin.
            origin = string(payload.get("id"))
            if origin and origin != self._session.unit:
                self._session.forked_from = self._session.forked_from or one_line(origin, 500)
                self._is_copy = True
            return
        self._begun = True
        self._opening = (payload, at)
        _open(self._session, payload, at)
        start = payload.get("subagent_history_start_ordinal")
        self._own_from = start if type(start) is int else 0
        # Since 0.146 a session may judge what its parent wants to run: it repeats its parent's words.
        sub = mapping(mapping(payload.get("source")).get("subagent"))
        if sub.get("other") == "guardian" or payload.get("thread_source") == "guardian_review":
            self._reading.skipped = REVIEWER

    def _leave_copy(self, kind: str, payload: dict[str, Any]) -> bool:
        """Drop the copy of a parent's records at its end; return True if the record is the last of the copy."""
        is_last = kind == "response_item" and _ends_copy(payload)
        is_own = self._is_copy and kind == "event_msg" and _begins_own_turn(payload, self._session.unit)
        if is_last or is_own:
            self._is_copy = not is_own
            before, session = self._session, SessionBuilder(self._session.unit, NAME)
            _open(session, *self._opening)
            session.forked_from = before.forked_from
            # An older copy of the file may have only the dropped records: they stay known.
            session.uuids |= before.uuids
            self._begin(session)
        return is_last

    # Items of the conversation

    def _item(self, item: dict[str, Any], at: str) -> None:
        kind, session = item.get("type"), self._session
        call = string(item.get("call_id"))
        if type(kind) is str and kind in _ITEMS:
            self._check(f"response_item {kind}", item, _ITEMS[kind])
        if kind == "message":
            self._message(item, at)
        elif kind == "reasoning":
            for part in (item.get("summary"), item.get("content")):
                for entry in part if type(part) is list else ():
                    self._part("reasoning", entry)
                    self._think(string(mapping(entry).get("text")), at, _ITEM)
        elif kind == "function_call":
            name, space = string(item.get("name")), string(item.get("namespace"))
            self._sets_goal = self._sets_goal or "goal" in name
            session.tool_call(f"{space}.{name}" if space else name, item.get("arguments"), at, call_id=call)
        elif kind == "custom_tool_call":
            self._sets_goal = self._sets_goal or "goal" in f"{item.get('name')} {item.get('input')}"
            self._asks = self._asks or "request_user_input" in string(item.get("input"))
            session.tool_call(string(item.get("name")), item.get("input"), at, call_id=call)
        elif kind in _OUTPUTS:
            # An output without a call is another thread's message.
            if item.get("call_id") or not self._delegated(output_text(item.get("output")), at, _ITEM):
                self._output(call, item.get("output"), at)
        elif kind == "local_shell_call":
            command = command_text(mapping(item.get("action")).get("command"))
            session.tool_call("shell", {"command": command}, at, call_id=call or string(item.get("id")))
        elif kind == "web_search_call":
            action = mapping(item.get("action"))
            if action.get("type") in ("open_page", "find_in_page"):
                session.tool_call("web_fetch", {"url": action.get("url"), "prompt": action.get("pattern")}, at)
            else:
                session.tool_call("web_search", action, at)
        elif kind == "tool_search_call":
            session.tool_call("tool_search", item.get("arguments"), at, call_id=call)
        elif kind == "image_generation_call":
            session.tool_call("image_generation", {"prompt": item.get("revised_prompt")}, at)
        elif kind == "agent_message":
            self._teammate(item, at)
        elif kind not in _DROPPED_ITEMS:
            self._unknown(f"response_item {one_line(str(kind), 60)}")

    def _message(self, item: dict[str, Any], at: str) -> None:
        role, content = item.get("role"), item.get("content")
        self._sets_goal = False
        texts = [content] if type(content) is str else []
        for block in content if type(content) is list else ():
            self._part("message", block)
            if mapping(block).get("type") in _TEXTS:
                texts.append(string(block.get("text")))
        if role == "assistant":
            self._answer("\n\n".join(texts), string(item.get("phase")), at, _ITEM)
        elif role == "user":
            kinds = mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
            self._user(texts, kinds if type(content) is list and len(texts) == len(content) else None, at)
        elif role not in ("developer", "system"):
            self._unknown(f"message role {one_line(str(role), 60)}")

    def _output(self, call: str, output: Any, at: str) -> None:
        self._session.ended(call, at, duration(output))
        error, note = outcome(output)
        if self._asks and not note and (answers := printed_answers(output)):
            self._asks, note = False, f"answer: {answers}"
        if error:
            self._session.tool_error(call, error, at)
        elif note:
            self._link(call, note, at)

    def _link(self, call: str, note: str, at: str) -> None:
        """Add a note; the link to a subagent once."""
        if note not in self._linked or not note.startswith("→"):
            self._linked.add(note)
            self._session.tool_note(call, note, at)

    # Events

    def _event(self, event: dict[str, Any], at: str) -> None:
        kind, session = event.get("type"), self._session
        if type(kind) is str and kind in _EVENTS:
            self._check(f"event_msg {kind}", event, _EVENTS[kind])
        if kind == "token_count":
            output, *sent = total_tokens(event)
            session.usage("", output, "total", sent)
        elif kind == "patch_apply_end":
            session.edited(string(event.get("call_id")), event.get("changes"))
        elif kind == "user_message":
            session.extend_to(at)
            self._user_event(string(event.get("message")), at)
        elif kind == "agent_message":
            session.extend_to(at)
            self._answer(string(event.get("message")), string(event.get("phase")), at, _EVENT)
        elif kind == "agent_reasoning" or kind == "agent_reasoning_raw_content":
            session.extend_to(at)
            self._think(string(event.get("text")), at, _EVENT)
        elif kind == "turn_aborted":
            if event.get("reason") == "interrupted":
                session.interrupt(at)
        elif kind == "thread_rolled_back":
            count = event.get("num_turns")
            session.note(f"the last {'turn' if count == 1 else f'{count} turns'} taken back by the user", at)
        elif kind == "thread_goal_updated":
            self._goal(mapping(event.get("goal")), at)
        elif kind == "thread_name_updated":
            session.title, self._named_at = string(event.get("thread_name")), at
        elif kind in ("entered_review_mode", "exited_review_mode"):
            self._turn_item({**event, "type": kind}, at)
        elif kind == "item_completed":
            self._turn_item(mapping(event.get("item")), at)
        elif kind == "sub_agent_activity":
            self._started(string(event.get("event_id")), _started_threads(event), at)
        elif kind == "collab_agent_spawn_end":
            self._started(string(event.get("call_id")), [string(event.get("new_thread_id"))], at)
        elif kind not in _DROPPED_EVENTS:
            self._unknown(f"event_msg {one_line(str(kind), 60)}")

    def _goal(self, goal: dict[str, Any], at: str) -> None:
        """Add a person's goal, which has no other record: its turns begin with the harness's words."""
        objective = clean(string(goal.get("objective"))).strip()
        if objective and objective != self._objective and not self._sets_goal:
            self._session.extend_to(at)
            self._session.command(f"/goal {objective}", at)
        self._objective = objective or self._objective

    def _turn_item(self, item: dict[str, Any], at: str) -> None:
        kind, session = _compact(item.get("type")), self._session
        session.extend_to(at)
        if kind == "usermessage":
            self._user_event(_item_text(item), at)
        elif kind == "agentmessage":
            self._answer(_item_text(item), string(item.get("phase")), at, _EVENT)
        elif kind == "plan":
            self._answer(string(item.get("text")), "", at, _EVENT)
        elif kind == "reasoning":
            for part in (item.get("summary_text"), item.get("raw_content")):
                for text in part if type(part) is list else ():
                    self._think(string(text), at, _EVENT)
        elif kind == "enteredreviewmode":
            session.command(f"/review {one_line(string(item.get('user_facing_hint')), 500)}".strip(), at)
        elif kind == "exitedreviewmode":
            explained = string(mapping(item.get("review_output")).get("overall_explanation"))
            self._answer(explained, "", at, _EVENT)
        elif kind in ("subagentactivity", "collabagenttoolcall"):
            self._started(string(item.get("id")), _started_threads(item), at)
        elif kind not in _DROPPED_TURN_ITEMS:
            self._unknown(f"item_completed {one_line(string(item.get('type')), 60)}")

    def _started(self, call: str, threads: list[str], at: str) -> None:
        for thread in threads:
            if thread:
                self._link(call, subagent_link(thread), at)

    def _realtime(self, item: dict[str, Any], at: str) -> None:
        """Add speech, which neither an item nor an event repeats."""
        kind = item.get("type")
        if kind != "transcript_segment":
            if kind not in _DROPPED_REALTIME:
                self._unknown(f"realtime_item {one_line(str(kind), 60)}")
            return
        inner = mapping(item.get("data")) or item
        self._is_voiced = True
        self._session.extend_to(at)
        speak = self._session.prompt if inner.get("role") == "user" else self._session.reply
        speak(string(inner.get("text")), at)

    # Words, once each

    def _user(self, texts: list[str], kinds: Any, at: str) -> None:
        """Add the texts of a user's item; ``kinds`` are the harness's classes of them, if it has classed them."""
        session = self._session
        words: list[str] = []
        for index, text in enumerate(texts):
            if self._delegated(text, at, _ITEM):
                continue
            found = extract_user_text(text, is_voiced=self._is_voiced)
            session.cwd = session.cwd or found.directory
            typed = session.pieces(found, at)
            if typed and is_persons(kinds, index):
                words.append(typed)
        said = "\n\n".join(words)
        if self._event_prompt and said and is_same_prompt(said, self._event_prompt):
            self._event_prompt = ""
        elif said:
            self._prompts.append(session.put(PROMPT, said, at))

    def _user_event(self, message: str, at: str) -> None:
        if self._delegated(message, at, _EVENT):
            return
        said = extract_user_text(message, is_event=True, is_voiced=self._is_voiced).typed
        is_first = not self._has_events
        self._has_events = True
        if not said:
            return
        if is_one_block(said):
            # A later version's app or a person's paste: no record shows which.
            self._session.teammate(said, at)
            return
        prompts = self._prompts
        for index in range(len(prompts) - 1, -1, -1):
            if is_same_prompt(prompts[index].text, said):
                # The event has the text as typed; earlier items without an event were not typed.
                prompts[index].text = said
                self._prompts = [] if is_first else [*prompts[:index], *prompts[index + 1 :]]
                return
        if is_first:
            self._prompts = []  # an older version recorded no events
        self._session.put(PROMPT, said, at)
        self._event_prompt = said

    def _teammate(self, item: dict[str, Any], at: str) -> None:
        content = item.get("content")
        texts = [content] if type(content) is str else []
        texts += [string(mapping(block).get("text")) for block in content if block] if type(content) is list else []
        said = clean("\n\n".join(text for text in texts if text)).strip()
        if said and self._is_new(f"{TEAMMATE} {said}", _ITEM if "type" in item else _EVENT):
            author, to = one_line(string(item.get("author")), 100), one_line(string(item.get("recipient")), 100)
            head = f"{author} to {to}: " if author and to else f"{author}: " if author else ""
            self._session.teammate(head + said, at)

    def _delegated(self, text: str, at: str, side: int) -> bool:
        """Add another thread's request, as its agent's words; return True if a text is one."""
        said = delegated(text)
        if said and self._is_new(f"{TEAMMATE} {said}", side):
            self._session.teammate(said, at)
        return bool(said)

    def _answer(self, text: str, phase: str, at: str, side: int) -> None:
        session = self._session
        for piece in answer_pieces(text):
            if piece.strip() and self._is_new(piece, side):
                self._event_prompt = ""
                for tool, said in imported_parts(piece):
                    if tool:
                        session.tool_call(tool, imported_arguments(said), at)
                    elif phase in _FINAL:
                        session.reply(said, at)
                    else:
                        session.commentary(said, at)

    def _think(self, text: str, at: str, side: int) -> None:
        if text.strip() and self._is_new(text, side):
            self._session.thought(text, at)

    def _is_new(self, text: str, side: int) -> bool:
        """Return True unless a record of the other side has the text already; ``side`` is _ITEM or _EVENT."""
        key = blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=12).digest()
        balance = self._balance.get(key, 0)
        if balance + side:
            self._balance[key] = balance + side
        else:
            del self._balance[key]
        return balance * side >= 0

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, self._line, value)

    def _part(self, what: str, part: Any) -> None:
        kind = mapping(part).get("type")
        fields = _PARTS.get(kind) if type(kind) is str else None
        if fields is None:
            self._unknown(f"{what} content {one_line(str(kind), 60)}", part)
        else:
            self._check(f"{what} content {kind}", part, fields)

    def _check(self, what: str, found: dict[str, Any], known: frozenset[str]) -> None:
        if not found.keys() <= known:
            self._reading.count_fields(what, found, known, self._line)


def _open(session: SessionBuilder, payload: dict[str, Any], at: str) -> None:
    """Take the first line of a rollout: identity, place, version and origin of its session."""
    session.unit = one_line(string(payload.get("id")) or string(payload.get("session_id")), 4000) or session.unit
    session.extend_to(moment(payload.get("timestamp")) or at)
    session.cwd = string(payload.get("cwd"))
    session.version = string(payload.get("cli_version"))
    session.branch = string(mapping(payload.get("git")).get("branch"))
    session.title = string(payload.get("thread_name"))
    base = one_line(string(mapping(payload.get("history_base")).get("thread_id")), 500)
    session.forked_from = one_line(string(payload.get("forked_from_id")), 500) or (base if base != session.unit else "")
    origin = payload.get("source")
    sub = mapping(origin).get("subagent")
    spawn = mapping(mapping(sub).get("thread_spawn"))

    def given(name: str) -> str:
        return string(spawn.get(name)) or string(payload.get(name))

    parent = given("parent_thread_id")
    if parent or sub is not None:
        kind = given("agent_role") or string(sub) or string(mapping(sub).get("other"))
        session.parent = one_line(parent, 500)
        session.agent_type = one_line(kind or string(payload.get("agent_type")), 80)
        session.agent_id = one_line(given("agent_nickname") or given("agent_path"), 200)
    elif type(origin) is str:
        session.extra["surface"] = origin


def _begins_own_turn(payload: dict[str, Any], unit: str) -> bool:
    """Return True if an event begins a turn of the thread ``unit``, not a copied turn."""
    if payload.get("type") not in ("task_started", "turn_started"):
        return False
    made, began = _milliseconds(unit), _milliseconds(string(payload.get("turn_id")))
    return made >= 0 and began >= made


def _ends_copy(payload: dict[str, Any]) -> bool:
    """Return True if an item declares to an agent that the records so far are its parent's."""
    return payload.get("type") in _OUTPUTS and output_text(payload.get("output")) == FORKED


def _milliseconds(name: str) -> int:
    """Return the time in a UUID of version 7 (RFC 9562 §5.7), in ms since 1970; -1 for another name."""
    digits = name.replace("-", "")
    if len(name) != _UUID or len(digits) != 32 or digits[12] != "7" or not _HEX.issuperset(digits):
        return -1
    return int(digits[:12], 16)


def _compact(kind: Any) -> str:
    """Return the type of a turn's item in lower case without underscores: versions spell it differently."""
    return string(kind).lower().replace("_", "")


def _item_text(item: dict[str, Any]) -> str:
    """Return the text of a message among a turn's items."""
    content = item.get("content")
    if type(content) is not list:
        return string(content) or string(item.get("text"))
    parts = [mapping(part) for part in content]
    return "\n\n".join(string(part.get("text")) for part in parts if string(part.get("type")).lower() == "text")


def _started_threads(item: dict[str, Any]) -> list[str]:
    """Return the threads of the subagents that a turn's item started."""
    if item.get("kind") in ("started", "Started"):
        return [string(item.get("agent_thread_id"))]
    threads = item.get("receiver_thread_ids") if _compact(item.get("tool")) == "spawnagent" else None
    return [string(thread) for thread in threads] if type(threads) is list else []
