"""Copilot CLI's sessions: a journal of events ``{type, data, id, parentId, timestamp}``.

Seen on 0.0.3xx to 1.0.77 and in the vendor's published schema (copilot-sdk, session-events). Of what subagents did the
calls stand in the session, where they were made; an event that is a subagent's has ``agentId``, before that
``parentToolCallId``. (``parentAgentTaskId`` is the vendor's telemetry, and stands at what a person typed.) What
``copilot -p --output-format json`` prints is such a journal without its opening; it ends with ``{type: result,
timestamp, sessionId, exitCode, usage}`` (github/copilot-cli issue 4107).
"""

from __future__ import annotations

import json
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.document import fields as yaml
from core.text import one_line
from ingest.pipeline.reading import BROKEN, Reading, lines, whole
from ingest.pipeline.units import path_name
from ingest.raw import records
from ingest.session.builder import SessionBuilder
from ingest.session.events import PROMPT, TEXT
from ingest.session.values import mapping, moment, string
from ingest.sources.copilot import legacy, vocabulary
from ingest.sources.copilot.source import ABOUT, EDITORS, newest_beside
from ingest.sources.histories.source import is_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw.store import RawStore

NAME = "copilot"
FOREIGN = "not a Copilot CLI session"


# The tools by which an assistant asks a person: what was answered is a person's.
_QUESTIONS = ("ask_user", "ask_question")
_ANSWERED = ("User selected: ", "User responded: ", "User answered: ")
# A refusal, with what the person said to it; and the one where nobody was there to be asked.
_FEEDBACK, _AFTER_FEEDBACK = "User feedback:", "\n\nPlease update the plan based on this feedback"
_REVISE, _NOBODY = "Plan not approved. User feedback:", "Permission denied"


def read(path: str, raw: RawStore) -> Reading:
    """Read one file. Never raises for what is in it or for its not being readable: see ``Reading.failed``."""
    if is_history(NAME, path):
        from ingest.sources.copilot import store

        return store.read(path, raw)
    if path.endswith(".json"):
        return whole(path, raw, _document, FOREIGN)
    return lines(path, raw, _take, FOREIGN)


def _document(value: Any, reading: Reading) -> None:
    if not legacy.is_ours(value):
        return
    session = SessionBuilder(one_line(string(value["sessionId"]), 4000), NAME)
    legacy.take(session, value, reading)
    reading.parts[session.unit] = session


def _take(source: records.Records, reading: Reading) -> None:
    events = _Events(reading)
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
            continue
        try:
            events.add(item[1], item[0])
        except BROKEN as error:
            reading.broken(error, item[0])
    events.finish()


class _Events:
    """One session's events, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder("", NAME)
        self._recognised = False
        self._asked: set[str] = set()
        self._questions: set[str] = set()
        # What was said to a plan, until the result of the call repeats it.
        self._refusals: set[str] = set()
        # What a session of an older version said before it was taken over: later events may say it again.
        self._said: dict[str, int] = {}
        # What subagents are to be told, by call, and what those that are at work are told: it may stand unmarked.
        self._tasks: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._line = 0

    def add(self, record: dict[str, Any], line: int) -> None:
        """Take one event in."""
        self._line = line
        kind, data = record.get("type"), record.get("data")
        if kind == "result" and data is None:
            self._result(record)
            return
        if type(kind) is not str or type(data) is not dict:
            self._unknown("record without type or data")
            return
        if kind not in vocabulary.READ and kind not in vocabulary.DROPPED:
            self._unknown(f"event {one_line(kind, 60)}")
            return
        self._recognised = self._recognised or "parentId" in record or kind == "session.start"
        for name in sorted(record.keys() - vocabulary.EVENT):
            self._unknown(f"event: field {one_line(name, 60)}", record[name])
        fields = vocabulary.DATA.get(kind)
        if fields is not None and not data.keys() <= fields:
            for name in sorted(data.keys() - fields):
                self._unknown(f"{kind}: field {one_line(name, 60)}", data[name])
        session, event = self._session, one_line(string(record.get("id")), 200)
        session.records += 1
        if event:
            if event in session.uuids:
                session.repeated += 1
                return
            session.uuids.add(event)
        if kind in vocabulary.READ:
            agents = bool(record.get("agentId") or data.get("parentToolCallId"))
            self._event(kind, data, event, moment(record.get("timestamp")), agents)

    def _event(self, kind: str, data: dict[str, Any], event: str, at: str, agents: bool) -> None:
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
            said = legacy.typed(string(data.get("content")))
            source = string(data.get("source"))
            if data.get("isAutopilotContinuation") is True:
                pass  # the harness goes on by itself
            elif source in ("", "user"):
                if not self._is_told(said) and not agents and not self._is_repeated(said):
                    session.prompt(said, at, event)
            elif not source.startswith(vocabulary.MACHINES):
                self._unknown(f"user.message: source {one_line(source, 40)}")
        elif kind == "assistant.message":
            session.extend_to(at)
            self._message(data, event, at, agents)
        elif kind == "assistant.reasoning":
            if not agents:
                session.thought(string(data.get("content")), at, event)
        elif kind in ("tool.execution_start", "tool.user_requested"):
            self._call(string(data.get("toolCallId")), string(data.get("toolName")), data.get("arguments"), event, at)
        elif kind == "tool.execution_complete":
            session.extend_to(at)
            self._outcome(data, event, at)
        elif kind in ("subagent.started", "custom_agent.started"):
            task = self._tasks.pop(string(data.get("toolCallId")), "")
            if task:
                self._told[string(data.get("toolCallId"))] = task
            name = string(data.get("agentDisplayName")) or string(data.get("agentName"))
            session.tool_note(string(data.get("toolCallId")), f"→ agent {one_line(name, 100)}", at, event)
        elif kind in vocabulary.SUBAGENT_ENDED:
            # From here on its words are a person's.
            self._told.pop(string(data.get("toolCallId")), None)
        elif kind == "exit_plan_mode.completed":
            said = string(data.get("feedback")).strip()
            session.prompt(said, at, event)
            self._refusals.add(said)
        elif kind == "session.handoff":
            session.summary(string(data.get("summary")), at, event)
        elif kind == "abort" and not agents:
            session.interrupt(at, event)

    def _result(self, record: dict[str, Any]) -> None:
        """How a run without a terminal ended; its stream says nowhere else whose it is."""
        for name in sorted(record.keys() - vocabulary.RESULT):
            self._unknown(f"result: field {one_line(name, 60)}", record[name])
        session, at, code = self._session, moment(record.get("timestamp")), record.get("exitCode")
        session.records += 1
        session.unit = session.unit or one_line(string(record.get("sessionId")), 4000)
        if type(code) is int and code:
            session.note(f"the run ended with exit code {code}", at)

    def _import(self, value: dict[str, Any]) -> None:
        """A session of an older version, taken over whole."""
        before = SessionBuilder(self._session.unit, NAME)
        legacy.take(before, value, self._reading)
        session = self._session
        session.extend_to(before.first)
        session.models |= before.models
        for event in before.events:
            session.put(event.kind, event.text, event.at, event.record, event.message, event.call)
            if event.call:
                self._asked.add(event.call)
            elif event.kind in (PROMPT, TEXT):
                key = " ".join(event.text.split())
                self._said[key] = self._said.get(key, 0) + 1

    def _is_told(self, said: str) -> bool:
        key = " ".join(said.split()) if self._told else ""
        call = next((call for call, task in self._told.items() if task == key), None)
        if call is None:
            return False
        del self._told[call]
        return True

    def _is_repeated(self, said: str) -> bool:
        key = " ".join(said.split()) if self._said else ""
        if not self._said.get(key):
            return False
        self._said[key] -= 1
        return True

    def _context(self, context: dict[str, Any]) -> None:
        session = self._session
        session.cwd = session.cwd or string(context.get("cwd"))
        session.branch = string(context.get("branch")) or session.branch

    def _message(self, data: dict[str, Any], event: str, at: str, agents: bool) -> None:
        session = self._session
        model, tokens = string(data.get("model")), data.get("outputTokens")
        if model:
            session.models.add(model)
        if type(tokens) is int and tokens:
            # One call of the model may be told in several messages, each with the count of all.
            session.tokens[string(data.get("apiCallId")) or string(data.get("messageId")) or event] = tokens
        if agents:
            return  # a subagent's thoughts, and its words to the agent that started it
        session.thought(string(data.get("reasoningText")), at, event)
        said = string(data.get("content"))
        if data.get("phase") == "commentary":
            session.commentary(said, at, event)
        elif not self._is_repeated(said):
            session.reply(said, at, event)
        for entry in data.get("toolRequests") or ():
            request = mapping(entry)
            name = string(request.get("name"))
            self._call(string(request.get("toolCallId")), name, request.get("arguments"), event, at)

    def _call(self, call: str, name: str, given: Any, event: str, at: str) -> None:
        """A call stands in the message that asks for it and again when it begins: the first is shown."""
        if call and call in self._asked:
            return
        self._asked.add(call)
        if name in _QUESTIONS and call:
            self._questions.add(call)
        task = " ".join(string(mapping(given).get("prompt")).split())
        if name == "task" and call and task:
            self._tasks[call] = task
        if name != "report_intent":
            self._session.tool_call(name, given, at, event, call_id=call)

    def _outcome(self, data: dict[str, Any], event: str, at: str) -> None:
        call, result, error = string(data.get("toolCallId")), mapping(data.get("result")), data.get("error")
        if data.get("success") is False:
            text = string(mapping(error).get("message")) or string(error)
            text = text or string(result.get("content")) or string(result.get("detailedContent"))
            code = mapping(error).get("code")
            if code == "rejected" or (code == "denied" and not text.startswith(_NOBODY)):
                self._session.tool_note(call, "rejected by the user", at, event)
                self._feedback(text, event, at)
            else:
                self._session.tool_error(call, text or "error", at, event)
            return
        content = string(result.get("content"))
        if call in self._questions:
            answer = next((content.removeprefix(mark) for mark in _ANSWERED if content.startswith(mark)), content)
            if answer.strip():
                self._session.tool_note(call, f"answer: {one_line(answer, 2000)}", at, event)
            return
        if content.startswith(_REVISE):
            self._feedback(content, event, at)
        failed = legacy.exit_error(content, mapping(data.get("shellExecution")).get("exitCode"))
        if failed:
            self._session.tool_error(call, failed, at, event)

    def _feedback(self, text: str, event: str, at: str) -> None:
        """What a person said who refused a call or a plan; of a plan an event may say it, too."""
        said = text.partition(_FEEDBACK)[2].partition(_AFTER_FEEDBACK)[0].strip()
        if said and said not in self._refusals:
            self._session.prompt(said, at, event)
        self._refusals.discard(said)

    def finish(self) -> None:
        """Hand the session over, where there is one."""
        if not self._recognised:
            return
        session, path = self._session, self._reading.path
        name = basename(path).removesuffix(".jsonl")
        session.unit = session.unit or path_name(basename(dirname(path)) if name == "events" else name)
        later: list[Callable[[], None]] = []
        about: dict[str, Any] = {}
        editors: dict[str, Any] = {}
        if name == "events":
            if not self._reading.raw.is_shelved(path):  # as ``copilot.discover`` has it
                self._reading.mtime_ns = max(self._reading.mtime_ns, newest_beside(path))
            about = _beside(join(dirname(path), ABOUT), yaml, self._reading.raw, later)
            editors = _beside(join(dirname(path), EDITORS), json.loads, self._reading.raw, later)
        title = string(about.get("name")) or session.title or string(editors.get("customTitle"))
        session.title = title or string(about.get("summary"))
        session.cwd = session.cwd or string(about.get("cwd"))
        session.branch = session.branch or string(about.get("branch"))
        self._reading.parts[session.unit] = session
        self._reading.raw.keep_with(self._reading, later)

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, self._line, value)


def _beside(path: str, parse: Callable[[str], Any], raw: RawStore, later: list[Callable[[], None]]) -> dict[str, Any]:
    """What a file in the folder of a session says of it; empty where it says nothing."""
    try:
        return mapping(parse(raw.load(path, 1 << 20, later=later).decode("utf-8", "replace")))
    except (OSError, ValueError, RecursionError):
        return {}
