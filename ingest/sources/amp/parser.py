"""Amp's threads: one JSON document each, with Anthropic-like blocks; a tool's outcome is in the next message.

Since 2026 a thread also has its subagents' messages, with the call that started them (``parentToolUseId``). Their calls
are shown; their words are not the person's or the assistant's. A prompt that was typed while the agent worked waits in
``queuedMessages``. Shapes: the client (0.0.17x), as ccusage's adapters/amp, txcript's formats/amp and flitter's
packages/schemas/src/thread read it.
"""

from __future__ import annotations

from os.path import basename
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, whole
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import paragraphs
from ingest.session.values import blocks, mapping, moment, sequence, string
from ingest.sources.amp.user_text import KNOWN, extract_user_text

if TYPE_CHECKING:
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "amp"
FOREIGN = "not an Amp thread"
_FIELDS = KNOWN.fields("fields")
_DROPPED = KNOWN.words("dropped_blocks")
_REFUSALS = KNOWN.words("refusals")
_SENDERS = KNOWN.texts("senders")
# A refusal with a person's words is recorded as an error (flitter, packages/agent-core).
_FEEDBACK = "ejected by user with feedback:"


def read(path: str, raw: RawStore) -> Reading:
    """Read one thread. Faults are recorded in the result."""
    return whole(path, raw, _thread, FOREIGN)


def _thread(value: Any, reading: Reading) -> None:
    thread = mapping(value)
    messages = thread.get("messages")
    if type(messages) is not list or not ("created" in thread or string(thread.get("id")).startswith("T-")):
        return
    conversation = Conversation(reading, thread)
    for number, message in enumerate(messages):
        conversation.add(mapping(message), f"m{number}")
    for number, entry in enumerate(sequence(thread.get("queuedMessages"))):
        message = mapping(mapping(entry).get("queuedMessage")) or mapping(entry)
        # A name of its own: its place in the queue will be another prompt's.
        name = one_line(string(message.get("dtwMessageID")) or string(mapping(entry).get("id")), 200)
        conversation.add({"role": "user", **message}, name or f"q{number}")
    conversation.finish(len(messages))


class Conversation:
    """One thread as its messages are added, in order."""

    def __init__(self, reading: Reading, thread: Record) -> None:
        self._reading = reading
        reading.count_fields("thread", thread, _FIELDS["thread"])
        unit = one_line(string(thread.get("id")), 4000) or path_name(basename(reading.path).removesuffix(".json"))
        self._session = session = SessionBuilder(unit, NAME)
        session.extend_to(moment(thread.get("created")))
        session.title = string(thread.get("title"))
        session.parent = one_line(string(thread.get("mainThreadID")), 500)
        session.forked_from = one_line(_origin(thread), 500)
        if mode := string(thread.get("agentMode")):
            session.extra["mode"] = one_line(mode, 40)
        initial = mapping(mapping(thread.get("env")).get("initial"))
        session.version = string(mapping(initial.get("platform")).get("clientVersion"))
        tree = mapping(next(iter(sequence(initial.get("trees"))), None))
        uri = string(tree.get("uri"))
        session.cwd = unquote(uri.removeprefix("file://")) if uri.startswith("file:///") else ""
        session.cwd = session.cwd or string(initial.get("workingDirectory"))
        session.branch = string(mapping(tree.get("repository")).get("ref")).removeprefix("refs/heads/")

    def finish(self, records: int) -> None:
        """Put the session into the reading."""
        self._session.records = records
        self._reading.parts[self._session.unit] = self._session

    def add(self, message: Record, name: str) -> None:
        """Add one message; an unknown shape is a failure of the reading."""
        try:
            self._message(message, name)
        except BROKEN as error:
            self._reading.broken(error)

    def _message(self, message: Record, name: str) -> None:
        session = self._session
        self._reading.count_fields("message", message, _FIELDS["message"])
        role, usage, meta = message.get("role"), mapping(message.get("usage")), mapping(message.get("meta"))
        at = moment(meta.get("sentAt")) or moment(usage.get("timestamp"))
        at = at or moment(message.get("timestamp")) or moment(message.get("createdAt"))
        session.extend_to(at)
        session.uuids.add(name)
        sent = [usage.get(key) for key in ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")]
        session.usage(usage.get("model"), usage.get("outputTokens"), name, sent)
        if role not in ("user", "assistant", "info"):
            self._reading.count(f"message role {one_line(str(role), 60)}")
        by_agent = bool(string(message.get("parentToolUseId")) or string(message.get("parentToolUseID")))
        typed: list[str] = []
        for block in blocks(message.get("content")):
            kind = string(block.get("type"))
            if kind in ("text", "thinking") and (by_agent or block.get("hidden") is True):
                continue  # a subagent's words or task; Amp's additions for the model alone
            if kind == "text" and role == "user":
                typed.append(extract_user_text(string(block.get("text"))).typed)
            elif kind == "text" and role != "info":
                is_commentary = meta.get("openAIResponsePhase") == "commentary"
                (session.commentary if is_commentary else session.reply)(string(block.get("text")), at, name)
            else:
                self._block(kind, block, at, name)
        is_persons = not any(meta.get(sender) for sender in _SENDERS)
        (session.prompt if is_persons else session.teammate)(paragraphs(*typed), at, name)
        if mapping(message.get("state")).get("type") == "cancelled":
            session.interrupt(at, f"{name} cancelled")

    def _block(self, kind: str, block: Record, at: str, name: str) -> None:
        """Add a block that is no text."""
        session = self._session
        if kind == "thinking":
            session.thought(string(block.get("thinking")), at, name)
        elif kind in ("tool_use", "server_tool_use"):
            session.tool_call(string(block.get("name")), block.get("input"), at, name, call_id=string(block.get("id")))
        elif kind == "tool_result":
            self._outcome(block, at, name)
        elif kind == "summary":
            inner = block.get("summary")
            session.summary(string(mapping(inner).get("summary")) or string(inner), at, name)
        elif kind == "manual_bash_invocation":
            if command := clean(string(mapping(block.get("args")).get("cmd"))).strip():
                session.command(f"! {command}", at, name)
        elif kind not in _DROPPED and kind != "text":
            self._reading.count(f"block {one_line(kind, 60)}")

    def _outcome(self, block: Record, at: str, name: str) -> None:
        """Add the outcome of a call under it."""
        session = self._session
        call = string(block.get("toolUseID")) or string(block.get("tool_use_id"))
        session.ended(call, at)
        run = mapping(block.get("run")) or block
        status, error = string(run.get("status")), run.get("error")
        result = mapping(run.get("result"))
        code = result.get("exitCode")
        if status in _REFUSALS or status.startswith("rejected"):
            session.tool_note(call, "rejected by the user", at, name)
        elif status == "error" or block.get("is_error") is True:
            text = string(mapping(error).get("message")) or string(error)
            text = text or string(run.get("result")) or string(run.get("output"))
            _, refused, said = text.partition(_FEEDBACK)
            if refused:
                session.tool_note(call, "rejected by the user", at, name)
                session.prompt(said, at, f"{name} feedback {call}")
            else:
                session.tool_error(call, text or string(block.get("content")) or "error", at, name)
        elif type(code) is int and code:
            session.tool_error(call, f"Exit code {code}\n{string(result.get('output'))}", at, name)
        elif (started := string(result.get("threadID"))).startswith("T-"):
            session.tool_note(call, f"→ amp__{one_line(started, 100)}", at, name)


def _origin(thread: Record) -> str:
    """Return the thread that this one was forked or handed over from, or ""."""
    for entry in sequence(thread.get("relationships")):
        relation = mapping(entry)
        if relation.get("type") in ("fork", "handoff") and relation.get("role") in (None, "parent", "child"):
            return string(relation.get("threadID"))
    for message in sequence(thread.get("messages")):
        if mapping(message).get("role") == "user":  # the first: another thread's agent may have started this one
            sender = string(mapping(mapping(message).get("meta")).get(_SENDERS[0]))
            return string(thread.get("originThreadID")) or sender
    return string(thread.get("originThreadID"))
