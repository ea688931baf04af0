"""Databases as raw sources: what tells that one has changed, and reading a copy while its application goes on.

A database is one file to the ledger. Its size is the sum of its parts', its mtime the latest of them: what stands in
the write-ahead log alone is a change too. Its bytes are not hashed: an unchanged stat is an unchanged database.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from os.path import join
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from ingest.files import SourceFile
    from ingest.reading import Reading
    from ingest.rows import Source

    Take = Callable[[apsw.Connection, dict[str, set[str]], Reading], None]

SUFFIXES = (".vscdb", ".sqlite", ".db")
UNSETTLED = "written to all the time"
DAMAGED = "damaged database"
FOREIGN = "no SQLite database"
NOTHING = hashlib.sha256().hexdigest()


def look(path: str) -> tuple[int, int, int]:
    """(bytes, latest mtime in ns, inode) of a database with its write-ahead log. Raises OSError."""
    status = os.stat(path)
    size, mtime_ns = status.st_size, status.st_mtime_ns
    with contextlib.suppress(OSError):
        log = os.stat(f"{path}-wal")
        size += log.st_size
        mtime_ns = max(mtime_ns, log.st_mtime_ns) if log.st_size else mtime_ns
    return size, mtime_ns, status.st_ino


def with_logs(files: Sequence[SourceFile]) -> Sequence[SourceFile]:
    """``files`` as ``discover`` found them, each database with its write-ahead log."""
    for file in files:
        if file.path.endswith(SUFFIXES) and not file.skip:
            with contextlib.suppress(OSError):
                file.size, file.mtime_ns, file.inode = look(file.path)
    return files


def read(path: str, take: Take, source: Source) -> Reading:
    """Read a database: ``take`` fills the reading's parts from a copy of it, given its ``tables``.

    ``source`` gives the archive the rows that ``take`` reads; where the database is read from the archive, ``take``
    gets one of these rows.

    Never raises for what is in the file or for its not being readable: see ``Reading.failed``.
    """
    import apsw

    from core.document import Failure
    from core.home import resolve
    from ingest.rawfiles import keeping
    from ingest.reading import Reading, unreadable
    from ingest.sqlite_copy import Unsettled, copied, is_database

    reading = Reading(path)
    kept = keeping()
    try:
        if kept is not None and kept.shelved(path) is not None:
            _restored(reading, take)
            return reading
        reading.size, reading.mtime_ns, reading.inode = look(path)
        reading.digest = NOTHING
        if not is_database(path):
            reading.skipped = FOREIGN
            return reading
        with copied(path, join(resolve().state, "scratch")) as copy:
            there = tables(copy.connection)
            take(copy.connection, there, reading)
            for part in reading.parts.values():
                part.digest = part.digest or reading.digest
            if kept is not None and reading.parts:
                from ingest.rows import record

                record(source, copy.connection, there, reading, kept)
    except OSError as error:
        unreadable(reading, error)
    except Unsettled:
        reading.failed = Failure(path, "unreadable", UNSETTLED)
    except apsw.Error as error:
        reading.parts.clear()
        reading.failed = Failure(path, DAMAGED, str(error))
    return reading


def _restored(reading: Reading, take: Take) -> None:
    from ingest.rawfiles import RawFile
    from ingest.rows import restored

    with RawFile(reading.path) as raw, restored(raw) as connection:
        assert raw.entry is not None
        reading.stat(raw.status)
        reading.consumed, reading.digest = raw.entry.consumed, raw.entry.digest
        take(connection, tables(connection), reading)
        for part in reading.parts.values():
            part.digest = part.digest or reading.digest


def tables(connection: apsw.Connection) -> dict[str, set[str]]:
    """Table → its columns, lower case: formats are told apart by what is there, not by a version."""
    names = [name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")]
    found: dict[str, set[str]] = {}
    for name in names:
        rows = connection.execute("select name from pragma_table_info(?)", (name,))
        found[str(name).lower()] = {str(column).lower() for (column,) in rows}
    return found
