"""Sessions in databases of the usual form: a table with a row a session, and tables with the session's id.

Columns are read if the database has them: versions differ in columns, not in form.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from core.document import Failure
from core.redaction import clean_record
from core.text import one_line
from ingest.archive.rows import Json, decoded
from ingest.pipeline import databases
from ingest.pipeline.reading import BROKEN, Reading
from ingest.raw import records
from ingest.session.transcripts import generations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import apsw

    from ingest.archive.rows import Opened, Row, Shelf
    from ingest.raw.store import RawStore

    Record = dict[str, Any]
    # Adds a session to the reading: its row, and the rows of the other tables by table.
    Take = Callable[[Record, dict[str, list[Record]], Reading], None]


class Below(NamedTuple):
    """A table with rows of sessions: the columns that are read, the one with the session's id, and the order."""

    columns: str
    owner: str
    order: str


class Layout(NamedTuple):
    """How the sessions of a tool's database are read.

    ``head`` is the table of sessions, ``columns`` are those of it that are read, ``parent`` is the column with the
    session that started one, "" for none. ``change`` returns a row in the form in which it is kept and read.
    """

    head: str
    columns: str
    below: Mapping[str, Below]
    take: Take
    parent: str = ""
    change: Callable[[str, Record], Record] | None = None
    foreign: str = "no sessions in this database"


def stream(path: str, raw: RawStore, layout: Layout) -> Iterator[Reading]:
    """Yield the reading of a database each time that more of its sessions are whole, and at the end."""

    def take(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf) -> Iterator[None]:
        yield from _take(layout, connection, there, reading, shelf)

    yield from databases.stream(path, raw, take)


def _take(
    layout: Layout, connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf
) -> Iterator[None]:
    wanted = {layout.head: layout.columns}
    wanted |= {name: f"{below.owner} {below.columns}" for name, below in layout.below.items()}
    tables = {
        name: tuple(column for column in columns.split() if column in there[name])
        for name, columns in wanted.items()
        if name in there
    }
    if "id" not in tables.get(layout.head, ()):
        reading.skipped = layout.foreign
        return
    shelf.tables = tables
    for identity in _ordered(layout, connection, tables):
        unit = one_line(str(identity), 4000)
        opened = shelf.open(_rows(layout, connection, tables, identity))
        try:
            _session(layout, opened, tables, reading)
        except BROKEN as error:
            reading.broken(error)
        shelf.put(unit, opened)
        yield


def _ordered(layout: Layout, connection: apsw.Connection, tables: Mapping[str, tuple[str, ...]]) -> list[Any]:
    """Return the sessions' ids, agents after the sessions that they worked for: exclusions pass on."""
    above = layout.parent if layout.parent in tables[layout.head] else "null"
    parents = dict(connection.execute(f"select id, {above} from {layout.head} order by id"))
    if above == "null":
        return list(parents)
    depth = generations(parents)
    return sorted(parents, key=depth.__getitem__)


def _rows(
    layout: Layout, connection: apsw.Connection, tables: Mapping[str, tuple[str, ...]], identity: Any
) -> list[Row]:
    found: list[Row] = []
    for name, columns in tables.items():
        below = layout.below.get(name)
        where, order = ("id is", "id") if below is None else (f"{below.owner} =", below.order)
        query = f"select {', '.join(columns)} from {name} where {where} ? order by {order}"
        for values in connection.execute(query, (identity,)):
            if layout.change is not None:
                values = tuple(layout.change(name, dict(zip(columns, values, strict=True))).values())
            found.append((name, values))
    return found


def _session(layout: Layout, opened: list[Opened], tables: Mapping[str, tuple[str, ...]], reading: Reading) -> None:
    of: dict[str, list[Record]] = {name: [] for name in tables}
    for row in opened:
        of[row.table].append(_read(row, tables[row.table], reading))
    if heads := of.pop(layout.head):
        layout.take(heads[0], of, reading)


def _read(row: Opened, columns: tuple[str, ...], reading: Reading) -> Record:
    """Return a row without secrets: JSON as its value, None where it is damaged."""
    plain: Record = {}
    found: Record = {}
    for column, cell in zip(columns, row.cells, strict=True):
        if isinstance(cell, Json):
            try:
                found[column] = decoded(cell, reading.redacted)
            except (ValueError, RecursionError) as error:
                found[column] = None
                reading.fail(Failure(reading.path, records.MALFORMED, f"{row.table}, {column}: {error}"))
        else:
            plain[column] = cell
    if not row.plain:
        plain = clean_record(json.dumps(plain, default=str).encode(), plain, reading.redacted)
    return plain | found
