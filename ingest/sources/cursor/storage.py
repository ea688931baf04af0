"""Cursor's databases: two generations of the editor's, and the agent's.

The second generation of the editor keeps one row a conversation (``composerData:<id>``) and one a message
(``bubbleId:<id>:<bubble>``) in ``cursorDiskKV``; the first keeps everything in values of the workspace's ``ItemTable``.
The editor marks messages that it made up in a person's place (a background task has ended, a plan is to be built):
``isSimulatedMsg``, of a bubble or of its header's ``grouping`` (``agent.v1.UserMessage``, 2026). If several models were
asked at once (2025.10), each answer is a conversation: ``isBestOfNSubcomposer``, with the first one as its
``subagentInfo.parentComposerId``; Cursor's judge marks one of them by ``bestOfNJudgeWinner``.

The agent's database has messages by the hash of their content. A blob is a message in JSON, or a protobuf that names
other blobs (32 bytes each). The root names the conversation's messages in field 1 and windows in field 13, which name
messages that a summary replaced; its field 9 is the workspace. Nothing else is read of a protobuf. ``meta.json``
in the same folder has the title, the project and times.
"""

from __future__ import annotations

import contextlib
import json
from os.path import dirname, join
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from core.text import clean, one_line
from ingest.archive.rows import Names
from ingest.pipeline import databases
from ingest.pipeline.reading import BROKEN, Reading
from ingest.session.session import TAKEN_BACK, SessionBuilder
from ingest.session.transcripts import generations
from ingest.session.values import mapping, moment, sequence, string
from ingest.sources.cursor.parser import (
    AGENT,
    EDITOR,
    NAME,
    add_message,
    answer,
    cell,
    editor_outcome,
    extract_user_text,
    rich_text,
    workspace_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import apsw

    from ingest.archive.rows import Opened, Row, Shelf, Tables
    from ingest.raw.store import RawStore

    Record = dict[str, Any]

_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_COMPOSERS = "composer.composerData"
_PROMPTS = "aiService.prompts"
_HEADS = "select key, value from cursorDiskKV where key >= 'composerData:' and key < 'composerData;' order by key"
_AGENTS = _HEADS.replace(" order by", " and instr(value, 'parentComposerId') > 0 order by")
_HEADERS = "select composerId, value from composerHeaders order by composerId"
_BUBBLES = "select key, value from cursorDiskKV where key >= ? and key < ? order by key"
_NEXT = "select key from cursorDiskKV where key >= ? and key < 'bubbleId;' order by key limit 1"
_ITEM_KEYS = (_CHATS, _COMPOSERS, _PROMPTS)
_ITEMS = "select key, value from ItemTable where key in (?, ?, ?) order by key"
_META = "select key, value from meta order by key"
_BLOBS = "select id, data from blobs order by rowid"


def stream(path: str, raw: RawStore) -> Iterator[Reading]:
    """Yield the reading of a database each time that more conversations are whole, and at the end."""
    yield from databases.stream(path, raw, _database)


def _database(
    connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf
) -> Iterator[None]:
    shelf.tables = _tables(there)
    if "cursordiskkv" in there:
        # The workspace's values may hold the same conversations: parts are whole at the end only.
        is_alone = "itemtable" not in there or not connection.execute(_ITEMS, _ITEM_KEYS).fetchone()
        for unit, rows in _conversations(connection, shelf.tables):
            opened = shelf.open(rows)
            has_head = _conversation(opened, reading)
            shelf.put(unit, opened, whole=has_head)
            if is_alone:
                yield
    if "itemtable" in there:
        _workspace(connection, reading)
        shelf.keep(_workspace_rows(reading.path, connection))
    if {"blobs", "meta"} <= there.keys():
        _agent(connection, reading)
        shelf.keep(_agent_rows(reading, connection))
    if not (reading.parts or reading.taken):
        reading.skipped = "no conversation in this database"


def _tables(there: dict[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """Return table → the columns that are read of it."""
    tables: dict[str, tuple[str, ...]] = {}
    if "cursordiskkv" in there:
        tables["cursorDiskKV"] = ("key", "value")
        if "composerheaders" in there:
            tables["composerHeaders"] = ("composerId", "value")
    if "itemtable" in there:
        tables["ItemTable"] = ("key", "value")
    if {"blobs", "meta"} <= there.keys():
        tables |= {"blobs": ("id", "data"), "meta": ("key", "value")}
    return tables


# The editor, second generation: one row a conversation, one a bubble


def _conversations(connection: apsw.Connection, tables: Tables) -> Iterator[tuple[str, list[Row]]]:
    """Yield each conversation's id and rows, agents after the conversations they worked for: exclusions pass on."""
    # Since 3.16 titles and folders of conversations are in a table of their own.
    headers = dict(connection.execute(_HEADERS)) if "composerHeaders" in tables else {}
    parents = {name: found for name in headers if (found := _parent(headers[name]))}
    parents |= dict(_agents(connection))
    above = generations(parents)
    heads: set[str] = set()
    for generation in sorted({0, *above.values()}):
        for head in connection.execute(_HEADS):
            name = _name(head[0])
            heads.add(name)
            if above.get(name, 0) == generation:
                yield _conversation_rows(connection, name, (head,), headers)
    for name in _headless(connection, heads):
        yield _conversation_rows(connection, name, (), headers)


def _agents(connection: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Yield (agent, conversation that it worked for), up to a damaged page: what lies behind it cannot be read."""
    from apsw import Error

    with contextlib.suppress(Error):
        for key, value in connection.execute(_AGENTS):
            if parent := _parent(value):
                yield _name(key), parent


def _conversation_rows(
    connection: apsw.Connection, name: str, head: tuple[Any, ...], headers: dict[Any, Any]
) -> tuple[str, list[Row]]:
    bubbles = connection.execute(_BUBBLES, (f"bubbleId:{name}:", f"bubbleId:{name};"))
    rows: list[Row] = [("cursorDiskKV", row) for row in (*head, *bubbles)]
    if name in headers:
        rows.append(("composerHeaders", (name, headers[name])))
    return one_line(name, 4000), rows


def _headless(connection: apsw.Connection, heads: set[str]) -> Iterator[str]:
    """Yield the ids of conversations of which only bubbles are left, by one seek for each conversation."""
    seen: set[str] = set()
    known = {head.partition(":")[0] for head in heads}
    at = "bubbleId:"
    while (row := connection.execute(_NEXT, (at,)).fetchone()) is not None:
        name = str(row[0]).split(":")[1]
        if name in seen:
            return  # a key that is no text: the next seek would find it again
        seen.add(name)
        at = f"bubbleId:{name};"
        if name and name not in known:
            yield name


def _name(key: Any) -> str:
    return str(key).partition(":")[2]


def _parent(value: Any) -> str:
    return string(mapping(mapping(_plain(value, "")).get("subagentInfo")).get("parentComposerId"))


def _plain(value: Any, _: str) -> Any:
    """Return the JSON value of a cell with its secrets; None if it is no JSON."""
    try:
        return json.loads(value, strict=False)
    except (TypeError, ValueError, RecursionError):
        return None


def _conversation(rows: list[Opened], reading: Reading) -> bool:
    """Take one conversation; return False if its head is missing.

    An editor that is killed while it writes, or cleans up, leaves bubbles alone: they follow in order of time.
    """
    cells = [row.cells for row in rows]
    header = cells.pop()[1] if rows and rows[-1].table == "composerHeaders" else None
    if not cells:  # a bubble with a key that names no conversation
        return True
    name, data = _name(cells[0][0]), {}
    has_head = False
    if str(cells[0][0]).startswith("composerData:"):
        key, value = cells.pop(0)
        found = cell(value, reading, str(key))
        has_head, data = type(found) is dict, mapping(found)
    else:
        name = name.partition(":")[0]
    if not name or not (has_head or cells):
        return True
    head = mapping(cell(header, reading, f"header of {name}"))
    conversation = EditorConversation(reading, name, data | {key: head[key] for key in head if not data.get(key)}, "")
    bubbles: Record = {}
    for key, text in cells:
        found = cell(text, reading, str(key))
        if type(found) is dict:
            bubbles[str(key).removeprefix(f"bubbleId:{name}:")] = found
    conversation.finish(bubbles)
    return has_head


# The editor, first generation: everything in the workspace's database


class _Items:
    """The workspace's own values; out of the archive each comes in several rows.

    ``elsewhere``: the number of conversations that are kept in other rows.
    """

    def __init__(self, connection: apsw.Connection, decode: Callable[[Any, str], Any]) -> None:
        self.prompts: list[Any] = []
        self._composers: list[Any] = []
        self._tabs: list[Any] = []
        for key, value in connection.execute(_ITEMS, _ITEM_KEYS):
            found = decode(value, str(key))
            if key == _PROMPTS:
                self.prompts += sequence(found)
                continue
            inner = mapping(found).get("tabs" if key == _CHATS else "allComposers")
            into = self._tabs if key == _CHATS else self._composers
            into += sequence(inner)
        self.elsewhere = sum(not mapping(composer).get("conversation") for composer in self._composers)

    def composers(self, path: str) -> Iterator[tuple[str, Record]]:
        """Yield (id, composer) of those that hold their conversation."""
        for number, data in enumerate(self._composers):
            composer = mapping(data)
            if composer.get("conversation"):
                yield string(composer.get("composerId")) or f"{workspace_name(path)}-{number}", composer

    def tabs(self, path: str) -> Iterator[tuple[str, Record]]:
        """Yield (id, tab) of the chats before there were composers."""
        for number, data in enumerate(self._tabs):
            tab = mapping(data)
            yield string(tab.get("tabId")) or f"{workspace_name(path)}-tab-{number}", tab


def _workspace(connection: apsw.Connection, reading: Reading) -> None:
    items = _Items(connection, lambda value, key: cell(value, reading, key))
    folder = _workspace_folder(reading)
    for name, composer in items.composers(reading.path):
        EditorConversation(reading, name, composer, folder).finish({})
    for name, tab in items.tabs(reading.path):
        inner = {"name": tab.get("chatTitle"), "conversation": tab.get("bubbles"), "createdAt": tab.get("lastSendTime")}
        EditorConversation(reading, name, inner, folder).finish({})
    if not items.elsewhere:
        _prompts(items.prompts, reading, folder)


def _workspace_rows(path: str, connection: apsw.Connection) -> Iterator[tuple[str, list[Row]]]:
    """Yield the workspace's values divided by conversation, so that each can be kept or forgotten by itself."""
    items = _Items(connection, _plain)
    units: dict[str, list[Row]] = {}
    for name, composer in items.composers(path):
        value = json.dumps({"allComposers": [{**composer, "composerId": name}]})
        units.setdefault(one_line(name, 4000), []).append(("ItemTable", (_COMPOSERS, value)))
    for name, tab in items.tabs(path):
        value = json.dumps({"tabs": [{**tab, "tabId": name}]})
        units.setdefault(one_line(name, 4000), []).append(("ItemTable", (_CHATS, value)))
    if items.prompts and not items.elsewhere:
        units[_prompts_unit(path)] = [("ItemTable", (_PROMPTS, json.dumps(items.prompts)))]
    yield from units.items()


def _prompts(values: list[Any], reading: Reading, folder: str) -> None:
    """Take the prompts of lost conversations: one document a workspace."""
    kept = {" ".join(event.text.split()) for part in reading.parts.values() for event in part.events}
    session = SessionBuilder(_prompts_unit(reading.path), NAME)
    session.cwd = folder
    session.title = "Prompts of which no conversation is kept"
    for value in values:
        text = clean(string(mapping(value).get("text"))).strip()
        if text and " ".join(text.split()) not in kept:
            session.prompt(text)
    if session.uuids:
        reading.parts[session.unit] = session


def _prompts_unit(path: str) -> str:
    return f"prompts-{workspace_name(path)}"


def _workspace_folder(reading: Reading) -> str:
    try:
        found = mapping(json.loads(reading.raw.load(join(dirname(reading.path), "workspace.json"), 1 << 20)))
    except (OSError, ValueError, RecursionError):
        return ""
    return _file_path(string(found.get("folder")) or string(found.get("workspace")))


def _file_path(uri: str) -> str:
    """Return the path of a file's URI, "" of any other URI."""
    return unquote(uri.removeprefix("file://")) if uri.startswith("file:///") else ""


# A conversation of the editor's, of either generation

_QUESTIONS = ("ask_question", "ask_user_question", "askQuestion")


class EditorConversation:
    """One conversation as its bubbles are added."""

    def __init__(self, reading: Reading, name: str, data: Record, folder: str) -> None:
        self._reading = reading
        self._data = data
        self.session = session = SessionBuilder(one_line(name, 4000), NAME)
        session.rank = EDITOR
        session.title = string(data.get("name"))
        session.extend_to(moment(data.get("createdAt")))
        place = mapping(mapping(data.get("workspaceIdentifier")).get("uri"))
        session.cwd = string(place.get("fsPath")) or string(place.get("path")) or folder or _agent_folder(data)
        session.usage(_known_model(mapping(data.get("modelConfig")).get("modelName")))
        session.parent = one_line(string(mapping(data.get("subagentInfo")).get("parentComposerId")), 500)
        if data.get("isBestOfNSubcomposer") is True:
            # A person asked all models and may go on with any of them: the conversation is no agent's.
            session.forked_from, session.parent = session.parent, ""
            session.extra["best_of_n"] = True
        if data.get("bestOfNJudgeWinner") is True:
            session.extra["judged_best"] = True
        mode = data.get("unifiedMode")
        if type(mode) is str and mode:
            session.extra["mode"] = one_line(mode, 40)

    def finish(self, stored: Record) -> None:
        """Add the bubbles that are ``stored`` in rows, and put the session into the reading, if there is one."""
        try:
            self._bubbles(stored)
        except BROKEN as error:
            self._reading.broken(error)
            for name in sorted(stored):
                self._add(name, mapping(stored[name]))
        if self.session.uuids:
            self._reading.parts.setdefault(self.session.unit, self.session)

    def _bubbles(self, stored: Record) -> None:
        """Add the bubbles in the order of the headers; those without a header follow in order of time."""
        if inline := sequence(self._data.get("conversation")):
            for number, bubble in enumerate(inline):
                self._add(string(mapping(bubble).get("bubbleId")) or f"inline {number}", mapping(bubble))
            return
        stored = {**mapping(self._data.get("conversationMap")), **stored}
        by_own_id = {string(bubble.get("bubbleId")): name for name, bubble in stored.items() if type(bubble) is dict}
        ordered: dict[str, None] = {}
        simulated: set[str] = set()
        for header in sequence(self._data.get("fullConversationHeadersOnly")):
            name = string(mapping(header).get("bubbleId"))
            key = name if name in stored else by_own_id.get(name, "")
            if key:
                ordered.setdefault(key)
            if mapping(mapping(header).get("grouping")).get("isSimulatedMsg") is True:
                simulated.add(key)
        rest = [name for name in stored if name not in ordered and type(stored[name]) is dict]
        for name in (*ordered, *sorted(rest, key=lambda name: _time(stored[name]))):
            bubble = mapping(stored[name])
            self._add(name, {**bubble, "isSimulatedMsg": True} if name in simulated else bubble)

    def _add(self, name: str, bubble: Record) -> None:
        try:
            self._bubble(one_line(name, 200), bubble)
        except BROKEN as error:
            self._reading.broken(error)

    def _bubble(self, name: str, bubble: Record) -> None:
        session = self.session
        at = _time(bubble)
        session.extend_to(at)
        session.records += 1
        kind = bubble.get("type")
        text = string(bubble.get("text")) or string(bubble.get("rawText"))
        if kind in (1, "user"):
            said = extract_user_text(text or rich_text(bubble)).typed
            if bubble.get("isSimulatedMsg") is not True:
                session.prompt(said, at, name)
            elif said:
                session.put(TAKEN_BACK, said, at, name)  # recognised in the conversation's transcript
            session.cwd = session.cwd or _bubble_folder(bubble)
            return
        if kind not in (2, "ai", "assistant"):
            self._reading.count(f"bubble type {one_line(str(kind), 60)}")
        model = string(mapping(bubble.get("modelInfo")).get("modelName")) or bubble.get("modelType")
        count = mapping(bubble.get("tokenCount"))
        session.usage(_known_model(model), count.get("outputTokens"), name, [count.get("inputTokens")])
        thinking = bubble.get("thinking")
        session.thought(string(mapping(thinking).get("text")) or string(thinking), at, name)
        tool = bubble.get("toolFormerData")
        if type(tool) is dict and (tool.get("name") or tool.get("toolCallId") or "tool" in tool):
            self._tool(tool, at, name)
        session.reply(text, at, name)

    def _tool(self, tool: Record, at: str, name: str) -> None:
        """Add a tool call and its outcome."""
        session = self.session
        call = string(tool.get("toolCallId")) or name
        given: Any = next((tool[key] for key in ("params", "rawArgs", "args") if tool.get(key)), {})
        label = string(tool.get("name")) or f"tool {tool.get('tool', '')}".strip()
        session.tool_call(label, given, at, name, call_id=call)
        error, note = editor_outcome(tool)
        if error:
            session.tool_error(call, error, at, name)
        elif note:
            session.tool_note(call, note, at, name)
        elif tool.get("name") in _QUESTIONS and tool.get("result"):
            session.tool_note(call, f"answer: {answer(tool['result'])}", at, name)


def _known_model(model: Any) -> str:
    return "" if model == "default" else string(model)


def _time(bubble: Record) -> str:
    timing = mapping(bubble.get("timingInfo"))
    return moment(bubble.get("createdAt")) or moment(timing.get("clientStartTime")) or moment(bubble.get("timestamp"))


def _agent_folder(data: Record) -> str:
    """Return the folder of a conversation that names no workspace: its agent's, or its first repository; or ""."""
    place = mapping(mapping(mapping(data.get("agentLocation")).get("environment")).get("uri"))
    first = mapping(next(iter(sequence(data.get("trackedGitRepos"))), None))
    return string(place.get("fsPath")) or string(first.get("repoPath"))


def _bubble_folder(bubble: Record) -> str:
    first = string(next(iter(sequence(bubble.get("workspaceUris"))), None))
    return string(bubble.get("workspaceProjectDir")) or _file_path(first)


# The agent

_ID = 32  # bytes of a blob's name
_MESSAGES, _WORKSPACE, _WINDOWS = 1, 9, 13
_MARKS = {_MESSAGES: bytes((_MESSAGES << 3 | 2, _ID)), _WINDOWS: bytes((_WINDOWS << 3 | 2, _ID))}
_SIZES = {1: 8, 5: 4}  # bytes of a protobuf's numbers of a fixed size


def _agent(connection: apsw.Connection, reading: Reading) -> None:
    """Take the conversation of the agent's database."""
    blobs = {str(name): data for name, data in connection.execute(_BLOBS)}
    about = _about(connection, reading, [])  # archived with the rows
    root = _bytes(blobs.get(string(about.get("latestRootBlobId"))))
    session = SessionBuilder(_agent_unit(about, reading.path), NAME)
    session.rank = AGENT
    title = string(about.get("name"))
    session.title = string(about.get("title")) if title in ("", "New Agent") else title
    for key in ("createdAt", "createdAtMs", "updatedAtMs"):
        session.extend_to(moment(about.get(key)))
    session.cwd = string(about.get("workspacePath")) or _root_workspace(root) or string(about.get("cwd"))
    session.extra["surface"] = "agent"
    session.usage(_known_model(about.get("lastUsedModel")))
    for name in _message_order(root, blobs) or list(blobs):
        data = _bytes(blobs[name])
        if not data.startswith(b"{"):
            continue
        value = cell(data, reading, f"blob {name}")
        if type(value) is dict and type(value.get("role")) is str:
            session.records += 1
            try:
                add_message(session, reading, value, value.get("content"), name=name)
            except BROKEN as error:
                reading.broken(error)
    if session.uuids:
        reading.parts[session.unit] = session


def _agent_rows(reading: Reading, connection: apsw.Connection) -> Iterator[tuple[str, list[Row]]]:
    """Yield the unit and the rows to archive; of a protobuf only the names in it, and the root's workspace."""
    about = _about(connection, Reading(reading.path, reading.raw))
    blobs = {str(name): data for name, data in connection.execute(_BLOBS)}
    rows: list[Row] = [("meta", (key, _legible(_unhexed(value), ()))) for key, value in connection.execute(_META)]
    folder = _root_workspace(_bytes(blobs.get(string(about.get("latestRootBlobId")))))
    if folder:
        rows.append(("meta", ("workspace", json.dumps({"workspacePath": folder}))))
    rows += [("blobs", (name, _legible(data, blobs))) for name, data in blobs.items()]
    yield _agent_unit(about, reading.path), rows


def _about(connection: apsw.Connection, reading: Reading, later: list[Callable[[], None]] | None = None) -> Record:
    """Return the fields of ``meta.json``, overridden by those of the table ``meta``."""
    about: Record = {}
    with contextlib.suppress(OSError):
        companion = reading.raw.load(join(dirname(reading.path), "meta.json"), 1 << 20, later=later)
        about.update(mapping(cell(companion, reading, "meta.json")))
    for _, value in connection.execute(_META):
        about.update(mapping(cell(_unhexed(value), reading, "meta")))
    return about


def _agent_unit(about: Record, path: str) -> str:
    return one_line(string(about.get("agentId")) or workspace_name(path), 4000)


def _message_order(root: bytes, blobs: Record) -> list[str]:
    """Return the names of the messages that a root names, replaced ones first; empty if it names none."""
    replaced: dict[str, None] = {}
    for window in _named(root, _WINDOWS, blobs):
        replaced.update(dict.fromkeys(_named(_bytes(blobs[window]), _MESSAGES, blobs)))
    return [*replaced, *(name for name in _named(root, _MESSAGES, blobs) if name not in replaced)]


def _named(data: bytes, field: int, blobs: Collection[str]) -> list[str]:
    return [inner.hex() for number, inner in _fields(data) if number == field and inner.hex() in blobs]


def _root_workspace(root: bytes) -> str:
    found = (inner.decode("utf-8", "replace") for number, inner in _fields(root) if number == _WORKSPACE)
    return _file_path(next(found, ""))


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, bytes) of a protobuf's length-delimited fields, up to the first invalid field."""
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == 2:
            size, position = _varint(data, position)
            if position + size > len(data):
                return
            yield key >> 3, data[position : position + size]
            position += size
        elif kind == 0:
            _, position = _varint(data, position)
        elif kind in _SIZES:
            position += _SIZES[kind]
        else:
            return


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return (number, position after it); the position is past the end if the number is cut off."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    return value, len(data) + 1


def _bytes(data: Any) -> bytes:
    found = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return found if type(found) is bytes else b""


def _unhexed(value: Any) -> Any:
    if type(value) is str and not value.startswith("{"):
        try:
            return bytes.fromhex(value)
        except ValueError:
            return value
    return value


def _legible(data: Any, blobs: Collection[str]) -> Any:
    """Return a message's blob as it is, of any other blob the names of ``blobs`` in it, or None."""
    content = _bytes(data)
    if not content or content.startswith(b"{"):
        return data
    kept = [(number, inner) for number, inner in _fields(content) if number in _MARKS and inner.hex() in blobs]
    return Names(b"".join(_MARKS[number] + inner for number, inner in kept)) if kept else None
