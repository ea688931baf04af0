"""Rollouts of Codex CLI → sessions.

Three generations: up to 0.31 bare items after a first line ``{id, timestamp, instructions, git}`` (at first, in the
TypeScript client of 2025, as one document ``{session, items}``: codex-cli/src/utils/storage/save-rollout.ts); then
``{timestamp, type, payload}``, in which every message stands twice, as an item of the conversation and as an event;
from 0.145 on also ``ordinal``, ``world_state`` and messages between agents; in "paginated" histories (0.146 and later)
completed items of a turn stand where the events stood.
"""

from __future__ import annotations

from os.path import basename
from typing import Any

from core.document import Failure
from core.text import clean, one_line
from ingest.pipeline import owners
from ingest.pipeline.reading import BROKEN, Reading, lines, whole
from ingest.pipeline.units import path_name
from ingest.raw import records
from ingest.raw.store import RawStore
from ingest.session.agent_calls import command_text
from ingest.session.builder import SessionBuilder
from ingest.session.values import mapping, moment, string
from ingest.sources.codex import forks, names, opening, outcomes, state, turn_items
from ingest.sources.codex import vocabulary as known
from ingest.sources.codex.speech import Said
from ingest.sources.histories.source import is_history

NAME = "codex"
FOREIGN = "not a Codex transcript"

_BARE_STATE = "record_type"
_UUID = 36


def read(path: str, raw: RawStore) -> Reading:
    """Read one file. Never raises for what is in it or for its not being readable: see ``Reading.failed``."""
    if path.endswith(".json"):
        return whole(path, raw, _document, FOREIGN)
    if path.endswith(".sqlite"):
        return state.read(path, raw)
    if is_history(NAME, path):
        from ingest.sources.histories import reading as history_read

        return history_read.read(NAME, path, raw)
    return lines(path, raw, _pass_over if basename(path) == names.FILE else _take, FOREIGN)


def _document(value: Any, reading: Reading) -> None:
    head, items = mapping(mapping(value).get("session")), mapping(value).get("items")
    if type(items) is not list or type(head.get("id")) is not str:
        return
    rollout = _Rollout(reading)
    for record in ({"timestamp": "", "instructions": None, **head}, *items):
        try:
            rollout.add(record, 0)
        except BROKEN as error:
            reading.broken(error)
    rollout.finish()


def _pass_over(source: records.Records, reading: Reading) -> None:
    """The index of sessions: it is looked at with each transcript, and read by itself so that its growth is noticed."""
    for _ in source:
        continue
    reading.skipped = names.INDEX


def _take(source: records.Records, reading: Reading) -> None:
    rollout = _Rollout(reading)
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
            continue
        line, record = item
        try:
            rollout.add(record, line)
        except BROKEN as error:
            reading.broken(error, line)
    rollout.finish()


class _Rollout(Said):
    """One file's records, in order."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading, SessionBuilder(_named(reading.path), NAME))
        self._line = 0
        self._recognised = self._begun = self._is_headed = False
        self._linked: set[str] = set()
        # The goal that was set last, and whether the assistant may have set one since it said something.
        self._objective, self._sets_goal, self._asks = "", False, False
        self._named_at = ""
        # Of a subagent: where its own records begin; what stands before repeats its parent's.
        self._own_from = 0
        # Of a subagent that does not say it: its opening, and whether its parent's records may go on.
        self._opening: tuple[dict[str, Any], str] = ({}, "")
        self._is_copy = False
        # Why the file is none of Codex's, where that is told before anything of its.
        self._elses = ""

    def add(self, record: dict[str, Any], line: int) -> None:
        self._line = line
        kind = record.get("type")
        payload = record.get("payload")
        if type(payload) is dict and type(kind) is str:
            self._enveloped(kind, payload, record)
        else:
            self._bare(kind, record)

    def finish(self) -> None:
        is_elses = bool(self._elses) and not self._is_headed
        if is_elses:
            self._reading.dismiss(self._elses)
        if is_elses or not self._recognised:
            return
        self._all_said()
        session = self._session
        session.unit = session.unit or _stem(self._reading.path)
        self._reading.parts[session.unit] = session
        (at, name), later = names.of(self._reading, session.unit)
        if name and at >= self._named_at:
            session.title = name
        self._reading.raw.keep_with(self._reading, later)

    # Envelopes

    def _enveloped(self, kind: str, payload: dict[str, Any], record: dict[str, Any]) -> None:
        if kind not in known.RECORDS:
            self._unknown(f"record {one_line(kind, 60)}")
            return
        # An item by itself another tool writes, too: not so an envelope.
        self._recognised = self._is_headed = True
        session = self._session
        session.records += 1
        at = moment(record.get("timestamp"))
        if not record.keys() <= known.ENVELOPE:
            self._fields("record", record, known.ENVELOPE)
        if self._own_from and kind != "session_meta" and _ordinal(record) < self._own_from:
            return
        if session.parent and not self._own_from and self._was_copied(kind, payload):
            return
        session = self._session
        if kind == "response_item":
            session.extend_to(at)
            self._item(payload, at)
        elif kind == "event_msg":
            self._event(payload, at)
        elif kind == "turn_context":
            self._check("turn_context", payload)
            session.extend_to(at)
            self._context(payload)
        elif kind == "session_meta":
            self._check("session_meta", payload)
            self._meta(payload, at)
        elif kind == "compacted":
            self._check("compacted", payload)
            session.extend_to(at)
            session.summary(string(payload.get("message")), at)
        elif kind == "inter_agent_communication":
            session.extend_to(at)
            self._teammate(payload, at)
        elif kind == "realtime_item":
            self._realtime(payload, at)

    def _was_copied(self, kind: str, payload: dict[str, Any]) -> bool:
        """Leave out what was copied of a parent's records, where it ends; whether this is the last of them."""
        is_last = kind == "response_item" and forks.ends_copy(payload)
        begins = self._is_copy and kind == "event_msg" and forks.begins_own(payload, self._session.unit)
        if is_last or begins:
            self._is_copy = not begins
            before, session = self._session, SessionBuilder(self._session.unit, NAME)
            opening.take(session, *self._opening)
            session.forked_from = before.forked_from
            # That there were more records stays known: an older copy may have them, and nothing else.
            session.uuids |= before.uuids
            self._restart(session)
        return is_last

    def _restart(self, session: SessionBuilder) -> None:
        super().__init__(self._reading, session)
        self._linked = set()
        self._objective, self._sets_goal, self._asks = "", False, False
        self._named_at = ""

    def _bare(self, kind: Any, record: dict[str, Any]) -> None:
        if _BARE_STATE in record:
            self._recognised = self._is_headed = True
        elif type(kind) is str and (kind in known.ITEMS or kind in known.DROPPED_ITEMS) and "message" not in record:
            self._recognised = self._recognised or "role" in record or "call_id" in record or kind == "reasoning"
            self._session.records += 1
            self._item(record, moment(record.get("timestamp")))
        elif not self._begun and type(record.get("id")) is str and "timestamp" in record and _is_opening(record):
            self._recognised = True
            self._is_headed = self._is_headed or kind is None
            self._session.records += 1
            self._meta(record, moment(record.get("timestamp")))
        else:
            self._elses = self._elses or ("" if self._recognised else owners.whose(record))
            self._unknown(f"record {one_line(kind, 60)}" if type(kind) is str and kind else "record without type")

    def _meta(self, payload: dict[str, Any], at: str) -> None:
        if self._begun:
            # A fork repeats its origin's first line.
            origin = string(payload.get("id"))
            if origin and origin != self._session.unit:
                self._session.forked_from = self._session.forked_from or one_line(origin, 500)
                self._is_copy = True
            return
        self._begun = True
        self._opening = (payload, at)
        opening.take(self._session, payload, at)
        self._own_from = opening.own_from(payload)
        if opening.is_review(payload):
            self._reading.skipped = opening.REVIEWER

    def _context(self, payload: dict[str, Any]) -> None:
        session = self._session
        model = payload.get("model")
        if type(model) is str and model:
            session.models.add(model)
        if not session.cwd:
            session.cwd = string(payload.get("cwd"))

    # Items of the conversation

    def _item(self, item: dict[str, Any], at: str) -> None:
        kind = item.get("type")
        session = self._session
        if kind == "message":
            self._check("response_item message", item)
            self._message(item, at)
        elif kind == "reasoning":
            self._check("response_item reasoning", item)
            for part in (item.get("summary"), item.get("content")):
                for entry in part if type(part) is list else ():
                    self._part("reasoning", entry)
                    self._think(string(mapping(entry).get("text")), at, 1)
        elif kind == "function_call":
            self._check("response_item function_call", item)
            name, space = string(item.get("name")), string(item.get("namespace"))
            given = item.get("arguments")
            self._sets_goal = self._sets_goal or "goal" in name
            session.tool_call(f"{space}.{name}" if space else name, given, at, call_id=string(item.get("call_id")))
        elif kind == "custom_tool_call":
            self._check("response_item custom_tool_call", item)
            self._sets_goal = self._sets_goal or "goal" in f"{item.get('name')} {item.get('input')}"
            self._asks = self._asks or "request_user_input" in string(item.get("input"))
            session.tool_call(string(item.get("name")), item.get("input"), at, call_id=string(item.get("call_id")))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._check(f"response_item {kind}", item)
            # What answers to no call is another thread's message.
            if item.get("call_id") or not self._delegated(outcomes.text_of(item.get("output")), at, 1):
                self._output(string(item.get("call_id")), item.get("output"), at)
        elif kind == "local_shell_call":
            self._check("response_item local_shell_call", item)
            command = command_text(mapping(item.get("action")).get("command"))
            session.tool_call(
                "shell", {"command": command}, at, call_id=string(item.get("call_id")) or string(item.get("id"))
            )
        elif kind == "web_search_call":
            self._check("response_item web_search_call", item)
            self._web(mapping(item.get("action")), at)
        elif kind == "tool_search_call":
            self._check("response_item tool_search_call", item)
            session.tool_call("tool_search", item.get("arguments"), at, call_id=string(item.get("call_id")))
        elif kind == "image_generation_call":
            self._check("response_item image_generation_call", item)
            session.tool_call("image_generation", {"prompt": item.get("revised_prompt")}, at)
        elif kind == "agent_message":
            self._check("response_item agent_message", item)
            self._teammate(item, at)
        elif kind not in known.DROPPED_ITEMS:
            self._unknown(f"response_item {one_line(str(kind), 60)}")

    def _message(self, item: dict[str, Any], at: str) -> None:
        role = item.get("role")
        self._sets_goal = False
        content = item.get("content")
        texts = [content] if type(content) is str else []
        for block in content if type(content) is list else ():
            self._part("message", block)
            if mapping(block).get("type") in ("input_text", "output_text", "text"):
                texts.append(string(block.get("text")))
        if role == "assistant":
            self._answer("\n\n".join(texts), string(item.get("phase")), at, 1)
        elif role == "user":
            kinds = mapping(item.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
            self._typed(texts, kinds if type(content) is list and len(texts) == len(content) else None, at)
        elif role not in ("developer", "system"):
            self._unknown(f"message role {one_line(str(role), 60)}")

    def _web(self, action: dict[str, Any], at: str) -> None:
        kind = string(action.get("type"))
        if kind == "open_page" or kind == "find_in_page":
            self._session.tool_call("web_fetch", {"url": action.get("url"), "prompt": action.get("pattern")}, at)
        else:
            self._session.tool_call("web_search", action, at)

    def _output(self, call: str, output: Any, at: str) -> None:
        error, note = outcomes.outcome(output)
        if self._asks and not note and (said := outcomes.answered(output)):
            self._asks, note = False, f"answer: {said}"
        if error:
            self._session.tool_error(call, error, at)
        elif note:
            self._link(call, note, at)

    def _link(self, call: str, note: str, at: str) -> None:
        if note not in self._linked or not note.startswith("→"):
            self._linked.add(note)
            self._session.tool_note(call, note, at)

    # Events

    def _event(self, event: dict[str, Any], at: str) -> None:
        kind = event.get("type")
        session = self._session
        if kind == "token_count":
            total = mapping(mapping(event.get("info")).get("total_token_usage")).get("output_tokens")
            if type(total) is int:
                session.tokens["total"] = total
        elif kind == "user_message":
            self._check("event_msg user_message", event)
            session.extend_to(at)
            self._user_event(string(event.get("message")), at)
        elif kind == "agent_message":
            self._check("event_msg agent_message", event)
            session.extend_to(at)
            self._answer(string(event.get("message")), string(event.get("phase")), at, -1)
        elif kind == "agent_reasoning" or kind == "agent_reasoning_raw_content":
            session.extend_to(at)
            self._think(string(event.get("text")), at, -1)
        elif kind == "turn_aborted":
            self._check("event_msg turn_aborted", event)
            if event.get("reason") == "interrupted":
                session.interrupt(at)
        elif kind == "thread_rolled_back":
            self._check("event_msg thread_rolled_back", event)
            count = event.get("num_turns")
            session.note(f"the last {'turn' if count == 1 else f'{count} turns'} taken back by the user", at)
        elif kind == "thread_goal_updated":
            self._check("event_msg thread_goal_updated", event)
            self._goal(mapping(event.get("goal")), at)
        elif kind == "thread_name_updated":
            session.title, self._named_at = string(event.get("thread_name")), at
        elif kind in ("entered_review_mode", "exited_review_mode"):
            self._turn_item({**event, "type": kind}, at)
        elif kind == "item_completed":
            self._turn_item(mapping(event.get("item")), at)
        elif kind == "sub_agent_activity":
            self._started(string(event.get("event_id")), event, at)
        elif kind == "collab_agent_spawn_end":
            thread = string(event.get("new_thread_id"))
            if thread:
                self._link(string(event.get("call_id")), outcomes.link(thread), at)
        elif kind not in known.DROPPED_EVENTS:
            self._unknown(f"event_msg {one_line(str(kind), 60)}")

    def _goal(self, goal: dict[str, Any], at: str) -> None:
        """What a person set as a goal stands nowhere else: the turns of it begin with the harness's own words."""
        objective = clean(string(goal.get("objective"))).strip()
        if objective and objective != self._objective and not self._sets_goal:
            self._session.extend_to(at)
            self._session.command(f"/goal {objective}", at)
        self._objective = objective or self._objective

    def _turn_item(self, item: dict[str, Any], at: str) -> None:
        kind, session = turn_items.kind(item), self._session
        session.extend_to(at)
        if kind == "usermessage":
            self._user_event(turn_items.message(item), at)
        elif kind == "agentmessage":
            self._answer(turn_items.message(item), string(item.get("phase")), at, -1)
        elif kind == "plan":
            self._answer(string(item.get("text")), "", at, -1)
        elif kind == "reasoning":
            for text in turn_items.thoughts(item):
                self._think(text, at, -1)
        elif kind == "enteredreviewmode":
            session.command(f"/review {one_line(string(item.get('user_facing_hint')), 500)}".strip(), at)
        elif kind == "exitedreviewmode":
            self._answer(string(mapping(item.get("review_output")).get("overall_explanation")), "", at, -1)
        elif kind in ("subagentactivity", "collabagenttoolcall"):
            self._started(string(item.get("id")), item, at)
        elif kind not in known.DROPPED_TURN_ITEMS:
            self._unknown(f"item_completed {one_line(string(item.get('type')), 60)}")

    def _started(self, call: str, item: dict[str, Any], at: str) -> None:
        for thread in turn_items.started(item):
            if thread:
                self._link(call, outcomes.link(thread), at)

    def _realtime(self, item: dict[str, Any], at: str) -> None:
        """What was said by voice: neither the item nor the event of a message repeats it."""
        kind = item.get("type")
        if kind != "transcript_segment":
            if kind not in known.DROPPED_REALTIME:
                self._unknown(f"realtime_item {one_line(str(kind), 60)}")
            return
        role, text = turn_items.speech(item)
        self._voiced = True
        self._session.extend_to(at)
        if role == "user":
            self._session.prompt(text, at)
        else:
            self._session.reply(text, at)

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, self._line, value)

    def _part(self, what: str, part: Any) -> None:
        kind = mapping(part).get("type")
        fields = known.PARTS.get(kind) if type(kind) is str else None
        if fields is None:
            self._unknown(f"{what} content {one_line(str(kind), 60)}", part)
        elif not part.keys() <= fields:
            self._fields(f"{what} content {kind}", part, fields)

    def _check(self, what: str, found: dict[str, Any]) -> None:
        fields = known.FIELDS[what]
        if not found.keys() <= fields:
            self._fields(what, found, fields)

    def _fields(self, what: str, found: dict[str, Any], fields: frozenset[str]) -> None:
        for name in sorted(found.keys() - fields):
            self._unknown(f"{what}: field {one_line(name, 60)}", found[name])


def _ordinal(record: dict[str, Any]) -> float:
    """A record's place in its thread; infinite where it has none."""
    found = record.get("ordinal")
    return found if type(found) is int else float("inf")


def _is_opening(record: dict[str, Any]) -> bool:
    return any(key in record for key in ("instructions", "git", "cwd", "originator"))


def _stem(path: str) -> str:
    return path_name(basename(path).removesuffix(".zst").removesuffix(".jsonl"))


def _named(path: str) -> str:
    """The session's id as a rollout's file name has it, or ""."""
    stem = _stem(path)
    end = stem[-_UUID:]
    is_id = len(end) == _UUID and end.count("-") == 4 and set(end) <= set("0123456789abcdef-")
    return end if is_id and stem.startswith("rollout-") else ""
