"""DeepSeek Harness's journals: a header, then events, in frames of zstd.

The header is ``{type: "session", version, id, createdAt, cwd, parentSession, origin}``. An event is
``{type, seq, time, data}``. ``user/message``, ``assistant/message`` and ``tool/result`` have messages: what was said.
Such an event with a ``surfaceOp`` that is an object replaces earlier messages in what the model is sent; the
conversation that a person saw has only those that were appended. ``source`` says who wrote a user's message. Pieces
of answers (``assistant/chunk``, and rows that pack them) are repeated by the message that they became.

A session that continues another begins with that one's events: ``seedLength`` counts them in versions 0 and 1, since
version 2 (``isSeeded``) they end with ``session/end-seed {inherited}``. They belong to the other session's document.

Source: the packages @deepseek-ai/dsh-session 0.1.1 (README.md, types.d.ts), dsh-llm, dsh-session-title,
dsh-session-persistence-jsonl and dsh-session-format-v0-to-v1, -v1-to-v2 and -v2-to-v3.
"""

from __future__ import annotations

from os.path import basename, dirname
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, prompt
from ingest.session.values import Vocabulary, mapping, moment, plain, sequence, string
from ingest.sources.detection import detect_tool
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "dsh"
FOREIGN = "not a session of DeepSeek Harness's"
KNOWN = Vocabulary(__file__)

_DROPPED, _MACHINES, _AGENTS = KNOWN.words("dropped"), KNOWN.words("machines"), KNOWN.words("agents")
_INPUT = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")
_REFUSED = ("rejected", "cancelled")


def read(path: str, raw: RawStore) -> Reading:
    """Read one journal. Faults are recorded in the result."""
    return journal(path, raw, _Journal, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words: a message of a person's has them alone."""
    return prompt(clean(text).strip())


class _Sent(Messages):
    def words(self, text: str) -> UserText:
        return extract_user_text(text)


class _Session(SessionBuilder):
    __slots__ = ()
    is_append_only = True


class _Journal:
    """One session as its events are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = _Session("", NAME)
        self._messages = _Sent(self._session, reading)
        self._is_agents = False
        # The events of a seeded session, until it is known which of them are its own.
        self._held: list[tuple[Record, int]] | None = None
        self._seeded = 0
        # Request for approval → the call that it is about.
        self._asked: dict[str, str] = {}
        self._refused: set[str] = set()
        self._owner = ""

    def add(self, record: Record, line: int) -> None:
        """Add the header or one event."""
        if not self._session.unit:
            if record.get("type") == "session" and "createdAt" in record:
                self._header(record)
                return
            if not _is_event(record):
                self._owner = self._owner or detect_tool(record)
                return
            # The header is damaged: the folder has the session's id, escaped.
            self._session.unit = path_name(basename(dirname(self._reading.path)).strip("-"))
        data = mapping(record.get("data"))
        if record.get("type") == "session/end-seed" and data.get("inherited") is True:
            self._held = []
        elif self._held is not None:
            self._held.append((record, line))
        elif not self._seeded or not _is_before(record.get("seq"), self._seeded):
            self._event(record, data, line)

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        session, held = self._session, self._held or ()
        self._held = None
        for record, line in held:
            self._event(record, mapping(record.get("data")), line)
        if session.unit:
            session.records = len(session.uuids)
            self._reading.parts[session.unit] = session
        elif self._owner:
            self._reading.dismiss(self._owner)

    def _header(self, record: Record) -> None:
        session = self._session
        session.unit = one_line(string(record.get("id")), 4000)
        session.cwd = string(record.get("cwd"))
        session.extend_to(moment(record.get("createdAt")))
        parent = one_line(string(record.get("parentSession")), 500)
        self._is_agents = record.get("origin") == "subagent"
        if self._is_agents:
            session.parent, session.agent_type = parent, one_line(string(record.get("agentPreset")), 100)
        else:
            session.forked_from = parent
        if record.get("isSeeded") is True:
            self._held = []
        elif type(seeded := record.get("seedLength")) is int:
            self._seeded = seeded

    def _event(self, record: Record, data: Record, line: int) -> None:
        session, kind, at = self._session, string(record.get("type")), moment(record.get("time"))
        name = f"s{record.get('seq')}"
        if kind in ("user/message", "assistant/message", "tool/result"):
            if record.get("surfaceOp") in (None, "append"):
                self._message(kind, data, at, name, line)
        elif kind == "command/run":
            session.uuids.add(name)
            session.extend_to(at)
            session.command(f"/{string(data.get('name'))} {string(data.get('args'))}".strip(), at, name)
        elif kind == "compaction/summary":
            session.uuids.add(name)
            session.summary(plain(data.get("summary")), at, name)
        elif kind == "session/title":
            if mapping(data.get("source")).get("kind") == "user":
                session.title = string(data.get("title"))
            else:
                session.machine_title = string(data.get("title"))
        elif kind == "approval/asked":
            self._asked[string(data.get("id"))] = string(data.get("callId"))
        elif kind == "approval/decided":
            if data.get("outcome") in _REFUSED:
                self._refused.add(self._asked.get(string(data.get("id")), ""))
        elif kind == "turn/end":
            self._ended(mapping(data.get("reason")), at, name)
        elif kind not in _DROPPED and record.get("ignorable") is not True:
            self._reading.count(f"event {one_line(kind, 60)}" if kind else "event without type", line, record)

    def _message(self, kind: str, data: Record, at: str, name: str, line: int) -> None:
        """Add what was said; a message has an id, except in the first versions."""
        # A user's message is the data of its event; in the first versions it is wrapped as the others are.
        message = mapping(data.get("message")) or data
        name = one_line(string(message.get("id")), 200) or name
        source = mapping(message.get("source"))
        if kind == "assistant/message":
            used = mapping(data.get("usage"))
            self._session.usage(source.get("model"), used.get("outputTokens"), name, [used.get(key) for key in _INPUT])
            self._messages.add({**message, "role": "assistant"}, name, at, line=line)
        elif kind == "tool/result":
            self._result(message, at, name, line)
        else:
            self._asked_for(message, string(source.get("kind")) or "user", at, name, line)

    def _asked_for(self, message: Record, by: str, at: str, name: str, line: int) -> None:
        message = {**message, "role": "user"}
        if by == "user":
            if self._is_agents and not self._session.task:
                self._session.task = plain(message.get("content"))
            self._messages.add(message, name, at, by_agent=self._is_agents, line=line)
        elif by in _AGENTS:
            self._messages.add(message, name, at, by_agent=True, line=line)
        elif by not in _MACHINES:
            self._reading.count(f"source {one_line(by, 60)}", line, message)

    def _result(self, message: Record, at: str, name: str, line: int) -> None:
        calls = [string(mapping(block).get("toolCallId")) for block in sequence(message.get("content"))]
        if self._refused.intersection(calls):
            self._session.uuids.add(name)
            self._session.tool_note(calls[0], "rejected by the user", at, name)
        else:
            self._messages.add({**message, "role": "user"}, name, at, line=line)

    def _ended(self, reason: Record, at: str, name: str) -> None:
        if reason.get("kind") == "aborted" and mapping(reason.get("reason")).get("kind") in ("user", "legacy"):
            self._session.interrupt(at, name)
        elif reason.get("kind") == "error":
            self._session.note(string(mapping(reason.get("error")).get("message")), at, name)


def _is_event(record: Record) -> bool:
    return "/" in string(record.get("type")) and "seq" in record and type(record.get("data")) is dict


def _is_before(seq: Any, end: int) -> bool:
    return type(seq) is int and seq < end
