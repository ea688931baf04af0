"""The parts that messages of Cursor's agents consist of, and what stands in them of the editor's notes."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime, timedelta, timezone
from os.path import basename, dirname
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.text import clean, one_line
from ingest.archive.rows import Json, decoded
from ingest.pipeline.units import path_name
from ingest.raw import records
from ingest.session.agent_calls import answers, command_text
from ingest.session.user_text import between
from ingest.session.values import blocks, mapping, moment, string
from ingest.sources.cursor import outcomes
from ingest.sources.cursor.human import is_list, typed

if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading
    from ingest.session.builder import SessionBuilder

_SUMMARY = "[Previous conversation summary]:"
# The last two as tenequm/pond issue 207 has them.
_DROPPED = (
    *("image", "file", "redacted_reasoning", "redacted-reasoning", "tool-result", "source"),
    *("redacted", "command_output"),
)


def sent(content: Any) -> tuple[str, str, bool]:
    """(what a person typed, when as the editor notes it, whether it is the editor's lists) of a user's message."""
    text = "\n".join(string(block.get("text")) for block in blocks(content) if block.get("type") == "text")
    words = typed(text)
    return words, between(text, "timestamp").strip(), not words and is_list(text)


def summary(content: Any, options: dict[str, Any]) -> str:
    """The summary that stands in a person's place where a conversation was compacted, or "" where it is no such."""
    text = "\n".join(string(block.get("text")) for block in blocks(content)).strip()
    if text.startswith("<summary>") and text.endswith("</summary>"):
        return between(text, "summary").strip()
    if options.get("isSummary") is True or text.startswith(_SUMMARY):
        return text.removeprefix(_SUMMARY).strip()
    return ""


def workspace(text: str) -> str:
    """The folder that a message's ``<user_info>`` names, or ""."""
    return text.partition("Workspace Path: ")[2].partition("\n")[0].strip() if "<user_info>" in text else ""


def where(composer: dict[str, Any]) -> str:
    """The folder of a conversation that names no workspace: its agent's, or the first repository's; or ""."""
    place = mapping(mapping(mapping(composer.get("agentLocation")).get("environment")).get("uri"))
    tracked = composer.get("trackedGitRepos")
    first = mapping(tracked[0]) if type(tracked) is list and tracked else {}
    return string(place.get("fsPath")) or string(first.get("repoPath"))


def answer(result: Any) -> str:
    """What a person answered to the assistant's question: in the known form its words, else as it is recorded."""
    with contextlib.suppress(ValueError, RecursionError):
        said = answers(mapping(json.loads(result) if type(result) is str else result))
        if said:
            return said
    return one_line(result if type(result) is str else json.dumps(result, ensure_ascii=False), 500)


def stamp(text: str) -> str:
    """The instant that a message's ``<timestamp>`` names (``Monday, Apr 27, 2026, 9:14 AM (UTC+2)``), or ""."""
    said = between(text, "timestamp").strip()
    if not said:
        return ""
    head, _, zone = said.partition(" (UTC")
    hours, _, minutes = zone.rstrip(")").partition(":")
    try:
        offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0) * (-1 if hours.startswith("-") else 1))
        found = datetime.strptime(head.strip(), "%A, %b %d, %Y, %I:%M %p").replace(tzinfo=timezone(offset))
    except ValueError:
        return moment(said)
    return moment(found.timestamp())


def message(
    session: SessionBuilder, reading: Reading, record: dict[str, Any], line: int, name: str = "", content: Any = None
) -> None:
    """Put one message of an agent's transcript into the session; ``content`` is text or a list of parts."""
    role = record["role"]
    at = moment(record.get("createdAt")) or moment(record.get("timestamp"))
    options = cursor(record)
    session.extend_to(at)
    if role == "user":
        compacted = summary(content, options)
        if compacted:
            session.summary(clean(compacted), at, name)
        elif not options.get("loopReminder"):
            _user(session, reading, content, line, name, at)
    elif role in ("assistant", "tool"):
        failed = mapping(options.get("highLevelToolCallResult"))
        wrong = failed.get("isError") is True or mapping(failed.get("output")).get("isError") is True
        for block in blocks(content):
            _part(session, reading, block, line, name, at, wrong)
    elif role != "system":
        reading.count(f"message role {one_line(role, 60)}", line)


def cursor(record: dict[str, Any]) -> dict[str, Any]:
    """What Cursor notes of a message, or of a part of one."""
    return mapping(mapping(record.get("providerOptions")).get("cursor"))


def _user(session: SessionBuilder, reading: Reading, content: Any, line: int, name: str, at: str) -> None:
    said: list[str] = []
    for block in blocks(content):
        kind = block.get("type")
        if kind == "text":
            text = string(block.get("text"))
            session.cwd = session.cwd or workspace(text)
            at = at or stamp(text)
            said.append(typed(text))
        elif kind in ("tool_result", "tool-result"):
            _outcome(session, block, name, at, False)
        elif kind not in _DROPPED:
            reading.count(f"user part {one_line(str(kind), 60)}", line)
    session.extend_to(at)
    session.prompt("\n\n".join(text for text in said if text), at, name)


def _part(
    session: SessionBuilder, reading: Reading, block: dict[str, Any], line: int, name: str, at: str, wrong: bool
) -> None:
    kind = block.get("type")
    model = string(cursor(block).get("modelName"))
    if model:
        session.models.add(one_line(model, 200))
    if kind == "text":
        # Where it stood, Cursor has taken out what the model thought.
        lines = [line for line in string(block.get("text")).split("\n") if line.strip() != "[REDACTED]"]
        session.reply("\n".join(lines), at, name)
    elif kind in ("thinking", "reasoning"):
        session.thought(string(block.get("thinking")) or string(block.get("text")), at, name)
    elif kind in ("tool_use", "tool_call", "tool-call"):
        given = block.get("input", block.get("args", block.get("arguments")))
        tool = string(block.get("name")) or string(block.get("toolName"))
        session.tool_call(tool, given, at, name, call_id=string(block.get("id")) or string(block.get("toolCallId")))
    elif kind in ("tool_result", "tool-result"):
        _outcome(session, block, name, at, wrong)
    elif kind not in _DROPPED:
        reading.count(f"assistant part {one_line(str(kind), 60)}", line)


def _outcome(session: SessionBuilder, block: dict[str, Any], name: str, at: str, wrong: bool) -> None:
    call = string(block.get("tool_use_id")) or string(block.get("toolCallId"))
    if not call:
        return
    result = block.get("content", block.get("result"))
    text = "\n".join(string(part.get("text")) for part in blocks(result))
    error = outcomes.of_text(string(block.get("toolName")), text)
    if error or wrong or block.get("is_error") is True or block.get("isError") is True:
        session.tool_error(call, error or text or command_text(result), at, name)


def workspace_name(path: str) -> str:
    """The workspace's name: the folder that its database lies in."""
    return path_name(basename(dirname(path)))[:100] or "workspace"


def cell(value: Any, reading: Reading, where: str) -> Any:
    """The value of one cell; NULL is None, and what is no JSON a failure of the reading."""
    if not isinstance(value, str | bytes | Json) or not value:
        return None
    try:
        return decoded(value, reading.redacted)
    except (ValueError, RecursionError) as error:
        reading.fail(Failure(reading.path, records.MALFORMED, f"{one_line(where, 120)}: {error}"))
        return None
