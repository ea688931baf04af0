"""Faults of an index: what SQLite finds damaged, and what does not follow from the texts that it holds."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import apsw

from core.sqlite import DAMAGE, open_to_read
from qmd.index import catalogue, derived, schema

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUSY_MS = 5_000
# Tables with rows that are read as they are: a text that is no UTF-8 cannot be read.
_PLAIN = ("documents", "store_collections", "store_config", "brain_state", "brain_files")


def of_file(path: str) -> str:
    """Return the first fault of the index at ``path``, "" if it is sound. Raises apsw.Error if it cannot be opened."""
    connection = open_to_read(path, _BUSY_MS)
    try:
        return first(connection)
    except DAMAGE as error:
        return str(error)
    finally:
        connection.close()


def first(connection: apsw.Connection) -> str:
    """Return the first fault, "" if there is none. Raises apsw.Error where SQLite fails otherwise than by damage."""
    found = ""
    try:
        with connection:  # one state of the index
            found = next(_faults(connection), "")
    except DAMAGE as error:
        found = f"{type(error).__name__}: {error}"
    return " ".join(found.split())


def _faults(connection: apsw.Connection) -> Iterator[str]:
    # The quick check leaves out secondary B-trees, and takes nearly as long: most of the time is FTS5's.
    for (said,) in connection.execute("PRAGMA integrity_check(1)"):
        if said != "ok":
            yield str(said)
    yield from _structure(connection)
    for table in _PLAIN:
        for _ in connection.execute(f"SELECT * FROM {table}"):  # every text is decoded
            pass
    yield from _derived(connection)


def _structure(connection: apsw.Connection) -> Iterator[str]:
    """Yield the tables, columns, indexes and triggers that are missing."""
    sound = apsw.Connection(":memory:")
    try:
        schema.ensure(sound)
        wanted = _entries(sound)
        there = _entries(connection)
        for kind, name in sorted(wanted):
            if (kind, name) not in there:
                yield f"no {kind} {name}"
            elif kind == "table":
                for column in sorted(_columns(sound, name) - _columns(connection, name)):
                    yield f"no table {name} with a column {column}"
    finally:
        sound.close()


def _entries(connection: apsw.Connection) -> set[tuple[str, str]]:
    rows: Any = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
    return set(rows)


def _columns(connection: apsw.Connection, table: str) -> set[str]:
    """Return a table's columns. Only for tables of the schema: those of sqlite-vec have none while it is not loaded."""
    return {str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_xinfo(?)", (table,))}


def _derived(connection: apsw.Connection) -> Iterator[str]:
    """Yield the texts that are not what their hashes say, and what was made of a text and does not follow from it."""
    for row in catalogue.derived(connection):
        digest, text, dated, date, ended, fields, starts = row
        if not isinstance(text, str) or hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != digest:
            yield f"the text with the hash {digest} is not what the hash says"
        if fields is not None:
            # Without a date of its own, a document has that of its file.
            found = derived.read(text, date)
            if (dated, date, ended, fields) != (int(found.dated), found.date, found.ended, found.packed()):
                yield f"the facts of the text {digest} are not what the text says"
        if starts is not None and derived.cut(text).tobytes() != starts:
            yield f"the passages of the text {digest} are not those of the text"
