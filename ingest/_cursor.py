"""Cursor's sessions: two generations of the editor's database, the agent's own database, and agents' transcripts.

Keys and shapes are nobody's promise; they were seen on databases of 2024 to 2026 and in what others wrote of them.
"""

from __future__ import annotations

import json
from functools import partial
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest import databases, rawfiles
from ingest._cursor_agent import read as read_agent
from ingest._cursor_agent import rows as agent_rows
from ingest._cursor_composer import NAME, Composer, path_of
from ingest._cursor_text import cell, workspace_name
from ingest._cursor_transcripts import read as read_transcript
from ingest.reading import Reading
from ingest.sessions import Session
from ingest.values import mapping, string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from ingest.rows import Groups, Row, Tables

_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_COMPOSERS = "composer.composerData"
_PROMPTS = "aiService.prompts"
_HEADS = "select key, value from cursorDiskKV where key >= 'composerData:' and key < 'composerData;' order by key"
_HEADERS = "select composerId, value from composerHeaders order by composerId"
_BUBBLES = "select key, value from cursorDiskKV where key >= ? and key < ? order by key"
_ITEMS = "select key, value from ItemTable where key in (?, ?, ?) order by key"


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
        read_agent(connection, reading)
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
        yield agent_rows(path, connection)


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


# The second generation: one row a composer, one a bubble


def _composers(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading) -> None:
    # Since 3.16 what a conversation is called, and where it was, stands in a table of its own.
    headers = dict(connection.execute(_HEADERS)) if "composerheaders" in there else {}
    for key, value in connection.execute(_HEADS).fetchall():
        name = str(key).partition(":")[2]
        data = cell(value, reading, str(key))
        if type(data) is dict and name:
            head = mapping(cell(headers.get(name), reading, f"header of {name}"))
            data |= {key: value for key, value in head.items() if not data.get(key)}
            talk = Composer(reading, name, data, "")
            first, last = f"bubbleId:{name}:", f"bubbleId:{name};"
            bubbles: dict[str, Any] = {}
            for bubble, text in connection.execute(_BUBBLES, (first, last)):
                found = cell(text, reading, str(bubble))
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
                yield string(composer.get("composerId")) or f"{workspace_name(path)}-{number}", composer

    def tabs(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(name, tab) of the chats before there were composers."""
        for number, data in enumerate(self._tabs):
            tab = mapping(data)
            yield string(tab.get("tabId")) or f"{workspace_name(path)}-tab-{number}", tab


def _workspace(connection: apsw.Connection, reading: Reading) -> None:
    found = _Items(connection, lambda value, key: cell(value, reading, key))
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
    return f"prompts-{workspace_name(path)}"


def _workspace_folder(path: str) -> str:
    try:
        found = mapping(json.loads(rawfiles.load(join(dirname(path), "workspace.json"), 1 << 20)))
    except (OSError, ValueError, RecursionError):
        return ""
    return path_of(string(found.get("folder")) or string(found.get("workspace")))
