"""Grok CLI's sessions: ``chat_history.jsonl``, described by ``summary.json`` in the same folder.

Records are ``system``, ``user {content, prompt_index}``, ``reasoning {summary}``, ``assistant {content, tool_calls,
model_id}``, ``tool_result {tool_call_id, content}`` and ``backend_tool_call``, the service's own calls. A user's record
without ``prompt_index`` and ``<user_query>``, or with ``synthetic_reason``, is the harness's; ``compaction_meta`` is a
summary. Records have no times: the summary has those of the session. A subagent's session lies next to its parent's,
which has ``subagents/<id>/meta.json``.

The shapes are those of jazzyalex/agent-sessions (fixtures), of a parser that was checked against 0.2.101 (its module
documentation is the source for subagents and ``synthetic_reason``), and of a session that 1.0.41 wrote.
"""

from __future__ import annotations

import json
import re
from functools import partial
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, cut_blocks, prompt
from ingest.session.values import Vocabulary, mapping, moment, plain, sequence, string
from ingest.sources.companions import companion
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "grok"
FOREIGN = "not a session of Grok CLI's"
LINK = "parent.json"
KNOWN = Vocabulary(__file__)

_FIELDS, _DROPPED, _ASIDES = KNOWN.fields("fields"), KNOWN.words("dropped"), KNOWN.texts("asides")
_OPENS, _CLOSES = "<user_query>", "</user_query>"
_SUBAGENT = re.compile(r"^subagent_id: ([0-9A-Za-z-]{8,80})$", re.MULTILINE)
_EXITED = re.compile(r"(?i)\A(?:error: )?command (?:exited with|failed with exit) code:? (-?[1-9][0-9]{0,9})")


def read(path: str, raw: RawStore) -> Reading:
    """Read one session. Faults are recorded in the result."""
    return journal(path, raw, _Conversation, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words: those in the block for them, or all without the harness's blocks."""
    text = clean(text).strip()
    if text.startswith(_OPENS):
        # The last closing tag ends the block: words may quote the tag.
        text = text.removeprefix(_OPENS).rpartition(_CLOSES)[0] or text.removeprefix(_OPENS)
    return prompt(cut_blocks(text, _ASIDES).strip())


class _Sent(Messages):
    def words(self, text: str) -> UserText:
        return extract_user_text(text)

    def failure(self, tool: str, text: str) -> str:
        del tool
        found = _EXITED.match(text)
        return f"Exit code {found[1]}\n{text[found.end() :].strip()}" if found else ""


def _link(path: str, raw: RawStore, later: list[Callable[[], None]]) -> Record:
    """Return what the session that started a subagent says of it.

    That lies in a folder with another name: the archive has it next to the subagent's own files.
    """
    folder = dirname(path)
    place = join(folder, LINK)
    if raw.from_archive or raw.is_shelved(path):
        return companion(place, raw, later)
    for each in raw.listed(dirname(folder)):
        found = companion(join(each, "subagents", basename(folder), "meta.json"), raw, [])
        if string(found.get("parent_session_id")):
            kept = json.dumps({key: found.get(key) for key in ("parent_session_id", "description")}).encode()
            later.append(partial(raw.keep, place, kept))
            return found
    return {}


def _describe(session: SessionBuilder, about: Record) -> None:
    info = mapping(about.get("info"))
    session.unit = one_line(string(info.get("id")), 4000) or session.unit
    session.cwd = string(info.get("cwd"))
    session.branch = string(about.get("head_branch"))
    session.machine_title = string(about.get("generated_title")) or string(about.get("session_summary"))
    session.usage(about.get("current_model_id"))
    for key in ("created_at", "last_active_at", "updated_at"):
        session.extend_to(moment(about.get(key)))
    if about.get("session_kind") == "subagent":
        session.agent_type = one_line(string(about.get("agent_name")), 80)


class _Conversation:
    """One session as its records are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder(path_name(basename(dirname(reading.path))), NAME)
        self._messages = _Sent(self._session, reading)
        self._number = 0
        self._first = ""
        self._is_recognised = False

    def add(self, record: Record, line: int) -> None:
        """Add one record. None has a time."""
        session, kind, at = self._session, string(record.get("type")), ""
        name = f"m{self._number}"
        self._number += 1
        if kind in _FIELDS:
            self._reading.count_fields(kind, record, _FIELDS[kind], line)
            self._is_recognised = True
            session.uuids.add(name)
        if "prompt_index" in record:
            self._first = self._first or name
        if kind == "user":
            self._user(record, name, at, line)
        elif kind == "assistant":
            session.usage(record.get("model_id"))
            self._messages.add({**record, "role": kind}, name, at, line=line)
        elif kind == "reasoning":
            texts = [string(mapping(each).get("text")) for each in sequence(record.get("summary"))]
            session.thought("\n".join(filter(None, texts)), at, name)
        elif kind == "tool_result":
            self._result(record, name, at)
        elif kind == "backend_tool_call":
            call = mapping(record.get("kind"))
            session.tool_call(string(call.get("tool_type")), call.get("action"), at, name)
        elif kind not in _DROPPED:
            self._reading.count(f"record {one_line(kind, 60)}", line, record)

    def finish(self) -> None:
        """Put the session into the reading, if there is one, with what the files next to it say."""
        if not self._is_recognised:
            return
        session, reading = self._session, self._reading
        path, raw = reading.path, reading.raw
        later: list[Callable[[], None]] = []
        about = companion(join(dirname(path), "summary.json"), raw, later)
        _describe(session, about)
        project = unquote(basename(dirname(dirname(path))))
        session.cwd = session.cwd or (project if project.startswith("/") else "")
        session.date(self._first, session.first)
        if about.get("session_kind") == "subagent":
            link = _link(path, raw, later)
            session.parent = one_line(string(link.get("parent_session_id")), 500)
            session.task = string(link.get("description"))
        session.records = len(session.uuids)
        reading.parts[session.unit] = session
        raw.keep_with(reading, later)

    def _user(self, record: Record, name: str, at: str, line: int) -> None:
        text = plain(record.get("content"))
        if reason := string(record.get("synthetic_reason")):
            is_summary = reason == "compaction_meta" and not text.startswith("<user_info>")
            self._session.summary(text if is_summary else "", at, name)
        elif "prompt_index" in record or text.lstrip().startswith(_OPENS):
            self._messages.add({"role": "user", "content": record.get("content")}, name, at, line=line)

    def _result(self, record: Record, name: str, at: str) -> None:
        call, content = string(record.get("tool_call_id")), record.get("content")
        self._messages.result(call, content, is_error=record.get("is_error") is True, at=at, name=name)
        if found := _SUBAGENT.search(string(content)):
            self._session.tool_note(call, f"→ grok__{found[1]}", at, name)
