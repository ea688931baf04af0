"""What changes in the archive afterwards: files that leave it, in whole or in part, and a new redaction."""

from __future__ import annotations

import hashlib
import io
import json
import os
from typing import TYPE_CHECKING

from core.version import REDACTION
from ingest import sharing
from ingest.archive import (
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
from ingest.recording import Archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from core.home import Home


def remove(home: Home, source: str, paths: Iterable[str], rest: Callable[[str, bytes], bytes]) -> None:
    """Take files out, every version of them, and the objects that nothing names then; ``rest`` (path, bytes of an
    object, or of all where they are one) is what is kept of each, where it is anything. Raises OSError and apsw.Error.
    """
    path = home.path(FOLDER, CATALOGUE)
    if not os.path.exists(path):
        return
    archive = Archive(home, source)
    connection = open_catalogue(path)
    try:
        dropped: set[str] = set()
        taken = [entry for each in paths for entry in entries(connection, source, each)]
        staying: list[Entry] = []
        for entry in taken:
            dropped.update(name for name, _ in entry.segments)
            left = _left(archive.folder, entry, rest, as_one=sharing.is_one(source, entry.path))
            entry.segments = [archive.put(data) for data in left]
            entry.length, entry.sha = sum(map(len, left)), hashlib.sha256(b"".join(left)).hexdigest()
            # One that is stored whole counts as one record.
            entry.records = min(entry.records, sum(data.count(b"\n") for data in left))
            staying += [entry] if left else []
        archive.sync()
        # All at once: a session goes with the thousands of files that it is made of, or is still found whole.
        with connection:
            connection.executemany(
                "delete from files where source = ? and path = ? and version = ?",
                [(source, os.fsencode(entry.path), entry.version) for entry in taken],
            )
            write_rows(connection, source, staying)
        unlink_unnamed(connection, archive.folder, dropped)
        connection.execute("vacuum")
    finally:
        connection.close()
        archive.close()


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
    """Store anew, with this version's redaction, what went through an older one, whatever its version.

    ``counts`` (kind → replaced) is added to. Raises OSError and apsw.Error.
    """
    from core.redaction import clean, clean_record

    def cleaned(line: bytes) -> bytes:
        before = sum(counts.values())
        try:
            record = clean_record(line, json.loads(line), counts)
        except (ValueError, RecursionError):
            text = line.decode("utf-8", "surrogateescape")
            return clean(text, counts).encode("utf-8", "surrogateescape")
        return line if sum(counts.values()) == before else json.dumps(record, separators=(",", ":")).encode() + b"\n"

    connection = open_catalogue(home.path(FOLDER, CATALOGUE))
    archive = Archive(home, source)
    try:
        old = [entry for entry in entries(connection, source) if entry.policy != REDACTION]
        for entry in old:
            whole = hashlib.sha256()
            segments: list[Segment] = []
            length = 0
            for segment in entry.segments:
                data = b"".join(map(cleaned, io.BytesIO(content(archive.folder, segment))))
                whole.update(data)
                length += len(data)
                segments.append(archive.put(data))
            dropped = {name for name, _ in entry.segments} - {name for name, _ in segments}
            entry.segments, entry.length, entry.sha, entry.policy = segments, length, whole.hexdigest(), REDACTION
            archive.sync()
            with connection:
                write_rows(connection, source, [entry])
            unlink_unnamed(connection, archive.folder, dropped)
    finally:
        archive.close()
        connection.close()
