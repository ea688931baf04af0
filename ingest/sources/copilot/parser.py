"""Copilot CLI's sessions: journals of events, the documents before them, and a database of both.

A journal has events ``{type, data, id, parentId, timestamp}`` (seen on 0.0.3xx to 1.0.77, and in the vendor's published
schema: copilot-sdk, session-events). A subagent's event has ``agentId``, before that ``parentToolCallId``; its calls
are shown in the session. (``parentAgentTaskId`` is the vendor's telemetry, also on a person's messages.)
``copilot -p --output-format json`` prints such a journal without its first event; the last record is
``{type: result, timestamp, sessionId, exitCode, usage}`` (github/copilot-cli issue 4107).

A document of 2025 is ``{sessionId, startTime, chatMessages, timeline, selectedModel}``. ``timeline`` is what was shown,
with times: entries ``user``, ``copilot``, ``tool_call_requested``, ``tool_call_completed``, ``info``, ``error``.
``chatMessages`` is what the model was sent, in OpenAI's form. Later versions import such a session as one event,
``session.import_legacy``. Shapes: https://github.com/jnarowski/agentcmd and https://github.com/github/copilot-sdk (the
generated session events of 0.1).

The database has ``sessions(id, cwd, branch, summary, created_at, updated_at, …)`` and ``turns(session_id, turn_index,
user_message, assistant_response, timestamp)``, no tool calls. It is read for sessions without a transcript, which are
then ``partial``. Schema: https://github.com/microsoft/vscode,
extensions/copilot/src/platform/chronicle/node/sessionStore.ts.
"""

from __future__ import annotations

import re
from functools import partial
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.document import fields as yaml
from core.redaction import clean
from core.text import one_line
from ingest.pipeline import databases
from ingest.pipeline.reading import BROKEN, Reading, journal, whole
from ingest.session.session import PROMPT, TEXT, SessionBuilder
from ingest.session.transcripts import PROMPT_HISTORY, has_transcript, session_names, transcripts_near
from ingest.session.units import path_name
from ingest.session.values import blocks, mapping, moment, sequence, string
from ingest.sources.companions import companion
from ingest.sources.copilot.user_text import KNOWN, extract_user_text
from ingest.sources.prompts import add_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from ingest.archive.rows import Shelf
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "copilot"
FOREIGN = "not a Copilot CLI session"

_FIELDS = KNOWN.fields("fields")
_ENDS_OF_SUBAGENTS = KNOWN.words("ends_of_subagents")
_EVENTS, _DROPPED_EVENTS = KNOWN.words("events") | _ENDS_OF_SUBAGENTS, KNOWN.words("dropped_events")
_MACHINES = tuple(KNOWN.words("machines"))
_DROPPED_ENTRIES = KNOWN.words("dropped_entries")
# The assistant asks a person with these tools; the result is the person's answer.
_QUESTIONS = ("ask_user", "ask_question")
_ANSWERED = ("User selected: ", "User responded: ", "User answered: ")
# A refusal with a person's words to it; a refusal because nobody could be asked.
_FEEDBACK, _FEEDBACK_ENDS = "User feedback:", "\n\nPlease update the plan based on this feedback"
_REVISE, _NOBODY = "Plan not approved. User feedback:", "Permission denied"
_EXITED = re.compile("<(?:exited|shellId: [^<>]{1,200} completed) with exit code (-?[0-9]{1,10})>")


def read(path: str, raw: RawStore) -> Reading:
    """Read one session. Faults are recorded in the result."""
    if path.endswith(".json"):
        return whole(path, raw, _document, FOREIGN)
    return journal(path, raw, Conversation, FOREIGN)


class Conversation:
    """One session as the events of its journal are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder("", NAME)
        self._recognised = False
        self._called: set[str] = set()
        self._questions: set[str] = set()
        # Words to a plan, until the result of the call repeats them.
        self._refusals: set[str] = set()
        # Texts of an imported session → how often later events may repeat them.
        self._imported: dict[str, int] = {}
        # Call → the task that a subagent will be given, and is given while it works: it may come as a user's message.
        self._tasks: dict[str, str] = {}
        self._running: dict[str, str] = {}
        self._line = 0

    def add(self, record: Record, line: int) -> None:
        """Add one event."""
        self._line = line
        kind, data = record.get("type"), record.get("data")
        if kind == "result" and data is None:
            self._result(record)
            return
        if type(kind) is not str or type(data) is not dict:
            self._unknown("record without type or data")
            return
        if kind not in _EVENTS and kind not in _DROPPED_EVENTS:
            self._unknown(f"event {one_line(kind, 60)}")
            return
        self._recognised = self._recognised or "parentId" in record or kind == "session.start"
        self._check("event", record)
        if kind in _FIELDS:
            self._check(kind, data)
        session, event = self._session, one_line(string(record.get("id")), 200)
        session.records += 1
        if event:
            if event in session.uuids:
                session.repeated += 1
                return
            session.uuids.add(event)
        if kind in _EVENTS:
            by_agent = bool(record.get("agentId") or data.get("parentToolCallId"))
            self._event(kind, data, event, moment(record.get("timestamp")), by_agent)

    def _event(self, kind: str, data: Record, event: str, at: str, by_agent: bool) -> None:
        session = self._session
        if kind == "session.start":
            session.unit = one_line(string(data.get("sessionId")), 4000) or session.unit
            session.version = string(data.get("copilotVersion")) or session.version
            session.extend_to(moment(data.get("startTime")) or at)
            session.forked_from = one_line(string(data.get("parentSessionId")), 500)
            self._context(mapping(data.get("context")))
        elif kind in ("session.resume", "session.context_changed"):
            self._context(mapping(data.get("context")) or data)
        elif kind == "session.import_legacy":
            self._import(mapping(data.get("legacySession")) or data)
        elif kind == "session.title_changed":
            session.title = string(data.get("title"))
        elif kind == "session.compaction_complete":
            session.extend_to(at)
            session.summary(string(data.get("summaryContent")) or string(data.get("summary")), at, event)
        elif kind == "user.message":
            session.extend_to(at)
            self._user(data, event, at, by_agent)
        elif kind == "assistant.message":
            session.extend_to(at)
            self._assistant(data, event, at, by_agent)
        elif kind == "assistant.reasoning":
            if not by_agent:
                session.thought(string(data.get("content")), at, event)
        elif kind in ("tool.execution_start", "tool.user_requested"):
            self._call(string(data.get("toolCallId")), string(data.get("toolName")), data.get("arguments"), event, at)
        elif kind == "tool.execution_complete":
            session.extend_to(at)
            self._outcome(data, event, at)
        elif kind in ("subagent.started", "custom_agent.started"):
            call = string(data.get("toolCallId"))
            if task := self._tasks.pop(call, ""):
                self._running[call] = task
            name = string(data.get("agentDisplayName")) or string(data.get("agentName"))
            session.tool_note(call, f"→ agent {one_line(name, 100)}", at, event)
        elif kind in _ENDS_OF_SUBAGENTS:
            # From here on a person may type the same words.
            self._running.pop(string(data.get("toolCallId")), None)
        elif kind == "exit_plan_mode.completed":
            said = string(data.get("feedback")).strip()
            session.prompt(said, at, event)
            self._refusals.add(said)
        elif kind == "session.handoff":
            session.summary(string(data.get("summary")), at, event)
        elif kind == "abort" and not by_agent:
            session.interrupt(at, event)

    def _context(self, context: Record) -> None:
        session = self._session
        session.cwd = session.cwd or string(context.get("cwd"))
        session.branch = string(context.get("branch")) or session.branch

    def _import(self, value: Record) -> None:
        """Add a session of 2025, which a later version imported as one event."""
        before = SessionBuilder(self._session.unit, NAME)
        _add_document(before, value, self._reading)
        session = self._session
        session.extend_to(before.first)
        session.models |= before.models
        for event in before.events:
            session.put(event.kind, event.text, event.at, event.record, event.message, event.call)
            if event.call:
                self._called.add(event.call)
            elif event.kind in (PROMPT, TEXT):
                key = _folded(event.text)
                self._imported[key] = self._imported.get(key, 0) + 1

    def _user(self, data: Record, event: str, at: str, by_agent: bool) -> None:
        if data.get("isAutopilotContinuation") is True:
            return  # the harness goes on by itself
        said, source = extract_user_text(string(data.get("content"))).typed, string(data.get("source"))
        if source in ("", "user"):
            if not self._is_task(said) and not by_agent and not self._is_imported(said):
                self._session.prompt(said, at, event)
        elif not source.startswith(_MACHINES):
            self._unknown(f"user.message: source {one_line(source, 40)}")

    def _is_task(self, said: str) -> bool:
        """Return True, once for each, if a text is the task of a subagent that works."""
        key = _folded(said) if self._running else ""
        call = next((call for call, task in self._running.items() if task == key), None)
        if call is None:
            return False
        del self._running[call]
        return True

    def _is_imported(self, said: str) -> bool:
        """Return True if a text repeats one of an imported session, as often as it is there."""
        key = _folded(said) if self._imported else ""
        if not self._imported.get(key):
            return False
        self._imported[key] -= 1
        return True

    def _assistant(self, data: Record, event: str, at: str, by_agent: bool) -> None:
        session = self._session
        # Several messages may be of one call of the model, each with the count of all.
        call = string(data.get("apiCallId")) or string(data.get("messageId")) or event
        session.usage(data.get("model"), data.get("outputTokens"), call)
        if by_agent:
            return  # thoughts, and words to the agent that started it
        session.thought(string(data.get("reasoningText")), at, event)
        said = string(data.get("content"))
        if data.get("phase") == "commentary":
            session.commentary(said, at, event)
        elif not self._is_imported(said):
            session.reply(said, at, event)
        for entry in data.get("toolRequests") or ():
            request = mapping(entry)
            name = string(request.get("name"))
            self._call(string(request.get("toolCallId")), name, request.get("arguments"), event, at)

    def _call(self, call: str, name: str, given: Any, event: str, at: str) -> None:
        """Add a call the first time: the message that requests it and the event that starts it both have it."""
        if call and call in self._called:
            return
        self._called.add(call)
        if name in _QUESTIONS and call:
            self._questions.add(call)
        task = _folded(string(mapping(given).get("prompt")))
        if name == "task" and call and task:
            self._tasks[call] = task
        if name != "report_intent":
            self._session.tool_call(name, given, at, event, call_id=call)

    def _outcome(self, data: Record, event: str, at: str) -> None:
        session, call, result = self._session, string(data.get("toolCallId")), mapping(data.get("result"))
        content = string(result.get("content"))
        session.ended(call, at)
        if data.get("success") is False:
            error = data.get("error")
            text = string(mapping(error).get("message")) or string(error)
            text = text or content or string(result.get("detailedContent"))
            code = mapping(error).get("code")
            if code == "rejected" or (code == "denied" and not text.startswith(_NOBODY)):
                session.tool_note(call, "rejected by the user", at, event)
                self._feedback(text, event, at)
            else:
                session.tool_error(call, text or "error", at, event)
        elif call in self._questions:
            answer = next((content.removeprefix(mark) for mark in _ANSWERED if content.startswith(mark)), content)
            if answer.strip():
                session.tool_note(call, f"answer: {one_line(answer, 2000)}", at, event)
        else:
            if content.startswith(_REVISE):
                self._feedback(content, event, at)
            failed = _exit_error(content, mapping(data.get("shellExecution")).get("exitCode"))
            if failed:
                session.tool_error(call, failed, at, event)

    def _feedback(self, text: str, event: str, at: str) -> None:
        """Add a person's words to a call or a plan that they refused; an event may have the words to a plan, too."""
        said = text.partition(_FEEDBACK)[2].partition(_FEEDBACK_ENDS)[0].strip()
        if said and said not in self._refusals:
            self._session.prompt(said, at, event)
        self._refusals.discard(said)

    def _result(self, record: Record) -> None:
        """Add how a run without a terminal ended; only this record of its output has the session's id."""
        self._check("result", record)
        session, at, code = self._session, moment(record.get("timestamp")), record.get("exitCode")
        session.records += 1
        session.unit = session.unit or one_line(string(record.get("sessionId")), 4000)
        if type(code) is int and code:
            session.note(f"the run ended with exit code {code}", at)

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        if not self._recognised:
            return
        session, path, raw = self._session, self._reading.path, self._reading.raw
        name = basename(path).removesuffix(".jsonl")
        session.unit = session.unit or path_name(basename(dirname(path)) if name == "events" else name)
        later: list[Callable[[], None]] = []
        about: Record = {}
        editors: Record = {}
        if name == "events":
            about = companion(join(dirname(path), "workspace.yaml"), raw, later, yaml)
            editors = companion(join(dirname(path), "vscode.metadata.json"), raw, later)
        title = string(about.get("name")) or session.title or string(editors.get("customTitle"))
        session.title = title or string(about.get("summary"))
        session.cwd = session.cwd or string(about.get("cwd"))
        session.branch = session.branch or string(about.get("branch"))
        self._reading.parts[session.unit] = session
        raw.keep_with(self._reading, later)

    def _check(self, what: str, record: Record) -> None:
        """Count the fields of a record that are not known."""
        self._reading.count_fields(what, record, _FIELDS[what], self._line)

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, self._line, value)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _exit_error(content: str, code: Any = None) -> str:
    """Return the text of a command's failure, "" if it succeeded or nothing shows how it ended.

    Args:
        content: the output, with the exit code at its end.
        code: the exit code, which has a field of its own since the autumn of 2026.
    """
    text = content.rstrip()
    start = text.rfind("<")
    ended = _EXITED.fullmatch(text, start) if start >= 0 else None
    if type(code) is not int:
        code = int(ended.group(1)) if ended else 0
    return f"Exit code {code}\n{text[:start] if ended else text}" if code else ""


# Documents of 2025


def _document(value: Any, reading: Reading) -> None:
    found = mapping(value)
    has_lists = type(found.get("chatMessages")) is list or type(found.get("timeline")) is list
    if has_lists and type(found.get("sessionId")) is str:
        session = SessionBuilder(one_line(found["sessionId"], 4000), NAME)
        _add_document(session, found, reading)
        reading.parts[session.unit] = session


def _add_document(session: SessionBuilder, value: Record, reading: Reading) -> None:
    """Add a document's session as it was shown, or as the model was sent it if that is missing."""
    session.extend_to(moment(value.get("startTime")))
    session.usage(one_line(string(value.get("selectedModel")), 200))
    shown = [mapping(entry) for entry in sequence(value.get("timeline"))]
    if any(entry.get("type") == "user" and string(entry.get("text")) for entry in shown):
        entries, add = shown, _add_shown
    else:
        entries, add = [mapping(entry) for entry in sequence(value.get("chatMessages"))], _add_sent
    called: set[str] = set()
    for number, entry in enumerate(entries):
        session.records += 1
        try:
            add(session, reading, entry, number, called)
        except BROKEN as error:
            reading.broken(error)


def _add_shown(session: SessionBuilder, reading: Reading, entry: Record, number: int, called: set[str]) -> None:
    """Add an entry of ``timeline``."""
    kind, at = string(entry.get("type")), moment(entry.get("timestamp"))
    name, text = one_line(string(entry.get("id")), 200), string(entry.get("text"))
    session.extend_to(at)
    if kind == "user":
        session.prompt(extract_user_text(text).typed, at, name)
    elif kind in ("copilot", "assistant"):
        session.reply(text, at, name)
    elif kind in ("reasoning", "thinking"):
        session.thought(text, at, name)
    elif kind.startswith("tool_call"):
        call = string(entry.get("callId")) or name or f"call {number}"
        if call not in called:
            called.add(call)
            tool = string(entry.get("name")) or string(entry.get("toolTitle"))
            session.tool_call(tool, entry.get("arguments"), at, name, call_id=call)
        result = mapping(entry.get("result"))
        ended, log = string(result.get("type")), string(result.get("log"))
        if ended in ("rejected", "denied"):
            session.tool_note(call, "rejected by the user", at, name)
        elif ended in ("failure", "error"):
            session.tool_error(call, log or "error", at, name)
        elif error := _exit_error(log):
            session.tool_error(call, error, at, name)
    elif kind not in _DROPPED_ENTRIES:
        reading.count(f"timeline entry {one_line(kind, 60)}", 0, entry)


def _add_sent(session: SessionBuilder, reading: Reading, entry: Record, number: int, called: set[str]) -> None:
    """Add an entry of ``chatMessages``."""
    role, name = entry.get("role"), f"m{number}"
    said = "\n\n".join(string(part.get("text")) for part in blocks(entry.get("content")) if part.get("text"))
    if role == "user":
        session.prompt(extract_user_text(said).typed, "", name)
    elif role == "assistant":
        session.reply(said, "", name)
        for given in sequence(entry.get("tool_calls")):
            function = mapping(mapping(given).get("function"))
            call = string(mapping(given).get("id"))
            called.add(call)
            session.tool_call(string(function.get("name")), function.get("arguments"), "", name, call_id=call)
    elif role == "tool":
        if error := _exit_error(said):
            session.tool_error(string(entry.get("tool_call_id")), error, "", name)
    elif role not in ("system", "developer"):
        reading.count(f"message role {one_line(str(role), 60)}")


# The database

_TABLES = {
    "sessions": ("id", "cwd", "branch", "summary", "created_at", "updated_at"),
    "turns": ("session_id", "turn_index", "user_message", "assistant_response", "timestamp"),
}
_NEEDED = {"sessions": {"id"}, "turns": {"session_id", "user_message"}}


def read_store(path: str, raw: RawStore, folders: Sequence[str]) -> Reading:
    """Read the database of sessions; those with a transcript in the ``folders`` next to it are left out."""
    reading = databases.read(path, raw, partial(_database, folders))
    if not reading.parts and reading.failed is None:
        reading.skipped = reading.skipped or reading.withheld or PROMPT_HISTORY
    return reading


def _database(
    folders: Sequence[str],
    connection: apsw.Connection,
    there: dict[str, set[str]],
    reading: Reading,
    shelf: Shelf,
) -> Iterator[None]:
    if any(not columns <= there.get(table, set()) for table, columns in _NEEDED.items()):
        reading.skipped = PROMPT_HISTORY
        return
    named: set[str] = set()
    if not reading.raw.is_shelved(reading.path):
        named = session_names(transcripts_near(reading.path, folders))
    rows: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    for about in _select(connection, there, "sessions", "id"):
        unit = one_line(string(about[0]), 4000)
        if unit and not has_transcript(unit, named):
            rows[unit] = [("sessions", about)]
            reading.parts[unit] = _session(unit, about, reading)
    order = "session_id, turn_index" if "turn_index" in there["turns"] else "1"
    for turn in _select(connection, there, "turns", order):
        unit = one_line(string(turn[0]), 4000)
        if unit in rows:
            rows[unit].append(("turns", turn))
            _add_turn(reading.parts[unit], turn, reading)
    for unit in [unit for unit, part in reading.parts.items() if not part.records]:
        del reading.parts[unit]
    transcripts = reading.raw.transcripts
    if transcripts is not None:
        reading.raw.remove(reading)
        shelf.tables = _TABLES
        shelf.lets_go = transcripts.covers
        for unit in list(reading.parts):
            shelf.put(unit, shelf.open(rows[unit]))
        shelf.tidy()
    yield


def _select(
    connection: apsw.Connection, there: dict[str, set[str]], table: str, order: str
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table; a column that it lacks is NULL."""
    columns = [name if name in there[table] else "null" for name in _TABLES[table]]
    yield from connection.execute(f"select {', '.join(columns)} from {table} order by {order}")


def _session(unit: str, about: tuple[Any, ...], reading: Reading) -> SessionBuilder:
    _, cwd, branch, summary, created, updated = about
    session = SessionBuilder(unit, NAME)
    session.partial = True
    session.extra["partial"] = True
    session.cwd, session.branch, session.title = (
        clean(string(value), reading.redacted) for value in (cwd, branch, summary)
    )
    session.extend_to(moment(created))
    session.extend_to(moment(updated))
    return session


def _add_turn(session: SessionBuilder, turn: tuple[Any, ...], reading: Reading) -> None:
    _, _, asked, answered, stamp = turn
    at = moment(stamp)
    session.records += 1
    session.extend_to(at)
    add_prompt(session, extract_user_text(clean(string(asked), reading.redacted)).typed, at)
    session.reply(clean(string(answered), reading.redacted), at)
