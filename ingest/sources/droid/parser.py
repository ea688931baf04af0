"""Factory Droid's sessions: journals, described by ``<id>.settings.json`` next to them.

The first record is ``session_start {id, title, cwd, version}``; each ``message`` has a message in Anthropic's form. One
with ``visibility: llm_only`` is context for the model alone, one with ``user_only`` a notice of the tool's.
``compaction_state`` has a summary. The settings name the model and count tokens. ``droid exec --output-format
stream-json`` prints another form: ``system``, ``message {role, text}``, ``tool_call``, ``tool_result``, ``completion``.

The client is not open source: the shapes are those of jazzyalex/agent-sessions (fixtures of 0.81 and before) and
marmutapp/superbased-observer (internal/adapter/droid, of 0.126).
"""

from __future__ import annotations

import re
from os.path import basename
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, cut_blocks, prompt
from ingest.session.values import Vocabulary, exit_code, mapping, moment, string
from ingest.sources.companions import companion
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "droid"
FOREIGN = "not a session of Factory Droid's"
KNOWN = Vocabulary(__file__)

_FIELDS, _DROPPED, _ASIDES = KNOWN.fields("fields"), KNOWN.words("dropped"), KNOWN.texts("asides")
_FAILED = re.compile(r"\AError: (?:Command failed \(exit code: (-?[0-9]{1,10})\)\n?)?")
_PRINTED = frozenset(("system", "tool_call", "tool_result", "completion", "error"))


def read(path: str, raw: RawStore) -> Reading:
    """Read one session. Faults are recorded in the result."""
    return journal(path, raw, _Conversation, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words without Droid's blocks."""
    return prompt(cut_blocks(clean(text), _ASIDES).strip())


class _Sent(Messages):
    def words(self, text: str) -> UserText:
        return extract_user_text(text)

    def failure(self, tool: str, text: str) -> str:
        del tool
        found = _FAILED.match(text)
        if not found:
            return ""
        code = exit_code(found[1] or "")
        return f"Exit code {code}\n{text[found.end() :]}" if code else text


class _Conversation:
    """One session as its records are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder(path_name(basename(reading.path).removesuffix(".jsonl")), NAME)
        self._messages = _Sent(self._session, reading)
        self._is_recognised = False
        self._number = 0

    def add(self, record: Record, line: int) -> None:
        """Add one record."""
        session, reading = self._session, self._reading
        kind, at = string(record.get("type")), moment(record.get("timestamp"))
        name = one_line(string(record.get("id")), 200) or f"m{self._number}"
        self._number += 1
        printed = string(record.get("session_id")) or string(record.get("sessionId"))
        if kind == "session_start":
            self._start(record, line)
        elif kind == "message" and type(record.get("message")) is dict:
            # Other tools write such records, too: the first record shows whose they are.
            self._message(record, name, at, line)
        elif printed and (kind in _PRINTED or kind == "message"):
            self._is_recognised = True
            session.unit = one_line(printed, 4000)
            self._line_of_print(kind, record, name, at, line)
        elif kind == "compaction_state":
            session.summary(string(record.get("summaryText")) or string(record.get("summary")), at, name)
        elif kind not in _DROPPED:
            reading.count(f"record {one_line(kind, 60)}", line, record)

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        session, reading = self._session, self._reading
        if not self._is_recognised:
            return
        later: list[Callable[[], None]] = []
        settings = companion(f"{reading.path.removesuffix('.jsonl')}.settings.json", reading.raw, later)
        session.usage(settings.get("model"))
        session.usage(None, mapping(settings.get("tokenUsage")).get("outputTokens"), "settings")
        session.records = len(session.uuids)
        reading.parts[session.unit] = session
        reading.raw.keep_with(reading, later)

    def _start(self, record: Record, line: int) -> None:
        session = self._session
        self._is_recognised = True
        self._reading.count_fields("session_start", record, _FIELDS["session_start"], line)
        session.unit = one_line(string(record.get("id")), 4000) or session.unit
        session.cwd = string(record.get("cwd"))
        title = string(record.get("sessionTitle")) or string(record.get("title"))
        if record.get("isSessionTitleManuallySet") is True:
            session.title = title
        elif title != "New Session":
            session.machine_title = title
        version = record.get("version")
        session.version = version if type(version) is str else ""
        session.parent = one_line(string(record.get("callingSessionId")), 500)

    def _message(self, record: Record, name: str, at: str, line: int) -> None:
        inner = mapping(record["message"])
        self._reading.count_fields("message", record, _FIELDS["message"], line)
        self._reading.count_fields("message", inner, _FIELDS["inner"], line)
        seen = string(inner.get("visibility")) or string(record.get("visibility"))
        self._session.usage(inner.get("modelId"))
        if seen == "llm_only":
            self._session.uuids.add(name)
        elif seen == "user_only":
            texts = [string(mapping(block).get("text")) for block in inner.get("content") or ()]
            self._session.note(" ".join(filter(None, texts)), at, name)
        else:
            self._messages.add(inner, name, at, line=line)

    def _line_of_print(self, kind: str, record: Record, name: str, at: str, line: int) -> None:
        session, messages = self._session, self._messages
        call = string(record.get("toolCallId")) or string(record.get("id"))
        session.extend_to(at)
        if kind == "system":
            session.cwd = session.cwd or string(record.get("cwd"))
            session.usage(record.get("model"))
        elif kind == "message":
            messages.add({"role": record.get("role"), "content": record.get("text")}, name, at, line=line)
        elif kind == "tool_call":
            given = {"name": record.get("toolName"), "id": call, "input": record.get("parameters")}
            messages.call(given, at, f"{name} call")
        elif kind == "tool_result":
            value = record.get("value", record.get("error"))
            code = mapping(value).get("exitCode")
            text = string(value) or string(mapping(value).get("stderr")) or string(mapping(value).get("stdout"))
            is_error = record.get("isError") is True or (type(code) is int and code != 0)
            messages.result(call, text, is_error=is_error, at=at, name=f"{name} result")
        elif kind == "completion":
            session.usage(None, mapping(record.get("usage")).get("output_tokens"), name)
            session.reply(string(record.get("finalText")), at, name)
        else:
            session.note(string(record.get("message")), at, name)
