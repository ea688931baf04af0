"""JetBrains AI Assistant's chats in the file of a workspace, and the journals of its agents' tasks.

A workspace has the component ``ChatSessionStateTemp`` with beans ``SerializedChat {uid, title, chatModelId,
modifiedAt, statisticInformation, messages}``. A message has an ``author`` (``Assistant``; absent for the person) and
``displayContent``. The file is named after the project's workspace; ``options/recentProjects.xml`` has the project's
folder. A chat with an agent (``chatModelId: agent_…``) has only prompts there. Its task is
``aia-task-history/<uid>.events``: a line ``AUI_EVENTS_V1``, then a JSON object a line, as base64:
``ChatSessionUserPromptEvent {prompt}``, or ``ChatSessionMessageBlockEvent {event}`` with a block in Junie's form, whose
text comes in pieces (``textChunk``). Nothing has a time but a chat's start and its last change.

The archive has neither the workspace, which is the editor's, nor base64: a line of JSON a chat, or an event.

The client is not open source: the shapes are those of vshulcz/deja-vu (docs/harnesses/jetbrains.md, checked against
AI Assistant 2025.1 to 2026.2), sfinktah's exporter of chats, and marmutapp/superbased-observer.
"""

from __future__ import annotations

import base64
import json
import os
from os.path import basename, dirname, exists, join
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from core.document import Failure
from core.files import open_regular
from core.redaction import clean_record
from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, Reading, whole
from ingest.raw import records
from ingest.session.session import SessionBuilder
from ingest.session.units import path_name
from ingest.session.user_text import UserText, cut_blocks, prompt
from ingest.session.values import Vocabulary, mapping, moment, sequence, string
from ingest.sources.junie.parser import Blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.raw.store import RawStore

    Record = dict[str, Any]

NAME = "jetbrains"
NO_CHATS = "no chats of AI Assistant in this workspace"
FOREIGN = "not a task of AI Assistant's"
KNOWN = Vocabulary(__file__)

_ASIDES = KNOWN.texts("asides")
_COMPONENT, _END = b'<component name="ChatSessionStateTemp">', b"</component>"
_HEADER = b"AUI_EVENTS_V1"
_PROJECTS = "options/recentProjects.xml"
_MOST_PROJECTS = 4 << 20
# Beans within beans; a chat has four.
_DEEPEST = 20
_PROMPT, _BLOCK = "ChatSessionUserPromptEvent", "ChatSessionMessageBlockEvent"


def read_workspace(path: str, raw: RawStore) -> Reading:
    """Read the chats of one workspace. Faults are recorded in the result."""

    def take(data: bytes, reading: Reading) -> bytes:
        return _take(_chats(data, reading), reading, _chat)

    return whole(path, raw, take, NO_CHATS, as_bytes=True)


def read_task(path: str, raw: RawStore) -> Reading:
    """Read one task of an agent. Faults are recorded in the result."""

    def take(data: bytes, reading: Reading) -> bytes:
        task = _Task(reading)
        held = _take(_events(data, reading), reading, task.add)
        task.finish()
        return held

    return whole(path, raw, take, FOREIGN, as_bytes=True)


def unit_of(line: bytes) -> str:
    """Return the unit of a chat as the archive has it, "" if it is damaged."""
    try:
        return _unit(mapping(json.loads(line)))
    except (ValueError, RecursionError):
        return ""


def extract_user_text(text: str) -> UserText:
    """Return a person's words without the snippets and logs that the editor adds."""
    return prompt(cut_blocks(clean(text), _ASIDES).strip())


def _take(found: Iterator[Record], reading: Reading, add: Any) -> bytes:
    """Call ``add(record, line number)`` for each record without its secrets; return those that it took, as lines."""
    held: list[bytes] = []
    for number, record in enumerate(found):
        try:
            line = json.dumps(record, separators=(",", ":")).encode()
            cleaned = clean_record(line, record, reading.redacted)
            if add(cleaned, reading, number + 1):
                held.append(json.dumps(cleaned, separators=(",", ":")).encode() + b"\n")
        except BROKEN as error:
            reading.broken(error, number + 1)
    return b"".join(held)


def _lines(data: bytes, reading: Reading) -> Iterator[Record]:
    """Yield the records of a file as the archive has it."""
    for number, line in enumerate(filter(bytes.strip, data.split(b"\n"))):
        try:
            yield mapping(json.loads(line))
        except (ValueError, RecursionError) as error:
            reading.fail(Failure(reading.path, records.MALFORMED, str(error), number + 1))


def _chats(data: bytes, reading: Reading) -> Iterator[Record]:
    """Yield the chats in a workspace as plain values, with the project's folder as ``folder``."""
    if data.startswith(b"{"):
        yield from _lines(data, reading)
        return
    start = data.find(_COMPONENT)
    if start < 0:
        if records.is_binary(data):
            reading.failed = Failure(reading.path, records.BINARY)
        return
    # Only the component is parsed: it can declare no entities, and the rest is the editor's own.
    end = data.find(_END, start)
    text = data[start : end + len(_END)] if end > 0 else b""
    if not records.is_utf8(text):
        reading.recovered[records.REPLACED] = 1
    try:
        component = ET.fromstring(text.decode("utf-8", "replace"))  # noqa: S314  # an element declares no entities
    except (ET.ParseError, ValueError, RecursionError) as error:
        reading.failed = Failure(reading.path, records.MALFORMED_DOCUMENT, str(error) or "no end of the chats")
        return
    folder = _folder(reading)
    tasks = join(dirname(dirname(reading.path)), "aia-task-history")
    for element in component.iter("SerializedChat"):
        chat = _bean(element)
        is_task = string(chat.get("chatModelId")).startswith("agent_")
        if is_task and exists(join(tasks, f"{path_name(_unit(chat))}.events")):
            continue  # its journal has the prompts as well
        yield {**chat, "folder": folder}


def _bean(element: ET.Element, depth: int = 0) -> Record:
    """Return the options of a bean by name: texts, beans, lists of beans."""
    found: Record = {}
    if depth > _DEEPEST:
        return found
    for option in element.iterfind("option"):
        name, value = option.get("name"), option.get("value")
        inner = next(iter(option), None)
        if name is None:
            continue
        if value is not None:
            found[name] = value
        elif inner is not None and inner.tag in ("list", "set", "array"):
            found[name] = [_bean(each, depth + 1) for each in inner]
        elif inner is not None:
            found[name] = _bean(inner, depth + 1)
    return found


def _folder(reading: Reading) -> str:
    """Return the folder of a workspace's project, "" if the editor no longer knows it."""
    path = reading.path
    try:
        with open_regular(join(dirname(dirname(path)), _PROJECTS)) as stream:
            data = stream.read(_MOST_PROJECTS)
        # As above: what comes before the component is not parsed.
        start, end = data.find(b"<component "), data.rfind(_END)
        text = data[start : end + len(_END)].decode("utf-8", "replace")
        component = ET.fromstring(text)  # noqa: S314  # an element declares no entities
    except (OSError, ET.ParseError, ValueError, RecursionError):
        return ""
    workspace = basename(path).removesuffix(".xml")
    for entry in component.iter("entry"):
        if any(each.get("projectWorkspaceId") == workspace for each in entry.iter("RecentProjectMetaInfo")):
            return string(entry.get("key")).replace("$USER_HOME$", os.path.expanduser("~"))
    return ""


def _unit(chat: Record) -> str:
    return one_line(_word(chat.get("uid")), 4000)


def _word(value: Any) -> str:
    """Return a text, or the first text of a bean that holds one alone."""
    return string(value) or next(filter(None, map(string, mapping(value).values())), "")


def _chat(chat: Record, reading: Reading, line: int) -> bool:
    unit = _unit(chat)
    if not unit:
        reading.count("chat without uid", line, chat)
        return False
    session = SessionBuilder(unit, NAME)
    session.cwd = string(chat.get("folder"))
    session.machine_title = _word(chat.get("title"))
    model = string(chat.get("chatModelId"))
    session.usage("" if model.startswith("agent_") else model)
    begun = moment(_number(mapping(chat.get("statisticInformation")).get("timestamp")))
    session.extend_to(begun)
    for number, message in enumerate(map(mapping, sequence(chat.get("messages")))):
        name, author = f"m{number}", string(message.get("author")) or "User"
        text = string(message.get("displayContent")) or string(message.get("internalContent"))
        session.uuids.add(name)
        if author == "Assistant":
            session.reply(cut_blocks(clean(text), _ASIDES).strip(), begun, name)
        elif author == "User":
            session.prompt(extract_user_text(text).typed, begun, name)
        else:
            reading.count(f"author {one_line(author, 60)}", line)
    session.extend_to(moment(_number(_word(chat.get("modifiedAt")))))
    session.records = len(session.uuids)
    reading.parts[unit] = session
    return True


def _number(value: Any) -> Any:
    """Return a number that XML has as a text."""
    return int(value) if type(value) is str and value.isascii() and value.isdigit() and len(value) < 20 else value


def _events(data: bytes, reading: Reading) -> Iterator[Record]:
    """Yield the events of a task."""
    if not data.startswith(_HEADER):
        if data.startswith(b"{"):
            yield from _lines(data, reading)
        elif records.is_binary(data):
            reading.failed = Failure(reading.path, records.BINARY)
        return
    lines = data.split(b"\n")
    for number, line in enumerate(lines[1:]):
        if not line.strip(b"\0\r "):
            continue
        try:
            value = json.loads(base64.b64decode(line, validate=False))
        except (ValueError, RecursionError) as error:
            # A last line without its end is still being written.
            if number + 2 < len(lines):
                reading.fail(Failure(reading.path, records.MALFORMED, str(error), number + 2))
            continue
        yield mapping(value)


class _Task:
    """One task as its events are added, in order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._session = SessionBuilder(path_name(basename(reading.path).removesuffix(".events")), NAME)
        self._blocks = Blocks(self._session, reading)

    def add(self, event: Record, reading: Reading, line: int) -> bool:
        """Add one event; return True if it is one."""
        kind = string(event.get("type")).rpartition(".")[2]
        if not kind:
            reading.count("event without type", line, event)
            return False
        name = f"m{len(self._session.uuids)}"
        self._session.uuids.add(name)
        if kind == _PROMPT:
            self._blocks.say(event, name, "")
        elif kind == _BLOCK:
            self._blocks.add(mapping(event.get("event")), name, "", line)
        else:
            reading.count(f"event {one_line(kind, 60)}", line, event)
        return True

    def finish(self) -> None:
        """Put the session into the reading, if there is one."""
        session = self._session
        if session.uuids:
            self._blocks.finish(self._prompt)
            session.records = len(session.uuids)
            self._reading.parts[session.unit] = session

    def _prompt(self, event: Record, name: str, at: str) -> None:
        self._session.prompt(extract_user_text(string(event.get("prompt"))).typed, at, name)
