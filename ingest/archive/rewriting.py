"""Rewriting the archive: removing files, in whole or in part, and redacting again."""

from __future__ import annotations

import hashlib
import io
import json
import os
from typing import TYPE_CHECKING

from core.redaction.carried import Carried
from core.version import REDACTION
from ingest.archive import sharing
from ingest.archive.archive import (
    CATALOGUE,
    FOLDER,
    Entry,
    Segment,
    content,
    entries,
    open_catalogue,
    unlink_unnamed,
    write_rows,
)
from ingest.archive.recording import Archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import apsw

    from core.home import Home


_GOING = "create table if not exists going(name text primary key) without rowid"


def remove(home: Home, source: str, paths: Iterable[str], rest: Callable[[str, bytes], bytes]) -> None:
    """Remove files, every version of them, and the objects that no row names then.

    ``rest(path, data)`` returns what stays of an object, or of all objects of a file that are taken apart together.
    Raises OSError and apsw.Error.
    """
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return
    archive = Archive(home, source)
    connection = open_catalogue(path)
    try:
        dropped = _going(connection)
        taken = [entry for each in paths for entry in entries(connection, source, each)]
        staying: list[Entry] = []
        for entry in taken:
            dropped.update(name for name, _ in entry.segments)
            left = _left(archive.folder, entry, rest, as_one=sharing.is_one(source, entry.path))
            if left:
                staying.append(
                    entry._replace(
                        segments=[archive.put(data) for data in left],
                        length=sum(map(len, left)),
                        sha=hashlib.sha256(b"".join(left)).hexdigest(),
                        # A file that is stored whole counts as one record.
                        records=min(entry.records, sum(data.count(b"\n") for data in left)),
                    )
                )
        archive.sync()
        # In one transaction: a session goes with the thousands of files that it is made of, or stays whole.
        with connection:
            connection.executemany(
                "delete from files where source = ? and path = ? and version = ?",
                [(source, os.fsencode(entry.path), entry.version) for entry in taken],
            )
            write_rows(connection, source, staying)
            # A run that is killed now leaves orphan objects: the next one finds in this table which to delete.
            connection.execute(_GOING)
            connection.executemany("insert or ignore into going values(?)", [(name,) for name in dropped])
        unlink_unnamed(connection, archive.folder, dropped)
        connection.execute("drop table going")
        connection.execute("vacuum")
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    finally:
        connection.close()
        archive.close()


def _going(connection: apsw.Connection) -> set[str]:
    """Return the objects that a killed run had still to delete."""
    if connection.execute("select 1 from sqlite_schema where name = 'going'").fetchone() is None:
        return set()
    return {str(name) for (name,) in connection.execute("select name from going")}


def _left(folder: str, entry: Entry, rest: Callable[[str, bytes], bytes], *, as_one: bool) -> list[bytes]:
    found: list[bytes] = []
    for segment in entry.segments:
        try:
            data = content(folder, segment)
            found.append(data if as_one else rest(entry.path, data))
        except (OSError, ValueError):
            continue  # damaged: nothing of it can be read
    if as_one:
        found = [rest(entry.path, b"".join(found))]
    return [data for data in found if data]


def redact_again(home: Home, source: str, counts: dict[str, int]) -> None:
    """Store every file that went through an older redaction, or none, with the present one.

    ``counts`` (kind → replaced) is added to. Damaged files stay as they are. Raises OSError and apsw.Error.
    """
    archive = Archive(home, source)
    connection = open_catalogue(home.path(FOLDER, CATALOGUE))
    try:
        old = [entry for entry in entries(connection, source) if entry.policy != REDACTION]
        for entry in old:
            whole = hashlib.sha256()
            segments: list[Segment] = []
            length = 0
            try:
                for data in _redacted(archive.folder, source, entry, counts):
                    whole.update(data)
                    length += len(data)
                    segments.append(archive.put(data))
            except Unreadable:
                continue
            dropped = {name for name, _ in entry.segments} - {name for name, _ in segments}
            made = entry._replace(segments=segments, length=length, sha=whole.hexdigest(), policy=REDACTION)
            archive.sync()
            with connection:
                write_rows(connection, source, [made])
            unlink_unnamed(connection, archive.folder, dropped)
    finally:
        connection.close()
        archive.close()


class Unreadable(Exception):
    """An object is missing or damaged."""


def _redacted(folder: str, source: str, entry: Entry, counts: dict[str, int]) -> Iterator[bytes]:
    """Yield the objects of an entry without secrets: line by line if they are JSON Lines, else as one document or text.

    A secret that reaches to the end of a line would cut a document so that it is no JSON any more.
    """
    first = _content(folder, entry.segments[0]) if entry.segments else b""
    if _is_record(first[: first.find(b"\n") + 1] or first):
        carried = Carried()
        for number, segment in enumerate(entry.segments):
            data = _content(folder, segment) if number else first
            yield b"".join(_line(line, counts, carried) for line in io.BytesIO(data))
    elif first:
        data = first + b"".join(_content(folder, segment) for segment in entry.segments[1:])
        yield sharing.redacted(source, entry.path, data, counts)


def _content(folder: str, segment: Segment) -> bytes:
    try:
        return content(folder, segment)
    except OSError as error:
        raise Unreadable from error


def _is_record(line: bytes) -> bool:
    try:
        return type(json.loads(line)) is dict
    except (ValueError, RecursionError):
        return False


def _line(line: bytes, counts: dict[str, int], carried: Carried) -> bytes:
    from core.redaction import clean, clean_record

    before = sum(counts.values())
    try:
        record = clean_record(line, json.loads(line, strict=False), counts, carried)
    except (ValueError, RecursionError):
        text = line.decode("utf-8", "surrogateescape")
        return clean(text, counts).encode("utf-8", "surrogateescape")
    if sum(counts.values()) == before:
        return line
    return json.dumps(record, separators=(",", ":")).encode() + (b"\n" if line.endswith(b"\n") else b"")
