"""Goose's sessions: a database since the autumn of 2025, before it a file of JSON Lines a session.

The database has ``sessions(id, name, description, working_dir, session_type, created_at, …)`` and
``messages(session_id, role, content_json, created_timestamp, metadata_json)``. A file has the session's fields in its
first line and a message ``{id, role, created, content, metadata}`` in each other one. The database took the files over
under their names.
Blocks of a message are MCP's: ``text``, ``toolRequest {id, toolCall: {status, value: {name, arguments}}}``,
``toolResponse {id, toolResult: {status, value|error}}``, ``thinking``. A message with ``userVisible: false`` is for the
model alone, such as a summary.

Source: block/goose, crates/goose/src/session/session_manager.rs and legacy.rs, conversation/message.rs.
"""

from __future__ import annotations

import json
from os.path import basename
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, add_records, lines
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import NOTHING, UserText, paragraphs, prompt, trimmed
from ingest.session.values import Vocabulary, blocks, mapping, moment, plain, string
from ingest.sources import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.raw import records
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "goose"
FOREIGN = "not a Goose session"
KNOWN = Vocabulary(__file__)

_FIELDS = KNOWN.fields("fields")
_DROPPED = KNOWN.words("dropped")
_HARNESS, _REFUSALS = KNOWN.texts("harness"), KNOWN.texts("refusals")
# What Goose adds to a person's text for the model.
_INFO = (("<info-msg>", "</info-msg>"), ("<system-reminder>", "</system-reminder>"))


def stream(path: str, raw: RawStore) -> Iterator[Reading]:
    """Yield the reading of a database each time that more of its sessions are whole, and at the end."""
    yield from tables.stream(path, raw, _LAYOUT)


def read(path: str, raw: RawStore) -> Reading:
    """Read a file of one session. Faults are recorded in the result."""
    return lines(path, raw, _file, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words in one text of a message."""
    text = trimmed(clean(text), _INFO)
    return NOTHING if text.startswith(_HARNESS) else prompt(text)


def _file(source: records.Records, reading: Reading) -> None:
    session = SessionBuilder(path_name(basename(reading.path).removesuffix(".jsonl")), NAME)
    conversation = _Conversation(reading, session)

    def add(record: Record, line: int) -> None:
        if "working_dir" in record and "role" not in record:
            reading.count_fields("header", record, _FIELDS["header"], line)
            conversation.describe(record)
        elif "role" in record and "content" in record:
            conversation.add(record, line)
        else:
            reading.count("record without role", line, record)

    add_records(source, reading, add)
    if conversation.is_recognised:
        conversation.finish()


def _take(head: Record, rows: dict[str, list[Record]], reading: Reading) -> None:
    session = SessionBuilder(one_line(str(head.get("id")), 4000), NAME)
    conversation = _Conversation(reading, session)
    conversation.describe(head)
    for row in rows.get("messages", ()):
        message: Record = {"role": row.get("role"), "content": row.get("content_json")}
        message["created"] = row.get("created_timestamp")
        message["metadata"] = _decoded(row.get("metadata_json"))
        try:
            conversation.add(message, 0)
        except BROKEN as error:
            reading.broken(error)
    conversation.finish()


class _Conversation:
    """One session as its messages are added, in order."""

    def __init__(self, reading: Reading, session: SessionBuilder) -> None:
        self._reading, self._session = reading, session
        self._count = 0
        self.is_recognised = False

    def describe(self, head: Record) -> None:
        """Take the fields of the session."""
        session = self._session
        self.is_recognised = True
        session.cwd = string(head.get("working_dir"))
        title = string(head.get("name")) or string(head.get("description"))
        if title not in ("CLI Session", "New session", "New Chat"):
            if head.get("user_set_name") in (True, 1):
                session.title = title
            else:
                session.machine_title = title
        session.extend_to(moment(head.get("created_at")))
        session.usage(mapping(_decoded(head.get("model_config_json"))).get("model_name"))
        if type(tokens := head.get("accumulated_output_tokens") or head.get("output_tokens")) is int:
            session.usage(None, tokens, "session")
        if (kind := string(head.get("session_type"))) not in ("", "user"):
            session.agent_type = one_line(kind, 80)
        session.parent = one_line(string(head.get("parent_session_id")), 500)

    def finish(self) -> None:
        """Put the session into the reading."""
        self._session.records = len(self._session.uuids)
        self._reading.parts[self._session.unit] = self._session

    def add(self, message: Record, line: int) -> None:
        """Add one message."""
        session, reading = self._session, self._reading
        # The database numbers messages otherwise than the files that it took over.
        name, at = f"m{self._count}", moment(message.get("created"))
        self._count += 1
        self.is_recognised = True
        reading.count_fields("message", message, _FIELDS["message"], line)
        session.uuids.add(name)
        session.extend_to(at)
        is_hidden = mapping(message.get("metadata")).get("userVisible") is False
        is_user = message.get("role") == "user"
        typed: list[str] = []
        for block in blocks(message.get("content")):
            kind = string(block.get("type"))
            if kind != "text" and kind not in _DROPPED:
                self._block(kind, block, name, at, line)
                continue
            if kind == "text":
                reading.count_fields("block", block, _FIELDS["block"], line)
            text = string(block.get("text")) if kind == "text" else ""
            if is_hidden:
                session.summary("" if text.startswith(_HARNESS) else text, at, name)
            elif is_user:
                typed.append(session.pieces(extract_user_text(text), at, name))
            else:
                session.reply(text, at, name)
        # A schedule's or another agent's words are no person's.
        by_agent = bool(session.agent_type) and not session.parent
        (session.teammate if by_agent else session.prompt)(paragraphs(*typed), at, name)

    def _block(self, kind: str, block: Record, name: str, at: str, line: int) -> None:
        session = self._session
        self._reading.count_fields("block", block, _FIELDS["block"], line)
        if kind in ("toolRequest", "frontendToolRequest"):
            given = mapping(block.get("toolCall"))
            call = mapping(given.get("value")) or given
            tool = string(call.get("name")).rpartition("__")[2]
            session.tool_call(tool or "tool", call.get("arguments"), at, name, call_id=string(block.get("id")))
        elif kind == "toolResponse":
            self._outcome(string(block.get("id")), mapping(block.get("toolResult")), name, at)
        elif kind in ("thinking", "reasoning"):
            session.thought(string(block.get("thinking")) or string(block.get("text")), at, name)
        else:
            self._reading.count(f"block {one_line(kind, 60)}", line, block)

    def _outcome(self, call: str, result: Record, name: str, at: str) -> None:
        self._session.ended(call, at)
        value = result.get("value")
        is_error = mapping(value).get("isError") is True or result.get("status") == "error"
        text = string(result.get("error")) or plain(mapping(value).get("content", value))
        if text.startswith(_REFUSALS):
            self._session.tool_note(call, "rejected by the user", at, name)
        elif is_error:
            self._session.tool_error(call, text or "error", at, name)


def _decoded(text: Any) -> Any:
    try:
        return json.loads(text) if type(text) is str else text
    except (ValueError, RecursionError):
        return None


_LAYOUT = tables.Layout(
    "sessions",
    "id name description user_set_name session_type working_dir created_at output_tokens accumulated_output_tokens"
    " parent_session_id model_config_json",
    {"messages": tables.Below("id role content_json created_timestamp metadata_json", "session_id", "id")},
    _take,
    "parent_session_id",
)
