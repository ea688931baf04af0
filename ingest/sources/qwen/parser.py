"""Qwen Code's journals: records ``{uuid, parentUuid, sessionId, timestamp, type, subtype, cwd, version, message}``.

``message`` is a Content of google/genai, ``{role, parts}``. A prompt's ``systemPayload.displayText`` is what the person
typed, before files and hooks are added. A tool's outcome is a record ``tool_result`` with ``toolCallResult.status``.
Records ``system`` say the rest: ``custom_title``, ``slash_command``, ``chat_compression``, ``parent_session``,
``rewind`` (the record that follows hangs from an earlier one). A subagent's journal names its ``agentId``.

Until the autumn of 2025 Qwen Code wrote the files of Gemini CLI, which ``ingest.sources.gemini.parser`` reads.

Source: QwenLM/qwen-code, packages/core/src/services/chatRecordingService.ts and config/storage.ts.
"""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name, unit_key
from ingest.session.user_text import NOTHING, UserText, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources.gemini.parser import shell_exit_code
from ingest.sources.gemini.user_text import extract_user_text as extract_parts

if TYPE_CHECKING:
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "qwen"
FOREIGN = "not a Qwen Code session"
KNOWN = Vocabulary(__file__)

_FIELDS = KNOWN.fields("fields")
_SPOKEN, _MACHINES, _DROPPED = KNOWN.words("spoken"), KNOWN.words("machines"), KNOWN.words("dropped")
_TYPES = ("user", "assistant", "tool_result", "system")
_SHELL = "run_shell_command"
# Turns that the harness adds before the first prompt.
_SETUP = ("This is the Qwen Code. ", "This is the Qwen Code", "<system-reminder>")


def read(path: str, raw: RawStore) -> Reading:
    """Read one journal. Faults are recorded in the result."""
    return journal(path, raw, _Conversation, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return the words of a person in one text that the model was sent."""
    text = clean(text).strip()
    return NOTHING if text.startswith(_SETUP) else extract_parts([text])


class _Conversation:
    """One session as its records are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder("", NAME)
        self._order: list[str] = []
        self._called: dict[str, str] = {}
        self._line = 0

    def add(self, record: Record, line: int) -> None:
        """Add one record."""
        self._line = line
        kind, session = record.get("type"), self._session
        if kind not in _TYPES or not string(record.get("sessionId")) or "uuid" not in record:
            self._reading.count("record without type, id or session", line, record)
            return
        self._reading.count_fields("record", record, _FIELDS["record"], line)
        name, at = one_line(string(record.get("uuid")), 200), moment(record.get("timestamp"))
        if name in session.uuids:
            session.repeated += 1
            return
        if not session.unit:
            self._open(record)
        session.uuids.add(name)
        self._order.append(name)
        session.cwd = session.cwd or string(record.get("cwd"))
        session.branch = string(record.get("gitBranch")) or session.branch
        session.version = string(record.get("version")) or session.version
        subtype, payload = string(record.get("subtype")), mapping(record.get("systemPayload"))
        if subtype in _DROPPED:
            return
        if kind == "system":
            self._event(subtype, payload, record, name, at)
            return
        session.extend_to(at)
        parts = [self._part(mapping(part)) for part in sequence(mapping(record.get("message")).get("parts"))]
        if kind == "user":
            self._user(subtype, payload, parts, name, at)
        elif kind == "assistant":
            self._assistant(record, parts, name, at)
        else:
            self._outcome(mapping(record.get("toolCallResult")), parts, name, at)

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        session = self._session
        if session.unit:
            session.records = len(session.uuids)
            self._reading.parts[session.unit] = session

    def _open(self, record: Record) -> None:
        session = self._session
        owner = one_line(string(record.get("sessionId")), 4000)
        agent = one_line(string(record.get("agentId")), 500) if record.get("isSidechain") is True else ""
        stem = path_name(basename(self._reading.path).removesuffix(".jsonl"))
        if agent:
            session.parent, session.agent_id = owner, agent
            session.agent_type = one_line(string(record.get("agentName")), 80)
        session.unit = unit_key(owner or stem, agent)
        session.forked_from = one_line(string(mapping(record.get("forkedFrom")).get("sessionId")), 500)

    def _part(self, part: Record) -> Record:
        if part:
            self._reading.count_fields("part", part, _FIELDS["part"], self._line)
        return part

    def _user(self, subtype: str, payload: Record, parts: list[Record], name: str, at: str) -> None:
        session = self._session
        texts = [string(part.get("text")) for part in parts]
        shown = string(payload.get("displayText"))
        if subtype in _MACHINES:
            said = shown or "\n\n".join(filter(None, texts))
            (session.teammate if subtype == "cron" else session.note)(said, at, name)
            return
        if subtype and subtype not in _SPOKEN and subtype != "agent_launch_prompt":
            self._reading.count(f"subtype {one_line(subtype, 60)}", self._line)
        found = prompt(clean(shown).strip()) if shown else extract_parts(text for text in texts if not _is_setup(text))
        session.cwd = session.cwd or found.directory
        session.prompt(session.pieces(found, at, name), at, name)

    def _assistant(self, record: Record, parts: list[Record], name: str, at: str) -> None:
        session = self._session
        session.usage(record.get("model"), mapping(record.get("usageMetadata")).get("candidatesTokenCount"), name)
        for part in parts:
            call = mapping(part.get("functionCall"))
            if call:
                identity, tool = string(call.get("id")), string(call.get("name"))
                self._called[identity] = tool
                session.tool_call(tool, call.get("args"), at, name, call_id=identity)
            elif part.get("thought") is True:
                session.thought(string(part.get("text")), at, name)
            else:
                session.reply(string(part.get("text")), at, name)

    def _outcome(self, result: Record, parts: list[Record], name: str, at: str) -> None:
        session, status = self._session, result.get("status")
        for part in parts:
            found = mapping(part.get("functionResponse"))
            response = mapping(found.get("response"))
            call = string(found.get("id")) or string(result.get("callId"))
            session.ended(call, at)
            output, error = string(response.get("output")), string(response.get("error"))
            code = shell_exit_code(output) if self._called.get(call) == _SHELL else 0
            if status == "cancelled":
                session.tool_note(call, "cancelled by the user", at, name)
            elif status == "error" or error:
                session.tool_error(call, error or output or string(result.get("resultDisplay")) or "error", at, name)
            elif code:
                session.tool_error(call, f"Exit code {code}\n{output.partition('Output: ')[2] or output}", at, name)

    def _event(self, subtype: str, payload: Record, record: Record, name: str, at: str) -> None:
        session = self._session
        if subtype == "custom_title":
            title = string(payload.get("customTitle"))
            if payload.get("titleSource") == "auto":
                session.machine_title = title
            else:
                session.title = title
        elif subtype == "parent_session":
            session.parent = session.parent or one_line(string(payload.get("parentSessionId")), 500)
        elif subtype == "session_model":
            session.usage(payload.get("modelId"))
        elif subtype == "slash_command":
            if payload.get("phase") != "result" and payload.get("hiddenInvocation") is not True:
                session.command(string(payload.get("rawCommand")), at, name)
        elif subtype == "chat_compression":
            history = sequence(payload.get("compressedHistory"))
            parts = sequence(mapping(next(iter(history), None)).get("parts"))
            session.summary("\n\n".join(string(mapping(part).get("text")) for part in parts), at, name)
        elif subtype == "rewind":
            parent = string(record.get("parentUuid"))
            start = self._order.index(parent) + 1 if parent in self._order else 0
            session.removed.update(self._order[start:-1])
        else:
            self._reading.count(f"subtype {one_line(subtype, 60)}", self._line)


def _is_setup(text: str) -> bool:
    return text.lstrip().startswith(_SETUP)
