"""OpenClaw's transcripts → sessions: Pi's family of entries, in files or, since 2026.7, as rows of an agent's database.

A row's entry is JSON, compressed where that pays (``event_zstd``); an old session may be archived whole in a blob.
Source: the vendor's openclaw-agent-schema.sql and session-manager-types.ts.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from core.document import Failure
from core.text import one_line
from ingest import databases, records
from ingest._pi import Tree, take
from ingest.reading import Reading, lines
from ingest.rows import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from ingest.rows import Groups, Row, Tables

NAME = "openclaw"
FOREIGN = "not an OpenClaw transcript"
_MAX_ENTRY = 64 * 1024 * 1024
_ARCHIVES = ("session_transcript_cold_archives", "session_transcript_archives")
_ZSTD = b"\x28\xb5\x2f\xfd"


def read(path: str) -> Reading:
    """Read one file or database. Never raises for what is in it: see ``Reading.failed``."""
    if not path.endswith(databases.SUFFIXES):
        return lines(path, lambda source, reading: take(source, reading, NAME), FOREIGN)
    return databases.read(path, _database, _kept)


def _database(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading) -> None:
    if "transcript_events" not in there:
        reading.skipped = "no transcripts in this database"
        return
    _rows(connection, reading, "event_zstd" in there["transcript_events"])
    for table in _ARCHIVES:
        if {"session_id", "archive_blob"} <= there.get(table, set()):
            _archives(connection, reading, table)


def _rows(connection: apsw.Connection, reading: Reading, packed: bool) -> None:
    columns = "event_json, event_zstd" if packed else "event_json, NULL"
    tree: Tree | None = None
    current = None
    rows = connection.execute(f"select session_id, seq, {columns} from transcript_events order by session_id, seq")
    for session, number, text, blob in rows:
        if session != current or tree is None:
            if tree is not None:
                tree.finish()
            current = session
            tree = Tree(reading, NAME, one_line(str(session), 4000))
        try:
            entry: Any = records.value(_unpacked(blob) if text is None and blob is not None else text, reading.redacted)
        except (ValueError, RecursionError, TypeError, AttributeError) as error:
            reading.fail(Failure(reading.path, records.MALFORMED, f"{one_line(str(session), 80)}: {error}", 0))
            continue
        if type(entry) is dict:
            tree.add(entry, number if type(number) is int else 0)
        else:
            reading.fail(Failure(reading.path, records.NOT_OBJECT, type(entry).__name__))
    if tree is not None:
        tree.finish()


def _kept(connection: apsw.Connection, there: dict[str, set[str]]) -> tuple[Tables, Groups]:
    """What of a database the archive keeps, unpacked."""
    tables: dict[str, tuple[str, ...]] = {"transcript_events": ("session_id", "seq", "event_json")}
    for table in _ARCHIVES:
        if {"session_id", "archive_blob"} <= there.get(table, set()):
            tables[table] = ("session_id", "archive_blob")
    return tables, _groups(connection, tables, "event_zstd" in there["transcript_events"])


def _groups(connection: apsw.Connection, tables: Tables, packed: bool) -> Iterator[tuple[str, list[Row]]]:
    units = "select session_id from " + " union select session_id from ".join(tables)
    column = "event_zstd" if packed else "NULL"
    query = f"select session_id, seq, event_json, {column} from transcript_events where session_id is ? order by seq"
    for (session,) in connection.execute(units).fetchall():
        rows: list[Row] = []
        for name, number, text, blob in connection.execute(query, (session,)):
            held = _legible(blob) if text is None else text
            rows.append(("transcript_events", (name, number, held)))
        for table in [name for name in tables if name != "transcript_events"]:
            for name, blob in connection.execute(
                f"select * from (select session_id, archive_blob from {table}) where session_id is ?", (session,)
            ):
                data = _legible(blob)
                rows.append((table, (name, None if data is None else Lines(data))))
        yield one_line(str(session), 4000), rows


def _legible(blob: Any) -> bytes | None:
    """The text of an entry or archive; None where it cannot be unpacked, which is no loss: it could not be read."""
    if type(blob) is not bytes:
        return None
    try:
        return _unpacked(blob) if blob.startswith(_ZSTD) else blob
    except ValueError:
        return None


def _archives(connection: apsw.Connection, reading: Reading, table: str) -> None:
    """Sessions that were moved out of the rows: JSON Lines, mostly compressed."""
    for session, blob in connection.execute(f"select session_id, archive_blob from {table} order by session_id"):
        unit = one_line(str(session), 4000)
        if type(blob) is not bytes or unit in reading.parts:
            continue
        try:
            data = _unpacked(blob) if blob.startswith(_ZSTD) else blob
        except ValueError as error:
            reading.fail(Failure(reading.path, records.MALFORMED, f"{unit[:80]}: {error}"))
            continue
        source = records.Records(io.BytesIO(data), reading.path)
        take(source, reading, NAME, unit)
        for kind, count in source.redacted.items():
            reading.redacted[kind] = reading.redacted.get(kind, 0) + count


def _unpacked(blob: bytes) -> bytes:
    """Raises ValueError where it is no zstd frame of a bearable size."""
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(blob, max_output_size=_MAX_ENTRY)
    except zstandard.ZstdError as error:
        raise ValueError(f"not zstd: {error}") from None
