"""FTS5's own integrity check, asked of every index that a test leaves behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from qmd.index.segments import TABLES

_SQLITE = b"SQLite format 3\0"
_BUSY_MS = 10_000


def databases(folder: Path) -> Iterator[str]:
    """The SQLite databases below ``folder``, found by name and by their first bytes."""
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if name.endswith(".sqlite") and os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as stream:
                    if stream.read(len(_SQLITE)) == _SQLITE:
                        yield path


def faults(path: str) -> list[str]:
    """Return what FTS5 finds wrong in the full-text tables of the database at ``path``; the check writes nothing.

    A file that is no database to SQLite has no faults of this kind: tests of damaged files leave such files. Any other
    error is a fault, or is raised: an index that is locked is not known to be sound.
    """
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        try:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%USING fts5(%'").fetchall()
        except (apsw.NotADBError, apsw.CorruptError):
            return []
        try:
            said = [each for (name,) in tables for each in connection.execute(f"PRAGMA integrity_check('{name}')")]
        except apsw.CorruptError as error:
            return [f"{path}: {error}"]
        return [f"{path}: {each}" for (each,) in said if each != "ok"]
    finally:
        connection.close()


def terms(path: str) -> set[str]:
    """Every term of the full-text tables of the index at ``path``."""
    connection = apsw.Connection(path)
    found: set[str] = set()
    for table in TABLES:
        connection.execute(f"CREATE VIRTUAL TABLE temp.seen USING fts5vocab('main', '{table}', 'row')")
        found |= {str(term) for (term,) in connection.execute("SELECT term FROM temp.seen")}
        connection.execute("DROP TABLE temp.seen")
    connection.close()
    return found
