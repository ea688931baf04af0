"""Gemini CLI's sessions: one document, or a journal in which later lines change what earlier ones said.

A journal's lines are messages (the same id overwrites), ``$set`` of metadata (a ``messages`` array replaces all),
``$patch`` of single messages, and ``$rewindTo`` (that message and all later ones go; all, if it is not there). Where
what replaces all begins with a summary that was not there, the conversation was compressed: what the summary replaced
was said all the same, and stays before it. Source: the vendor's packages/core/src/services/chatRecordingTypes.ts,
chatRecordingService.ts (``updateMessagesFromHistory``) and chatCompressionService.ts.
"""

from __future__ import annotations

import contextlib
import json
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.text import one_line
from ingest.pipeline.reading import BROKEN, Reading, lines, whole
from ingest.pipeline.units import path_name
from ingest.raw import rawfiles, records
from ingest.session import agent_calls
from ingest.session.sessions import Session
from ingest.session.values import exit_code, mapping, moment, string, vocabulary
from ingest.sources.gemini import human, project
from ingest.sources.histories.source import is_history

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "gemini"
FOREIGN = "not a Gemini CLI session"


_METADATA = vocabulary(
    """
    sessionId projectHash startTime lastUpdated summary directories kind activeExtensionName messages memoryScratchpad
    """
)
_MESSAGE = vocabulary("id timestamp type content displayContent toolCalls thoughts tokens model")
_CALL = vocabulary(
    """
    id name args result status timestamp agentId displayName description resultDisplay renderOutputAsMarkdown
    approvalMode outcome
    """
)
_DROPPED = vocabulary("info error warning")
_DROPPED_PARTS = (
    "inlineData", "fileData", "executableCode", "codeExecutionResult", "functionResponse", "videoMetadata", "toolCall",
    "toolResponse", "thoughtSignature",
)  # fmt: skip
# Of a part, google/genai's ``Part``.
_PART = vocabulary(f"text thought functionCall mediaResolution partMetadata {' '.join(_DROPPED_PARTS)}")
_FEEDBACK = "User feedback:"
_MARKS = ("projectHash", "startTime")
_SHELL, _AFTER_CODE = "run_shell_command", ("Signal: ", "Background PIDs: ", "Process Group PGID: ")
_SNAPSHOT, _SNAPSHOT_END = "<state_snapshot>", "</state_snapshot>"
# What the harness lets the assistant say: to a summary, to a file, and for an answer that never came
# (packages/core/src/core/geminiChat.ts).
RECEIVED = "Got it. Thanks for the additional context!"
_ASSISTANTS = (
    RECEIVED,
    "Binary content received. Proceeding with analysis.",
    "[The previous response was interrupted before it completed.]",
)
# What it says of a command that was typed after ``!`` (packages/cli/src/ui/hooks/shellCommandProcessor.ts).
_RAN, _PRODUCED = "I ran the following shell command:\n```sh\n", "\n```\n\nThis produced the following result:"
# The name that all sessions of the server behind the editors have (packages/a2a-server); their files have none else.
_SERVER = "a2a-server"


def read(path: str) -> Reading:
    """Read one file. Never raises for what is in it or for its not being readable: see ``Reading.failed``."""
    if path.endswith(".jsonl"):
        return lines(path, _journal, FOREIGN)
    if is_saved(path):
        from ingest.sources.gemini import saved

        return whole(path, saved.take, FOREIGN)
    if is_history(NAME, path):
        from ingest.sources.histories import reading as history_read

        folder = dirname(path)
        return history_read.read(
            NAME, path, lambda later: project.beside(join(folder, "chats", ""), basename(folder), later)
        )
    return whole(path, _document, FOREIGN)


def is_saved(path: str) -> bool:
    """Whether a file is a conversation that a person saved under a name."""
    name = basename(path)
    return name.startswith("checkpoint-") or name == "checkpoint.json"


def _document(value: Any, reading: Reading) -> None:
    if type(value) is dict and type(value.get("messages")) is list and "sessionId" in value:
        state = State(reading)
        state.apply(value, 0)
        state.finish()


def _journal(source: records.Records, reading: Reading) -> None:
    state = State(reading)
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
            continue
        try:
            state.apply(item[1], item[0])
        except BROKEN as error:
            reading.broken(error, item[0])
    state.finish()


class State:
    """What a session is after the lines so far; ``place``: the file among the sessions, where that is no other."""

    def __init__(self, reading: Reading, place: str = "") -> None:
        self._reading = reading
        self._place = place or reading.path
        self._metadata: dict[str, Any] = {}
        self._messages: dict[str, dict[str, Any]] = {}
        self._seen: set[str] = set()
        self._began = ""
        self._nameless = 0
        self._line = 0

    def apply(self, record: dict[str, Any], line: int) -> None:
        """Take one line (of a document: the whole) in."""
        self._line = line
        if "$set" in record:
            self._set(mapping(record["$set"]))
        elif "$rewindTo" in record:
            self._rewind(string(record["$rewindTo"]))
        elif "$patch" in record:
            self._patch(mapping(record["$patch"]))
        elif "sessionId" in record and "type" not in record:
            self._set(record)
        elif "type" in record and "id" in record:
            self._put(record)
        else:
            self._unknown(f"record of {', '.join(sorted(one_line(key, 40) for key in record)[:4])}")

    def _set(self, values: dict[str, Any]) -> None:
        for name in sorted(values.keys() - _METADATA):
            self._unknown(f"session: field {one_line(name, 60)}", values[name])
        self._began = self._began or string(values.get("startTime"))
        messages = values.get("messages")
        if type(messages) is list:
            before = self._messages
            self._messages = {}
            if _is_compressed(messages, before):
                there = {string(mapping(message).get("id")) for message in messages}
                self._messages = {name: message for name, message in before.items() if name not in there}
            for message in messages:
                if type(message) is dict:
                    self._put(message)
                else:
                    self._unknown(f"message ({type(message).__name__})")
        self._metadata.update((key, value) for key, value in values.items() if key != "messages")

    def _put(self, message: dict[str, Any]) -> None:
        name = one_line(string(message.get("id")), 200)
        if not name:
            self._nameless += 1
            name = f"nameless {self._nameless}"
        self._seen.add(name)
        self._messages[name] = message

    def _rewind(self, name: str) -> None:
        names = list(self._messages)
        start = names.index(name) if name in self._messages else 0
        for gone in names[start:]:
            del self._messages[gone]

    def _patch(self, patch: dict[str, Any]) -> None:
        for name in patch.get("removeIds") or ():
            self._messages.pop(string(name), None)
        message = self._messages.get(string(patch.get("id")))
        if message is not None:
            changed = {**message, **mapping(patch.get("updates"))}
            if "content" in patch:
                changed["content"] = patch["content"]
            results = {string(mapping(call).get("id")): mapping(call) for call in patch.get("toolCalls") or ()}
            calls = changed.get("toolCalls")
            if results and type(calls) is list:
                changed["toolCalls"] = [
                    {**mapping(call), **results.get(string(mapping(call).get("id")), {})} for call in calls
                ]
            self._messages[string(patch.get("id"))] = changed
        updates = patch.get("updates")
        for update in updates if type(updates) is list else ():
            if type(update) is dict:
                self._put({**self._messages.get(string(update.get("id")), {}), **update})
        order = [string(name) for name in patch.get("orderIds") or ()]
        if order:
            left = {name: message for name, message in self._messages.items() if name not in order}
            self._messages = {name: self._messages[name] for name in order if name in self._messages} | left

    def finish(self) -> None:
        """Hand the session over, where there is one."""
        later: list[Callable[[], None]] = []
        session = self.session(later)
        if session is not None:
            self._reading.parts[session.unit] = session
            rawfiles.keep_with(self._reading, later)

    def session(self, later: list[Callable[[], None]]) -> Session | None:
        """The session, where there is one; ``later`` takes what has the archive keep what was read beside it."""
        metadata, path = self._metadata, self._place
        if not any(mark in metadata for mark in _MARKS) and not (metadata and self._messages):
            return None
        unit = one_line(string(metadata.get("sessionId")), 4000) or path_name(basename(path))
        if unit == _SERVER and self._began:
            unit = f"{unit}:{one_line(self._began, 100)}"
        session = Session(unit, NAME)
        session.uuids |= self._seen
        session.removed = self._seen - self._messages.keys()
        session.records = len(self._seen)
        session.seen(moment(self._began))
        session.title = string(metadata.get("summary"))
        digest = string(metadata.get("projectHash"))
        session.cwd = project.beside(path, digest, later)
        session.sign = project.sign(path, digest)
        if metadata.get("kind") == "subagent":
            session.parent = path_name(basename(dirname(path)))[:500]
            if session.parent == "chats":
                session.parent = ""
        for name, message in self._messages.items():
            try:
                self._message(session, name, message)
            except BROKEN as error:
                self._reading.broken(error, self._line)
        session.cwd = session.cwd or project.named(digest, (event.text for event in session.events))
        return session

    def _message(self, session: Session, name: str, message: dict[str, Any]) -> None:
        for field in sorted(message.keys() - _MESSAGE):
            self._unknown(f"message: field {one_line(field, 60)}", message[field])
        kind, at = message.get("type"), moment(message.get("timestamp"))
        session.seen(at)
        if kind == "user":
            self._user(session, name, message, at)
            return
        if kind in _DROPPED:
            return
        if kind != "gemini":
            self._unknown(f"message type {one_line(str(kind), 60)}")
        model = message.get("model")
        if type(model) is str and model:
            session.models.add(model)
        tokens = mapping(message.get("tokens")).get("output")
        if type(tokens) is int and tokens:
            session.tokens[name] = tokens
        for thought in message.get("thoughts") or ():
            subject, said = string(mapping(thought).get("subject")), string(mapping(thought).get("description"))
            session.think(f"**{subject}** {said}" if subject else said, at, name)
        calls = message.get("toolCalls")
        content = message.get("content") if "content" in message else message.get("parts")
        for part in parts(content):
            self._part(part)
            if part.get("text") in _ASSISTANTS:
                continue
            if part.get("thought") is True:
                session.think(string(part.get("text")), at, name)
            elif type(part.get("text")) is str:
                session.say(part["text"], at, name)
            elif "functionCall" in part:
                call = mapping(part["functionCall"])
                if not calls:
                    session.call(string(call.get("name")), call.get("args"), at, name, call=string(call.get("id")))
        for call in calls if type(calls) is list else ():
            self._call(session, name, mapping(call), at)

    def _user(self, session: Session, name: str, message: dict[str, Any], at: str) -> None:
        content, shown = message.get("content"), message.get("displayContent")
        for part in (*parts(content), *parts(shown)):
            self._part(part)
        said, folder = human.typed(string(part.get("text")) for part in parts(shown or content))
        session.cwd = session.cwd or folder
        if not said:
            return
        if said.startswith(_RAN) and _PRODUCED in said and said.endswith("```"):
            session.command(f"! {said[len(_RAN) :].partition(_PRODUCED)[0].strip()}", at, name)
            return
        if _is_summary(said):
            session.compacted(said[said.index(_SNAPSHOT) :], at, name)
        elif said.startswith(("/", "!")) and "\n" not in said and said.count("/") <= 1:
            session.command(f"! {said[1:].strip()}" if said[0] == "!" else said, at, name)
        else:
            session.prompt(said, at, name)

    def _part(self, part: dict[str, Any]) -> None:
        """Count what is not known of a part: the part as a whole where nothing of it is, else its fields."""
        if not part.keys() & _PART or (type(part.get("text")) is not str and part.keys() <= {"text", "thought"}):
            self._unknown(f"part of {', '.join(sorted(one_line(key, 40) for key in part)[:3])}", part)
            return
        for field in sorted(part.keys() - _PART):
            self._unknown(f"part: field {one_line(field, 60)}", part[field])

    def _call(self, session: Session, name: str, call: dict[str, Any], at: str) -> None:
        for field in sorted(call.keys() - _CALL):
            self._unknown(f"tool call: field {one_line(field, 60)}", call[field])
        identity = string(call.get("id"))
        at = moment(call.get("timestamp")) or at
        session.seen(at)
        session.call(string(call.get("name")), call.get("args"), at, name, call=identity)
        status, output, error = call.get("status"), "", ""
        for part in parts(call.get("result")):
            response = mapping(mapping(part.get("functionResponse")).get("response"))
            output, error = string(response.get("output")) or output, string(response.get("error")) or error
        code = _exit_code(output) if call.get("name") == _SHELL else 0
        self._heard(session, string(call.get("name")), identity, output, at, name)
        if status == "cancelled":
            session.noted(identity, "cancelled by the user", at, name)
        elif status == "error" or error:
            session.failed(identity, error or output or string(call.get("resultDisplay")) or "error", at, name)
        elif code:
            session.failed(identity, f"Exit code {code}\n{_printed(output)}", at, name)
        agent = string(call.get("agentId"))
        if agent:
            session.noted(identity, f"→ gemini__{one_line(agent, 100)}", at, name)

    def _heard(self, session: Session, tool: str, call: str, output: str, at: str, name: str) -> None:
        """What a person said to the assistant's questions, or to its plan."""
        if tool == "ask_user":
            with contextlib.suppress(ValueError, RecursionError):
                answer = agent_calls.answers(mapping(json.loads(output)))
                if answer:
                    session.noted(call, f"answer: {answer}", at, name)
        elif tool == "exit_plan_mode" and _FEEDBACK in output:
            told = output.partition(_FEEDBACK)[2]
            stored = told.rpartition("\n\nThe plan is stored at: ")[0]
            said = (stored or told.rpartition("\nRevise the plan")[0] or told).strip()
            if len(said) > 1 and said[0] == said[-1] == '"':
                said = said[1:-1]
            session.prompt(said, at, f"{name} feedback")

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, self._line, value)


def parts(content: Any) -> list[dict[str, Any]]:
    """A PartListUnion: a string, a part, or a list of both."""
    if type(content) is str:
        return [{"text": content}]
    if type(content) is dict:
        return [content]
    if type(content) is not list:
        return []
    return [{"text": part} if type(part) is str else mapping(part) for part in content if part]


def _is_compressed(messages: list[Any], before: dict[str, dict[str, Any]]) -> bool:
    """Whether messages that take the place of those ``before`` begin with a summary of these."""
    first = next((mapping(each) for each in messages if mapping(each).get("type") == "user"), {})
    texts = (string(part.get("text")) for part in parts(first.get("content")))
    return string(first.get("id")) not in before and any(map(_is_summary, texts))


def _is_summary(text: str) -> bool:
    """A summary may have the model's notes before it."""
    text = text.lstrip()
    if text.startswith("```"):
        text = text.partition("\n")[2].lstrip()
    return text.startswith((_SNAPSHOT, "<scratchpad>")) and _SNAPSHOT in text and _SNAPSHOT_END in text


def _exit_code(output: str) -> int:
    """What a shell command ended with, from the report that the tool makes of it; 0 where it says nothing.

    Nothing but a few lines about processes stands after it (packages/core/src/tools/shell.ts): what a command
    printed, or a file says, is no report.
    """
    output = output.partition("\n\n<hook_context>")[0]
    at = output.rfind("\nExit Code: ")
    digits, _, after = output[at + 12 :].partition("\n") if at >= 0 else ("", "", "")
    if not all(line.startswith(_AFTER_CODE) for line in after.splitlines()):
        return 0
    return exit_code(digits)


def _printed(output: str) -> str:
    head, mark, rest = output.partition("Output: ")
    rest = rest if mark else head
    return rest[: rest.rfind("\nExit Code: ")].replace("\nError: (none)", "")
