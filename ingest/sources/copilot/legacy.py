"""Copilot CLI's sessions of 2025: one JSON document, ``~/.copilot/history-session-state/session_<id>_<time>.json``.

``{sessionId, startTime, chatMessages, timeline, selectedModel}``: ``timeline`` is what was shown, with times, entries
``user``, ``copilot``, ``tool_call_requested``, ``tool_call_completed``, ``info``, ``error``; ``chatMessages`` is what
went to the model, in OpenAI's form. Later versions take such a session over as one event, ``session.import_legacy``.
Shapes as others read them: https://github.com/jnarowski/agentcmd and https://github.com/github/copilot-sdk (the
generated session events of 0.1).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN
from ingest.session.user_text import cut_blocks, trimmed
from ingest.session.values import blocks, mapping, moment, string

if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading
    from ingest.session.builder import SessionBuilder

_ASIDES = ("system_reminder", "system-reminder", "skill-context")
# Blocks that a person may write, too, but for those at a text's ends.
_AROUND = tuple((f"<{tag}>", f"</{tag}>") for tag in ("current_datetime", "reminder", "attached_files"))
# After what was typed, and what VS Code has attached to it, it stands again.
_AGAIN, _AGAIN_END = "\n<userRequest>\n", "\n</userRequest>"
_ATTACHED, _ATTACHED_END = "\n<attachments>\n<attachment ", "</attachment>\n\n</attachments>"
_DROPPED = frozenset(("info", "warning", "error", "login", "help"))
_EXITED = re.compile("<(?:exited|shellId: [^<>]{1,200} completed) with exit code (-?[0-9]{1,10})>")


def is_ours(value: Any) -> bool:
    """Whether a JSON value is such a session."""
    found = mapping(value)
    lists = type(found.get("chatMessages")) is list or type(found.get("timeline")) is list
    return lists and type(found.get("sessionId")) is str


def take(session: SessionBuilder, value: dict[str, Any], reading: Reading) -> None:
    """Put what was said and done into the session: as it was shown, or what the model got where that is missing."""
    session.extend_to(moment(value.get("startTime")))
    model = string(value.get("selectedModel"))
    if model:
        session.models.add(one_line(model, 200))
    shown = [mapping(entry) for entry in _list(value.get("timeline"))]
    if any(entry.get("type") == "user" and string(entry.get("text")) for entry in shown):
        entries, read = shown, _shown
    else:
        entries, read = [mapping(entry) for entry in _list(value.get("chatMessages"))], _sent
    calls: set[str] = set()
    for number, entry in enumerate(entries):
        session.records += 1
        try:
            read(session, reading, entry, number, calls)
        except BROKEN as error:
            reading.broken(error)


def typed(text: str) -> str:
    """What of a user's text a person typed."""
    text = clean(text).rstrip()
    if text.endswith(_AGAIN_END) and _AGAIN in text:
        # Where what was typed holds such a block itself, the one in the middle begins what stands again.
        pieces = text.removesuffix(_AGAIN_END).split(_AGAIN)
        half = len(pieces) // 2
        before, again = _AGAIN.join(pieces[:half]), _AGAIN.join(pieces[half:])
        if _without_asides(before) == _without_asides(again):
            text = again
    elif text.endswith(_ATTACHED_END) and _ATTACHED in f"\n{text}":
        text = f"\n{text}".rpartition(_ATTACHED)[0]
    return trimmed(cut_blocks(text, _ASIDES), _AROUND)


def _without_asides(text: str) -> str:
    return " ".join(trimmed(cut_blocks(text, (*_ASIDES, "attachments")), _AROUND).split())


def exit_error(content: str, code: Any = None) -> str:
    """The text of a command's failure, or "" where it ended well or nothing says how.

    The end stands after what a command wrote, and since the autumn of 2026 beside it, as ``code``.
    """
    text = content.rstrip()
    start = text.rfind("<")
    ended = _EXITED.fullmatch(text, start) if start >= 0 else None
    if type(code) is not int:
        code = int(ended.group(1)) if ended else 0
    return f"Exit code {code}\n{text[:start] if ended else text}" if code else ""


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []


def _shown(session: SessionBuilder, reading: Reading, entry: dict[str, Any], number: int, calls: set[str]) -> None:
    kind, at = string(entry.get("type")), moment(entry.get("timestamp"))
    name = one_line(string(entry.get("id")), 200)
    session.extend_to(at)
    if kind == "user":
        session.prompt(typed(string(entry.get("text"))), at, name)
    elif kind in ("copilot", "assistant"):
        session.reply(string(entry.get("text")), at, name)
    elif kind in ("reasoning", "thinking"):
        session.thought(string(entry.get("text")), at, name)
    elif kind.startswith("tool_call"):
        call = string(entry.get("callId")) or name or f"call {number}"
        if call not in calls:
            calls.add(call)
            session.tool_call(
                string(entry.get("name")) or string(entry.get("toolTitle")),
                entry.get("arguments"),
                at,
                name,
                call_id=call,
            )
        _ended(session, mapping(entry.get("result")), call, at, name)
    elif kind not in _DROPPED:
        reading.count(f"timeline entry {one_line(kind, 60)}", 0, entry)


def _ended(session: SessionBuilder, result: dict[str, Any], call: str, at: str, name: str) -> None:
    kind, log = string(result.get("type")), string(result.get("log"))
    if kind in ("rejected", "denied"):
        session.tool_note(call, "rejected by the user", at, name)
    elif kind in ("failure", "error"):
        session.tool_error(call, log or "error", at, name)
    elif exit_error(log):
        session.tool_error(call, exit_error(log), at, name)


def _sent(session: SessionBuilder, reading: Reading, entry: dict[str, Any], number: int, calls: set[str]) -> None:
    role, name = entry.get("role"), f"m{number}"
    said = "\n\n".join(string(part.get("text")) for part in blocks(entry.get("content")) if part.get("text"))
    if role == "user":
        session.prompt(typed(said), "", name)
    elif role == "assistant":
        session.reply(said, "", name)
        for given in _list(entry.get("tool_calls")):
            function = mapping(mapping(given).get("function"))
            call = string(mapping(given).get("id"))
            calls.add(call)
            session.tool_call(string(function.get("name")), function.get("arguments"), "", name, call_id=call)
    elif role == "tool":
        error = exit_error(said)
        if error:
            session.tool_error(string(entry.get("tool_call_id")), error, "", name)
    elif role not in ("system", "developer"):
        reading.count(f"message role {one_line(str(role), 60)}")
