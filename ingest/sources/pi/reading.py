"""Transcripts of Pi's family (Pi, OpenClaw) → sessions: a header, then entries that name their parents.

Versions 1 (no ids) to 4. A file holds every branch of its tree: all of them are kept, in the order in which they were
said, with a line where the person went back. Layouts: the vendors' session-manager.ts and its documentation.
"""

from __future__ import annotations

import re
from os.path import basename
from typing import Any

from core.document import Failure
from core.text import clean, one_line
from ingest.pipeline import owners
from ingest.pipeline.reading import BROKEN, Reading, lines
from ingest.pipeline.units import path_name
from ingest.raw import records
from ingest.raw.store import RawStore
from ingest.session.builder import SessionBuilder
from ingest.session.events import TEAMMATE
from ingest.session.values import blocks, mapping, moment, plain, string, vocabulary
from ingest.sources.openclaw import repeats as openclaw_again
from ingest.sources.pi import human, owner

NAME = "pi"
FOREIGN = "not a Pi transcript"


ENTRIES = vocabulary("session message model_change compaction branch_summary session_info")
# Settings, labels and an extension's own state; what was put into the context for the model alone.
DROPPED = vocabulary(
    """
    thinking_level_change custom custom_message label usage context_edit context_transform ephemeral leaf reset
    active_tools_change reasoning_change
    """
)
_COMMON = "type id parentId timestamp appendMode seq"
FIELDS = {
    "session": vocabulary(
        """
        type version id timestamp cwd parentSession branchedFrom provider modelId thinkingLevel systemPrompt tools
        metadata
        """
    ),
    "message": vocabulary(f"{_COMMON} message terminate"),
    "compaction": vocabulary(
        f"{_COMMON} summary firstKeptEntryId firstKeptEntryIndex tokensBefore tokensAfter details usage fromHook"
        " systemMessage retainedTail"
    ),
}
ROLES = {
    "user": vocabulary(
        """
        role content timestamp attachments runtimeContext idempotencyKey metadata id provenance __openclaw MediaPath
        MediaPaths MediaType MediaTypes
        """
    ),
    "assistant": vocabulary(
        """
        role content api provider model responseModel responseId turnId thinkingLevel diagnostics usage stopReason
        rawStopReason endTurn deferred errorMessage errorBody providerReplay timestamp metadata id idempotencyKey runId
        openclawAbort __openclaw
        """
    ),
    "toolResult": vocabulary(
        "role toolCallId toolName content details isError timestamp usage nestedCalls addedToolNames metadata id"
        " idempotencyKey"
    ),
    "bashExecution": vocabulary(
        "role command output exitCode cancelled truncated fullOutputPath excludeFromContext timestamp"
    ),
}
_DROPPED_ROLES = vocabulary("custom hookMessage branchSummary compactionSummary system")
_DROPPED_BLOCKS = vocabulary("image redacted_thinking")
# What else streaming leaves in a call's block is not the call's.
BLOCKS = {
    "text": vocabulary("type text textSignature"),
    "thinking": vocabulary("type thinking thinkingSignature redacted"),
    "toolCall": vocabulary(
        "type id name arguments namespace thoughtSignature partialJson partialArgs index streamIndex"
    ),
}


def read(path: str, raw: RawStore) -> Reading:
    """Read one file. Never raises for what is in it or for its not being readable: see ``Reading.failed``."""
    return lines(path, raw, lambda source, reading: take(source, reading, NAME), FOREIGN)


def take(source: records.Records, reading: Reading, name: str) -> None:
    """Read the records of a file of this family as the source called ``name``."""
    tree = Tree(reading, name, _named(reading.path))
    fill(tree, source, reading)
    tree.finish()
    if tree.elses and not tree.is_headed:
        reading.dismiss(tree.elses)
    for unit in list(reading.parts):
        if owner.is_others(name, reading, unit, tree.written_by):
            reading.dismiss(owner.OTHERS[name])


def fill(tree: Tree, source: records.Records, reading: Reading) -> None:
    """Read the records into a tree."""
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)
        else:
            tree.add(item[1], item[0])


class Tree:
    """One session's entries, in the order in which they were written."""

    def __init__(self, reading: Reading, name: str, unit: str) -> None:
        self._reading = reading
        self._session = SessionBuilder(unit, name)
        self._recognised = False
        self.written_by: set[str] = set()
        """Who alone writes some of the entries: ``pi``, ``openclaw``."""
        self.elses = ""
        """Why the file is none of theirs, where that is told before its first entry."""
        self.is_headed = False
        """Whether the file has the header of theirs, which no other tool writes."""
        self._last = ""
        self._line = 0

    @property
    def unit(self) -> str:
        """The session's id, as far as it is known."""
        return self._session.unit

    def add(self, record: dict[str, Any], line: int) -> None:
        """Take one entry in; a shape that was never seen is a failure of its reading."""
        self._line = line
        try:
            self._add(record)
        except BROKEN as error:
            self._reading.broken(error, line)

    def finish(self) -> None:
        """Hand the session over, where there is one."""
        session = self._session
        if self._recognised:
            session.unit = session.unit or _stem(self._reading.path)
            self._reading.parts[session.unit] = session

    def _add(self, record: dict[str, Any]) -> None:
        kind = record.get("type")
        session = self._session
        if type(kind) is not str or not kind:
            self._unknown("record without type")
            return
        if not self._recognised and not _is_ours(kind, record):
            self.elses = self.elses or owners.whose(record)
            self._unknown(f"record {one_line(kind, 60)}")
            return
        self._recognised = True
        session.records += 1
        message = mapping(record.get("message"))
        if by := owner.of_entry(record, message):
            self.written_by.add(by)
        fields = FIELDS.get(kind)
        if fields is not None and not record.keys() <= fields:
            self._fields(kind, record, fields)
        entry = one_line(string(record.get("id")), 200)
        at = moment(record.get("timestamp"))
        if kind == "session":
            self.is_headed = self.is_headed or _is_ours(kind, record)
            self._header(record, at)
            return
        if entry:
            if entry in session.uuids:
                session.repeated += 1
                return
            session.uuids.add(entry)
        name = self._named(kind, record, message) or entry
        if name != entry and name in session.uuids:
            session.repeated += 1  # it stands here under another id
        elif kind == "message":
            at = at or moment(message.get("timestamp"))
            session.extend_to(at)
            session.uuids.add(name)
            self._message(message, name, string(record.get("parentId")), at)
        elif kind in ("compaction", "branch_summary"):
            session.extend_to(at)
            session.summary(string(record.get("summary")), at, name)
        elif kind == "session_info":
            session.title = string(record.get("name"))
        elif kind not in ENTRIES and kind not in DROPPED:
            self._unknown(f"record {one_line(kind, 60)}")
        self._last = entry or self._last

    def _named(self, kind: str, record: dict[str, Any], message: dict[str, Any]) -> str:
        is_openclaws = self._session.source == owner.OPENCLAW and record.get("id")
        return openclaw_again.name(kind, record, message, human.words) if is_openclaws else ""

    def _header(self, record: dict[str, Any], at: str) -> None:
        session = self._session
        session.unit = one_line(string(record.get("id")), 4000) or session.unit
        session.extend_to(at)
        session.cwd = string(record.get("cwd")) or session.cwd
        version = record.get("version")
        session.version = str(version) if type(version) is int else "1"
        origin = string(record.get("parentSession")) or string(record.get("branchedFrom"))
        if origin:
            session.forked_from = _named(origin.replace("\\", "/"))

    def _message(self, message: dict[str, Any], entry: str, parent: str, at: str) -> None:
        role = message.get("role")
        fields = ROLES.get(role) if type(role) is str else None
        if fields is not None and not message.keys() <= fields:
            self._fields(f"message {role}", message, fields)
        if role == "user":
            self._user(message, entry, parent, at)
        elif role == "assistant":
            self._assistant(message, entry, at)
        elif role == "toolResult":
            text = plain(message.get("content")) or string(message.get("content"))
            code = mapping(message.get("details")).get("exitCode")
            if message.get("isError") is not True and type(code) is int and code:
                # OpenClaw's ``exec`` ends well, whatever the command ended with.
                text = f"Exit code {code}\n{text.rpartition(f'(Command exited with code {code})')[0] or text}"
            elif message.get("isError") is not True:
                return
            self._session.tool_error(string(message.get("toolCallId")), text, at, entry)
        elif role == "bashExecution":
            command = clean(string(message.get("command"))).strip()
            if command:
                self._session.command(f"! {command}", at, entry)
        elif role not in _DROPPED_ROLES:
            self._unknown(f"message role {one_line(str(role), 60)}")

    def _user(self, message: dict[str, Any], entry: str, parent: str, at: str) -> None:
        if message.get("runtimeContext"):
            return
        said = ""
        is_openclaws = self._session.source == owner.OPENCLAW
        for text in self._texts(message.get("content")):
            for kind, words in human.pieces(text, message.get("provenance"), is_openclaws=is_openclaws):
                if kind == TEAMMATE:
                    self._session.put(TEAMMATE, words, at, entry)
                else:
                    said = f"{said}\n\n{words}" if said else words
        if not said:
            return
        if parent and self._last and parent != self._last and parent in self._session.uuids:
            self._session.note("went back to an earlier point of the session", at, f"{entry} back" if entry else "")
        if said.startswith("/") and "\n" not in said and " " not in said and said.count("/") == 1:
            self._session.command(said, at, entry)
        else:
            self._session.prompt(said, at, entry)

    def _texts(self, content: Any) -> list[str]:
        texts: list[str] = []
        for block in blocks(content):
            kind = self._kind(block)
            if kind == "text":
                texts.append(string(block.get("text")))
            elif kind not in _DROPPED_BLOCKS:
                self._unknown(f"user block {one_line(str(kind), 60)}")
        return texts

    def _assistant(self, message: dict[str, Any], entry: str, at: str) -> None:
        session = self._session
        model = message.get("model")
        if model in ("delivery-mirror", "gateway-injected"):
            # OpenClaw's own copy of what it delivered; the answer itself stands before it.
            if model == "delivery-mirror":
                return
        elif type(model) is str and model:
            session.models.add(model)
        tokens = mapping(message.get("usage")).get("output")
        if type(tokens) is int and tokens:
            session.tokens[entry or at] = tokens
        for block in blocks(message.get("content")):
            kind = self._kind(block)
            if kind == "text":
                text = _DIRECTIVE.sub("", string(block.get("text")))
                if text.strip() not in ("NO_REPLY", "HEARTBEAT_OK"):
                    session.reply(text, at, entry)
            elif kind == "thinking":
                session.thought(string(block.get("thinking")), at, entry)
            elif kind == "toolCall":
                name, space = string(block.get("name")), string(block.get("namespace"))
                name = f"{space}.{name}" if space else name
                session.tool_call(name, block.get("arguments"), at, entry, call_id=string(block.get("id")))
            elif kind not in _DROPPED_BLOCKS:
                self._unknown(f"assistant block {one_line(str(kind), 60)}")
        if message.get("stopReason") == "aborted" or mapping(message.get("openclawAbort")).get("aborted") is True:
            session.interrupt(at, f"{entry} aborted" if entry else "")

    def _kind(self, block: dict[str, Any]) -> Any:
        kind = block.get("type")
        fields = BLOCKS.get(kind) if type(kind) is str else None
        if fields is not None and not block.keys() <= fields:
            self._fields(f"block {kind}", block, fields)
        return kind

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, self._line, value)

    def _fields(self, what: str, found: dict[str, Any], fields: frozenset[str]) -> None:
        for name in sorted(found.keys() - fields):
            self._unknown(f"{what}: field {one_line(name, 60)}", found[name])


# What OpenClaw puts before an answer to a message from a channel.
_DIRECTIVE = re.compile(r"\A\s*(?:\[\[\s*(?:reply_to_current|reply_to:[^\]\n]{1,200}|audio_as_voice)\s*\]\]\s*)+")


def _is_ours(kind: str, record: dict[str, Any]) -> bool:
    if kind == "session":
        return "timestamp" in record or "cwd" in record
    return kind == "message" and type(mapping(record.get("message")).get("role")) is str


def _stem(path: str) -> str:
    return path_name(basename(path).partition(".jsonl")[0])


def _named(path: str) -> str:
    """The session's id as a file's name has it, or ""."""
    return _stem(path).rpartition("_")[2] if "_" in basename(path) else ""
