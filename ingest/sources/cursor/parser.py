"""Transcripts of Cursor's agents, the messages that transcripts and databases share, and the words that a person typed.

A transcript is JSON Lines of ``{role, message}``, before that a text for people to read. Neither has times, except the
``<timestamp>`` that newer versions write into a person's messages. The editor's databases: ``ingest.sources.cursor
.storage``. Nothing of this is documented; it was seen in files of 2024 to 2026 and in what others wrote of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from datetime import datetime, timedelta, timezone
from os.path import basename, dirname
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.text import clean, one_line
from ingest.archive.rows import Json, decoded
from ingest.pipeline.reading import BROKEN, Reading, journal, whole
from ingest.raw import records
from ingest.session import project_ids
from ingest.session.session import SessionBuilder
from ingest.session.tool_calls import answers, command_text
from ingest.session.units import path_name
from ingest.session.user_text import UserText, between, cut_blocks, is_whole, paragraphs, prompt
from ingest.session.values import Vocabulary, blocks, exit_code, mapping, moment, string
from ingest.sources.detection import detect_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "cursor"
# ``SessionBuilder.rank``: how much a place knows of a conversation.
TRANSCRIPT, AGENT, EDITOR = 0, 1, 2
FOREIGN = "not a Cursor transcript"

KNOWN = Vocabulary(__file__)
_FIELDS = KNOWN.fields("fields")
_DROPPED_RECORDS = KNOWN.words("dropped_records")
# ``redacted`` and ``command_output`` are from tenequm/pond issue 207.
_DROPPED_PARTS = KNOWN.words("dropped_parts")
_SUMMARY = "[Previous conversation summary]:"


def read(path: str, raw: RawStore) -> Reading:
    """Read one transcript. Faults are recorded in the result."""
    return whole(path, raw, _text, FOREIGN) if path.endswith(".txt") else journal(path, raw, Conversation, FOREIGN)


def _session(path: str) -> SessionBuilder:
    """Return an empty session with everything that a transcript's path says of it."""
    session = SessionBuilder(path_name(basename(path).rpartition(".")[0]), NAME)
    session.extra["surface"] = "agent"
    folders = path.split(os.sep)
    if "agent-transcripts" in folders:
        # The folder's name is the project's path with dashes for slashes; see ``_finish``.
        slug = folders[folders.index("agent-transcripts") - 1]
        session.extra["project_slug"] = path_name(slug)[:300]
        session.sign = project_ids.of_slug(slug)
    if basename(dirname(path)) == "subagents":
        session.parent = path_name(basename(dirname(dirname(path))))[:500]
    return session


def _finish(session: SessionBuilder, reading: Reading) -> None:
    """Put the session into the reading; its folder is the mentioned path that gives the project's slug."""
    slug = project_ids.slug_of(string(session.extra.get("project_slug")))
    if slug and not session.cwd:
        texts = (event.text for event in session.events)
        session.cwd = project_ids.mentioned_folder(texts, lambda place: project_ids.slug_of(place) == slug)
    reading.parts[session.unit] = session


# Transcripts in JSON Lines


class Conversation:
    """A session as the records of its transcript are added, in order.

    If a turn is compacted, Cursor writes its lists of tools, and the turn's prompt again after them; the prompt may
    also come once before them, with the same timestamp. People repeat themselves, too: a prompt is left out only after
    the lists, or directly after itself.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = _session(reading.path)
        self._recognised = False
        # The tool that wrote the file, if it is another one. In Cursor's own folders there are no other files.
        self._owner = ""
        self._may_be_foreign = "project_slug" not in self._session.extra
        # Repeated prompts with the same timestamp: what follows decides if they are the person's.
        self._held: list[tuple[Record, int, Any]] = []
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._prompt = self._stamp = ""
        self._is_listed = self._is_answered = False

    def add(self, record: Record, line: int) -> None:
        """Add one record."""
        if self._may_be_foreign and not self._recognised and not self._owner:
            self._owner = detect_tool(record)
        role, inner = record.get("role"), record.get("message")
        # Some versions have the role in the message only.
        if type(role) is not str and not self._owner and type(mapping(inner).get("role")) is str:
            role = mapping(inner)["role"]
            record = {**record, "role": role}
        if type(role) is not str:
            kind = record.get("type")
            if kind == "turn_ended":
                self._end_turn()
            if type(kind) is not str or kind not in _DROPPED_RECORDS:
                what = f"record {one_line(kind, 60)}" if type(kind) is str else "record without role"
                self._reading.count(what, line)
            return
        self._recognised = self._recognised or type(inner) is dict or "content" in record
        self._reading.count_fields("record", record, _FIELDS["record"], line)
        self._reading.count_fields("message", mapping(inner), _FIELDS["message"], line)
        self._session.records += 1
        content = mapping(inner).get("content") if type(inner) is dict else inner or record.get("content")
        if role == "user":
            self._user(record, line, content)
            return
        self._release()
        if role in ("assistant", "tool"):
            self._is_listed, self._is_answered = False, True
        self._put(record, line, content)

    def _user(self, record: Record, line: int, content: Any) -> None:
        """Add a user's message unless it repeats the turn's prompt."""
        text = "\n".join(string(block.get("text")) for block in blocks(content) if block.get("type") == "text")
        said, stamp = extract_user_text(text).typed, between(text, "timestamp").strip()
        is_summary = bool(_summary(content, {}))
        if is_summary or not said:
            self._is_listed = self._is_listed or is_summary or _is_list(text)
            self._put(record, line, content)
            return
        is_same = said == self._prompt and not (stamp and self._stamp and stamp != self._stamp)
        is_stamped = is_same and stamp == self._stamp != ""
        if is_same and (self._is_listed or (is_stamped and not self._is_answered)):
            self._session.repeated += 1 + (len(self._held) if self._is_listed else 0)
            if self._is_listed:
                self._held.clear()
            return
        self._release()
        if is_stamped:
            self._held.append((record, line, content))
        else:
            self._put(record, line, content)
        self._prompt, self._stamp, self._is_listed, self._is_answered = said, stamp, False, False

    def _end_turn(self) -> None:
        self._release()
        self._begin_turn()

    def _release(self) -> None:
        held, self._held = self._held, []
        for record, line, content in held:
            self._put(record, line, content)

    def _put(self, record: Record, line: int, content: Any) -> None:
        try:
            add_message(self._session, self._reading, record, content, line=line)
        except BROKEN as error:
            self._reading.broken(error, line)

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        self._end_turn()
        if self._recognised:
            _finish(self._session, self._reading)
        elif self._owner:
            self._reading.dismiss(self._owner)


# Messages, in transcripts and in the agent's database


def add_message(
    session: SessionBuilder, reading: Reading, record: Record, content: Any, *, line: int = 0, name: str = ""
) -> None:
    """Add one message; ``content`` is a text or a list of parts."""
    role = record["role"]
    at = moment(record.get("createdAt")) or moment(record.get("timestamp"))
    options = _options(record)
    session.extend_to(at)
    if role == "user":
        if summary := _summary(content, options):
            session.summary(summary, at, name)
        elif not options.get("loopReminder"):
            _add_user(session, reading, content, line, name, at)
    elif role in ("assistant", "tool"):
        result = mapping(options.get("highLevelToolCallResult"))
        is_error = result.get("isError") is True or mapping(result.get("output")).get("isError") is True
        for block in blocks(content):
            _add_part(session, reading, block, line, name, at, is_error=is_error)
    elif role != "system":
        reading.count(f"message role {one_line(role, 60)}", line)


def _options(record: Record) -> Record:
    """Return Cursor's notes on a message, or on a part of one."""
    return mapping(mapping(record.get("providerOptions")).get("cursor"))


def _summary(content: Any, options: Record) -> str:
    """Return the summary that a user's message holds after a conversation was compacted; "" if it holds none."""
    text = "\n".join(string(block.get("text")) for block in blocks(content)).strip()
    if text.startswith("<summary>") and text.endswith("</summary>"):
        return between(text, "summary").strip()
    if options.get("isSummary") is True or text.startswith(_SUMMARY):
        return text.removeprefix(_SUMMARY).strip()
    return ""


def _add_user(session: SessionBuilder, reading: Reading, content: Any, line: int, name: str, at: str) -> None:
    typed: list[str] = []
    for block in blocks(content):
        kind = str(block.get("type"))
        if kind == "text":
            text = string(block.get("text"))
            found = extract_user_text(text)
            typed.append(found.typed)
            session.cwd = session.cwd or found.directory
            at = at or _timestamp(text)
        elif kind in ("tool_result", "tool-result"):
            _add_result(session, block, name, at, is_error=False)
        elif kind not in _DROPPED_PARTS:
            reading.count(f"user part {one_line(kind, 60)}", line)
    session.extend_to(at)
    session.prompt(paragraphs(*typed), at, name)


def _add_part(
    session: SessionBuilder, reading: Reading, block: Record, line: int, name: str, at: str, *, is_error: bool
) -> None:
    """Add a part of an assistant's or a tool's message."""
    kind = str(block.get("type"))
    session.usage(one_line(string(_options(block).get("modelName")), 200))
    if kind == "text":
        # Cursor replaced the model's reasoning by this line.
        shown = [text for text in string(block.get("text")).split("\n") if text.strip() != "[REDACTED]"]
        session.reply("\n".join(shown), at, name)
    elif kind in ("thinking", "reasoning"):
        session.thought(string(block.get("thinking")) or string(block.get("text")), at, name)
    elif kind in ("tool_use", "tool_call", "tool-call"):
        given = block.get("input", block.get("args", block.get("arguments")))
        tool = string(block.get("name")) or string(block.get("toolName"))
        session.tool_call(tool, given, at, name, call_id=string(block.get("id")) or string(block.get("toolCallId")))
    elif kind in ("tool_result", "tool-result"):
        _add_result(session, block, name, at, is_error=is_error)
    elif kind not in _DROPPED_PARTS:
        reading.count(f"assistant part {one_line(kind, 60)}", line)


def _add_result(session: SessionBuilder, block: Record, name: str, at: str, *, is_error: bool) -> None:
    call = string(block.get("tool_use_id")) or string(block.get("toolCallId"))
    if not call:
        return
    result = block.get("content", block.get("result"))
    text = "\n".join(string(part.get("text")) for part in blocks(result))
    error = shell_error(string(block.get("toolName")), text)
    if error or is_error or block.get("is_error") is True or block.get("isError") is True:
        session.tool_error(call, error or text or command_text(result), at, name)


def _timestamp(text: str) -> str:
    """Return the time in a message's ``<timestamp>`` (``Monday, Apr 27, 2026, 9:14 AM (UTC+2)``), or ""."""
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


# Transcripts for people to read

_ROLES = {"user:": "user", "human:": "user", "assistant:": "assistant", "A:": "assistant", "system:": "system"}


def _text(text: Any, reading: Reading) -> None:
    session = _session(reading.path)
    role = ""
    held: list[str] = []
    for line in f"{string(text)}\nuser:".split("\n"):
        if line.rstrip() in _ROLES:
            if role == "user":
                session.prompt(extract_user_text("\n".join(held)).typed)
            elif role == "assistant":
                _add_assistant_text(session, held)
            role, held = _ROLES[line.rstrip()], []
        else:
            held.append(line)
    session.records = len(session.uuids)
    if session.uuids:
        _finish(session, reading)


def _add_assistant_text(session: SessionBuilder, held: list[str]) -> None:
    """Add an assistant's turn: text, ``[Thinking] …``, ``[Tool call] Name`` with arguments below it, results."""
    kind, name = "text", ""
    inner: list[str] = []
    for line in [*held, "[Tool result] "]:
        mark = next((mark for mark in ("[Thinking]", "[Tool call]", "[Tool result]") if line.startswith(mark)), "")
        if not mark:
            if kind == "[Tool call]" and line and not line.startswith(" "):
                _add_section(session, kind, name, inner)
                kind, inner = "text", []
            inner.append(line)
            continue
        _add_section(session, kind, name, inner)
        rest = line[len(mark) :].strip()
        kind, name, inner = mark, rest, [rest] if mark == "[Thinking]" else []


def _add_section(session: SessionBuilder, kind: str, name: str, inner: list[str]) -> None:
    text = "\n".join(inner)
    if kind == "text":
        session.reply(text)
    elif kind == "[Thinking]":
        session.thought(text)
    elif kind == "[Tool call]":
        given: dict[str, str] = {}
        key = ""
        for line in inner:
            head, mark, rest = line.strip().partition(": ")
            if mark and head.replace("_", "").isalnum() and line.startswith("  ") and not line.startswith("    "):
                key = head
                given[key] = rest
            elif key:
                given[key] += f"\n{line.strip()}"
        session.tool_call(name or "tool", given)


# Outcomes of calls: the editor's calls hold theirs, an agent's shell writes it as text

_TERMINALS = ("run_terminal_cmd", "run_terminal_command", "Shell")
_ERROR_TEXTS = ("modelVisibleErrorMessage", "clientVisibleErrorMessage")
_CODE, _PRINTED, _FENCE = "Exit code: ", "\n\nCommand output:\n\n```\n", "\n```"


def editor_outcome(tool: Record) -> tuple[str, str]:
    """Return (error, note) of a call of the editor's; both "" if it succeeded.

    A terminal's result is ``{output, exitCodeV2, exitCode, rejected, …}`` (``aiserver.v1.RunTerminalCommandV2Result``;
    the older code is left out if it is 0), an error ``{clientVisibleErrorMessage, modelVisibleErrorMessage, …}``
    (``aiserver.v1.ToolResultError``).
    """
    is_terminal = string(tool.get("name")).startswith(_TERMINALS)
    status, result = tool.get("status"), tool.get("result")
    result = _object(result) if is_terminal or type(result) is not str or '"rejected"' in result else {}
    if "rejected" in (tool.get("userDecision"), status) or result.get("rejected") is True:
        return "", "rejected by the user"
    error = tool.get("error")
    if status == "error" or error:
        texts = _object(error)
        text = next((string(texts[key]) for key in _ERROR_TEXTS if texts.get(key)), "") or string(error)
        text = text or (json.dumps(error, ensure_ascii=False) if error else "")
        return text or string(tool.get("result")) or "error", ""
    if status == "cancelled":
        return "", "cancelled by the user"
    codes = [code for key in ("exitCodeV2", "exitCode") if type(code := result.get(key)) is int]
    if is_terminal and codes and codes[0]:
        return f"Exit code {codes[0]}\n{string(result.get('output'))}", ""
    return "", ""


def shell_error(tool: str, text: str) -> str:
    """Return the failure in the text of an agent's shell: ``Exit code: <n>``, then the output in a fence; or ""."""
    line, _, rest = text.partition("\n")
    code = exit_code(line.removeprefix(_CODE)) if line.startswith(_CODE) else 0
    if not code or (tool and not tool.startswith(_TERMINALS)):
        return ""
    printed = f"\n{rest}".partition(_PRINTED)[2]
    return f"Exit code {code}\n{printed.rpartition(_FENCE)[0] or printed or rest}"


def answer(result: Any) -> str:
    """Return a person's answer to the assistant's question; the recorded value if its form is unknown."""
    with contextlib.suppress(ValueError, RecursionError):
        said = answers(mapping(json.loads(result) if type(result) is str else result))
        if said:
            return said
    return one_line(result if type(result) is str else json.dumps(result, ensure_ascii=False), 500)


def _object(value: Any) -> Record:
    if type(value) is str and value.startswith("{"):
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return {}
    return mapping(value)


def cell(value: Any, reading: Reading, where: str) -> Any:
    """Return the JSON value of a cell or a small file; None for NULL, and for no JSON, which is a failure."""
    if not isinstance(value, str | bytes | Json) or not value:
        return None
    try:
        return decoded(value, reading.redacted)
    except (ValueError, RecursionError) as error:
        reading.fail(Failure(reading.path, records.MALFORMED, f"{one_line(where, 120)}: {error}"))
        return None


def workspace_name(path: str) -> str:
    """Return the name of a workspace: the folder in which its database lies."""
    return path_name(basename(dirname(path)))[:100] or "workspace"


# A person's words: the editor writes blocks around them and marks them with ``<user_query>``, in its own database not.
# When a background task has ended, the editor asks in a person's place. People quote these marks, too.

_BLOCKS = KNOWN.texts("blocks")
_PERSONAL = KNOWN.texts("personal_blocks")
_ONLY_EDITOR = tuple(tag for tag in _BLOCKS if tag not in _PERSONAL)
_REMINDERS = KNOWN.texts("reminders")
_OPENING = re.compile(rf"\s*<({'|'.join(_BLOCKS)})(?=[>\s])|\s*\[Image\][ \t]*(?=\n)")
_QUERY, _QUERY_ENDS = re.compile(r"(?:^|(?<=>))[ \t]*<user_query>", re.MULTILINE), "</user_query>"
_REQUESTS, _MORE, _ENDS = (KNOWN.pattern(name).pattern for name in ("requests", "more_of_requests", "ends_of_requests"))
# Below the editor's notification its request fills the line; elsewhere it may go on with known words only.
_REQUEST = re.compile(rf"{_REQUESTS}[^\n]*")
_REQUEST_ALONE = re.compile(rf"{_REQUESTS}(?: {_MORE}[^\n]{{0,3000}}{_ENDS}\.)?[ \t]*(?=\n|\Z)")
# The editor writes its lists of tools again after a conversation was compacted.
_LISTS = KNOWN.pattern("lists", "^{}", re.MULTILINE)
_UNCLOSED_LIST = KNOWN.pattern("unclosed_lists")


def extract_user_text(text: str) -> UserText:
    """Return the words that a person typed, and the workspace that the editor names."""
    directory = text.partition("Workspace Path: ")[2].partition("\n")[0].strip() if "<user_info>" in text else ""
    return prompt(_typed(clean(text)))._replace(directory=directory)


def _typed(text: str) -> str:
    request = _REQUEST if "<system_notification" in text or "<task_notification" in text else _REQUEST_ALONE
    queries = _queries(text)
    if queries is not None:
        return paragraphs(*(_without_request(words, request) for words in queries))
    rest = text[_end_of_blocks(text, _BLOCKS) :].strip()
    if not rest or _UNCLOSED_LIST.match(rest) or _is_editors(text.strip()):
        return ""
    kept = text[_end_of_blocks(text, _ONLY_EDITOR) :].strip()
    for tag in _REMINDERS:
        if kept.endswith(f"</{tag}>"):
            before, opened, _ = f"\n{kept}".rpartition(f"\n<{tag}>")
            kept = before.strip() if opened else kept
    return _without_request(kept, request)


def _is_list(text: str) -> bool:
    """Return True if a text in which nobody typed anything holds the editor's lists of tools."""
    return "<user_query>" not in text and _LISTS.search(text) is not None


def _end_of_blocks(text: str, tags: Iterable[str]) -> int:
    """Return where the blocks of these names end with which a text begins."""
    known = frozenset(tags)
    at = 0
    while found := _OPENING.match(text, at):
        if found[1] is None:
            at = found.end()
            continue
        end = text.find(f"</{found[1]}>", found.end())
        if found[1] not in known or end < 0:
            break
        at = end + len(f"</{found[1]}>")
    return at


def _is_editors(text: str) -> bool:
    """Return True if a text is one block that only the editor writes, which may quote its own closing tag."""
    found = _OPENING.match(text)
    return bool(found and found[1] and found[1] not in _PERSONAL and is_whole(text, (found[1],)))


def _queries(text: str) -> list[str] | None:
    """Return the marked words, and the words between and after the marks.

    None if nothing is marked, or if a person's own words come before the first mark.
    """
    start = _end_of_blocks(text, _BLOCKS)
    opened = _QUERY.search(text, start)
    if opened is None:
        return None
    if _outside(text[start : opened.start()]) and not is_whole(text[: opened.start()].strip(), _BLOCKS):
        return None
    found: list[str] = []
    while opened is not None:
        close = text.find(_QUERY_ENDS, opened.end())
        if close < 0:
            return [*found, text[opened.end() :].strip()]
        following = _QUERY.search(text, close)
        until = following.start() if following else len(text)
        close = text.rfind(_QUERY_ENDS, opened.end(), until)
        found += [text[opened.end() : close].strip(), _outside(text[close + len(_QUERY_ENDS) : until])]
        opened = following
    return found


def _outside(text: str) -> str:
    """Return the words of a text outside the marks, "" if the editor's blocks or notes are all of it."""
    text = cut_blocks(text, _BLOCKS).strip()
    return "" if text.startswith(("<", "[")) else text


def _without_request(text: str, request: re.Pattern[str]) -> str:
    found = request.match(text)
    return text[found.end() :].strip() if found else text


def rich_text(bubble: Record) -> str:
    """Return the text in the editor's own form (Lexical), for bubbles without a plainer one."""
    rich = bubble.get("richText") or bubble.get("initText")
    try:
        root = json.loads(rich) if type(rich) is str else rich
    except (ValueError, RecursionError):
        return string(rich)
    found: list[str] = []

    def walk(node: Any, depth: int) -> None:
        if type(node) is dict and depth < 50:
            if type(node.get("text")) is str:
                found.append(node["text"])
            for child in node.get("children") or ():
                walk(child, depth + 1)
            if node.get("type") == "paragraph":
                found.append("\n")
            walk(node.get("root"), depth + 1)

    walk(root, 0)
    return "".join(found)
