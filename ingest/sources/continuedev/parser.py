"""Continue's sessions: ``{sessionId, title, workspaceDirectory, history}``, one document each.

An item of ``history`` has a ``message`` in OpenAI's form, with ``toolCalls``; ``toolCallStates`` says how each call
ended; ``contextItems`` are files that were added, and no person's words. Messages have no times.

Source: continuedev/continue, core/index.d.ts (``Session``, ``ChatHistoryItem``, ``ToolCallState``),
core/util/history.ts and core/util/paths.ts.
"""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, whole
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, prompt
from ingest.session.values import Vocabulary, mapping, moment, plain, sequence, string
from ingest.sources.messages import Messages

if TYPE_CHECKING:
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "continuedev"
FOREIGN = "not a session of Continue's"
KNOWN = Vocabulary(__file__)

_FIELDS = KNOWN.fields("fields")
_UNTITLED = ("New Session", "Untitled Session")


def read(path: str, raw: RawStore) -> Reading:
    """Read one session. Faults are recorded in the result."""
    return whole(path, raw, _session, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words: what was added to them is no part of the message."""
    return prompt(clean(text).strip())


class _Sent(Messages):
    def words(self, text: str) -> UserText:
        return extract_user_text(text)


def _session(value: Any, reading: Reading) -> None:
    given = mapping(value)
    if type(given.get("history")) is not list or not ("sessionId" in given or "workspaceDirectory" in given):
        return
    reading.count_fields("session", given, _FIELDS["session"])
    stem = path_name(basename(reading.path).removesuffix(".json"))
    session = SessionBuilder(one_line(string(given.get("sessionId")), 4000) or stem, NAME)
    title = string(given.get("title"))
    session.machine_title = "" if title in _UNTITLED else title
    session.cwd = unquote(string(given.get("workspaceDirectory")).removeprefix("file://"))
    if mode := string(given.get("mode")):
        session.extra["mode"] = one_line(mode, 40)
    session.usage(given.get("chatModelTitle"))
    session.extend_to(moment(given.get("dateCreated")))
    messages = _Sent(session, reading)
    for number, item in enumerate(given["history"]):
        try:
            _item(session, reading, messages, mapping(item), f"m{number}")
        except BROKEN as error:
            reading.broken(error)
    session.records = len(session.uuids)
    reading.parts[session.unit] = session


def _item(session: SessionBuilder, reading: Reading, messages: _Sent, item: Record, name: str) -> None:
    reading.count_fields("item", item, _FIELDS["item"])
    message = mapping(item.get("message"))
    session.thought(string(mapping(item.get("reasoning")).get("text")), "", name)
    if message.get("role") == "thinking":
        session.uuids.add(name)
        session.thought(plain(message.get("content")), "", name)
    else:
        messages.add({**message, "tool_calls": sequence(message.get("toolCalls"))}, name)
    for log in map(mapping, sequence(item.get("promptLogs"))):
        session.usage(mapping(log.get("completionOptions")).get("model"))
    session.usage(None, mapping(message.get("usage")).get("completionTokens"), name)
    states = sequence(item.get("toolCallStates")) or [item.get("toolCallState")]
    for state in map(mapping, states):
        call, status = string(state.get("toolCallId")), state.get("status")
        if status == "canceled":
            session.tool_note(call, "rejected by the user", "", name)
        elif status == "errored":
            output = [string(mapping(each).get("content")) for each in sequence(state.get("output"))]
            session.tool_error(call, "\n".join(output) or "error", "", name)
    session.summary(string(item.get("conversationSummary")), "", name)
