"""Kimi Code's journals: ``<session>/agents/<agent>/wire.jsonl``, described by ``<session>/state.json``.

A record is ``{type, time}`` with the fields of its type. ``turn.prompt`` and ``turn.steer`` have what was asked and its
``origin``: a person, or one of the harness's. ``context.append_loop_event`` has a part of an answer, a call or its
result; ``context.append_message`` what else the model was sent, among it the prompts again, and commands that a person
ran; ``context.apply_compaction`` a summary. ``context.undo`` takes the last prompts back.

Source: MoonshotAI/kimi-code, docs/en/configuration/data-locations.md, packages/agent-core/src (agent/records/types.ts,
agent/context/types.ts, agent/permission/types.ts, loop/events.ts).
"""

from __future__ import annotations

import html
import re
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name, unit_key
from ingest.session.user_text import paragraphs
from ingest.session.values import Vocabulary, mapping, moment, plain, sequence, string
from ingest.sources.companions import companion
from ingest.sources.kimi.parser import NAME, STATE, extract_user_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

FOREIGN = "not a session of Kimi Code's"
KNOWN = Vocabulary(__file__)

_DROPPED, _MACHINES = KNOWN.words("dropped"), KNOWN.words("machines")
_INPUT = ("inputOther", "inputCacheRead", "inputCacheCreation")
_RAN = re.compile(r"\A<bash-input>\s*(.*?)\s*</bash-input>\Z", re.DOTALL)


def read(path: str, raw: RawStore) -> Reading:
    """Read one journal. Faults are recorded in the result."""
    return journal(path, raw, _Journal, FOREIGN)


class _Journal:
    """One agent's journal as its records are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        folder = dirname(dirname(dirname(reading.path)))
        session, agent = path_name(basename(folder)), path_name(basename(dirname(reading.path)))
        is_main = agent == "main"
        self._session = SessionBuilder(session if is_main else unit_key(session, agent), NAME)
        self._about = join(folder, STATE)
        if not is_main:
            self._session.parent, self._session.agent_id = session, agent
        self._prompts: list[str] = []
        self._names: list[str] = []
        self._said: set[str] = set()
        self._refused: set[str] = set()
        self._is_recognised = False

    def add(self, record: Record, line: int) -> None:
        """Add one record."""
        kind, session = string(record.get("type")), self._session
        name, at = f"m{len(self._names)}", moment(record.get("time"))
        self._names.append(name)
        session.uuids.add(name)
        self._is_recognised = self._is_recognised or "." in kind
        if kind in ("turn.prompt", "turn.steer"):
            session.extend_to(at)
            self._asked(sequence(record.get("input")), mapping(record.get("origin")), name, at, line)
        elif kind == "context.append_loop_event":
            session.extend_to(at)
            self._event(mapping(record.get("event")), name, at, line)
        elif kind == "context.append_message":
            message = mapping(record.get("message"))
            self._sent(message, mapping(message.get("origin")), name, at)
        elif kind == "context.apply_compaction":
            session.summary(string(record.get("summary")), at, name)
        elif kind == "context.undo":
            self._undo(record.get("count"))
        elif kind == "permission.record_approval_result":
            if mapping(record.get("result")).get("decision") in ("rejected", "cancelled"):
                self._refused.add(string(record.get("toolCallId")))
        elif kind == "config.update":
            session.cwd = session.cwd or string(record.get("cwd"))
        elif kind == "usage.record":
            # A record of the whole session repeats what its turns have.
            if record.get("usageScope") != "session":
                used = mapping(record.get("usage"))
                session.usage(record.get("model"), used.get("output"), name, [used.get(key) for key in _INPUT])
        elif kind == "turn.cancel":
            session.interrupt(at, name)
        elif kind not in _DROPPED:
            self._reading.count(f"record {one_line(kind, 60)}" if kind else "record without type", line, record)

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        if not self._is_recognised:
            return
        session, reading = self._session, self._reading
        later: list[Callable[[], None]] = []
        about = companion(self._about, reading.raw, later)
        session.cwd = string(about.get("workDir")) or session.cwd
        if not session.parent:
            title = string(about.get("title"))
            if about.get("isCustomTitle") is True:
                session.title = title
            else:
                session.machine_title = title
            session.forked_from = one_line(string(about.get("forkedFrom")), 500)
        session.records = len(session.uuids)
        reading.parts[session.unit] = session
        reading.raw.keep_with(reading, later)

    def _asked(self, given: list[Any], origin: Record, name: str, at: str, line: int) -> None:
        """Add what a turn begins with."""
        session, kind = self._session, string(origin.get("kind"))
        if kind in ("", "user"):
            found = [extract_user_text(string(mapping(part).get("text"))) for part in given]
            words = paragraphs(*(session.pieces(each, at, name) for each in found))
            self._said.add(words)
            self._prompts.append(name)
            session.prompt(words, at, name)
        elif kind in ("skill_activation", "plugin_command"):
            if origin.get("trigger") == "user-slash":
                called = string(origin.get("skillName")) or string(origin.get("commandName"))
                rest = string(origin.get("skillArgs")) or string(origin.get("commandArgs"))
                self._prompts.append(name)
                session.command(f"/{called} {rest}".strip(), at, name)
        elif kind in ("cron_job", "cron_missed"):
            session.teammate(plain(given), at, name)
        elif kind not in _MACHINES:
            self._reading.count(f"origin {one_line(kind, 60)}", line)

    def _event(self, event: Record, name: str, at: str, line: int) -> None:
        session, kind = self._session, string(event.get("type"))
        if kind == "content.part":
            part = mapping(event.get("part"))
            session.thought(string(part.get("think")), at, name)
            session.reply(string(part.get("text")), at, name)
        elif kind == "tool.call":
            call = string(event.get("toolCallId"))
            session.tool_call(string(event.get("name")) or "tool", event.get("args"), at, name, call_id=call)
        elif kind == "tool.result":
            call, result = string(event.get("toolCallId")), mapping(event.get("result"))
            session.ended(call, at)
            if call in self._refused:
                session.tool_note(call, "rejected by the user", at, name)
            elif result.get("isError") is True:
                session.tool_error(call, plain(result.get("output")) or "error", at, name)
        elif kind not in ("step.begin", "step.end"):
            self._reading.count(f"event {one_line(kind, 60)}", line, event)

    def _sent(self, message: Record, origin: Record, name: str, at: str) -> None:
        """Add what only a message to the model has: commands that a person ran, and prompts of no turn."""
        text = plain(message.get("content"))
        if origin.get("kind") == "shell_command":
            if found := _RAN.match(clean(text).strip()):
                self._session.command(f"! {html.unescape(found[1])}", at, name)
        elif message.get("role") == "user" and origin.get("kind") == "user":
            words = extract_user_text(text).typed
            if words not in self._said:
                self._said.add(words)
                self._prompts.append(name)
                self._session.prompt(words, at, name)

    def _undo(self, count: Any) -> None:
        """Take back the last prompts with all that followed."""
        if type(count) is int and 0 < count <= len(self._prompts):
            start = self._names.index(self._prompts[-count])
            self._session.removed.update(self._names[start:-1])
            del self._prompts[-count:]
