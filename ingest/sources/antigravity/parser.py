"""Antigravity's conversations: a journal of steps, ``brain/<id>/.system_generated/logs/transcript.jsonl``.

A step is ``{step_index, source, type, status, created_at, content}``. ``USER_INPUT`` has a person's words in the block
``<USER_REQUEST>``, and blocks of the harness's around it; ``PLANNER_RESPONSE`` has ``thinking``, ``content`` and
``tool_calls`` with arguments that are JSON each; the steps after it are the calls' outcomes, in their order.
``transcript_full.jsonl``, where it exists, has the same steps uncut. The conversations themselves (``.pb``, ``.db``)
are encrypted, or of a form that nobody published; they are not read.

The client is not open source: the shapes are those of jazzyalex/agent-sessions (fixtures of 2026-06).
"""

from __future__ import annotations

import json
import re
from os.path import basename
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import NOTHING, UserText, between, cut_blocks, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string

if TYPE_CHECKING:
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "antigravity"
FOREIGN = "not a transcript of Antigravity's"
LOGS = "/.system_generated/logs/"
KNOWN = Vocabulary(__file__)

_FIELDS = KNOWN.fields("fields")
_RESULTS, _DROPPED, _QUIET = KNOWN.words("results"), KNOWN.words("dropped"), KNOWN.words("quiet")
_ARGUMENTS, _ASIDES = dict(KNOWN.pairs("arguments")), KNOWN.texts("asides")
_REQUEST = "<USER_REQUEST>"
_MODEL = re.compile(r"`Model Selection` from [^\n]{1,100}? to ([^\n]{1,100}?)\.(?:\s|$)")
_EXITED = re.compile(r"\AThe command [^\n]{0,40}\bcode:? (-?[1-9][0-9]{0,9})")


def read(path: str, raw: RawStore) -> Reading:
    """Read one conversation. Faults are recorded in the result."""
    return journal(path, raw, _Conversation, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return the words in the block for a person's request; all words if there are no blocks."""
    text = clean(text).strip()
    if text.startswith(_REQUEST):
        head = text.removeprefix(_REQUEST)
        # The last closing tag ends the block: words may quote the tag.
        return prompt((head.rpartition("</USER_REQUEST>")[0] or head).strip())
    rest = cut_blocks(text, _ASIDES).strip()
    return prompt(rest) if rest else NOTHING


class _Conversation:
    """One conversation as its steps are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        folder, found, _ = reading.path.partition(LOGS)
        stem = basename(folder) if found else basename(reading.path).removesuffix(".jsonl")
        self._session = SessionBuilder(path_name(stem), NAME)
        self._waiting: list[str] = []
        self._number = 0
        self._is_recognised = False

    def add(self, step: Record, line: int) -> None:
        """Add one step."""
        session, kind = self._session, string(step.get("type"))
        if not kind or "step_index" not in step:
            self._reading.count("record without type or step_index", line, step)
            return
        self._is_recognised = True
        self._reading.count_fields("step", step, _FIELDS["step"], line)
        name, at, text = f"m{self._number}", moment(step.get("created_at")), string(step.get("content"))
        self._number += 1
        session.uuids.add(name)
        session.extend_to(at)
        if kind == "USER_INPUT":
            if model := _MODEL.search(between(text, "USER_SETTINGS_CHANGE")):
                session.usage(model[1])
            session.prompt(extract_user_text(text).typed, at, name)
        elif kind == "PLANNER_RESPONSE":
            session.thought(string(step.get("thinking")), at, name)
            session.reply(text, at, name)
            for call in sequence(step.get("tool_calls")):
                self._call(mapping(call), name, at)
        elif kind == "CHECKPOINT":
            session.summary(text, at, name)
        elif kind in ("ERROR_MESSAGE", "ERROR"):
            session.note(text, at, name)
        elif kind in _RESULTS:
            self._outcome(step, text, name, at)
        elif kind not in _DROPPED:
            self._reading.count(f"step {one_line(kind, 60)}", line, step)

    def finish(self) -> None:
        """Put the conversation into the reading, if there is one."""
        if self._is_recognised:
            self._session.records = len(self._session.uuids)
            self._reading.parts[self._session.unit] = self._session

    def _call(self, call: Record, name: str, at: str) -> None:
        given: Record = {}
        for key, value in mapping(call.get("args")).items():
            value = _decoded(value)
            if key == "Cwd" and string(value).startswith("/"):
                self._session.cwd = self._session.cwd or value
            if key not in _QUIET:
                given[_ARGUMENTS.get(key, key)] = value
        identity = f"{name} {len(self._waiting)}"
        self._waiting.append(identity)
        self._session.tool_call(string(call.get("name")), given, at, name, call_id=identity)

    def _outcome(self, step: Record, text: str, name: str, at: str) -> None:
        call = self._waiting.pop(0) if self._waiting else ""
        self._session.ended(call, at)
        exited = _EXITED.match(text)
        if string(step.get("status")) in ("ERROR", "FAILED"):
            error = string(step.get("error")) or string(step.get("error_message")) or text or "error"
            self._session.tool_error(call, error, at, name)
        elif exited:
            printed = text[exited.end() :].partition("Output:")[2]
            self._session.tool_error(call, f"Exit code {exited[1]}\n{printed.strip()}", at, name)
        elif step.get("status") == "CANCELED":
            self._session.tool_note(call, "rejected by the user", at, name)


def _decoded(value: Any) -> Any:
    """Return an argument, which is JSON in a text."""
    try:
        return json.loads(value, strict=False) if type(value) is str else value
    except (ValueError, RecursionError):
        return value
