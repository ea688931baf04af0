"""OpenCode's sessions: rows of its database, files of the tree before it, and exports ``{info, messages}``.

In all of them a session has messages, and a message parts; a tool call and its outcome are one part. From 2.0 on a
session is a row of ``session_v2``, in the same database as those before it, its messages are rows of
``session_message``, which hold their parts, and what was typed while the agent was at work waits in
``session_pending``. Source: the vendor's packages/schema/src/v1/session.ts and session-message.ts,
packages/core/src/session/sql.ts, pending.ts and storage.ts; the tables of 2.0.3 as told in
https://github.com/getagentseal/codeburn/issues/1293.
"""

from __future__ import annotations

import json
from contextlib import suppress
from os.path import basename
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.redaction import clean_record
from core.redaction.leaves import spanned
from core.text import one_line
from ingest.archive.rows import Json, decoded
from ingest.pipeline.reading import Reading, lines, whole
from ingest.pipeline.units import path_name
from ingest.raw import databases, rawfiles, records
from ingest.session.lineage import generations
from ingest.session.sessions import Session
from ingest.session.values import mapping, moment, string, vocabulary
from ingest.sources.opencode import tree
from ingest.sources.opencode.talk import Talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from ingest.archive.rows import Opened, Row, Shelf, Tables

FOREIGN = "not an OpenCode session"
NAMELESS = "session whose name is damaged"


_SESSION = vocabulary("directory title version slug parent_id agent time_created fork_session_id")
# Table → the columns that are read, the session's, and the order.
_ROWS = {
    "message": (("id", "session_id", "data", "time_created"), "time_created, id"),
    "part": (("id", "message_id", "session_id", "data", "time_created"), "id"),
    "session_message": (("id", "session_id", "type", "seq", "time_created", "data"), "seq"),
    "session_pending": (("id", "session_id", "type", "admitted_seq", "time_created", "data"), "admitted_seq"),
    "session_input": (("id", "session_id", "type", "admitted_seq", "time_created", "data"), "admitted_seq"),
}
# Where sessions stand, later versions' last; and what was typed and waits, in 2.0 and in its betas.
_SESSIONS = ("session", "session_v2")
_WAITING = ("session_pending", "session_input")


def read(path: str) -> Reading:
    """Read one database, session of a tree, or export. Never raises for what is in it: see ``Reading.failed``."""
    if path.endswith(databases.SUFFIXES):
        return databases.read(path, _database)
    if path.endswith(".json") and tree.storage(path):
        return _from_tree(path)
    reading = whole(path, _export, FOREIGN)
    if reading.failed is not None and path.endswith(".jsonl"):
        # Many records in a file are no export; whose they are is not for us to say.
        return lines(path, _pass_over, FOREIGN)
    return reading


def stream(path: str) -> Iterator[Reading]:
    """``read``, given out each time that more sessions of a database are whole, and at the end."""
    if path.endswith(databases.SUFFIXES):
        yield from databases.stream(path, _database)
    else:
        yield read(path)


def _pass_over(source: records.Records, reading: Reading) -> None:
    for item in source:
        if isinstance(item, Failure):
            reading.fail(item)


def _export(value: Any, reading: Reading) -> None:
    info, messages = mapping(mapping(value).get("info")), mapping(value).get("messages")
    if type(messages) is not list or not ("directory" in info or "projectID" in info or "time" in info):
        return
    talk = Talk(reading, info, path_name(basename(reading.path)))
    for entry in messages:
        inner = mapping(entry)
        talk.message(mapping(inner.get("info")) or inner, inner.get("parts"))
    talk.finish()


def _from_tree(path: str) -> Reading:
    root, stem = tree.storage(path), basename(path).removesuffix(".json")

    def take(info: Any, reading: Reading) -> None:
        if type(info) is not dict or "time" not in info:
            _export(info, reading)
            return
        if not rawfiles.is_shelved(path):
            # The size by which the next run knows the session again is that of all its files; the archive has it so.
            reading.size, reading.mtime_ns = tree.look(path)
        reading.consumed, reading.digest = 0, databases.NOTHING
        talk = Talk(reading, info, path_name(stem))
        made = list(_made_of(root, string(info.get("id")) or stem, stem, reading))
        found: list[tuple[str, str, dict[str, Any], list[Any]]] = []
        for file, parts in made:
            if type(file.value) is dict:
                own = file.value.get("parts")
                values = [part.value for part in parts] or (own if type(own) is list else [])
                time = moment(mapping(file.value.get("time")).get("created"))
                found.append((time, string(file.value.get("id")), file.value, values))
        for _, _, message, values in sorted(found, key=lambda entry: entry[:2]):
            talk.message(message, values)
        talk.finish()
        files = [file for message, parts in made for file in (message, *parts)]
        gone = _taken_back(reading, talk.session, [message.path for message, _ in made], {file.path for file in files})
        if not reading.stays:
            rawfiles.keep_with(reading, [keep for file in files for keep in file.later], gone)

    return whole(path, take, FOREIGN, apart=True)


def _taken_back(reading: Reading, session: Session, messages: list[str], now: set[str]) -> set[str]:
    """What the archive has of a session and its tree has no more: the person went back and went on from there.

    The archive follows the document: where less is left than there was, both stay as they are (``reading.stays``).
    """
    keeping = rawfiles.keeping()
    missing = set() if keeping is None else keeping.missing()
    if keeping is None or not missing or not any(tree.may_hold(path, session.unit, messages) for path in missing):
        return set()
    with rawfiles.kept_by(keeping.as_archived()):
        if not rawfiles.is_shelved(reading.path):
            return set()
        before = read(reading.path).parts.get(session.unit)
        gone = set(inside(reading.path)) - now
    if before is None or not gone:
        return set()
    if len(session.uuids) < len(before.uuids):
        reading.stays = True
        reading.parts[session.unit] = before
    return gone


def inside(path: str) -> list[str]:
    """The messages and parts that the session of a tree at ``path`` is made of, as far as they can be read."""
    if not path.endswith(".json") or not tree.storage(path):
        return []
    reading, stem = Reading(path), basename(path).removesuffix(".json")
    info = mapping(_File(path, reading).value)
    made = _made_of(tree.storage(path), string(info.get("id")) or stem, stem, reading)
    return [file.path for message, parts in made for file in (message, *parts)]


class _File:
    """One file of a tree; what cannot be read is a failure of its session's reading, and its ``value`` is None.

    ``later``: what has the archive keep it.
    """

    __slots__ = ("_loaded", "later", "path", "value")

    def __init__(self, path: str, reading: Reading) -> None:
        self.path = path
        self.value: Any = None
        self.later: list[Callable[[], None]] = []
        self._loaded: rawfiles.Loaded | None = None
        data = b""
        try:
            self._loaded = rawfiles.Loaded(path)
            self.later.append(self._loaded.keep)
            data = self._loaded.data
            self.value = records.value(data, reading.redacted)
        except OSError as error:
            reading.fail(Failure(path, records.UNREADABLE, error.strerror or str(error)))
        except RecursionError:
            reading.fail(Failure(path, records.TOO_DEEP))
        except ValueError as error:
            if data:
                reading.fail(Failure(path, records.MALFORMED, str(error)))

    def found(self) -> Any:
        """The value with its secrets, for what only several files tell; None where it is none."""
        with suppress(ValueError, RecursionError):
            return None if self._loaded is None else records.value(self._loaded.found, None)
        return None

    def become(self, value: Any, reading: Reading) -> None:
        """Be ``value`` instead, whose secrets are replaced here, in the archive too."""
        self.value = clean_record(json.dumps(value).encode(), value, reading.redacted)
        if self._loaded is not None:
            self._loaded.data = json.dumps(self.value, separators=(",", ":")).encode()

    @property
    def is_changed(self) -> bool:
        """Whether secrets were replaced in it."""
        return self._loaded is not None and self._loaded.data != self._loaded.found


def _made_of(root: str, session: str, stem: str, reading: Reading) -> Iterator[tuple[_File, list[_File]]]:
    """The messages of a session of a tree, each with its parts."""
    flat = [_File(part, reading) for part in tree.flat(root)]
    for path in tree.messages(root, session, stem):
        message = _File(path, reading)
        name = string(mapping(message.value).get("id"))
        paths = tree.parts(root, session, name, basename(path).removesuffix(".json"))
        parts = [_File(part, reading) for part in paths]
        parts += [part for part in flat if name and mapping(part.value).get("messageID") == name]
        if any(part.is_changed for part in parts):
            for place, value in spanned([part.found() for part in parts], to_end=True).items():
                parts[place].become(_named(parts[place].value) if value is None else value, reading)
        yield message, parts


def _named(part: Any) -> dict[str, Any]:
    """What is left of a part of which nothing may be kept: whose it is."""
    return {key: value for key, value in mapping(part).items() if key in ("id", "sessionID", "messageID", "type")}


def _database(
    connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf
) -> Iterator[None]:
    first, second = {"message", "part"} <= there.keys(), "session_message" in there
    if not any(name in there for name in _SESSIONS) or not (first or second):
        reading.skipped = "no sessions in this database"
        return
    shelf.tables = {name: ("id", *sorted(_SESSION & there[name])) for name in _SESSIONS if name in there}
    shelf.tables |= {name: columns for name, (columns, _) in _ROWS.items() if set(columns) <= there.get(name, set())}
    for unit, rows in _groups(connection, shelf.tables):
        if not rows:  # its name is damaged: nothing is found by what stands for it
            reading.fail(Failure(reading.path, NAMELESS, one_line(unit, 80)))
            continue
        opened = _closed(shelf.open(rows), shelf.tables, reading)
        _session(opened, shelf.tables, reading, first=first)
        shelf.put(unit, opened)
        yield


def _groups(connection: apsw.Connection, tables: Tables) -> Iterator[tuple[str, list[Row]]]:
    heads = [name for name in _SESSIONS if name in tables]
    ids = " union ".join(f"select id from {name}" for name in heads)
    # An agent is excluded with its session, which is known by then.
    query = f"select id from ({ids}) order by id"
    parents: dict[Any, Any] = dict.fromkeys(each for (each,) in connection.execute(query))
    for name in heads:
        if "parent_id" in tables[name]:
            parents.update(connection.execute(f"select id, parent_id from {name} where parent_id is not null"))
    above = generations(parents)
    for identity in sorted(parents, key=above.__getitem__):
        rows: list[Row] = []
        for name, columns in tables.items():
            where, order = ("id is", "id") if name in heads else ("session_id =", _ROWS[name][1])
            query = f"select {', '.join(columns)} from {name} where {where} ? order by {order}"
            rows += [(name, row) for row in connection.execute(query, (identity,))]
        yield one_line(str(identity), 4000), rows


def _closed(rows: list[Opened], tables: Tables, reading: Reading) -> list[Opened]:
    """The rows of a session without what private spans over several parts of one message cover: each part is a row."""
    if "part" not in tables:
        return rows
    owner, data = (tables["part"].index(name) for name in ("message_id", "data"))
    said = [row for row in rows if row.table == "part" and isinstance(row.cells[data], Json)]
    tagged = {row.cells[owner] for row in said if not row.plain and row.cells[data].may_span}
    held: dict[Any, list[tuple[Opened, Any]]] = {}
    for row in said:
        if row.cells[owner] in tagged:
            with suppress(ValueError, RecursionError):  # told where it is read
                held.setdefault(row.cells[owner], []).append((row, row.cells[data].found()))
    gone: set[int] = set()
    for parts in held.values():
        found = spanned([value for _, value in parts], to_end=True)
        for place, value in found.items():
            row = parts[place][0]
            if value is None:
                gone.add(id(row))
            else:
                row.cells[data].become(value, reading.redacted)
                row.plain = False
    return [row for row in rows if id(row) not in gone]


def _session(rows: list[Opened], tables: Tables, reading: Reading, *, first: bool) -> None:
    of: dict[str, list[dict[str, Any]]] = {name: [] for name in tables}
    for opened in rows:
        of[opened.table].append(dict(zip(tables[opened.table], opened.cells, strict=True)))
    given: dict[str, Any] = {}
    for head in (row for name in _SESSIONS for row in of.get(name, ())):
        given |= {name: value for name, value in head.items() if value is not None}  # the later table's stands
    identity = str(given.get("id"))
    info = {
        "id": identity,
        "directory": given.get("directory"),
        "title": given.get("title"),
        "version": given.get("version"),
        "slug": given.get("slug"),
        "agent": given.get("agent"),
        "parentID": given.get("parent_id"),
        "forkID": given.get("fork_session_id"),
        "time": {"created": given.get("time_created")},
    }
    info = clean_record(json.dumps(info, default=str).encode(), info, reading.redacted)
    talk = Talk(reading, info, identity)
    last = _messages(of["message"], of["part"], talk, reading) if first else ""
    for row in of.get("session_message", ()):
        value = _cell(row["data"], reading, f"session_message {row['id']}")
        made = "" if value is None else moment(mapping(value.get("time")).get("created")) or moment(row["time_created"])
        # What the first projection holds stands here again, under other names; what came later does not.
        if value is not None and (not last or made > last):
            talk.row(string(row["type"]), one_line(str(row["id"]), 200), value, made)
    for row in (row for name in _WAITING for row in of.get(name, ())):
        value = _cell(row["data"], reading, f"waiting {row['id']}")
        if value is not None:
            talk.waits(string(row["type"]), one_line(str(row["id"]), 200), value, moment(row["time_created"]))
    talk.finish()


def _messages(messages: list[dict[str, Any]], parts: list[dict[str, Any]], talk: Talk, reading: Reading) -> str:
    """Take the messages of the first projection in; when the last of them was made, "" where there is none."""
    held: dict[Any, list[Any]] = {}
    for row in parts:
        value = _cell(row["data"], reading, f"part {row['id']}")
        if value is not None:
            value = {"id": row["id"], "time": {"start": row["time_created"]}, **value}
            held.setdefault(row["message_id"], []).append(value)
    last = ""
    for row in messages:
        last = max(last, moment(row["time_created"]) or "0")
        value = _cell(row["data"], reading, f"message {row['id']}")
        if value is not None:
            value = {"id": row["id"], "time": {"created": row["time_created"]}, **value}
            talk.message(value, held.pop(row["id"], []))
    for left in held.values():
        reading.count("parts of no message")
        talk.message({"role": "assistant"}, left)
    return last


def _cell(data: Any, reading: Reading, where: str) -> dict[str, Any] | None:
    try:
        value = decoded(data, reading.redacted) if isinstance(data, str | bytes | Json) else None
    except (ValueError, RecursionError) as error:
        reading.fail(Failure(reading.path, records.MALFORMED, f"{one_line(where, 80)}: {error}"))
        return None
    if type(value) is not dict:
        reading.fail(Failure(reading.path, records.NOT_OBJECT, f"{one_line(where, 80)}: {type(value).__name__}"))
        return None
    return value
