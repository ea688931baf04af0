"""Transcripts of OpenClaw → sessions: entries of Pi's family, in files or, since 2026.7, in a database.

An entry of a row is JSON, compressed if that saves space (``event_zstd``). Sessions that were reset or deleted are
archived whole, in a blob and in a file. Since 2026.9 an idle session moves to cold storage, a blob or a file
``sessions/cold/<sha256>.jsonl.zst``, with rows of several tables as lines (``kind``): rows of ``event`` are entries.
Source: the vendor's openclaw-agent-schema.sql, session-manager-types.ts and session-cold-storage-codec.ts (2026.9.8).

Transcripts hold some messages twice, as entries with other ids. 2026.4.24 rewrote each prompt after its answer, and
appended the following entries again (openclaw/openclaw issues 72012, 72288), as does the shortening of a conversation
(69486); 2026.7.2 added each prompt twice, with one ``idempotencyKey`` (115412). A copy has the message's time (ms), not
the entry's, the answer's ``responseId`` and the same words; a person who repeats words does so at another time.
"""

from __future__ import annotations

import io
import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from core.counting import add
from core.document import Failure
from core.redaction import clean
from core.text import one_line
from ingest.archive.rows import Lines
from ingest.pipeline import databases
from ingest.pipeline.reading import Reading, journal
from ingest.raw import records
from ingest.raw.store import DATABASES, PACKED
from ingest.session.values import blocks, mapping, string
from ingest.sources.openclaw.user_text import extract_user_text
from ingest.sources.pi.parser import OPENCLAW, Tree, TreeFile, named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    import apsw

    from ingest.archive.rows import Row, Shelf, Tables
    from ingest.raw.store import RawStore
    from ingest.session.session import SessionBuilder
    from ingest.session.user_text import UserText

FOREIGN = "not an OpenClaw transcript"
_MAX_ENTRY = 64 * 1024 * 1024
_ARCHIVES = ("session_transcript_archives", "session_transcript_cold_archives")
_NODE = ("session_key", "current_session_id", "label", "spawned_by", "fork_source_session_id")
_ZSTD = b"\x28\xb5\x2f\xfd"


def read(path: str, raw: RawStore) -> Reading:
    """Read one file or database. Raises nothing: faults are in the result."""
    if path.endswith(DATABASES):
        return databases.read(path, raw, _database)

    def make(reading: Reading) -> TreeFile:
        return TreeFile(reading, OpenClawTree(reading, named(path)))

    return journal(path, raw, make, FOREIGN, ColdStorage if path.endswith(PACKED) else None)


class OpenClawTree(Tree):
    """The entries of one session of OpenClaw."""

    def __init__(self, reading: Reading, unit: str) -> None:
        super().__init__(reading, OPENCLAW, unit)

    def user_text(self, text: str, message: dict[str, Any]) -> UserText:
        return extract_user_text(text, provenance=message.get("provenance"))

    def repeated_name(self, kind: str, record: dict[str, Any], message: dict[str, Any]) -> str:
        if not record.get("id"):
            return ""
        what: tuple[object, ...] = ()
        role, at = message.get("role"), message.get("timestamp")
        at = at if type(at) in (int, float, str) else ""
        if kind == "compaction":
            what = ("", record.get("summary"))
        elif role == "user":
            texts = [extract_user_text(string(block.get("text"))).words for block in blocks(message.get("content"))]
            said = "\n\n".join(text for text in texts if text)
            what = (string(message.get("idempotencyKey")) or at, said) if said else ()
        elif role == "assistant":
            # Some services give every answer the same id.
            what = (at or string(message.get("responseId")), message.get("content"), message.get("responseId"))
        elif role == "toolResult":
            what = (at, string(message.get("toolCallId")))
        elif role == "bashExecution":
            what = (at, message.get("command"))
        if not what or not (what[0] or kind == "compaction") or not what[1]:
            return ""
        data = json.dumps([kind, role, *what], sort_keys=True).encode()
        return blake2b(data, digest_size=12).hexdigest()


class ColdStorage:
    """The entries of a transcript in cold storage, a line each; the lines of any other stream."""

    __slots__ = ("_is_cold", "_stream")

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._is_cold: bool | None = None

    def readline(self, limit: int = -1) -> bytes:
        """Return the next line, of at most ``limit`` bytes."""
        while line := self._stream.readline(limit):
            if self._is_cold is None:
                self._is_cold = string(_cold(line).get("kind")) == "header"
            if not self._is_cold:
                return line
            found = _cold(line)
            if not found:
                return line  # damaged: the caller counts it
            if found.get("kind") == "event":
                return _one_line(string(mapping(found.get("row")).get("event_json")))
        return b""


def _cold(line: bytes) -> dict[str, Any]:
    """Return a line of cold storage, empty if it is none."""
    if not line.lstrip().startswith(b"{") or b'"kind"' not in line:
        return {}
    try:
        return mapping(json.loads(line, strict=False))
    except (ValueError, RecursionError):
        return {}


def _one_line(entry: str) -> bytes:
    return entry.replace("\r", " ").replace("\n", " ").encode("utf-8", "surrogatepass") + b"\n"


def _database(
    connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf
) -> Iterator[None]:
    if "transcript_events" not in there:
        reading.skipped = "no transcripts in this database"
        return
    trees = _Trees(reading)
    # A session's archive is older than its rows.
    for table in _ARCHIVES:
        if {"session_id", "archive_blob"} <= there.get(table, set()):
            _archives(connection, trees, table)
    _rows(connection, trees, "event_zstd" in there["transcript_events"])
    known = _known(connection, there)
    for unit, tree in trees.found.items():
        tree.finish()
        _describe(reading.parts.get(tree.unit), known.get(unit), reading.redacted)
    shelf.tables = _tables(there)
    shelf.keep(_groups(connection, shelf.tables, "event_zstd" in there["transcript_events"]))
    yield


class _Trees:
    """The sessions of a database: the entries of one may be in several tables."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.found: dict[str, Tree] = {}

    def of(self, session: Any) -> Tree:
        """Return the tree of a row's session."""
        unit = one_line(str(session), 4000)
        if unit not in self.found:
            self.found[unit] = OpenClawTree(self.reading, unit)
        return self.found[unit]


def _rows(connection: apsw.Connection, trees: _Trees, packed: bool) -> None:
    reading = trees.reading
    columns = "event_json, event_zstd" if packed else "event_json, NULL"
    rows = connection.execute(f"select session_id, seq, {columns} from transcript_events order by session_id, seq")
    for session, number, text, blob in rows:
        try:
            entry: Any = records.value(_unpacked(blob) if text is None and blob is not None else text, reading.redacted)
        except (ValueError, RecursionError, TypeError, AttributeError) as error:
            reading.fail(Failure(reading.path, records.MALFORMED, f"{one_line(str(session), 80)}: {error}", 0))
            continue
        if type(entry) is dict:
            trees.of(session).add(entry, number if type(number) is int else 0)
        else:
            reading.fail(Failure(reading.path, records.NOT_OBJECT, type(entry).__name__))


def _known(connection: apsw.Connection, there: dict[str, set[str]]) -> dict[str, dict[str, str]]:
    """Return unit → its ``label``, ``fork`` (the session that it continues) and ``parent`` session."""
    if not ({"session_id", "session_key"} <= there.get("session_windows", set()) and _node_columns(there)):
        return {}
    nodes: dict[str, dict[str, str]] = {}
    columns = _node_columns(there)
    for row in connection.execute(f"select {', '.join(columns)} from session_nodes"):
        found = {name: value for name, value in zip(columns, row, strict=True) if type(value) is str}
        nodes.setdefault(found.get("session_key", ""), {}).update(found)
    known: dict[str, dict[str, str]] = {}
    for session, key in connection.execute("select session_id, session_key from session_windows").fetchall():
        node = nodes.get(str(key), {})
        known[one_line(str(session), 4000)] = {
            "label": node.get("label", ""),
            "fork": node.get("fork_source_session_id", ""),
            "parent": nodes.get(node.get("spawned_by", ""), {}).get("current_session_id", ""),
        }
    return known


def _node_columns(there: dict[str, set[str]]) -> tuple[str, ...]:
    found = there.get("session_nodes", set())
    return tuple(name for name in _NODE if name in found) if "session_key" in found else ()


def _describe(session: SessionBuilder | None, known: dict[str, str] | None, redacted: dict[str, int]) -> None:
    if session is None or known is None:
        return
    session.title = session.title or clean(known["label"], redacted)
    parent, fork = one_line(known["parent"], 500), one_line(known["fork"], 500)
    session.parent = session.parent or ("" if parent == session.unit else parent)
    session.forked_from = session.forked_from or ("" if fork == session.unit else fork)


def _tables(there: dict[str, set[str]]) -> Tables:
    """Return the tables and columns that the archive keeps, unpacked."""
    tables: dict[str, tuple[str, ...]] = {"transcript_events": ("session_id", "seq", "event_json")}
    for table in _ARCHIVES:
        if {"session_id", "archive_blob"} <= there.get(table, set()):
            tables[table] = ("session_id", "archive_blob")
    nodes = _node_columns(there)
    if nodes and {"session_id", "session_key"} <= there.get("session_windows", set()):
        tables |= {"session_windows": ("session_id", "session_key"), "session_nodes": nodes}
    return tables


def _groups(connection: apsw.Connection, tables: Tables, packed: bool) -> Iterator[tuple[str, list[Row]]]:
    held = [name for name in tables if name in ("transcript_events", *_ARCHIVES)]
    units = "select session_id from " + " union select session_id from ".join(held)
    column = "event_zstd" if packed else "NULL"
    query = f"select session_id, seq, event_json, {column} from transcript_events where session_id is ? order by seq"
    for (session,) in connection.execute(units).fetchall():
        rows: list[Row] = []
        for name, number, text, blob in connection.execute(query, (session,)):
            event = _legible(blob) if text is None else text
            rows.append(("transcript_events", (name, number, event)))
        for table in [name for name in held if name != "transcript_events"]:
            for name, blob in connection.execute(
                f"select * from (select session_id, archive_blob from {table} order by rowid) where session_id is ?",
                (session,),
            ):
                data = _legible(blob)
                rows.append((table, (name, None if data is None else Lines(data))))
        if "session_nodes" in tables:
            rows += _about(connection, tables["session_nodes"], session)
        yield one_line(str(session), 4000), rows


def _about(connection: apsw.Connection, columns: tuple[str, ...], session: Any) -> list[Row]:
    """Return a session's own rows, and its parent's with only the columns that identify the parent."""
    rows: list[Row] = []
    for (key,) in connection.execute("select session_key from session_windows where session_id is ?", (session,)):
        rows.append(("session_windows", (session, key)))
        query = f"select {', '.join(columns)} from session_nodes where session_key is ?"
        for node in connection.execute(query, (key,)).fetchall():
            rows.append(("session_nodes", tuple(node)))
            parent = dict(zip(columns, node, strict=True)).get("spawned_by")
            for other in connection.execute(query, (parent,)).fetchall() if parent and parent != key else ():
                found = zip(columns, other, strict=True)
                shown = tuple(value if name in ("session_key", "current_session_id") else None for name, value in found)
                rows.append(("session_nodes", shown))
    return rows


def _legible(blob: Any) -> bytes | None:
    """Return the text of an entry or archive; None if it cannot be unpacked, as no run can read it."""
    if type(blob) is not bytes:
        return None
    try:
        return _warm(_unpacked(blob) if blob.startswith(_ZSTD) else blob)
    except ValueError:
        return None


def _warm(data: bytes) -> bytes:
    if not data.startswith(b'{"kind"'):
        return data
    stream = ColdStorage(io.BytesIO(data))
    return b"".join(iter(stream.readline, b""))


def _archives(connection: apsw.Connection, trees: _Trees, table: str) -> None:
    """Add sessions that were moved out of the rows: JSON Lines, mostly compressed."""
    reading = trees.reading
    query = f"select session_id, archive_blob from {table} order by session_id, rowid"
    for session, blob in connection.execute(query):
        if type(blob) is not bytes:
            continue  # a file of its own has the entries
        unit = one_line(str(session), 80)
        try:
            data = _warm(_unpacked(blob) if blob.startswith(_ZSTD) else blob)
        except ValueError as error:
            reading.fail(Failure(reading.path, records.MALFORMED, f"{unit}: {error}"))
            continue
        source = records.Records(io.BytesIO(data), reading.path)
        tree = trees.of(session)
        for item in source:
            if isinstance(item, Failure):
                reading.fail(item)
            else:
                tree.add(item[1], item[0])
        add(reading.redacted, source.redacted)


def _unpacked(blob: bytes) -> bytes:
    """Unpack a zstd frame. Raises ValueError if it is damaged or larger than 64 MB."""
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(blob, max_output_size=_MAX_ENTRY)
    except zstandard.ZstdError as error:
        raise ValueError(f"not zstd: {error}") from None
