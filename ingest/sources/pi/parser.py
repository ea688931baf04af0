"""Transcripts of Pi's family (Pi, OpenClaw) → sessions: a header, then entries that name their parents.

Versions 1 (no ids) to 4; layouts: the vendors' session-manager.ts and its documentation. A file holds every branch of
its tree. All branches are kept, in the order of the file, with a note where the person went back.

Both tools write one format, and a folder may hold files of either: ``is_others`` decides which tool reads a file. The
default places are ``~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl`` (Pi's documentation) and
``~/.openclaw/agents/<agent>/sessions/<id>.jsonl`` (https://docs.openclaw.ai/concepts/session).
"""

from __future__ import annotations

import re
from itertools import pairwise
from os.path import abspath, basename, expanduser, join
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest import registry
from ingest.pipeline.reading import BROKEN, Reading, journal
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.values import blocks, mapping, moment, plain, string
from ingest.sources.detection import PI as PI_FAMILY
from ingest.sources.detection import detect_tool
from ingest.sources.pi.user_text import KNOWN, extract_user_text

if TYPE_CHECKING:
    from ingest.raw.store import RawStore
    from ingest.session.user_text import UserText

FOREIGN = "not a Pi transcript"
PI, OPENCLAW = "pi", "openclaw"
OTHERS = {
    PI: "a transcript of OpenClaw's: --source openclaw reads it",
    OPENCLAW: "a transcript of Pi's: --source pi reads it",
}

_ENTRIES = KNOWN.words("entries") | KNOWN.words("dropped_entries")
_FIELDS, _ROLES, _BLOCKS = KNOWN.fields("fields"), KNOWN.fields("roles"), KNOWN.fields("blocks")
_DROPPED_ROLES, _DROPPED_BLOCKS = KNOWN.words("dropped_roles"), KNOWN.words("dropped_blocks")
_SILENT = ("NO_REPLY", "HEARTBEAT_OK")
# OpenClaw puts this before an answer to a message from a channel.
_DIRECTIVE = re.compile(r"\A\s*(?:\[\[\s*(?:reply_to_current|reply_to:[^\]\n]{1,200}|audio_as_voice)\s*\]\]\s*)+")
# The "models" of OpenClaw's own entries; a mirror is a copy of a delivered answer.
_MIRROR, _MODELS = "delivery-mirror", frozenset(("delivery-mirror", "gateway-injected"))
_OTHER = {PI: OPENCLAW, OPENCLAW: PI}
_FOLDERS = (".openclaw", ".clawdbot", ".moltbot", ".moldbot")
# Other folders have these names, too (/home/pi): each tool's own has one of ``_INNER`` in it.
_COPIES = {"pi": PI, **dict.fromkeys((folder.removeprefix(".") for folder in _FOLDERS), OPENCLAW)}
_INNER = ("agent", "agents", "sessions")
# Tools that only OpenClaw has, as Pi has others (read, bash, edit, write, grep, find, ls).
_TOOLS = frozenset("exec process session_status subagents memory_search memory_get".split())


def read(path: str, raw: RawStore) -> Reading:
    """Read one file. Raises nothing: faults are in the result."""
    return journal(path, raw, lambda reading: TreeFile(reading, Tree(reading, PI, named(path))), FOREIGN)


class TreeFile:
    """A file as its records are added to the tree of its session, unless the file is another tool's."""

    def __init__(self, reading: Reading, tree: Tree) -> None:
        self._reading, self._tree = reading, tree

    def add(self, record: dict[str, Any], line: int) -> None:
        """Add the next entry."""
        self._tree.add(record, line)

    def finish(self) -> None:
        """Add the session to the reading, if there is one of this tool."""
        reading, tree = self._reading, self._tree
        tree.finish()
        if tree.foreign and not tree.is_headed:
            reading.dismiss(tree.foreign)
        if others := OTHERS.get(tree.source):
            for unit in list(reading.parts):
                if is_others(tree.source, reading, unit, tree.written_by):
                    reading.dismiss(others)


class Tree:
    """The entries of one session, in the order of the file.

    ``written_by``: tools that alone write some of the entries. ``foreign``: why the file is another tool's, if an entry
    before the first one of this family shows that; ``is_headed``: the file has this family's header, which no other
    tool writes.
    """

    def __init__(self, reading: Reading, source: str, unit: str) -> None:
        self.source = source
        self.written_by: set[str] = set()
        self.foreign = ""
        self.is_headed = False
        self._reading = reading
        self._session = SessionBuilder(unit, source)
        self._recognised = False
        self._last = ""
        self._line = 0

    @property
    def unit(self) -> str:
        """The session's id, as far as it is known."""
        return self._session.unit

    def add(self, record: dict[str, Any], line: int) -> None:
        """Add the next entry; count it if its shape is unknown."""
        self._line = line
        try:
            self._add(record)
        except BROKEN as error:
            self._reading.broken(error, line)

    def finish(self) -> None:
        """Add the session to the reading, if there is one."""
        session = self._session
        if self._recognised:
            session.unit = session.unit or _stem(self._reading.path)
            self._reading.parts[session.unit] = session

    def repeated_name(self, kind: str, record: dict[str, Any], message: dict[str, Any]) -> str:
        """Return the name that all copies of an entry share, "" if the tool does not repeat entries."""
        del kind, record, message
        return ""

    def user_text(self, text: str, message: dict[str, Any]) -> UserText:
        """Return one text of a user message by author."""
        del message
        return extract_user_text(text)

    def _add(self, record: dict[str, Any]) -> None:
        kind, session = record.get("type"), self._session
        if type(kind) is not str or not kind:
            self._unknown("record without type")
            return
        if not self._recognised and not _is_familys(kind, record):
            self.foreign = self.foreign or detect_tool(record)
            self._unknown(f"record {one_line(kind, 60)}")
            return
        self._recognised = True
        session.records += 1
        message = mapping(record.get("message"))
        if by := _writer(record, message):
            self.written_by.add(by)
        self._check(kind, record, _FIELDS.get(kind))
        entry = one_line(string(record.get("id")), 200)
        at = moment(record.get("timestamp"))
        if kind == "session":
            self.is_headed = self.is_headed or _is_familys(kind, record)
            self._header(record, at)
            return
        if entry:
            if entry in session.uuids:
                session.repeated += 1
                return
            session.uuids.add(entry)
        name = self.repeated_name(kind, record, message) or entry
        if name != entry and name in session.uuids:
            session.repeated += 1  # a copy under another id
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
        elif kind not in _ENTRIES:
            self._unknown(f"record {one_line(kind, 60)}")
        self._last = entry or self._last

    def _header(self, record: dict[str, Any], at: str) -> None:
        session = self._session
        session.unit = one_line(string(record.get("id")), 4000) or session.unit
        session.extend_to(at)
        session.cwd = string(record.get("cwd")) or session.cwd
        version = record.get("version")
        session.version = str(version) if type(version) is int else "1"
        origin = string(record.get("parentSession")) or string(record.get("branchedFrom"))
        if origin:
            session.forked_from = named(origin.replace("\\", "/"))

    def _message(self, message: dict[str, Any], entry: str, parent: str, at: str) -> None:
        role = message.get("role")
        self._check(f"message {role}", message, _ROLES.get(role) if type(role) is str else None)
        if role == "user":
            self._user(message, entry, parent, at)
        elif role == "assistant":
            self._assistant(message, entry, at)
        elif role == "toolResult":
            self._session.ended(string(message.get("toolCallId")), at)
            text = plain(message.get("content")) or string(message.get("content"))
            code = mapping(message.get("details")).get("exitCode")
            if message.get("isError") is not True and type(code) is int and code:
                # OpenClaw's ``exec`` succeeds, whatever the exit code of its command is.
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
        session = self._session
        words: list[str] = []
        for block in blocks(message.get("content")):
            kind = self._kind(block)
            if kind == "text":
                words.append(session.pieces(self.user_text(string(block.get("text")), message), at, entry))
            elif kind not in _DROPPED_BLOCKS:
                self._unknown(f"user block {one_line(str(kind), 60)}")
        said = "\n\n".join(filter(None, words))
        if not said:
            return
        if parent and self._last and parent != self._last and parent in session.uuids:
            session.note("went back to an earlier point of the session", at, f"{entry} back" if entry else "")
        if said.startswith("/") and "\n" not in said and " " not in said and said.count("/") == 1:
            session.command(said, at, entry)
        else:
            session.prompt(said, at, entry)

    def _assistant(self, message: dict[str, Any], entry: str, at: str) -> None:
        session = self._session
        model = string(message.get("model"))
        if model == _MIRROR:
            return
        if model and model not in _MODELS:
            session.models.add(model)
        usage = mapping(message.get("usage"))
        tokens = usage.get("output")
        if type(tokens) is int and tokens:
            session.tokens[entry or at] = tokens
        session.spend(model, tokens, entry or at, usage.get("input"), usage.get("cacheRead"), usage.get("cacheWrite"))
        for block in blocks(message.get("content")):
            kind = self._kind(block)
            if kind == "text":
                text = _DIRECTIVE.sub("", string(block.get("text")))
                if text.strip() not in _SILENT:
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
        self._check(f"block {kind}", block, _BLOCKS.get(kind) if type(kind) is str else None)
        return kind

    def _unknown(self, what: str) -> None:
        self._reading.count(what, self._line)

    def _check(self, what: str, found: dict[str, Any], known: frozenset[str] | None) -> None:
        if known is not None and not found.keys() <= known:
            self._reading.count_fields(what, found, known, self._line)


def _is_familys(kind: str, record: dict[str, Any]) -> bool:
    if kind == "session":
        return ("timestamp" in record or "cwd" in record) and detect_tool(record) in ("", PI_FAMILY)
    return kind == "message" and type(mapping(record.get("message")).get("role")) is str


def _stem(path: str) -> str:
    return path_name(basename(path).partition(".jsonl")[0])


def named(path: str) -> str:
    """Return the session's id in a file's name, or ""."""
    return _stem(path).rpartition("_")[2] if "_" in basename(path) else ""


# Pi or OpenClaw


def is_others(name: str, reading: Reading, unit: str, written_by: set[str]) -> bool:
    """Return True if the other tool of the family reads a transcript, not the tool ``name``."""
    path, raw = reading.path, reading.raw
    found = _owner(path, raw, unit, written_by)
    if found and not raw.alone_has(path, _OTHER[name]):
        return found != name
    return raw.is_of(_OTHER[name], path, unit)


def _owner(path: str, raw: RawStore, unit: str, written_by: set[str]) -> str:
    """Return the tool of a file, "" if nothing shows it.

    Places that a tool's variables and settings name count first, then names of folders that one tool has. Entries that
    one tool writes follow, then folders of collections.yml. Other names of folders, and the file's name, count last.
    """
    if owner := _innermost(path, {name: registry.source(name).places() for name in _OTHER}):
        return owner
    *folders, name = _parts(path)
    if any(len(folder) > 4 and folder.startswith("--") and folder.endswith("--") for folder in folders):
        return PI
    if any(folder.startswith(_FOLDERS) for folder in folders):
        return OPENCLAW
    if ".pi" in folders:
        return PI
    stem, _, rest = name.partition(".jsonl")
    if rest:  # archived, or copied by a repair
        return OPENCLAW
    if written_by:
        return OPENCLAW if OPENCLAW in written_by else PI
    if owner := _innermost(path, {name: raw.configured(name) for name in _OTHER}):
        return owner
    around = folders[:-1] if folders[-1:] == ["cold"] else folders
    if around[-1:] == ["sessions"] and around[-3:-2] == ["agents"]:
        return OPENCLAW
    if stem == unit or stem.startswith(f"{unit}-topic-"):
        return OPENCLAW
    if stem.endswith(f"_{unit}") and stem[:4].isdigit():
        return PI
    # Whoever copies ~/.openclaw often leaves the dot out.
    pairs = list(pairwise(folders))
    return next((_COPIES[outer] for outer, inner in reversed(pairs) if outer in _COPIES and inner in _INNER), "")


def _innermost(path: str, folders: dict[str, list[str]]) -> str:
    """Return the tool that has the innermost folder around a file, "" if both tools or none have it.

    A folder that holds all of the home folder does not count.
    """
    path, home = abspath(path), join(expanduser("~"), "")
    depths = {
        name: max((len(each) for each in given if _holds(each, path) and not _holds(each, home)), default=0)
        for name, given in folders.items()
    }
    (least, _), (most, name) = sorted((depth, name) for name, depth in depths.items())
    return name if least < most else ""


def _writer(record: dict[str, Any], message: dict[str, Any]) -> str:
    """Return the tool that alone writes such an entry, or ""."""
    custom = string(record.get("customType"))
    if custom == "model-snapshot" or custom.startswith(("openclaw.", "openclaw:")):
        return OPENCLAW
    if record.get("type") == "session":
        return OPENCLAW if any(part.startswith(_FOLDERS) for part in _parts(string(record.get("cwd")))) else ""
    if message.get("role") == "bashExecution":
        return PI
    if message.get("model") in _MODELS or message.get("provider") == OPENCLAW:
        return OPENCLAW
    content = message.get("content")
    for block in content if type(content) is list else ():
        name = string(block.get("name")) if type(block) is dict and block.get("type") == "toolCall" else ""
        if name in _TOOLS or name.startswith("sessions_"):
            return OPENCLAW
    return ""


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(join(folder, ""))


def _parts(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")
