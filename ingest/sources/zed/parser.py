"""Zed's threads: a row a thread in ``threads.db``, its messages as JSON that zstd packed.

The columns are ``id, summary, updated_at, data_type (json|zstd), data``, since 2026 also ``parent_id``,
``folder_paths`` and ``created_at``. Version 0.3.0 of the JSON has messages ``{"User": {id, content}}``,
``{"Agent": {content, tool_results}}`` or ``"Resume"``, with content ``{"Text": …}``, ``{"Mention": {uri, content}}``,
``{"Thinking": {text}}``, ``{"ToolUse": {id, name, input}}``. Earlier versions have ``{role, segments, tool_uses,
tool_results, context}``. Messages have no times; the archive keeps the JSON unpacked.

Source: zed-industries/zed, crates/agent/src/db.rs, thread.rs and legacy_thread.rs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading
from ingest.session.session import SessionBuilder
from ingest.session.user_text import UserText, paragraphs, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "zed"
KNOWN = Vocabulary(__file__)

_FIELDS = KNOWN.fields("fields")
_DROPPED, _CANCELLED = KNOWN.words("dropped"), KNOWN.texts("cancelled")
_UNTITLED = ("New Thread", "New Agent Thread", "")
# Bytes of one thread, unpacked.
_MOST = 256 << 20


def stream(path: str, raw: RawStore) -> Iterator[Reading]:
    """Yield the reading of a database each time that more of its threads are whole, and at the end."""
    yield from tables.stream(path, raw, _LAYOUT)


def extract_user_text(text: str) -> UserText:
    """Return a person's words: what a mention adds is content of its own."""
    return prompt(clean(text).strip())


def _change(table: str, row: Record) -> Record:
    """Return a thread's row with its JSON unpacked; what cannot be unpacked is no JSON, and counted as that."""
    del table
    data = row.get("data")
    if row.get("data_type") == "zstd" and isinstance(data, bytes):
        import zstandard

        try:
            unpacked = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read(_MOST)
        except zstandard.ZstdError:
            unpacked = b""
        return {**row, "data_type": "json", "data": unpacked.decode("utf-8", "replace") or "damaged"}
    return {**row, "data": data.decode("utf-8", "replace")} if isinstance(data, bytes) else row


def _take(head: Record, rows: dict[str, list[Record]], reading: Reading) -> None:
    del rows
    thread = mapping(head.get("data"))
    if not thread:
        return
    reading.count_fields("thread", thread, _FIELDS["thread"])
    session = SessionBuilder(one_line(str(head.get("id")), 4000), NAME)
    title = string(head.get("summary")) or string(thread.get("title"))
    session.machine_title = "" if title in _UNTITLED else title
    session.cwd = _folder(head, thread)
    session.parent = one_line(
        string(head.get("parent_id")) or string(mapping(thread.get("subagent_context")).get("parent_thread_id")), 500
    )
    session.usage(mapping(thread.get("model")).get("model"))
    session.usage(None, mapping(thread.get("cumulative_token_usage")).get("output_tokens"), "thread")
    for at in (head.get("created_at"), head.get("updated_at") or thread.get("updated_at")):
        session.extend_to(moment(at))
    at = session.last
    for number, message in enumerate(sequence(thread.get("messages"))):
        try:
            _message(session, reading, message, f"m{number}", at if number == 0 else "")
        except BROKEN as error:
            reading.broken(error)
    summary = mapping(thread.get("detailed_summary_state")).get("Generated")
    session.recap(string(thread.get("detailed_summary")) or string(mapping(summary).get("text")), "", "summary")
    session.records = len(session.uuids)
    reading.parts[session.unit] = session


def _folder(head: Record, thread: Record) -> str:
    paths = string(head.get("folder_paths")).split("\n")
    trees = sequence(mapping(thread.get("initial_project_snapshot")).get("worktree_snapshots"))
    first = mapping(next(iter(trees), None))
    return next((path for path in (*paths, string(first.get("worktree_path"))) if path.startswith("/")), "")


def _message(session: SessionBuilder, reading: Reading, message: Any, name: str, at: str) -> None:
    session.uuids.add(name)
    if message == "Resume":
        return
    given = mapping(message)
    if "role" in given:
        _earlier(session, reading, given, name, at)
    elif "User" in given:
        user = mapping(given["User"])
        reading.count_fields("message", user, _FIELDS["message"])
        typed: list[str] = []
        for kind, content in _contents(user):
            if kind == "Text":
                typed.append(extract_user_text(string(content)).typed)
            elif kind != "Mention" and kind not in _DROPPED:
                reading.count(f"content {one_line(kind, 60)}", 0, content)
        session.prompt(paragraphs(*typed), at, name)
    elif "Agent" in given:
        agent = mapping(given["Agent"])
        reading.count_fields("message", agent, _FIELDS["message"])
        for kind, content in _contents(agent):
            if kind == "Text":
                session.reply(string(content), at, name)
            elif kind == "Thinking":
                session.thought(string(mapping(content).get("text")), at, name)
            elif kind == "ToolUse":
                _call(session, mapping(content), name, at)
            elif kind not in _DROPPED:
                reading.count(f"content {one_line(kind, 60)}", 0, content)
        for result in mapping(agent.get("tool_results")).values():
            _outcome(session, mapping(result), name, at)
    else:
        reading.count(f"message {one_line(str(next(iter(given), message)), 60)}", 0, message)


def _contents(message: Record) -> Iterator[tuple[str, Any]]:
    for each in sequence(message.get("content")):
        if type(each) is dict:
            yield from each.items()
        else:
            yield str(each), each


def _earlier(session: SessionBuilder, reading: Reading, message: Record, name: str, at: str) -> None:
    """Add a message of the versions before 0.3.0."""
    reading.count_fields("message", message, _FIELDS["message"])
    role = message.get("role")
    texts: list[str] = [string(message.get("text"))]
    for segment in map(mapping, sequence(message.get("segments"))):
        if segment.get("type") == "text":
            texts.append(string(segment.get("text")))
        elif segment.get("type") == "thinking":
            session.thought(string(segment.get("text")), at, name)
        elif segment.get("type") not in _DROPPED:
            reading.count(f"segment {one_line(str(segment.get('type')), 60)}", 0, segment)
    # A hidden message is Zed's own, such as the request to go on.
    if role == "user" and message.get("is_hidden") is not True and not sequence(message.get("tool_results")):
        session.prompt(extract_user_text(paragraphs(*texts)).typed, at, name)
    elif role == "assistant":
        session.reply(paragraphs(*texts), at, name)
    for use in sequence(message.get("tool_uses")):
        _call(session, mapping(use), name, at)
    for result in sequence(message.get("tool_results")):
        _outcome(session, mapping(result), name, at)


def _call(session: SessionBuilder, use: Record, name: str, at: str) -> None:
    session.tool_call(string(use.get("name")), use.get("input"), at, name, call_id=string(use.get("id")))


def _outcome(session: SessionBuilder, result: Record, name: str, at: str) -> None:
    call, content = string(result.get("tool_use_id")), result.get("content")
    parts = content if type(content) is list else [content]
    text = paragraphs(*(string(part) or string(mapping(part).get("Text")) or string(mapping(part).get("text"))
                        for part in parts))  # fmt: skip
    if text.startswith(_CANCELLED):
        session.tool_note(call, "rejected by the user", at, name)
    elif result.get("is_error") is True:
        session.tool_error(call, text or "error", at, name)


_LAYOUT = tables.Layout(
    "threads", "id summary updated_at data_type data parent_id folder_paths created_at", {}, _take, "parent_id", _change
)
