"""Cursor's sessions: two generations of the editor's database, the agent's own database, and agents' transcripts.

Keys and shapes are nobody's promise; they were seen on databases of 2024 to 2026 and in what others wrote of them.
"""

from __future__ import annotations

import json
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from core.document import Failure
from core.text import clean, one_line
from ingest import databases, rawfiles, records
from ingest._cursor_text import message, typed
from ingest._cursor_transcripts import read as read_transcript
from ingest.reading import BROKEN, Reading
from ingest.rows import Names
from ingest.sessions import Session
from ingest.values import mapping, moment, string

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from ingest.rows import Groups, Row, Tables

NAME = "cursor"
_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_COMPOSERS = "composer.composerData"
_PROMPTS = "aiService.prompts"
_ID = 32  # bytes of a blob's name
_HEADS = "select key, value from cursorDiskKV where key >= 'composerData:' and key < 'composerData;' order by key"
_BUBBLES = "select key, value from cursorDiskKV where key >= ? and key < ? order by key"
_ITEMS = "select key, value from ItemTable where key in (?, ?, ?) order by key"
_META = "select key, value from meta order by key"
_BLOBS = "select id, data from blobs order by rowid"


def read(path: str) -> Reading:
    """Read one database or transcript. Never raises for what is in it: see ``Reading.failed``."""
    if path.endswith(databases.SUFFIXES):
        return databases.read(path, _database, _rows)
    return read_transcript(path)


def _database(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading) -> None:
    if "cursordiskkv" in there:
        _composers(connection, reading)
    if "itemtable" in there:
        _workspace(connection, reading)
    if {"blobs", "meta"} <= there.keys():
        _agent(connection, reading)
    if not reading.parts:
        reading.skipped = "no conversation in this database"


def _rows(connection: apsw.Connection, there: dict[str, set[str]]) -> tuple[Tables, Groups]:
    """What of a database the archive keeps."""
    tables: dict[str, tuple[str, ...]] = {}
    if "cursordiskkv" in there:
        tables["cursorDiskKV"] = ("key", "value")
    if "itemtable" in there:
        tables["ItemTable"] = ("key", "value")
    if {"blobs", "meta"} <= there.keys():
        tables |= {"blobs": ("id", "data"), "meta": ("key", "value")}
    return tables, _groups(connection, tables)


def _groups(connection: apsw.Connection, tables: Tables) -> Iterator[tuple[str, list[Row]]]:
    if "cursorDiskKV" in tables:
        for key, value in connection.execute(_HEADS).fetchall():
            name = str(key).partition(":")[2]
            bubbles = connection.execute(_BUBBLES, (f"bubbleId:{name}:", f"bubbleId:{name};"))
            rows = [(key, value), *bubbles]
            yield one_line(name, 4000), [("cursorDiskKV", (row[0], row[1])) for row in rows]
    shared: list[Row] = []
    if "ItemTable" in tables:
        shared += [("ItemTable", tuple(row)) for row in connection.execute(_ITEMS, (_CHATS, _COMPOSERS, _PROMPTS))]
    if "blobs" in tables:
        shared += [("meta", (key, _legible(_unhexed(value)))) for key, value in connection.execute(_META)]
        shared += [("blobs", (str(name), _legible(data))) for name, data in connection.execute(_BLOBS)]
    if shared:
        yield "", shared


def _legible(data: Any) -> Any:
    """A blob that is a message as it is, of any other what it names: nothing else of it is read."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if type(raw) is not bytes or raw.startswith(b"{"):
        return data
    end = 0
    while raw[end : end + 2] == bytes((0x0A, _ID)) and len(raw) >= end + 2 + _ID:
        end += 2 + _ID
    return Names(raw[:end]) if end else None


# The second generation: one row a composer, one a bubble


def _composers(connection: apsw.Connection, reading: Reading) -> None:
    for key, value in connection.execute(_HEADS).fetchall():
        name = str(key).partition(":")[2]
        data = _json(value, reading, str(key))
        if type(data) is dict and name:
            talk = _Composer(reading, name, data, "")
            first, last = f"bubbleId:{name}:", f"bubbleId:{name};"
            bubbles: dict[str, Any] = {}
            for bubble, text in connection.execute(_BUBBLES, (first, last)):
                found = _json(text, reading, str(bubble))
                if type(found) is dict:
                    bubbles[str(bubble)[len(first) :]] = found
            talk.finish(bubbles)


class _Composer:
    """One conversation, of either generation."""

    def __init__(self, reading: Reading, name: str, data: dict[str, Any], folder: str) -> None:
        self._reading = reading
        self._data = data
        self.session = session = Session(one_line(name, 4000), NAME)
        session.title = string(data.get("name"))
        session.seen(moment(data.get("createdAt")))
        place = mapping(mapping(data.get("workspaceIdentifier")).get("uri"))
        session.cwd = string(place.get("fsPath")) or string(place.get("path")) or folder
        model = string(mapping(data.get("modelConfig")).get("modelName"))
        if model and model != "default":
            session.models.add(model)
        session.parent = one_line(string(mapping(data.get("subagentInfo")).get("parentComposerId")), 500)
        mode = data.get("unifiedMode")
        if type(mode) is str and mode:
            session.extra["mode"] = one_line(mode, 40)

    def bubbles(self, found: dict[str, Any]) -> None:
        """Take the bubbles in, in the order of the headers; those that no header names follow in order of time."""
        inline = self._data.get("conversation")
        if type(inline) is list and inline:
            for number, bubble in enumerate(inline):
                self.add(string(mapping(bubble).get("bubbleId")) or f"inline {number}", mapping(bubble))
            return
        stored = {**mapping(self._data.get("conversationMap")), **found}
        ordered: list[str] = []
        by_own = {string(bubble.get("bubbleId")): name for name, bubble in stored.items() if type(bubble) is dict}
        headers = self._data.get("fullConversationHeadersOnly")
        for header in headers if type(headers) is list else ():
            name = string(mapping(header).get("bubbleId"))
            key = name if name in stored else by_own.get(name, "")
            if key and key not in ordered:
                ordered.append(key)
        seen = set(ordered)
        left = [name for name in stored if name not in seen and type(stored[name]) is dict]
        ordered += sorted(left, key=lambda name: (_at(stored[name]), name))
        for name in ordered:
            self.add(name, mapping(stored[name]))

    def add(self, name: str, bubble: dict[str, Any]) -> None:
        """Take one bubble in; a shape that was never seen is a failure of the reading."""
        try:
            self._add(one_line(name, 200), bubble)
        except BROKEN as error:
            self._reading.broken(error)

    def _add(self, name: str, bubble: dict[str, Any]) -> None:
        session = self.session
        at = _at(bubble)
        session.seen(at)
        session.records += 1
        kind = bubble.get("type")
        text = string(bubble.get("text")) or string(bubble.get("rawText"))
        if kind in (1, "user"):
            session.prompt(typed(text or _rich(bubble)), at, name)
            session.cwd = session.cwd or _folder(bubble)
            return
        if kind not in (2, "ai", "assistant"):
            self._reading.count(f"bubble type {one_line(str(kind), 60)}")
        model = string(mapping(bubble.get("modelInfo")).get("modelName")) or string(bubble.get("modelType"))
        if model and model != "default":
            session.models.add(model)
        tokens = mapping(bubble.get("tokenCount")).get("outputTokens")
        if type(tokens) is int and tokens:
            session.tokens[name] = tokens
        thinking = bubble.get("thinking")
        session.think(string(mapping(thinking).get("text")) or string(thinking), at, name)
        tool = bubble.get("toolFormerData")
        if type(tool) is dict and tool:
            self._tool(tool, at, name)
        session.say(text, at, name)

    def _tool(self, tool: dict[str, Any], at: str, name: str) -> None:
        session = self.session
        call = string(tool.get("toolCallId")) or name
        given: Any = next((tool[key] for key in ("params", "rawArgs", "args") if tool.get(key)), {})
        session.call(string(tool.get("name")) or f"tool {tool.get('tool', '')}".strip(), given, at, name, call=call)
        if tool.get("userDecision") == "rejected" or tool.get("status") == "rejected":
            session.noted(call, "rejected by the user", at, name)
        elif tool.get("status") == "error" or tool.get("error"):
            error = tool.get("error")
            text = string(error) or json.dumps(error, ensure_ascii=False) if error else ""
            session.failed(call, text or string(tool.get("result")) or "error", at, name)
        elif tool.get("status") == "cancelled":
            session.noted(call, "cancelled by the user", at, name)

    def finish(self, stored: dict[str, Any]) -> None:
        """Take in the bubbles that are stored by themselves, and hand the conversation over, where there is one."""
        try:
            self.bubbles(stored)
        except BROKEN as error:
            self._reading.broken(error)
            for name in sorted(stored):
                self.add(name, mapping(stored[name]))
        if self.session.uuids:
            self._reading.parts.setdefault(self.session.unit, self.session)


def _at(bubble: dict[str, Any]) -> str:
    timing = mapping(bubble.get("timingInfo"))
    return moment(bubble.get("createdAt")) or moment(timing.get("clientStartTime")) or moment(bubble.get("timestamp"))


def _rich(bubble: dict[str, Any]) -> str:
    """The text of the editor's own form (Lexical), where nothing plainer is kept."""
    rich = bubble.get("richText") or bubble.get("initText")
    try:
        node = json.loads(rich) if type(rich) is str else rich
    except (ValueError, RecursionError):
        return string(rich)
    found: list[str] = []

    def walk(node: Any, depth: int) -> None:
        if type(node) is dict and depth < 50:
            if type(node.get("text")) is str:
                found.append(node["text"])
            for child in node.get("children") or ():
                walk(child, depth + 1)
            if node.get("type") == "paragraph":
                found.append("\n")
            walk(node.get("root"), depth + 1)

    walk(node, 0)
    return "".join(found)


def _folder(bubble: dict[str, Any]) -> str:
    uris = bubble.get("workspaceUris")
    first = string(uris[0]) if type(uris) is list and uris else ""
    return string(bubble.get("workspaceProjectDir")) or _path(first)


def _path(uri: str) -> str:
    return unquote(uri.removeprefix("file://")) if uri.startswith("file:///") else ""


# The first generation: everything inline, in the workspace's database


def _workspace(connection: apsw.Connection, reading: Reading) -> None:
    values: dict[str, Any] = {}
    for key, value in connection.execute(_ITEMS, (_CHATS, _COMPOSERS, _PROMPTS)):
        values[str(key)] = _json(value, reading, str(key))
    folder = _workspace_folder(reading.path)
    composers = mapping(values.get(_COMPOSERS)).get("allComposers")
    heads = 0
    for number, data in enumerate(composers if type(composers) is list else ()):
        composer = mapping(data)
        if composer.get("conversation"):
            name = string(composer.get("composerId")) or f"{_hash(reading.path)}-{number}"
            _Composer(reading, name, composer, folder).finish({})
        else:
            heads += 1  # its bubbles are in the global database
    tabs = mapping(values.get(_CHATS)).get("tabs")
    for number, data in enumerate(tabs if type(tabs) is list else ()):
        tab = mapping(data)
        name = string(tab.get("tabId")) or f"{_hash(reading.path)}-tab-{number}"
        inner = {"name": tab.get("chatTitle"), "conversation": tab.get("bubbles"), "createdAt": tab.get("lastSendTime")}
        _Composer(reading, name, inner, folder).finish({})
    if not heads:
        _prompts(values.get(_PROMPTS), reading, folder)


def _prompts(values: Any, reading: Reading, folder: str) -> None:
    """Prompts of which no conversation is kept: one document a workspace."""
    kept = {" ".join(event.text.split()) for part in reading.parts.values() for event in part.events}
    session = Session(f"prompts-{_hash(reading.path)}", NAME)
    session.cwd = folder
    session.title = "Prompts of which no conversation is kept"
    for value in values if type(values) is list else ():
        text = clean(string(mapping(value).get("text"))).strip()
        if text and " ".join(text.split()) not in kept:
            session.prompt(text)
    if session.uuids:
        reading.parts[session.unit] = session


def _hash(path: str) -> str:
    """The workspace's name: the folder that its database lies in."""
    return one_line(basename(dirname(path)), 100) or "workspace"


def _workspace_folder(path: str) -> str:
    try:
        found = mapping(json.loads(rawfiles.load(join(dirname(path), "workspace.json"), 1 << 20)))
    except (OSError, ValueError, RecursionError):
        return ""
    return _path(string(found.get("folder")) or string(found.get("workspace")))


# The agent's own database: messages by the hash of their content, in the order that a root names


def _agent(connection: apsw.Connection, reading: Reading) -> None:
    about: dict[str, Any] = {}
    for _, value in connection.execute(_META):
        found = _json(_unhexed(value), reading, "meta")
        about.update(mapping(found))
    session = Session(one_line(string(about.get("agentId")) or _hash(reading.path), 4000), NAME)
    session.title = "" if about.get("name") == "New Agent" else string(about.get("name"))
    session.seen(moment(about.get("createdAt")))
    session.extra["surface"] = "agent"
    model = string(about.get("lastUsedModel"))
    if model:
        session.models.add(model)
    blobs = {str(name): data for name, data in connection.execute(_BLOBS)}
    order = _named(blobs.get(string(about.get("latestRootBlobId"))), blobs) or list(blobs)
    for name in order:
        data = blobs[name]
        raw = data.encode() if isinstance(data, str) else data
        if type(raw) is not bytes or not raw.startswith(b"{"):
            continue
        value = _json(raw, reading, f"blob {name}")
        if type(value) is dict and type(value.get("role")) is str:
            session.records += 1
            try:
                message(session, reading, value["role"], value.get("content"), 0, name)
            except BROKEN as error:
                reading.broken(error)
    if session.uuids:
        reading.parts[session.unit] = session


def _named(root: Any, blobs: dict[str, Any]) -> list[str]:
    """The blobs that a root (protobuf: field 1, 32 bytes each) names, in its order; ``[]`` where it names none."""
    found: list[str] = []
    position = 0
    while type(root) is bytes and root[position : position + 2] == bytes((0x0A, _ID)):
        name = root[position + 2 : position + 2 + _ID].hex()
        if name in blobs:
            found.append(name)
        position += 2 + _ID
    return found


def _unhexed(value: Any) -> Any:
    if type(value) is str and not value.startswith("{"):
        try:
            return bytes.fromhex(value)
        except ValueError:
            return value
    return value


def _json(value: Any, reading: Reading, where: str) -> Any:
    """The value of one cell; NULL is None, and what is no JSON a failure of the reading."""
    if not isinstance(value, str | bytes) or not value:
        return None
    try:
        return records.value(value, reading.redacted)
    except (ValueError, RecursionError) as error:
        reading.fail(Failure(reading.path, records.MALFORMED, f"{one_line(where, 120)}: {error}"))
        return None
