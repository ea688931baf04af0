"""Crush's sessions: the tables ``sessions`` and ``messages`` of ``.crush/crush.db`` in each project.

``messages.parts`` is a list of ``{type, data}``: ``text {text, hidden}``, ``reasoning {thinking}``, ``tool_call {id,
name, input}``, ``tool_result {tool_call_id, content, is_error}``, ``shell_command {command, output, exit_code}``, which
the person typed, and ``finish {reason, message, details}``. A hidden text was made up by Crush to go on. A session with
``parent_session_id`` is a subagent's. Times are seconds.

Source: charmbracelet/crush, internal/message/message.go and content.go, internal/db/migrations.
"""

from __future__ import annotations

from os.path import basename, dirname
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading
from ingest.session.session import SessionBuilder
from ingest.session.user_text import UserText, cut_blocks, paragraphs, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "crush"
KNOWN = Vocabulary(__file__)

_DROPPED, _REFUSALS = KNOWN.words("dropped"), KNOWN.texts("refusals")
_ASIDES = ("system_info", "system-reminder")


def stream(path: str, raw: RawStore) -> Iterator[Reading]:
    """Yield the reading of a database each time that more of its sessions are whole, and at the end."""
    yield from tables.stream(path, raw, _LAYOUT)


def extract_user_text(text: str) -> UserText:
    """Return a person's words without Crush's blocks."""
    return prompt(cut_blocks(clean(text), _ASIDES).strip())


def _take(head: Record, rows: dict[str, list[Record]], reading: Reading) -> None:
    session = SessionBuilder(one_line(str(head.get("id")), 4000), NAME)
    folder = dirname(reading.path)
    session.cwd = dirname(folder) if basename(folder) == ".crush" else ""
    session.parent = one_line(string(head.get("parent_session_id")), 500)
    title = string(head.get("title"))
    if session.parent:
        session.task = title
    elif title not in ("New Session", "Untitled Session"):
        session.machine_title = title
    session.usage(None, head.get("completion_tokens"), "session")
    session.extend_to(moment(head.get("created_at")))
    for row in rows.get("messages", ()):
        try:
            _message(session, reading, row)
        except BROKEN as error:
            reading.broken(error)
    session.records = len(session.uuids)
    reading.parts[session.unit] = session


def _message(session: SessionBuilder, reading: Reading, row: Record) -> None:
    name, at, role = one_line(str(row.get("id")), 200), moment(row.get("created_at")), string(row.get("role"))
    session.uuids.add(name)
    session.extend_to(at)
    session.usage(row.get("model"))
    typed: list[str] = []
    for part in map(mapping, sequence(row.get("parts"))):
        kind, data = string(part.get("type")), mapping(part.get("data"))
        if kind == "text" and row.get("is_summary_message") in (1, True):
            session.summary(string(data.get("text")), at, name)
        elif kind == "text" and data.get("hidden") is True:
            continue
        elif kind == "shell_command":
            line = clean(string(data.get("command"))).strip()
            session.command(f"! {line}" if line else "", at, name)
        elif kind == "text" and role == "user":
            typed.append(session.pieces(extract_user_text(string(data.get("text"))), at, name))
        elif kind == "text":
            session.reply(string(data.get("text")) if role == "assistant" else "", at, name)
        elif kind == "reasoning":
            session.thought(string(data.get("thinking")), at, name)
        elif kind == "tool_call":
            session.tool_call(string(data.get("name")), data.get("input"), at, name, call_id=string(data.get("id")))
        elif kind == "tool_result":
            call, text = string(data.get("tool_call_id")), string(data.get("content"))
            session.ended(call, at)
            if text.startswith(_REFUSALS):
                session.tool_note(call, "rejected by the user", at, name)
            elif data.get("is_error") is True:
                session.tool_error(call, text or "error", at, name)
        elif kind == "finish":
            if data.get("reason") == "canceled":
                session.interrupt(at, f"{name} canceled")
            elif data.get("reason") == "error":
                session.note(paragraphs(string(data.get("message")), string(data.get("details"))), at, name)
        elif kind not in _DROPPED:
            reading.count(f"part {one_line(kind, 60)}", 0, part)
    session.prompt(paragraphs(*typed), at, name)


_LAYOUT = tables.Layout(
    "sessions",
    "id parent_session_id title completion_tokens created_at",
    {"messages": tables.Below("id role parts model created_at is_summary_message", "session_id", "created_at, rowid")},
    _take,
    "parent_session_id",
)
