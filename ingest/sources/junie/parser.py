"""Junie's journals: ``<id>/events.jsonl``, described by ``summary.json``.

An event is ``{kind, timestampMs}`` with the fields of its kind. ``UserPromptEvent`` has what was typed
(``presentablePrompt``) and what the model is sent (``prompt``); messages may be taken out of the history later. What
the agent does are blocks in ``SessionA2uxEvent``, ``event.agentEvent``: each has a ``stepId``, and is written again
whenever more of it is known, until its ``status`` is ``COMPLETED`` or ``FAILED``.

The client is not open source: the shapes are those of kenn-io/agentsview, marmutapp/superbased-observer and ctxrs/ctx,
with the captures of 2026 that they test against.
"""

from __future__ import annotations

from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources.companions import companion

if TYPE_CHECKING:
    from collections.abc import Callable

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "junie"
FOREIGN = "not a session of Junie's"
ABOUT = "summary.json"
KNOWN = Vocabulary(__file__)

_DROPPED, _BLOCKS, _DROPPED_BLOCKS = KNOWN.words("dropped"), KNOWN.words("blocks"), KNOWN.words("dropped blocks")
_ENDS = ("COMPLETED", "FAILED")
_ANSWER = "<!-- ANSWER -->"
_INPUT = ("inputTokens", "cacheInputTokens", "cacheCreateTokens")
# The keys that name the file of a change.
_PATHS = ("afterRelativePath", "beforeRelativePath", "relativePath", "path")


def read(path: str, raw: RawStore) -> Reading:
    """Read one session. Faults are recorded in the result."""
    return journal(path, raw, _Journal, FOREIGN)


def extract_user_text(text: str) -> UserText:
    """Return a person's words: an event has them alone."""
    return prompt(clean(text).strip())


class _Journal:
    """One session as its events are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder(path_name(basename(dirname(reading.path))), NAME)
        self._blocks = Blocks(self._session, reading)
        self._gone: set[str] = set()

    def add(self, event: Record, line: int) -> None:
        """Add one event."""
        kind = _short(event.get("kind"))
        if not kind:
            self._reading.count("record without kind", line, event)
            return
        name, at = f"m{len(self._session.uuids)}", moment(event.get("timestampMs"))
        self._session.uuids.add(name)
        self._session.extend_to(at)
        if kind == "SessionA2uxEvent":
            self._agent(mapping(mapping(event.get("event")).get("agentEvent")), name, at, line)
        elif kind in ("UserPromptEvent", "UserAsyncResponseEvent", "UserResponseEvent", "SystemMessageEvent"):
            self._blocks.say(event, name, at)
        elif kind in ("UserMessagesDroppedFromHistory", "UserMessagesFailedInHistory"):
            self._gone.update(filter(None, map(string, sequence(event.get("userMessageIds")))))
        elif kind == "UserMessagesCommittedToHistory":
            self._gone.difference_update(map(string, sequence(event.get("userMessageIds"))))
        elif kind == "SessionTitleSetEvent":
            self._session.title = string(event.get("name"))
        elif kind not in _DROPPED:
            self._reading.count(f"event {one_line(kind, 60)}", line, event)

    def finish(self) -> None:
        """Put the session into the reading, if there is one, with what the file next to it says."""
        session, reading = self._session, self._reading
        self._blocks.finish(self._message)
        if session.uuids:
            later: list[Callable[[], None]] = []
            about = companion(join(dirname(reading.path), ABOUT), reading.raw, later)
            session.cwd = string(about.get("projectDir")) or session.cwd
            session.machine_title = session.machine_title or string(about.get("taskName"))
            session.records = len(session.uuids)
            reading.parts[session.unit] = session
            reading.raw.keep_with(reading, later)

    def _agent(self, given: Record, name: str, at: str, line: int) -> None:
        session, kind = self._session, _short(given.get("kind"))
        if kind == "LlmResponseMetadataEvent":
            for number, used in enumerate(map(mapping, sequence(given.get("modelUsage")))):
                sent = [used.get(key) for key in _INPUT]
                session.usage(used.get("model"), used.get("outputTokens"), f"{name} {number}", sent)
        elif kind == "CurrentDirectoryUpdatedEvent":
            session.cwd = session.cwd or string(given.get("currentDirectory"))
        elif kind == "AgentTaskNameUpdatedEvent":
            session.machine_title = string(given.get("taskName")) or string(given.get("name"))
        else:
            self._blocks.add(given, name, at, line)

    def _message(self, event: Record, name: str, at: str) -> None:
        session, kind = self._session, _short(event.get("kind"))
        if string(event.get("requestId")) in self._gone:
            return
        if kind == "SystemMessageEvent":
            session.note(string(event.get("text")), at, name)
        elif kind == "UserPromptEvent":
            typed = string(event.get("presentablePrompt")) or string(event.get("prompt"))
            session.prompt(extract_user_text(typed).typed, at, name)
        else:
            answers = [string(mapping(each).get("answer")) for each in sequence(event.get("entries"))]
            session.prompt("\n\n".join(filter(None, [*answers, string(event.get("text"))])), at, name)


class Blocks:
    """What an agent does, as blocks that are written again whenever more of them is known."""

    def __init__(self, session: SessionBuilder, reading: Reading) -> None:
        self._session, self._reading = session, reading
        # What is said, in the order in which it began: an event, or the step of a block, whose fields grow; its record
        # and time.
        self._said: list[tuple[Record | str, str, str]] = []
        self._blocks: dict[str, Record] = {}
        # Step → the pieces in which its text came; joined in the end, since adding to a text copies it.
        self._pieces: dict[str, list[str]] = {}

    def say(self, event: Record, name: str, at: str) -> None:
        """Add an event that is no block after the blocks so far."""
        self._said.append((event, name, at))

    def add(self, given: Record, name: str, at: str, line: int) -> None:
        """Add the state of a block, or count another event of the agent's."""
        kind = _short(given.get("kind"))
        if kind not in _BLOCKS:
            if kind not in _DROPPED_BLOCKS:
                self._reading.count(f"agent event {one_line(kind, 60)}", line, given)
            return
        step = f"{kind == 'AgentThoughtBlockUpdatedEvent'} {string(given.get('stepId')) or name}"
        if step not in self._blocks:
            self._blocks[step], self._pieces[step] = {}, []
            self._said.append((step, name, at))
        block, pieces = self._blocks[step], self._pieces[step]
        # A block that has ended is sent again as it was, or without an end.
        if block.get("status") not in _ENDS or given.get("status") in _ENDS:
            if piece := string(given.get("textChunk")):
                pieces.append(piece)
            elif given.get("text") is not None:
                pieces.clear()
            block.update({key: value for key, value in given.items() if value is not None}, kind=kind)

    def finish(self, add: Callable[[Record, str, str], None]) -> None:
        """Add all that was said to the session: ``add`` adds an event that is no block."""
        for said, name, at in self._said:
            try:
                if isinstance(said, str):
                    self._block(said, name, at)
                else:
                    add(said, name, at)
            except BROKEN as error:
                self._reading.broken(error)

    def _block(self, step: str, name: str, at: str) -> None:
        """Add a block as it was in the end."""
        session, block = self._session, self._blocks[step]
        kind, text = block["kind"], string(block.get("text")) + "".join(self._pieces[step])
        if kind == "AgentThoughtBlockUpdatedEvent":
            session.thought(text, at, name)
        elif kind == "MarkdownBlockUpdatedEvent":
            session.reply(text, at, name)
        elif kind == "ResultBlockUpdatedEvent":
            session.reply(string(block.get("result")).removeprefix(_ANSWER), at, name)
        elif kind == "FileChangesBlockUpdatedEvent":
            for change in map(mapping, sequence(block.get("changes"))):
                path = next((change[key] for key in _PATHS if type(change.get(key)) is str), "")
                session.tool_call("edit", {"path": path}, at, name)
        elif kind == "ViewFilesBlockUpdatedEvent":
            for file in map(mapping, sequence(block.get("files"))):
                session.tool_call("view", {"path": file.get("relativePath") or file.get("path")}, at, name)
        else:
            tool, shown = _called(kind, block, text)
            session.tool_call(tool, shown, at, name, call_id=name)
            if block.get("status") == "FAILED":
                error = string(block.get("output")) or string(block.get("details")) or "failed"
                session.tool_error(name, error, at, name)


def _called(kind: str, block: Record, text: str) -> tuple[str, Record]:
    """Return the tool and the arguments of a block that is a call."""
    if kind == "TerminalBlockUpdatedEvent":
        return "terminal", {"command": string(block.get("command"))}
    if kind == "CustomAgentBlockUpdatedEvent":
        return "agent", {"name": string(block.get("name"))}
    return string(block.get("toolName")) or "tool", {"action": text or string(block.get("toolCall"))}


def _short(kind: Any) -> str:
    """Return the name of a kind without its package, which earlier versions write."""
    return string(kind).rpartition(".")[2]
