"""Databases as raw sources: detecting changes, and reading a copy while the application goes on writing.

A database is one file to the ledger. Its size is the sum of its parts', its mtime the latest of them: a row in the
write-ahead log alone is a change, too. Its bytes are not hashed: an unchanged stat is an unchanged database.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from os.path import join
from typing import TYPE_CHECKING

from ingest.archive.rows import Shelf, restored
from ingest.pipeline.reading import DAMAGED, Reading, unreadable
from ingest.raw.records import REPLACED
from ingest.raw.sqlite_copy import Unsettled, bear, copied, is_database
from ingest.raw.store import with_log

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any

    import apsw

    from ingest.pipeline.state import FileRow
    from ingest.raw.store import RawStore

    # (reason, detail).
    Damage = tuple[str, str]
    Take = Callable[[apsw.Connection, dict[str, set[str]], Reading, Shelf], Iterator[None]]

UNSETTLED = "written to all the time"
FOREIGN = "no SQLite database"
NOTHING = hashlib.sha256().hexdigest()


def look(path: str) -> tuple[int, int, int]:
    """Return (bytes, latest mtime in ns, inode) of a database with its write-ahead log. Raises OSError."""
    status = os.stat(path)
    return *with_log(path, status), status.st_ino


def read(path: str, raw: RawStore, take: Take) -> Reading:
    """Return a database as ``stream`` reads it, with all its parts."""

    reading = Reading(path, raw)
    for _ in _stream(reading, take):
        continue
    return reading


def stream(path: str, raw: RawStore, take: Take) -> Iterator[Reading]:
    """Read a database; its reading is given out each time that more of its parts are whole, and at its end.

    ``take`` fills the reading's parts from a copy of the database, given its ``tables``, and puts their rows on the
    shelf; it yields where parts are whole. Where the database is read from the archive it gets one of these rows.

    Raises nothing for what is in the file or for its not being readable: see ``Reading.failed``.
    """

    reading = Reading(path, raw)
    yield from _stream(reading, take)
    yield reading


def _stream(reading: Reading, take: Take) -> Iterator[Reading]:
    import apsw

    from core.document import Failure
    from core.files import NO_ROOM
    from core.home import resolve
    from core.sqlite import is_full

    path = reading.path
    shelf = Shelf(reading, lambda lines: _parts(reading, lines, take))
    try:
        if reading.raw.is_shelved(path):
            with shelved(reading) as connection:
                yield from _whole(connection, take, reading, shelf)
            return
        reading.size, reading.mtime_ns, reading.inode = look(path)
        reading.digest = NOTHING
        if not is_database(path):
            reading.skipped = FOREIGN
            return
        with copied(path, join(resolve().state, "scratch")) as copy:
            replaced = bear(copy.connection)
            yield from _whole(copy.connection, take, reading, shelf)
            if replaced:
                reading.recovered[REPLACED] = len(replaced)
            shelf.finish()
    except OSError as error:
        if error.errno in NO_ROOM:
            raise  # for the copy, which is no fault of the database's
        unreadable(reading, error)
    except Unsettled:
        reading.failed = Failure(path, "unreadable", UNSETTLED)
    except apsw.Error as error:
        if isinstance(error, apsw.FullError | apsw.IOError) and is_full(resolve().state):
            raise
        _damaged(reading, error)


def _whole(connection: apsw.Connection, take: Take, reading: Reading, shelf: Shelf) -> Iterator[Reading]:
    import apsw

    from core.home import resolve
    from core.sqlite import is_full

    whole: set[str] = set()
    try:
        for _ in take(connection, tables(connection), reading, shelf):
            _date(reading)
            whole.update(reading.parts)
            yield reading
        _date(reading)
    except apsw.Error as error:
        if isinstance(error, apsw.FullError | apsw.IOError) and is_full(resolve().state):
            raise
        # The content before the damage stays, in the archive as in its documents.
        _damaged(reading, error, whole)
        if not (reading.taken or reading.parts):
            shelf.abandon()


def damage_of(row: FileRow) -> Damage | None:
    """Return the damage that ended the last reading of a database."""
    import json

    reason, _, detail = row.reason.partition(": ")
    if row.status == "failed" and reason == DAMAGED:
        return reason, detail
    said = json.loads(row.notes or "{}").get("partial")
    return (str(said[0]), str(said[1])) if said else None


def _damaged(reading: Reading, error: apsw.Error, whole: Collection[str] = ()) -> None:
    from core.document import Failure

    reading.parts = {unit: part for unit, part in reading.parts.items() if unit in whole}
    reading.failed = Failure(reading.path, DAMAGED, str(error))


def _date(reading: Reading) -> None:
    for part in reading.parts.values():
        part.digest = part.digest or reading.digest


@contextlib.contextmanager
def shelved(reading: Reading) -> Iterator[apsw.Connection]:
    """Open a database of the archived rows of a file. Raises OSError."""

    with reading.raw.open(reading.path) as file, restored(file.lines) as connection:
        assert file.entry is not None
        reading.stat(file.status)
        reading.consumed, reading.digest = file.entry.consumed, file.entry.digest
        yield connection


def _parts(of: Reading, lines: Iterable[bytes], take: Take) -> dict[str, Any]:
    """Return unit → part of what the archive has of a database."""

    reading = Reading(of.path, of.raw)
    with restored(lines) as connection:
        for _ in take(connection, tables(connection), reading, Shelf(reading, None)):
            continue
    return reading.parts


def tables(connection: apsw.Connection) -> dict[str, set[str]]:
    """Return table → its columns, lower case: parsers recognise formats by them, not by a version."""
    names = [name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")]
    found: dict[str, set[str]] = {}
    for name in names:
        rows = connection.execute("select name from pragma_table_info(?)", (name,))
        found[str(name).lower()] = {str(column).lower() for (column,) in rows}
    return found
