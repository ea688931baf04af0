"""Cursor's sessions: two generations of the editor's database, the agent's own database, and agents' transcripts.

Keys and shapes are nobody's promise; they were seen on databases of 2024 to 2026 and in what others wrote of them.
"""

from __future__ import annotations

import json
from functools import partial
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.text import clean, one_line
from ingest import databases, rawfiles, records
from ingest._cursor_composer import NAME, Composer, path_of
from ingest._cursor_text import message
from ingest._cursor_transcripts import read as read_transcript
from ingest.reading import BROKEN, Reading
from ingest.rows import Names
from ingest.sessions import Session
from ingest.values import mapping, moment, string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from ingest.rows import Groups, Row, Tables

_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_COMPOSERS = "composer.composerData"
_PROMPTS = "aiService.prompts"
_ID = 32  # bytes of a blob's name
_HEADS = "select key, value from cursorDiskKV where key >= 'composerData:' and key < 'composerData;' order by key"
_HEADERS = "select composerId, value from composerHeaders order by composerId"
_BUBBLES = "select key, value from cursorDiskKV where key >= ? and key < ? order by key"
_ITEMS = "select key, value from ItemTable where key in (?, ?, ?) order by key"
_META = "select key, value from meta order by key"
_BLOBS = "select id, data from blobs order by rowid"


def read(path: str) -> Reading:
    """Read one database or transcript. Never raises for what is in it: see ``Reading.failed``."""
    if path.endswith(databases.SUFFIXES):
        return databases.read(path, _database, partial(_rows, path))
    return read_transcript(path)


def _database(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading) -> None:
    if "cursordiskkv" in there:
        _composers(connection, there, reading)
    if "itemtable" in there:
        _workspace(connection, reading)
    if {"blobs", "meta"} <= there.keys():
        _agent(connection, reading)
    if not reading.parts:
        reading.skipped = "no conversation in this database"


def _rows(path: str, connection: apsw.Connection, there: dict[str, set[str]]) -> tuple[Tables, Groups]:
    """What of a database the archive keeps."""
    tables: dict[str, tuple[str, ...]] = {}
    if "cursordiskkv" in there:
        tables["cursorDiskKV"] = ("key", "value")
        if "composerheaders" in there:
            tables["composerHeaders"] = ("composerId", "value")
    if "itemtable" in there:
        tables["ItemTable"] = ("key", "value")
    if {"blobs", "meta"} <= there.keys():
        tables |= {"blobs": ("id", "data"), "meta": ("key", "value")}
    return tables, _groups(path, connection, tables)


def _groups(path: str, connection: apsw.Connection, tables: Tables) -> Iterator[tuple[str, list[Row]]]:
    if "cursorDiskKV" in tables:
        headers = dict(connection.execute(_HEADERS)) if "composerHeaders" in tables else {}
        for key, value in connection.execute(_HEADS).fetchall():
            name = str(key).partition(":")[2]
            bubbles = connection.execute(_BUBBLES, (f"bubbleId:{name}:", f"bubbleId:{name};"))
            rows = [(key, value), *bubbles]
            found: list[Row] = [("cursorDiskKV", (row[0], row[1])) for row in rows]
            if name in headers:
                found.append(("composerHeaders", (name, headers[name])))
            yield one_line(name, 4000), found
    if "ItemTable" in tables:
        yield from _items(path, connection)
    if "blobs" in tables:
        about = _about(connection, Reading(path))
        held: list[Row] = [("meta", (key, _legible(_unhexed(value)))) for key, value in connection.execute(_META)]
        held += [("blobs", (str(name), _legible(data))) for name, data in connection.execute(_BLOBS)]
        yield _agent_unit(about, path), held


def _items(path: str, connection: apsw.Connection) -> Iterator[tuple[str, list[Row]]]:
    """The workspace's rows as one a conversation, so that each can be kept or forgotten by itself."""
    found = _Items(connection, _plain)
    units: dict[str, list[Row]] = {}
    for name, composer in found.composers(path):
        value = json.dumps({"allComposers": [{**composer, "composerId": name}]})
        units.setdefault(one_line(name, 4000), []).append(("ItemTable", (_COMPOSERS, value)))
    for name, tab in found.tabs(path):
        value = json.dumps({"tabs": [{**tab, "tabId": name}]})
        units.setdefault(one_line(name, 4000), []).append(("ItemTable", (_CHATS, value)))
    if found.prompts and not found.heads:
        units[_prompts_unit(path)] = [("ItemTable", (_PROMPTS, json.dumps(found.prompts)))]
    yield from units.items()


def _plain(value: Any, _: str) -> Any:
    """The value of one cell as it stands there; None for what is no JSON."""
    try:
        return json.loads(value, strict=False)
    except (TypeError, ValueError, RecursionError):
        return None


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


def _composers(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading) -> None:
    # Since 3.16 what a conversation is called, and where it was, stands in a table of its own.
    headers = dict(connection.execute(_HEADERS)) if "composerheaders" in there else {}
    for key, value in connection.execute(_HEADS).fetchall():
        name = str(key).partition(":")[2]
        data = _json(value, reading, str(key))
        if type(data) is dict and name:
            head = mapping(_json(headers.get(name), reading, f"header of {name}"))
            data |= {key: value for key, value in head.items() if not data.get(key)}
            talk = Composer(reading, name, data, "")
            first, last = f"bubbleId:{name}:", f"bubbleId:{name};"
            bubbles: dict[str, Any] = {}
            for bubble, text in connection.execute(_BUBBLES, (first, last)):
                found = _json(text, reading, str(bubble))
                if type(found) is dict:
                    bubbles[str(bubble)[len(first) :]] = found
            talk.finish(bubbles)


# The first generation: everything inline, in the workspace's database


class _Items:
    """The workspace's own values; from the archive each comes in several rows. ``heads``: composers kept elsewhere."""

    def __init__(self, connection: apsw.Connection, decode: Callable[[Any, str], Any]) -> None:
        self.prompts: list[Any] = []
        self._composers: list[Any] = []
        self._tabs: list[Any] = []
        for key, value in connection.execute(_ITEMS, (_CHATS, _COMPOSERS, _PROMPTS)):
            found = decode(value, str(key))
            if key == _PROMPTS:
                self.prompts += found if type(found) is list else ()
                continue
            inner = mapping(found).get("tabs" if key == _CHATS else "allComposers")
            into = self._tabs if key == _CHATS else self._composers
            into += inner if type(inner) is list else ()
        self.heads = sum(not mapping(composer).get("conversation") for composer in self._composers)

    def composers(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(name, composer) of those that have their conversation with them."""
        for number, data in enumerate(self._composers):
            composer = mapping(data)
            if composer.get("conversation"):
                yield string(composer.get("composerId")) or f"{_hash(path)}-{number}", composer

    def tabs(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(name, tab) of the chats before there were composers."""
        for number, data in enumerate(self._tabs):
            tab = mapping(data)
            yield string(tab.get("tabId")) or f"{_hash(path)}-tab-{number}", tab


def _workspace(connection: apsw.Connection, reading: Reading) -> None:
    found = _Items(connection, lambda value, key: _json(value, reading, key))
    folder = _workspace_folder(reading.path)
    for name, composer in found.composers(reading.path):
        Composer(reading, name, composer, folder).finish({})  # bubbles of others are in the global database
    for name, tab in found.tabs(reading.path):
        inner = {"name": tab.get("chatTitle"), "conversation": tab.get("bubbles"), "createdAt": tab.get("lastSendTime")}
        Composer(reading, name, inner, folder).finish({})
    if not found.heads:
        _prompts(found.prompts, reading, folder)


def _prompts(values: list[Any], reading: Reading, folder: str) -> None:
    """Prompts of which no conversation is kept: one document a workspace."""
    kept = {" ".join(event.text.split()) for part in reading.parts.values() for event in part.events}
    session = Session(_prompts_unit(reading.path), NAME)
    session.cwd = folder
    session.title = "Prompts of which no conversation is kept"
    for value in values:
        text = clean(string(mapping(value).get("text"))).strip()
        if text and " ".join(text.split()) not in kept:
            session.prompt(text)
    if session.uuids:
        reading.parts[session.unit] = session


def _prompts_unit(path: str) -> str:
    return f"prompts-{_hash(path)}"


def _hash(path: str) -> str:
    """The workspace's name: the folder that its database lies in."""
    return one_line(basename(dirname(path)), 100) or "workspace"


def _workspace_folder(path: str) -> str:
    try:
        found = mapping(json.loads(rawfiles.load(join(dirname(path), "workspace.json"), 1 << 20)))
    except (OSError, ValueError, RecursionError):
        return ""
    return path_of(string(found.get("folder")) or string(found.get("workspace")))


# The agent's own database: messages by the hash of their content, in the order that a root names


def _agent(connection: apsw.Connection, reading: Reading) -> None:
    about = _about(connection, reading)
    session = Session(_agent_unit(about, reading.path), NAME)
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


def _about(connection: apsw.Connection, reading: Reading) -> dict[str, Any]:
    about: dict[str, Any] = {}
    for _, value in connection.execute(_META):
        about.update(mapping(_json(_unhexed(value), reading, "meta")))
    return about


def _agent_unit(about: dict[str, Any], path: str) -> str:
    return one_line(string(about.get("agentId")) or _hash(path), 4000)


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
