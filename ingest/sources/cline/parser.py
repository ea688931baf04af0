"""Tasks of Cline and of the tools that were made from it, and sessions of Cline's SDK.

A task is a folder. ``ui_messages.json`` (before 2.0 ``claude_messages.json``) is what its window shows, a list of
``{ts, type: ask|say, ask|say: kind, text}``: a person's words come as kinds of their own, without what the harness
adds to them, and a call of a tool once, as JSON in ``text``. ``api_conversation_history.json`` is what the model is
sent, in Anthropic's form, for Roo Code of 2026 in the AI SDK's, ``{version: 2, messages}``; it is read where the first
file is missing. ``history_item.json`` (Roo Code) names folder, mode and parent, ``task_metadata.json`` the models.

The CLI and the SDK of 2026 write ``sessions/<id>/<id>.messages.json``, ``{version, agent, sessionId, messages}``, and
``<id>.json`` with folder, model and title. Subagents' files lie in their session's folder, or below it.

Sources: cline/cline, src/core/storage/disk.ts, src/shared/ExtensionMessage.ts, sdk/packages/core/docs
(messages-contract-v1.md) and models/session-manifest.ts; RooCodeInc/Roo-Code, packages/types/src (message.ts,
history.ts) and src/core/task-persistence.
"""

from __future__ import annotations

import json
import re
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.text import one_line
from ingest.pipeline.reading import BROKEN, Reading, whole
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.values import exit_code, mapping, moment, sequence, string
from ingest.sources.cline.user_text import KNOWN, extract_user_text, named_folder
from ingest.sources.companions import companion
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw.store import RawStore
    from ingest.session.user_text import UserText

    Record = dict[str, Any]

UI, OLD_UI, API, SDK = "ui_messages.json", "claude_messages.json", "api_conversation_history.json", ".messages.json"
ABOUT, METADATA = "history_item.json", "task_metadata.json"

_FIELDS = KNOWN.fields("fields")
_PERSONS, _REPLIES, _CALLS = KNOWN.words("persons"), KNOWN.words("replies"), KNOWN.words("calls")
_ERRORS, _DROPPED = KNOWN.words("errors"), KNOWN.words("dropped")
_TOOLS = dict(KNOWN.pairs("tools"))
_REFUSALS = KNOWN.texts("refusals")
# Marks that the window puts at the end of a text.
_MARKS = ("HAS_CHANGES", "REQ_APP")
_EXITED = re.compile(r"Exit code: (-?[0-9]{1,10})\b|exit code (-?[0-9]{1,10})\b")
_RAN = ("Command executed", "Command execution was not successful", "Command failed")


def read(path: str, raw: RawStore, tool: str) -> Reading:
    """Read one task or session. Faults are recorded in the result."""
    name = basename(path)
    take = _session if name.endswith(SDK) else _history if name == API else _window
    return whole(path, raw, lambda value, reading: take(value, reading, tool), f"not a task of {tool}'s")


def _window(value: Any, reading: Reading, tool: str) -> None:
    """Take what the window of a task shows."""
    if type(value) is not list or not any(mapping(each).get("type") in ("ask", "say") for each in value):
        return
    task = Task(reading, tool)
    for number, record in enumerate(value):
        try:
            task.add(mapping(record), number)
        except BROKEN as error:
            reading.broken(error)
    task.finish()


def _history(value: Any, reading: Reading, tool: str) -> None:
    """Take what the model was sent in a task without a window."""
    found = sequence(mapping(value).get("messages", value))
    if not any("role" in mapping(each) for each in found):
        return
    session = SessionBuilder(path_name(basename(dirname(reading.path))), tool)
    _describe(session, reading, lambda: _add_messages(session, reading, found))


def _session(value: Any, reading: Reading, tool: str) -> None:
    """Take a session of the SDK's."""
    given = mapping(value)
    if type(given.get("messages")) is not list or not ("agent" in given or "version" in given):
        return
    reading.count_fields("session", given, _FIELDS["session"])
    stem = basename(reading.path).removesuffix(SDK)
    session = SessionBuilder(one_line(string(given.get("sessionId")), 4000) or path_name(stem), tool)
    later: list[Callable[[], None]] = []
    about = companion(join(dirname(reading.path), f"{stem}.json"), reading.raw, later)
    session.extra["surface"] = "cli"
    session.cwd = string(about.get("cwd"))
    session.title = string(mapping(about.get("metadata")).get("title"))
    session.extend_to(moment(about.get("started_at")))
    session.usage(about.get("model"))
    if given.get("agent") in ("subagent", "teammate"):
        top = path_name(reading.path.rpartition("/sessions/")[2].partition("/")[0])
        session.parent = top if top != session.unit else ""
        session.agent_type = one_line(string(given.get("taskType")) or string(given.get("agent")), 80)
    _add_messages(session, reading, given["messages"])
    session.records = len(session.uuids)
    reading.parts[session.unit] = session
    reading.raw.keep_with(reading, later)


def _describe(session: SessionBuilder, reading: Reading, fill: Callable[[], None]) -> None:
    """Put a task into the reading, with what the files next to it say."""
    later: list[Callable[[], None]] = []
    folder = dirname(reading.path)
    about = companion(join(folder, ABOUT), reading.raw, later)
    used = companion(join(folder, METADATA), reading.raw, later)
    session.cwd = string(about.get("workspace")) or string(about.get("cwdOnTaskInitialization"))
    session.parent = one_line(string(about.get("parentTaskId")), 500)
    session.title = string(about.get("title"))
    if mode := string(about.get("mode")):
        session.extra["mode"] = one_line(mode, 40)
    for each in sequence(used.get("model_usage")):
        session.usage(mapping(each).get("model_id"))
    fill()
    session.records = len(session.uuids)
    reading.parts[session.unit] = session
    reading.raw.keep_with(reading, later)


class Task:
    """One task as the messages of its window are added, in order."""

    def __init__(self, reading: Reading, tool: str) -> None:
        self._reading = reading
        self._session = SessionBuilder(path_name(basename(dirname(reading.path))), tool)
        self._records: list[tuple[Record, int]] = []
        # The last call, and whether it ran a command whose end is not known yet.
        self._call, self._runs = "", False

    def add(self, record: Record, number: int) -> None:
        """Add one message."""
        self._records.append((record, number))

    def finish(self) -> None:
        """Put the task into the reading."""
        _describe(self._session, self._reading, self._fill)

    def _fill(self) -> None:
        for record, number in self._records:
            try:
                self._message(record, f"m{number}", is_first=not number)
            except BROKEN as error:
                self._reading.broken(error)

    def _message(self, record: Record, name: str, *, is_first: bool) -> None:
        session, reading = self._session, self._reading
        reading.count_fields("ui message", record, _FIELDS["ui message"])
        kind = string(record.get(string(record.get("type"))))
        at, text = moment(record.get("ts")), string(record.get("text"))
        session.extend_to(at)
        session.uuids.add(name)
        session.usage(mapping(record.get("modelInfo")).get("modelId"))
        if kind in _PERSONS or (is_first and kind == "text"):
            session.prompt(text, at, name)
        elif kind in _REPLIES:
            session.reply(_reply(text), at, name)
        elif kind == "reasoning":
            session.thought(text or string(record.get("reasoning")), at, name)
        elif kind == "command" or kind in _CALLS:
            self._called(kind, _unmarked(text), at, name)
        elif kind in _ERRORS:
            if self._call:
                session.tool_error(self._call, text, at, name)
            else:
                session.note(text, at, name)
        elif kind == "api_req_started":
            self._request(mapping(_decoded(text)), at, name)
        elif kind == "condense_context":
            session.summary(string(mapping(record.get("contextCondense")).get("summary")), at, name)
        elif kind == "user_feedback_diff":
            session.note(f"the user changed {string(mapping(_decoded(text)).get('path')) or 'the file'}", at, name)
        elif kind not in _DROPPED:
            reading.count(f"message kind {one_line(kind, 60)}", 0, record)

    def _called(self, kind: str, text: str, at: str, name: str) -> None:
        self._call, self._runs = name, kind == "command"
        given = _decoded(text)
        if kind == "command":
            tool, given = "execute_command", {"command": text}
        elif kind == "tool":
            given = mapping(given)
            tool = string(given.pop("tool", ""))
            tool = _TOOLS.get(tool, tool)
        elif kind == "use_mcp_server" and type(given) is dict:
            tool = string(given.get("toolName")) or string(given.get("uri")) or kind
            given = given.get("arguments")
        else:
            tool = kind
        self._session.tool_call(tool, given, at, name, call_id=name)

    def _request(self, request: Record, at: str, name: str) -> None:
        """Add what a request to the model says: tokens, the folder, how a command ended, that it was stopped."""
        session, sent = self._session, string(request.get("request"))
        session.usage(request.get("model"), request.get("tokensOut"), name)
        session.cwd = session.cwd or named_folder(sent)
        if self._runs and (error := _exit_error(sent)):
            session.tool_error(self._call, error, at, name)
        self._runs = False
        if request.get("cancelReason") == "user_cancelled":
            session.interrupt(at, f"{name} cancelled")


class _Sent(Messages):
    """What the model is sent."""

    def words(self, text: str) -> UserText:
        return extract_user_text(text)

    def failure(self, tool: str, text: str) -> str:
        del tool
        if text.startswith(_REFUSALS):
            return ""
        return text if text.startswith("[ERROR]") else _exit_error(text)


def _add_messages(session: SessionBuilder, reading: Reading, found: list[Any]) -> None:
    messages = _Sent(session, reading)
    for number, each in enumerate(found):
        message = mapping(each)
        name = one_line(string(message.get("id")), 200) or f"m{number}"
        model, at = mapping(message.get("modelInfo")), moment(message.get("ts"))
        try:
            reading.count_fields("message", message, _FIELDS["message"])
            used = mapping(message.get("metrics"))
            used = mapping(used.get("tokens")) or used
            tokens = used.get("outputTokens", used.get("completion"))
            session.usage(model.get("id") or model.get("modelId"), tokens, name)
            if message.get("isSummary") is True:
                said = extract_user_text(string(message.get("content"))).words or _texts(message.get("content"))
                session.summary(said, at, name)
            elif message.get("isTruncationMarker") is not True and message.get("type") != "reasoning":
                messages.add(message, name, at)
        except BROKEN as error:
            reading.broken(error)


def _texts(content: Any) -> str:
    return "\n\n".join(string(mapping(block).get("text")) for block in sequence(content))


def _exit_error(text: str) -> str:
    """Return the text of a failed command's report, "" if the command succeeded or the text is no report."""
    start = min((at for mark in _RAN if (at := text.find(mark)) >= 0), default=-1)
    found = _EXITED.search(text, start, start + 2000) if start >= 0 else None
    code = exit_code(found[1] or found[2]) if found else 0
    if not found or not code:
        return ""
    _, _, printed = text[found.end() :].partition("Output:")
    return f"Exit code {code}\n{printed.partition('<environment_details>')[0].strip()}".strip()


def _reply(text: str) -> str:
    """Return the words of a reply, which may be an object with options to choose from."""
    given = _decoded(text)
    if type(given) is not dict:
        return _unmarked(text)
    said = string(given.get("response")) or string(given.get("question")) or string(given.get("text"))
    offered = sequence(given.get("options")) or sequence(given.get("suggest"))
    options = [string(each) or string(mapping(each).get("answer")) for each in offered]
    return "\n".join((said, *(f"- {option}" for option in options if option))) if said else text


def _unmarked(text: str) -> str:
    for mark in _MARKS:
        text = text.removesuffix(mark)
    return text


def _decoded(text: str) -> Any:
    if not text.startswith("{"):
        return text
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
