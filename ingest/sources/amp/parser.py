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
from ingest.pipeline.units import path_name
from ingest.session.builder import SessionBuilder
from ingest.session.events import TEAMMATE
from ingest.session.user_text import cut_blocks
from ingest.session.values import blocks, mapping, moment, string, vocabulary

if TYPE_CHECKING:
    from ingest.raw.store import RawStore

NAME = "amp"
FOREIGN = "not an Amp thread"


_THREAD = vocabulary(
    """
    v id created title messages env meta agentMode mainThreadID originThreadID relationships queuedMessages draft
    nextMessageId activatedSkills usageLedger creatorUserID updatedAt archived labels maxTokens pendingNavigation
    autoSubmitDraft summaryStats diffStats visibility debug ~debug forkedFromThreadID reasoningEffort
    """
)
_MESSAGE = vocabulary(
    """
    role messageId content state usage meta userState agentMode id dtwMessageID timestamp parentToolUseId
    parentToolUseID fileMentions discoveredGuidanceFiles turnElapsedMs readAt compactedHistoryMessageIndices
    originalToolUseInput createdAt updatedAt hidden
    """
)
_ASIDES = ("attached-files", "system-reminder", "user-state", "environment", "attachedFiles")
_DROPPED = vocabulary("image redacted_thinking manual_bash_invocation_result summary_marker")
_REFUSED = ("rejected-by-user", "cancelled", "cancelled:user")
# Other senders of a user's message (``meta``): another thread's agent, a rule, the manager of agents.
_SENDERS = ("fromExecutorThreadID", "fromAutomation", "fromAggman")
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
    unit = one_line(string(thread.get("id")), 4000) or path_name(basename(reading.path).removesuffix(".json"))
    for field in sorted(thread.keys() - _THREAD):
        reading.count(f"thread: field {one_line(field, 60)}", 0, thread[field])
    session = SessionBuilder(unit, NAME)
    session.extend_to(moment(thread.get("created")))
    session.title = string(thread.get("title"))
    session.parent = one_line(string(thread.get("mainThreadID")), 500)
    session.forked_from = one_line(_origin(thread), 500)
    mode = string(thread.get("agentMode"))
    if mode:
        session.extra["mode"] = one_line(mode, 40)
    initial = mapping(mapping(thread.get("env")).get("initial"))
    session.version = string(mapping(initial.get("platform")).get("clientVersion"))
    trees = initial.get("trees")
    tree = mapping(trees[0]) if type(trees) is list and trees else {}
    uri = string(tree.get("uri"))
    session.cwd = unquote(uri.removeprefix("file://")) if uri.startswith("file:///") else ""
    session.cwd = session.cwd or string(initial.get("workingDirectory"))
    session.branch = string(mapping(tree.get("repository")).get("ref")).removeprefix("refs/heads/")
    for number, message in enumerate(messages):
        try:
            _message(session, reading, mapping(message), f"m{number}")
        except BROKEN as error:
            reading.broken(error)
    session.records = len(messages)
    queued = thread.get("queuedMessages")
    for number, entry in enumerate(queued if type(queued) is list else ()):
        try:
            message = mapping(mapping(entry).get("queuedMessage")) or mapping(entry)
            # A name of its own: its place in the queue will be another prompt's.
            name = one_line(string(message.get("dtwMessageID")) or string(mapping(entry).get("id")), 200)
            _message(session, reading, {"role": "user", **message}, name or f"q{number}")
        except BROKEN as error:
            reading.broken(error)
    reading.parts[unit] = session


def _origin(thread: dict[str, Any]) -> str:
    """Return the thread that this one was forked or handed over from, or ""."""
    for entry in thread.get("relationships") or ():
        relation = mapping(entry)
        if relation.get("type") in ("fork", "handoff") and relation.get("role") in (None, "parent", "child"):
            return string(relation.get("threadID"))
    for message in thread.get("messages") or ():
        if mapping(message).get("role") == "user":  # the first: another thread's agent may have started this one
            sender = string(mapping(mapping(message).get("meta")).get(_SENDERS[0]))
            return string(thread.get("originThreadID")) or sender
    return string(thread.get("originThreadID"))


def _message(session: SessionBuilder, reading: Reading, message: dict[str, Any], name: str) -> None:
    is_inner = bool(string(message.get("parentToolUseId")) or string(message.get("parentToolUseID")))
    for field in sorted(message.keys() - _MESSAGE):
        reading.count(f"message: field {one_line(field, 60)}", 0, message[field])
    role, usage = message.get("role"), mapping(message.get("usage"))
    meta = mapping(message.get("meta"))
    at = moment(meta.get("sentAt")) or moment(usage.get("timestamp"))
    at = at or moment(message.get("timestamp")) or moment(message.get("createdAt"))
    session.extend_to(at)
    session.uuids.add(name)
    model, tokens = string(usage.get("model")), usage.get("outputTokens")
    if model:
        session.models.add(model)
    if type(tokens) is int and tokens:
        session.tokens[name] = tokens
    if role not in ("user", "assistant", "info"):
        reading.count(f"message role {one_line(str(role), 60)}")
    said: list[str] = []
    for block in blocks(message.get("content")):
        kind = string(block.get("type"))
        if kind in ("text", "thinking") and (is_inner or block.get("hidden") is True):
            continue  # a subagent's words or task; Amp's additions for the model alone
        if kind == "text" and role == "user":
            said.append(extract_user_text(string(block.get("text"))))
        elif kind == "text" and role != "info":
            add = session.commentary if meta.get("openAIResponsePhase") == "commentary" else session.reply
            add(string(block.get("text")), at, name)
        elif kind == "thinking":
            session.thought(string(block.get("thinking")), at, name)
        elif kind in ("tool_use", "server_tool_use"):
            session.tool_call(string(block.get("name")), block.get("input"), at, name, call_id=string(block.get("id")))
        elif kind == "tool_result":
            _outcome(session, block, at, name)
        elif kind == "summary":
            inner = block.get("summary")
            session.summary(string(mapping(inner).get("summary")) or string(inner), at, name)
        elif kind == "manual_bash_invocation":
            command = clean(string(mapping(block.get("args")).get("cmd"))).strip()
            if command:
                session.command(f"! {command}", at, name)
        elif kind not in _DROPPED and kind != "text":
            reading.count(f"block {one_line(kind, 60)}")
    typed = "\n\n".join(text for text in said if text)
    if not any(meta.get(sender) for sender in _SENDERS):
        session.prompt(typed, at, name)
    elif typed:
        session.put(TEAMMATE, typed, at, name)
    if mapping(message.get("state")).get("type") == "cancelled":
        session.interrupt(at, f"{name} cancelled")


def _outcome(session: SessionBuilder, block: dict[str, Any], at: str, name: str) -> None:
    call = string(block.get("toolUseID")) or string(block.get("tool_use_id"))
    run = mapping(block.get("run")) or block
    status, result, error = string(run.get("status")), run.get("result"), run.get("error")
    if status in _REFUSED or status.startswith("rejected"):
        session.tool_note(call, "rejected by the user", at, name)
    elif status == "error" or block.get("is_error") is True:
        text = string(mapping(error).get("message")) or string(error) or string(result) or string(run.get("output"))
        _, refused, said = text.partition(_FEEDBACK)
        if refused:
            session.tool_note(call, "rejected by the user", at, name)
            session.prompt(said, at, f"{name} feedback {call}")
            return
        session.tool_error(call, text or string(block.get("content")) or "error", at, name)
    elif type(mapping(result).get("exitCode")) is int and mapping(result)["exitCode"]:
        code = mapping(result)["exitCode"]
        session.tool_error(call, f"Exit code {code}\n{string(mapping(result).get('output'))}", at, name)
    elif string(mapping(result).get("threadID")).startswith("T-"):
        session.tool_note(call, f"→ amp__{one_line(mapping(result)['threadID'], 100)}", at, name)


def extract_user_text(text: str) -> str:
    """Return the words that a person typed of a user's text."""
    return cut_blocks(clean(text), _ASIDES).strip()
