"""OpenCode's sessions: rows of a database, files of the tree before it, and exports ``{info, messages}``.

A session has messages, a message has parts; a tool call and its outcome are one part. Since 2.0 a session is a row of
``session_v2``, in the same database as older ones. Its messages are rows of ``session_message``, which hold their
parts; a prompt that was typed while the agent worked waits in ``session_pending``.

Source: the vendor's packages/schema/src/v1/session.ts and session-message.ts, packages/core/src/session/sql.ts,
pending.ts and storage.ts; the tables of 2.0.3 from https://github.com/getagentseal/codeburn/issues/1293.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from os.path import basename, dirname, join
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.redaction import clean_record
from core.redaction.leaves import spanned
from core.text import clean, one_line
from ingest.archive.rows import Json, decoded
from ingest.pipeline import databases
from ingest.pipeline.reading import BROKEN, Reading, add_records, lines, whole
from ingest.raw import records, store
from ingest.session.session import COMMAND, SessionBuilder
from ingest.session.transcripts import generations
from ingest.session.units import path_name
from ingest.session.user_text import paragraphs
from ingest.session.values import blocks, mapping, moment, plain, sequence, string
from ingest.sources.opencode.user_text import KNOWN, extract_user_text, repeats_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

    from ingest.archive.rows import Opened, Row, Shelf, Tables
    from ingest.raw.store import RawStore

    Record = dict[str, Any]
    # Returns (size, mtime in ns) of all files of a session in a tree. Raises OSError.
    Stat = Callable[[str], tuple[int, int]]

NAME = "opencode"
FOREIGN = "not an OpenCode session"
NAMELESS = "session whose name is damaged"


def stream(path: str, raw: RawStore, tool: str = NAME) -> Iterator[Reading]:
    """Yield the reading of a database each time that more of its sessions are whole, and at the end."""
    yield from databases.stream(path, raw, partial(_database, tool=tool))


def read(path: str, raw: RawStore, tool: str = NAME) -> Reading:
    """Read one exported session. Faults are recorded in the result."""
    reading = whole(path, raw, partial(_export, tool=tool), FOREIGN)
    if reading.failed is not None and path.endswith(".jsonl"):
        # A file of many records is no export: it belongs to another tool.
        return lines(path, raw, _pass_over, FOREIGN)
    return reading


def _pass_over(source: records.Records, reading: Reading) -> None:
    add_records(source, reading, lambda *_: None)


def _export(value: Any, reading: Reading, tool: str) -> None:
    info, messages = mapping(mapping(value).get("info")), mapping(value).get("messages")
    if type(messages) is not list or not ("directory" in info or "projectID" in info or "time" in info):
        return
    conversation = Conversation(reading, info, path_name(basename(reading.path)), tool)
    for entry in messages:
        inner = mapping(entry)
        conversation.add(mapping(inner.get("info")) or inner, inner.get("parts"))
    conversation.finish()


# A tree of JSON files


def read_tree(path: str, raw: RawStore, root: str, stat: Stat, tool: str = NAME) -> Reading:
    """Read one session of the tree at ``root``. Faults are recorded in the result."""
    stem = basename(path).removesuffix(".json")

    def take(info: Any, reading: Reading) -> None:
        if type(info) is not dict or "time" not in info:
            _export(info, reading, tool)
            return
        if not raw.is_shelved(path):
            # The next run compares the size of all files of the session; the archive has the size so.
            reading.size, reading.mtime_ns = stat(path)
        reading.consumed, reading.digest = 0, databases.NOTHING
        conversation = Conversation(reading, info, path_name(stem), tool)
        messages = list(_tree_messages(root, string(info.get("id")) or stem, stem, reading))
        found: list[tuple[str, str, Record, list[Any]]] = []
        for file, parts in messages:
            if type(file.value) is dict:
                own = file.value.get("parts")
                values = [part.value for part in parts] or sequence(own)
                time = moment(mapping(file.value.get("time")).get("created"))
                found.append((time, string(file.value.get("id")), file.value, values))
        for _, _, message, values in sorted(found, key=lambda entry: entry[:2]):
            conversation.add(message, values)
        conversation.finish()
        files = [file for message, parts in messages for file in (message, *parts)]
        held = [message.path for message, _ in messages]
        gone = _reverted(reading, root, stat, conversation.session, held, {file.path for file in files})
        if not reading.stays:
            raw.keep_with(reading, [keep for file in files for keep in file.later], gone)

    return whole(path, raw, take, FOREIGN, apart=True)


def _reverted(
    reading: Reading, root: str, stat: Stat, session: SessionBuilder, messages: list[str], present: set[str]
) -> set[str]:
    """Return the archived files of a session that its tree has no more: the person went back and went on from there.

    The archive follows the document: if less is left than there was, both stay as they are (``reading.stays``).
    """
    if not any(_may_belong(path, session.unit, messages) for path in reading.raw.missing()):
        return set()
    archived = reading.raw.as_archived()
    if not archived.is_shelved(reading.path):
        return set()
    before = read_tree(reading.path, archived, root, stat).parts.get(session.unit)
    gone = set(tree_files(reading.path, archived, root)) - present
    if before is None or not gone:
        return set()
    if len(session.uuids) < len(before.uuids):
        reading.stays = True
        reading.parts[session.unit] = before
    return gone


def _may_belong(path: str, session: str, messages: list[str]) -> bool:
    """Return True if a missing file of a tree may be a session's, by its path; ``messages``: those it still has."""
    folder, kind = basename(dirname(path)), basename(dirname(dirname(path)))
    if kind == "message":
        return folder in (session, session.removeprefix("ses_"))
    return folder == "part" or kind == session or any(basename(message) == f"{folder}.json" for message in messages)


def tree_files(path: str, raw: RawStore, root: str) -> list[str]:
    """Return the messages and parts of the session at ``path`` in the tree at ``root``, as far as they can be read."""
    stem = basename(path).removesuffix(".json")
    reading = Reading(path, raw)
    info = mapping(_TreeFile(path, reading).value)
    messages = _tree_messages(root, string(info.get("id")) or stem, stem, reading)
    return [file.path for message, parts in messages for file in (message, *parts)]


def _tree_messages(root: str, session: str, stem: str, reading: Reading) -> Iterator[tuple[_TreeFile, list[_TreeFile]]]:
    """Yield the messages of a session in a tree, each with its parts, sorted by path."""
    # Parts that lie in no message's folder name their message.
    loose = [_TreeFile(part, reading) for part in _listed(reading.raw, join(root, "part"))]
    for path in _listed(
        reading.raw, *(join(root, "message", name) for name in (session, stem, stem.removeprefix("ses_")))
    ):
        message = _TreeFile(path, reading)
        name, folder = string(mapping(message.value).get("id")), basename(path).removesuffix(".json")
        places = ((each,) if above is None else (above, each) for each in (name, folder) for above in (None, session))
        parts = [
            _TreeFile(part, reading) for part in _listed(reading.raw, *(join(root, "part", *place) for place in places))
        ]
        parts += [part for part in loose if name and mapping(part.value).get("messageID") == name]
        if any(part.is_changed for part in parts):
            for place, value in spanned([part.found() for part in parts], to_end=True).items():
                parts[place].become(_identity(parts[place].value) if value is None else value, reading)
        yield message, parts


def _listed(raw: RawStore, *folders: str) -> list[str]:
    """Return the JSON files in the first of ``folders`` that has some, sorted."""
    for folder in dict.fromkeys(folders):
        if found := [path for path in raw.listed(folder) if path.endswith(".json")]:
            return found
    return []


class _TreeFile:
    """A message or part in a tree. If it cannot be read, the session's reading has a failure and ``value`` is None.

    ``later``: functions that archive the file.
    """

    __slots__ = ("_loaded", "later", "path", "value")

    def __init__(self, path: str, reading: Reading) -> None:
        self.path = path
        self.value: Any = None
        self.later: list[Callable[[], None]] = []
        self._loaded: store.Loaded | None = None
        data = b""
        try:
            self._loaded = store.Loaded(path, reading.raw)
            self.later.append(self._loaded.keep)
            data = self._loaded.data
            self.value = records.value(data, reading.redacted)
        except OSError as error:
            reading.fail(Failure(path, records.UNREADABLE, error.strerror or str(error)))
        except RecursionError:
            reading.fail(Failure(path, records.TOO_DEEP))
        except ValueError as error:
            if data:
                reading.fail(Failure(path, records.MALFORMED_DOCUMENT, str(error)))

    def found(self) -> Any:
        """Return the value with its secrets, for spans that only several files show; None if it is no JSON."""
        with suppress(ValueError, RecursionError):
            return None if self._loaded is None else records.value(self._loaded.found, None)
        return None

    def become(self, value: Any, reading: Reading) -> None:
        """Replace the value, redacted, in the archive too."""
        self.value = clean_record(json.dumps(value).encode(), value, reading.redacted)
        if self._loaded is not None:
            self._loaded.data = json.dumps(self.value, separators=(",", ":")).encode()

    @property
    def is_changed(self) -> bool:
        """Return True if secrets were replaced."""
        return self._loaded is not None and self._loaded.data != self._loaded.found


def _identity(part: Any) -> Record:
    """Return the ids and the type of a part of which nothing else may be kept."""
    return {key: value for key, value in mapping(part).items() if key in ("id", "sessionID", "messageID", "type")}


# A database

_SESSION = frozenset("directory title version slug parent_id agent time_created fork_session_id".split())
# Tables of sessions, the later version's last.
_SESSIONS = ("session", "session_v2")
# Other tables → the columns that are read, and the order.
_ROWS = {
    "message": (("id", "session_id", "data", "time_created"), "time_created, id"),
    "part": (("id", "message_id", "session_id", "data", "time_created"), "id"),
    "session_message": (("id", "session_id", "type", "seq", "time_created", "data"), "seq"),
    "session_pending": (("id", "session_id", "type", "admitted_seq", "time_created", "data"), "admitted_seq"),
    "session_input": (("id", "session_id", "type", "admitted_seq", "time_created", "data"), "admitted_seq"),
}
# Prompts that wait, in 2.0 and in its betas.
_WAITING = ("session_pending", "session_input")


def _database(
    connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf, *, tool: str
) -> Iterator[None]:
    has_parts = {"message", "part"} <= there.keys()
    if not any(name in there for name in _SESSIONS) or not (has_parts or "session_message" in there):
        reading.skipped = "no sessions in this database"
        return
    shelf.tables = {name: ("id", *sorted(_SESSION & there[name])) for name in _SESSIONS if name in there}
    shelf.tables |= {name: columns for name, (columns, _) in _ROWS.items() if set(columns) <= there.get(name, set())}
    for unit, rows in _sessions(connection, shelf.tables):
        if not rows:  # a damaged name: nothing is found by its replacement
            reading.fail(Failure(reading.path, NAMELESS, one_line(unit, 80)))
            continue
        opened = _without_spans(shelf.open(rows), shelf.tables, reading)
        _session(opened, shelf.tables, reading, tool, has_parts=has_parts)
        shelf.put(unit, opened)
        yield


def _sessions(connection: apsw.Connection, tables: Tables) -> Iterator[tuple[str, list[Row]]]:
    """Yield each session's id and rows, agents after the sessions that they worked for: exclusions pass on."""
    heads = [name for name in _SESSIONS if name in tables]
    ids = " union ".join(f"select id from {name}" for name in heads)
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


def _without_spans(rows: list[Opened], tables: Tables, reading: Reading) -> list[Opened]:
    """Return a session's rows without private spans that cover several parts of one message: each part is a row."""
    if "part" not in tables:
        return rows
    owner, data = (tables["part"].index(name) for name in ("message_id", "data"))
    said = [row for row in rows if row.table == "part" and isinstance(row.cells[data], Json)]
    tagged = {row.cells[owner] for row in said if not row.plain and row.cells[data].may_span}
    held: dict[Any, list[tuple[Opened, Any]]] = {}
    for row in said:
        if row.cells[owner] in tagged:
            with suppress(ValueError, RecursionError):  # counted when the row is parsed
                held.setdefault(row.cells[owner], []).append((row, row.cells[data].found()))
    gone: set[int] = set()
    for parts in held.values():
        for place, value in spanned([value for _, value in parts], to_end=True).items():
            row = parts[place][0]
            if value is None:
                gone.add(id(row))
            else:
                row.cells[data].become(value, reading.redacted)
                row.plain = False
    return [row for row in rows if id(row) not in gone]


def _session(rows: list[Opened], tables: Tables, reading: Reading, tool: str, *, has_parts: bool) -> None:
    """Take one session from its rows."""
    of: dict[str, list[Record]] = {name: [] for name in tables}
    for opened in rows:
        of[opened.table].append(dict(zip(tables[opened.table], opened.cells, strict=True)))
    head: Record = {}
    for row in (row for name in _SESSIONS for row in of.get(name, ())):
        head |= {name: value for name, value in row.items() if value is not None}  # the later table's values win
    identity = str(head.get("id"))
    info = {
        "id": identity,
        **{name: head.get(name) for name in ("directory", "title", "version", "slug", "agent")},
        "parentID": head.get("parent_id"),
        "forkID": head.get("fork_session_id"),
        "time": {"created": head.get("time_created")},
    }
    info = clean_record(json.dumps(info, default=str).encode(), info, reading.redacted)
    conversation = Conversation(reading, info, identity, tool)
    last = _messages(of["message"], of["part"], conversation, reading) if has_parts else ""
    for row in of.get("session_message", ()):
        value = _cell(row["data"], reading, f"session_message {row['id']}")
        made = "" if value is None else moment(mapping(value.get("time")).get("created")) or moment(row["time_created"])
        # Rows until ``last`` repeat messages of the older tables under other ids.
        if value is not None and (not last or made > last):
            conversation.add_row(string(row["type"]), one_line(str(row["id"]), 200), value, made)
    for row in (row for name in _WAITING for row in of.get(name, ())):
        value = _cell(row["data"], reading, f"waiting {row['id']}")
        if value is not None:
            at = moment(row["time_created"])
            conversation.add_waiting(string(row["type"]), one_line(str(row["id"]), 200), value, at)
    conversation.finish()


def _messages(messages: list[Record], parts: list[Record], conversation: Conversation, reading: Reading) -> str:
    """Take the rows of ``message`` with their parts; return when the last message was made, "" if there is none."""
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
            conversation.add(value, held.pop(row["id"], []))
    for orphans in held.values():
        reading.count("parts of no message")
        conversation.add({"role": "assistant"}, orphans)
    return last


def _cell(data: Any, reading: Reading, where: str) -> Record | None:
    """Return the JSON object in a cell; None, and a failure in the reading, if there is none."""
    try:
        value = decoded(data, reading.redacted) if isinstance(data, str | bytes | Json) else None
    except (ValueError, RecursionError) as error:
        reading.fail(Failure(reading.path, records.MALFORMED, f"{one_line(where, 80)}: {error}"))
        return None
    if type(value) is not dict:
        reading.fail(Failure(reading.path, records.NOT_OBJECT, f"{one_line(where, 80)}: {type(value).__name__}"))
        return None
    return value


# Messages of every form

_FIELDS = KNOWN.fields("fields")
_DROPPED_PARTS, _DROPPED_ROWS = KNOWN.words("dropped_parts"), KNOWN.words("dropped_rows")
_UNNAMED = KNOWN.texts("unnamed")
_REFUSALS = KNOWN.texts("refusals")
# A person's words to a refused call follow this (packages/core/src/v1/permission.ts, ``CorrectedError``).
_FEEDBACK = "with the following feedback: "


class Conversation:
    """One session as its messages are added, in order: messages with parts, or rows of ``session_message``."""

    def __init__(self, reading: Reading, info: Record, fallback: str, tool: str) -> None:
        self._reading = reading
        session = SessionBuilder(one_line(string(info.get("id")), 4000) or one_line(fallback), tool)
        self.session = session
        session.extend_to(moment(mapping(info.get("time")).get("created")))
        session.cwd = string(info.get("directory"))
        session.version = string(info.get("version"))
        session.slug = string(info.get("slug"))
        session.forked_from = one_line(string(info.get("forkID")), 500)
        session.parent = one_line(string(info.get("parentID")), 500)
        title = string(info.get("title"))
        if session.parent:
            title, _, kind = title.partition(" (@")
            session.agent_type = one_line(string(info.get("agent")), 80) or kind.removesuffix(" subagent)")
            session.task = "" if title.startswith(_UNNAMED) else title
        elif not title.startswith(_UNNAMED):
            session.title = title

    def finish(self) -> None:
        """Put the session into the reading."""
        session = self.session
        session.records = len(session.uuids)
        self._reading.parts[session.unit] = session

    def add(self, info: Record, parts: Any) -> None:
        """Add one message with its parts; an unknown shape is a failure of the reading."""
        try:
            self._message(info, sequence(parts))
        except BROKEN as error:
            self._reading.broken(error)

    def add_row(self, kind: str, name: str, data: Record, at: str) -> None:
        """Add a row of ``session_message`` (since 2.0), which holds its parts."""
        try:
            self._row(kind, name, data, at)
        except BROKEN as error:
            self._reading.broken(error)

    def add_waiting(self, kind: str, name: str, data: Record, at: str) -> None:
        """Add a prompt that waits, unless it has become a message, which has the same id."""
        if kind == "user" and name not in self.session.uuids:
            self.add_row(kind, name, data, at)

    def _message(self, info: Record, parts: list[Any]) -> None:
        session = self.session
        role, name = info.get("role"), one_line(string(info.get("id")), 200)
        if name:
            session.uuids.add(name)
        at = moment(mapping(info.get("time")).get("created"))
        session.extend_to(at)
        session.extend_to(moment(mapping(info.get("time")).get("completed")))
        if role == "user":
            self._check("message user", info)
            self._user(parts, at)
            return
        if role != "assistant":
            self._unknown(f"message role {one_line(str(role), 60)}")
            return
        self._check("message assistant", info)
        model = string(info.get("modelID")) or string(mapping(info.get("model")).get("modelID"))
        session.usage(model, *_tokens(info, name))
        session.cwd = session.cwd or string(mapping(info.get("path")).get("cwd"))
        is_summary = info.get("summary") is True or info.get("mode") == "compaction"
        for part in parts:
            self._part(mapping(part), at, is_summary=is_summary)
        if mapping(info.get("error")).get("name") == "MessageAbortedError":
            session.interrupt(at, f"{name} aborted")

    def _user(self, parts: list[Any], at: str) -> None:
        typed: list[str] = []
        first = command_text = ""
        for entry in parts:
            part = mapping(entry)
            kind = part.get("type")
            if kind == "text":
                self._check("part text", part)
                text = string(part.get("text"))
                # The harness adds files that were read, reminders and its own prompts as synthetic parts.
                if not part.get("synthetic") and not part.get("ignored") and not repeats_command(text, command_text):
                    found = extract_user_text(text, to_subagent=bool(self.session.parent))
                    first = first or one_line(string(part.get("id")), 200)
                    if any(kind == COMMAND for kind, _ in found.pieces):
                        command_text = text
                    typed.append(self.session.pieces(found, at, f"{first} command"))
            elif kind == "subtask":
                given = {name: part.get(name) for name in ("agent", "description", "prompt")}
                self.session.tool_call("task", given, at, string(part.get("id")))
            elif kind not in _DROPPED_PARTS:
                self._unknown(f"user part {one_line(str(kind), 60)}")
        self.session.prompt(paragraphs(*typed), at, first)

    def _part(self, part: Record, at: str, *, is_summary: bool) -> None:
        """Add a part of an assistant's message."""
        session, kind, name = self.session, part.get("type"), one_line(string(part.get("id")), 200)
        at = moment(mapping(part.get("time")).get("start")) or at
        if kind in ("text", "reasoning", "tool"):
            self._check(f"part {kind}", part)
        if kind == "text":
            if is_summary:
                session.summary(string(part.get("text")), at, name)
            elif not part.get("ignored"):
                session.reply(string(part.get("text")), at, name)
        elif kind == "reasoning":
            session.thought(string(part.get("text")), at, name)
        elif kind == "tool":
            call = string(part.get("callID")) or name
            self._tool(string(part.get("tool")), mapping(part.get("state")), at, name, call)
        elif kind == "subtask":
            session.tool_call("task", {"prompt": part.get("prompt"), "description": part.get("description")}, at, name)
        elif kind not in _DROPPED_PARTS:
            self._unknown(f"part {one_line(str(kind), 60)}")

    def _tool(self, tool: str, state: Record, at: str, name: str, call: str) -> None:
        """Add a tool call and its outcome."""
        session = self.session
        at = moment(mapping(state.get("time")).get("start")) or at
        session.extend_to(moment(mapping(state.get("time")).get("end")))
        session.tool_call(tool, state.get("input"), at, name, call_id=call)
        details = {**mapping(state.get("structured")), **mapping(state.get("metadata"))}
        session.edited(call, details.get("filediff"))
        session.ended(call, moment(mapping(state.get("time")).get("end")))
        code, error = details.get("exit"), state.get("error")
        if state.get("status") == "error":
            text = string(error) or string(mapping(error).get("message")) or "error"
            if text.startswith(_REFUSALS):
                session.tool_note(call, "rejected by the user", at, name)
                session.prompt(text.partition(_FEEDBACK)[2], at, f"{name} feedback {call}")
            else:
                session.tool_error(call, text, at, name)
        elif type(code) is int and code:
            output = string(state.get("output")) or plain(state.get("content"))
            session.tool_error(call, f"Exit code {code}\n{output}", at, name)
        started = string(details.get("sessionId")) or string(details.get("sessionID"))
        if started:
            session.tool_note(call, f"→ {session.source}__{one_line(started, 100)}", at, name)
        answers = details.get("answers")
        if tool == "question" and type(answers) is list:
            said = "; ".join(", ".join(map(str, answer)) for answer in answers if type(answer) is list)
            session.tool_note(call, f"answer: {one_line(said, 2000)}", at, name)

    def _row(self, kind: str, name: str, data: Record, at: str) -> None:
        session = self.session
        at = moment(mapping(data.get("time")).get("created")) or at
        session.uuids.add(name)
        session.extend_to(at)
        if kind == "user":
            found = extract_user_text(string(data.get("text")), to_subagent=bool(session.parent))
            session.prompt(session.pieces(found, at, name), at, name)
        elif kind == "assistant":
            session.usage(mapping(data.get("model")).get("id"), *_tokens(data, name))
            session.extend_to(moment(mapping(data.get("time")).get("completed")))
            for number, block in enumerate(blocks(data.get("content"))):
                self._block(block, at, name, number)
            if mapping(data.get("error")).get("type") == "aborted":
                session.interrupt(at, f"{name} aborted")
        elif kind == "shell":
            command = clean(string(data.get("command"))).strip()
            if command:
                session.command(f"! {command}", at, name)
        elif kind == "compaction":
            session.summary(string(data.get("summary")), at, name)
        elif kind == "idle":
            if data.get("outcome") == "interrupted":
                session.interrupt(at, name)
        elif kind not in _DROPPED_ROWS:
            self._unknown(f"row {one_line(kind, 60)}")

    def _block(self, block: Record, at: str, name: str, number: int) -> None:
        """Add a part that an assistant's row holds."""
        kind = block.get("type")
        if kind == "text":
            self.session.reply(string(block.get("text")), at, name)
        elif kind == "reasoning":
            self.session.thought(string(block.get("text")), at, name)
        elif kind == "tool":
            call = string(block.get("id")) or f"{name} {number}"
            self._tool(string(block.get("name")), mapping(block.get("state")), at, name, call)
        else:
            self._unknown(f"assistant block {one_line(str(kind), 60)}")

    def _check(self, what: str, record: Record) -> None:
        """Count the fields of a record that are not known."""
        self._reading.count_fields(what, record, _FIELDS[what])

    def _unknown(self, what: str, value: Any = None) -> None:
        self._reading.count(what, 0, value)


def _tokens(record: Record, name: str) -> tuple[Any, str, list[Any]]:
    """Return the output tokens of a message, its name, and its tokens of input."""
    tokens = mapping(record.get("tokens"))
    cache = mapping(tokens.get("cache"))
    return tokens.get("output"), name, [tokens.get("input"), cache.get("read"), cache.get("write")]
