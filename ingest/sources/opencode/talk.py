"""One session of OpenCode's from its messages, whatever they were read from: parts, or rows of the second projection.

Source: the vendor's packages/schema/src/v1/session.ts and session-message.ts.
"""

from __future__ import annotations

from typing import Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading
from ingest.session.sessions import Session
from ingest.session.values import blocks, mapping, moment, plain, string, vocabulary
from ingest.sources.opencode import human

NAME = "opencode"


# Parts of no use to a reader: marks of steps and snapshots, and the files that were attached.
_DROPPED_PARTS = vocabulary("step-start step-finish snapshot patch file agent retry compaction")
# Rows of the second projection that say nothing to a reader.
_DROPPED_ROWS = vocabulary("agent-switched model-switched location-switched synthetic system skill")
_FIELDS = {
    "message user": vocabulary(
        "id sessionID role time agent model format summary system tools variant metadata parts path parentID"
    ),
    "message assistant": vocabulary(
        """
        id sessionID role time parentID modelID providerID mode agent path cost tokens error finish variant summary
        system metadata parts model structured_output structured
        """
    ),
    "part text": vocabulary("id sessionID messageID type text synthetic ignored time metadata"),
    "part reasoning": vocabulary("id sessionID messageID type text time metadata"),
    "part tool": vocabulary("id sessionID messageID type callID tool state metadata time"),
}
_UNNAMED = ("New session - ", "Child session - ")
# What a person says who refuses a call (packages/core/src/v1/permission.ts, ``CorrectedError``).
_FEEDBACK = "with the following feedback: "


class Talk:
    """One session's messages, in order."""

    def __init__(self, reading: Reading, info: dict[str, Any], fallback: str) -> None:
        self._reading = reading
        session = Session(one_line(string(info.get("id")), 4000) or one_line(fallback), NAME)
        self.session = session
        time = mapping(info.get("time"))
        session.seen(moment(time.get("created")))
        session.cwd = string(info.get("directory"))
        session.version = string(info.get("version"))
        session.slug = string(info.get("slug"))
        session.forked_from = one_line(string(info.get("forkID")), 500)
        title = string(info.get("title"))
        session.parent = one_line(string(info.get("parentID")), 500)
        if session.parent:
            session.agent_type = one_line(string(info.get("agent")), 80)
            title, _, kind = title.partition(" (@")
            session.agent_type = session.agent_type or kind.removesuffix(" subagent)")
            session.task = "" if title.startswith(_UNNAMED) else title
        elif not title.startswith(_UNNAMED):
            session.title = title

    def finish(self) -> None:
        session = self.session
        session.records = len(session.uuids)
        self._reading.parts[session.unit] = session

    def message(self, info: dict[str, Any], parts: Any) -> None:
        """Take one message with its parts in; shapes that were never seen are failures of the reading."""
        try:
            self._message(info, parts if type(parts) is list else [])
        except BROKEN as error:
            self._reading.broken(error)

    def _message(self, info: dict[str, Any], parts: list[Any]) -> None:
        session = self.session
        role, name = info.get("role"), one_line(string(info.get("id")), 200)
        if name:
            session.uuids.add(name)
        at = moment(mapping(info.get("time")).get("created"))
        session.seen(at)
        session.seen(moment(mapping(info.get("time")).get("completed")))
        if role == "user":
            self._check("message user", info)
            self._user(parts, at)
            return
        if role != "assistant":
            self._unknown(f"message role {one_line(str(role), 60)}")
            return
        self._check("message assistant", info)
        model = string(info.get("modelID")) or string(mapping(info.get("model")).get("modelID"))
        if model:
            session.models.add(model)
        tokens = mapping(info.get("tokens")).get("output")
        if type(tokens) is int and tokens:
            session.tokens[name] = tokens
        if not session.cwd:
            session.cwd = string(mapping(info.get("path")).get("cwd"))
        summary = info.get("summary") is True or info.get("mode") == "compaction"
        for part in parts:
            self._part(mapping(part), at, summary=summary)
        if mapping(info.get("error")).get("name") == "MessageAbortedError":
            session.interrupted(at, f"{name} aborted")

    def _user(self, parts: list[Any], at: str) -> None:
        said: list[str] = []
        first, slash = "", ""
        to_subagent = bool(self.session.parent)
        for entry in parts:
            part = mapping(entry)
            kind = part.get("type")
            if kind == "text":
                self._check("part text", part)
                # What the harness adds: files that were read, reminders, its own prompts.
                text = string(part.get("text"))
                if not part.get("synthetic") and not part.get("ignored") and not human.repeats(text, slash):
                    words, command = human.typed(text, to_subagent=to_subagent)
                    first = first or one_line(string(part.get("id")), 200)
                    if command:
                        slash = text
                        self.session.command(command, at, f"{first} command")
                    if words:
                        said.append(words)
            elif kind == "subtask":
                given = {"agent": part.get("agent"), "description": part.get("description")}
                self.session.call("task", {**given, "prompt": part.get("prompt")}, at, string(part.get("id")))
            elif kind not in _DROPPED_PARTS:
                self._unknown(f"user part {one_line(str(kind), 60)}")
        self.session.prompt("\n\n".join(said), at, first)

    def _part(self, part: dict[str, Any], at: str, *, summary: bool) -> None:
        kind, name = part.get("type"), one_line(string(part.get("id")), 200)
        at = moment(mapping(part.get("time")).get("start")) or at
        if kind == "text":
            self._check("part text", part)
            if summary:
                self.session.compacted(string(part.get("text")), at, name)
            elif not part.get("ignored"):
                self.session.say(string(part.get("text")), at, name)
        elif kind == "reasoning":
            self._check("part reasoning", part)
            self.session.think(string(part.get("text")), at, name)
        elif kind == "tool":
            self._check("part tool", part)
            call = string(part.get("callID")) or name
            self.tool(string(part.get("tool")), mapping(part.get("state")), at, name, call)
        elif kind == "subtask":
            self.session.call("task", {"prompt": part.get("prompt"), "description": part.get("description")}, at, name)
        elif kind not in _DROPPED_PARTS:
            self._unknown(f"part {one_line(str(kind), 60)}")

    def tool(self, tool: str, state: dict[str, Any], at: str, name: str, call: str) -> None:
        """A tool call with its outcome."""
        session = self.session
        at = moment(mapping(state.get("time")).get("start")) or at
        session.seen(moment(mapping(state.get("time")).get("end")))
        session.call(tool, state.get("input"), at, name, call=call)
        details = {**mapping(state.get("structured")), **mapping(state.get("metadata"))}
        output = string(state.get("output")) or plain(state.get("content"))
        code = details.get("exit")
        error = state.get("error")
        if state.get("status") == "error":
            text = string(error) or string(mapping(error).get("message")) or "error"
            if text.startswith(("The user rejected permission", "The user dismissed")):
                session.noted(call, "rejected by the user", at, name)
                session.prompt(text.partition(_FEEDBACK)[2], at, f"{name} feedback {call}")
            else:
                session.failed(call, text, at, name)
        elif type(code) is int and code:
            session.failed(call, f"Exit code {code}\n{output}", at, name)
        started = string(details.get("sessionId")) or string(details.get("sessionID"))
        if started:
            session.noted(call, f"→ opencode__{one_line(started, 100)}", at, name)
        answers = details.get("answers")
        if tool == "question" and type(answers) is list:
            said = "; ".join(", ".join(map(str, answer)) for answer in answers if type(answer) is list)
            session.noted(call, f"answer: {one_line(said, 2000)}", at, name)

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, 0, value)

    def _check(self, what: str, found: dict[str, Any]) -> None:
        if not found.keys() <= _FIELDS[what]:
            for name in sorted(found.keys() - _FIELDS[what]):
                self._unknown(f"{what}: field {one_line(name, 60)}", found[name])

    def waits(self, kind: str, name: str, data: dict[str, Any], at: str) -> None:
        """What was typed and is not yet among the messages; it will be, under the same name."""
        if kind == "user" and name not in self.session.uuids:
            self.row(kind, name, data, at)

    def row(self, kind: str, name: str, data: dict[str, Any], at: str) -> None:
        """A row of the second projection (2.0 and later), which has no parts of its own."""
        try:
            self._row(kind, name, data, at)
        except BROKEN as error:
            self._reading.broken(error)

    def _row(self, kind: str, name: str, data: dict[str, Any], at: str) -> None:
        session = self.session
        at = moment(mapping(data.get("time")).get("created")) or at
        session.uuids.add(name)
        session.seen(at)
        if kind == "user":
            words, command = human.typed(string(data.get("text")), to_subagent=bool(session.parent))
            session.command(command, at, name)
            session.prompt(words, at, name)
        elif kind == "assistant":
            model = string(mapping(data.get("model")).get("id"))
            if model:
                session.models.add(model)
            tokens = mapping(data.get("tokens")).get("output")
            if type(tokens) is int and tokens:
                session.tokens[name] = tokens
            session.seen(moment(mapping(data.get("time")).get("completed")))
            for number, block in enumerate(blocks(data.get("content"))):
                inner = block.get("type")
                if inner == "text":
                    session.say(string(block.get("text")), at, name)
                elif inner == "reasoning":
                    session.think(string(block.get("text")), at, name)
                elif inner == "tool":
                    state = mapping(block.get("state"))
                    self.tool(string(block.get("name")), state, at, name, string(block.get("id")) or f"{name} {number}")
                else:
                    self._unknown(f"assistant block {one_line(str(inner), 60)}")
            if mapping(data.get("error")).get("type") == "aborted":
                session.interrupted(at, f"{name} aborted")
        elif kind == "shell":
            command = clean(string(data.get("command"))).strip()
            if command:
                session.command(f"! {command}", at, name)
        elif kind == "compaction":
            session.compacted(string(data.get("summary")), at, name)
        elif kind == "idle":
            if data.get("outcome") == "interrupted":
                session.interrupted(at, name)
        elif kind not in _DROPPED_ROWS:
            self._unknown(f"row {one_line(kind, 60)}")
