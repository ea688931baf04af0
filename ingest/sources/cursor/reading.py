"""Cursor's sessions: two generations of the editor's database, the agent's own database, and agents' transcripts.

Keys and shapes are nobody's promise; they were seen on databases of 2024 to 2026 and in what others wrote of them.
"""

from __future__ import annotations

import contextlib
import json
from os.path import dirname, join
from typing import TYPE_CHECKING, Any

from core.text import clean, one_line
from ingest.pipeline.reading import Reading
from ingest.raw import databases
from ingest.session.builder import SessionBuilder
from ingest.session.lineage import generations
from ingest.session.values import mapping, string
from ingest.sources.cursor.agent import read as read_agent
from ingest.sources.cursor.agent import rows as agent_rows
from ingest.sources.cursor.composer import NAME, Composer, path_of
from ingest.sources.cursor.text import cell, workspace_name
from ingest.sources.cursor.transcripts import read as read_transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from ingest.archive.rows import Opened, Row, Shelf, Tables
    from ingest.raw.store import RawStore

_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
_COMPOSERS = "composer.composerData"
_PROMPTS = "aiService.prompts"
_HEADS = "select key, value from cursorDiskKV where key >= 'composerData:' and key < 'composerData;' order by key"
_AGENTS = _HEADS.replace(" order by", " and instr(value, 'parentComposerId') > 0 order by")
_HEADERS = "select composerId, value from composerHeaders order by composerId"
_BUBBLES = "select key, value from cursorDiskKV where key >= ? and key < ? order by key"
_NEXT = "select key from cursorDiskKV where key >= ? and key < 'bubbleId;' order by key limit 1"
_OWN = (_CHATS, _COMPOSERS, _PROMPTS)
_ITEMS = "select key, value from ItemTable where key in (?, ?, ?) order by key"


def read(path: str, raw: RawStore) -> Reading:
    """Read one database or transcript. Never raises for what is in it: see ``Reading.failed``."""
    return databases.read(path, raw, _database) if path.endswith(databases.SUFFIXES) else read_transcript(path, raw)


def stream(path: str, raw: RawStore) -> Iterator[Reading]:
    """``read``, given out each time that more conversations of a database are whole, and at the end."""
    if path.endswith(databases.SUFFIXES):
        yield from databases.stream(path, raw, _database)
    else:
        yield read_transcript(path, raw)


def _database(
    connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf
) -> Iterator[None]:
    shelf.tables = _tables(there)
    if "cursordiskkv" in there:
        # The workspace's own values may tell of the same conversations.
        alone = "itemtable" not in there or not connection.execute(_ITEMS, _OWN).fetchone()
        for unit, rows in _groups(connection, shelf.tables):
            opened = shelf.open(rows)
            is_whole = _composer(opened, reading)
            shelf.put(unit, opened, whole=is_whole)
            if alone:
                yield
    if "itemtable" in there:
        _workspace(connection, reading)
        shelf.keep(_items(reading.path, connection))
    if {"blobs", "meta"} <= there.keys():
        read_agent(connection, reading)
        shelf.keep(agent_rows(reading, connection))
    if not (reading.parts or reading.taken):
        reading.skipped = "no conversation in this database"


def _tables(there: dict[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """What of a database is read."""
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


def _groups(connection: apsw.Connection, tables: Tables) -> Iterator[tuple[str, list[Row]]]:
    # Since 3.16 what a conversation is called, and where it was, stands in a table of its own.
    headers = dict(connection.execute(_HEADERS)) if "composerHeaders" in tables else {}
    # An agent is excluded with its conversation, which is known by then.
    parents = {name: found for name in headers if (found := _parent(headers[name]))}
    parents |= dict(_agents(connection))
    above = generations(parents)
    heads: set[str] = set()
    for generation in sorted({0, *above.values()}):
        for head in connection.execute(_HEADS):
            name = _name(head[0])
            heads.add(name)
            if above.get(name, 0) == generation:
                yield _conversation(connection, name, (head,), headers)
    for name in _headless(connection, heads):
        yield _conversation(connection, name, (), headers)


def _agents(connection: apsw.Connection) -> Iterator[tuple[str, str]]:
    """(agent, whom it worked for), as far as can be read: no conversation behind a damaged page is read either."""
    from apsw import Error

    with contextlib.suppress(Error):
        for key, value in connection.execute(_AGENTS):
            if parent := _parent(value):
                yield _name(key), parent


def _conversation(
    connection: apsw.Connection, name: str, head: tuple[Any, ...], headers: dict[Any, Any]
) -> tuple[str, list[Row]]:
    bubbles = connection.execute(_BUBBLES, (f"bubbleId:{name}:", f"bubbleId:{name};"))
    rows: list[Row] = [("cursorDiskKV", row) for row in (*head, *bubbles)]
    if name in headers:
        rows.append(("composerHeaders", (name, headers[name])))
    return one_line(name, 4000), rows


def _headless(connection: apsw.Connection, heads: set[str]) -> Iterator[str]:
    """The conversations of which there are bubbles and nothing else; a seek for each that there is."""
    seen: set[str] = set()
    known = {head.partition(":")[0] for head in heads}
    at = "bubbleId:"
    while (row := connection.execute(_NEXT, (at,)).fetchone()) is not None:
        name = str(row[0]).split(":")[1]
        if name in seen:
            return  # no text of ours: there is no way past it
        seen.add(name)
        at = f"bubbleId:{name};"
        if name and name not in known:
            yield name


def _name(key: Any) -> str:
    return str(key).partition(":")[2]


def _parent(value: Any) -> str:
    return string(mapping(mapping(_plain(value, "")).get("subagentInfo")).get("parentComposerId"))


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


def _composer(rows: list[Opened], reading: Reading) -> bool:
    """Take a conversation in; returns whether it has what is to be known of it besides its bubbles.

    An editor that ends in the middle of its writing, or cleans up, leaves bubbles alone: they have an order of time.
    """
    if not rows:  # a bubble whose key names no conversation
        return True
    cells = [row.cells for row in rows]
    header = cells.pop()[1] if rows[-1].table == "composerHeaders" else None
    data: Any = None
    if not cells:
        return True
    name = _name(cells[0][0])
    if str(cells[0][0]).startswith("composerData:"):
        key, value = cells.pop(0)
        data = cell(value, reading, str(key))
    else:
        name = name.partition(":")[0]
    others, is_whole = cells, type(data) is dict
    if not name or not (is_whole or others):
        return True
    data = data if is_whole else {}
    head = mapping(cell(header, reading, f"header of {name}"))
    talk = Composer(reading, name, data | {key: value for key, value in head.items() if not data.get(key)}, "")
    bubbles: dict[str, Any] = {}
    for bubble, text in others:
        found = cell(text, reading, str(bubble))
        if type(found) is dict:
            bubbles[str(bubble).removeprefix(f"bubbleId:{name}:")] = found
    talk.finish(bubbles)
    return is_whole


# The first generation: everything inline, in the workspace's database


class _Items:
    """The workspace's own values; from the archive each comes in several rows. ``heads``: composers kept elsewhere."""

    def __init__(self, connection: apsw.Connection, decode: Callable[[Any, str], Any]) -> None:
        self.prompts: list[Any] = []
        self._composers: list[Any] = []
        self._tabs: list[Any] = []
        for key, value in connection.execute(_ITEMS, _OWN):
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
    folder = _workspace_folder(reading.path, reading.raw)
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


def _workspace_folder(path: str, raw: RawStore) -> str:
    try:
        found = mapping(json.loads(raw.load(join(dirname(path), "workspace.json"), 1 << 20)))
    except (OSError, ValueError, RecursionError):
        return ""
    return path_of(string(found.get("folder")) or string(found.get("workspace")))
