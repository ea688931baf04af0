"""Databases in the archive: the rows that documents are made from, redacted, and a database made of them again.

One object a session: a session that did not change is stored once, whatever else its database says by then. An object
is JSON Lines: ``{"unit": …, "records": …, "tables": {table: [column, …]}}``, then ``[table, [cell, …]]`` for each row.
A cell is null, a number, or one of ``{"text"}``, ``{"json"}`` (text that is JSON), ``{"lines"}`` (a blob of JSON
Lines), ``{"hex"}`` (``Names``). The parser then reads the database of these rows with the statements it always uses.
"""

from __future__ import annotations

import contextlib
import io
import json
from typing import TYPE_CHECKING, Any

from core.redaction import clean, clean_record
from core.redaction.screen import suspects
from core.version import REDACTION
from ingest import archive, records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import apsw

    from ingest.keeping import Keeping
    from ingest.rawfiles import RawFile
    from ingest.reading import Reading

    Row = tuple[str, tuple[Any, ...]]
    Tables = Mapping[str, tuple[str, ...]]
    # (unit, its rows).
    Groups = Iterable[tuple[str, Iterable[Row]]]
    # Given a connection and what tables there are: the tables and columns that are read, and the rows of each unit.
    Source = Callable[[apsw.Connection, dict[str, set[str]]], tuple[Tables, Groups]]

# Made once: `json.dumps` makes an encoder for each value.
_encoded = json.JSONEncoder(separators=(",", ":")).encode
# Columns whose text is JSON.
_DOCUMENTS = frozenset({"value", "data", "event_json"})


class Names(bytes):
    """A blob that names others and holds no text: the only bytes that are kept as they are."""


class Lines(bytes):
    """A blob of JSON Lines."""


def record(
    source: Source, connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, keeping: Keeping
) -> None:
    """Let the archive have the rows of the units that the reading has.

    What the database does not hold any more stays in the archive, as its documents stay; so does a session that was
    longer. Nothing of units that were forgotten or are excluded is kept. Raises OSError and apsw.Error.
    """
    whole = not keeping.withhold(reading)
    recorder = keeping.recorder(reading.path) if reading.parts else None
    if recorder is None:
        return
    tables, groups = source(connection, there)
    made: dict[str, tuple[int, bytes]] = {}
    loose: list[Row] = []
    for unit, rows in groups:
        part = reading.parts.get(unit)
        if part is not None:
            count = len(part.uuids)
            packed = _packed(unit, count, tables, rows, raw=recorder.keeps_raw)
            if unit in made:  # it stands in two places of the database
                packed = made[unit][1] + packed[packed.index(b"\n") + 1 :]
            made[unit] = count, packed
        elif whole:
            loose += rows  # whose they are is not certain: they go with whichever unit is forgotten
    if loose:
        made[""] = 0, _packed("", 0, tables, loose, raw=recorder.keeps_raw)
    before = recorder.before
    for segment in () if before is None else before.segments:
        held = archive.content(recorder.folder, segment)
        head = json.loads(held[: held.index(b"\n")])
        unit = unit_of(held)
        if not unit or keeping.forgot(unit) or (unit in made and (keeping.anew or made[unit][0] >= head["records"])):
            continue
        if not recorder.keeps_raw and before is not None and before.policy != REDACTION:
            held = b"".join(_line(clean_record(line, json.loads(line), {})) for line in held.splitlines(keepends=True))
        made[unit] = head["records"], held
    for unit in sorted(made):
        recorder.piece(made[unit][1])
    recorder.finish(reading.size, reading.mtime_ns, reading.consumed, reading.digest)


def unit_of(data: bytes) -> str:
    """The unit whose rows an archived object holds; "" where they are several units'. Raises ValueError."""
    head = json.loads(data[: data.index(b"\n")])
    if type(head) is not dict or "unit" not in head:
        raise ValueError("no rows of a database")
    return str(head["unit"])


def restored(raw: RawFile) -> contextlib.AbstractContextManager[apsw.Connection]:
    """A database of the rows that an archived file holds. Raises OSError where it cannot be read."""
    import apsw

    connection = apsw.Connection("")  # on disk where it is large, and in no folder
    connection.execute("begin").fetchall()
    inserts: dict[str, str] = {}
    for line in raw.lines:
        found = json.loads(line)
        if type(found) is dict:
            for table, columns in found["tables"].items():
                if table not in inserts:
                    names = ", ".join(map(_quoted, columns))
                    connection.execute(f"create table {_quoted(table)}({names})")
                    inserts[table] = f"insert into {_quoted(table)} values({', '.join('?' * len(columns))})"
        else:
            table, cells = found
            connection.execute(inserts[table], [_value(cell) for cell in cells])
    connection.execute("commit").fetchall()
    return contextlib.closing(connection)


def _packed(unit: str, count: int, tables: Tables, rows: Iterable[Row], *, raw: bool) -> bytes:
    lines = [_line({"unit": unit, "records": count, "tables": {name: list(held) for name, held in tables.items()}})]
    for table, values in rows:
        # One look at all of a row, most of which hold nothing that the policy names.
        plain = raw or not suspects(b"\n".join(map(_bytes, values)))
        cells = [_cell(value, column, raw, plain) for column, value in zip(tables[table], values, strict=True)]
        lines.append(_line([table, cells]))
    return b"".join(lines)


def _bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, bytes) else b""


def _cell(value: Any, column: str, raw: bool, plain: bool) -> Any:
    """A cell as it is archived; ``plain``: it holds nothing to redact."""
    if isinstance(value, Names):
        return {"hex": value.hex()}
    if isinstance(value, Lines):
        return {"lines": list(_lines(value, raw))}
    if not isinstance(value, str | bytes):
        return value
    if column in _DOCUMENTS:
        with contextlib.suppress(ValueError, RecursionError):
            return {"json": json.loads(value, strict=False) if raw else records.value(value, None if plain else {})}
    try:
        text = value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        return None
    return {"text": text if plain else clean(text, {})}


def _lines(data: bytes, raw: bool) -> Iterator[Any]:
    """Each line as ``[JSON value]``, or as text where it is none."""
    held: list[bytes] = []
    for _ in records.Records(io.BytesIO(data), "", sink=held.append, redact=not raw):
        continue
    for line in held:
        try:
            yield [json.loads(line, strict=False)]
        except (ValueError, RecursionError):
            yield line.decode("utf-8", "replace")


def _value(cell: Any) -> Any:
    if type(cell) is not dict:
        return cell
    ((kind, held),) = cell.items()
    if kind == "text":
        return held
    if kind == "json":
        return json.dumps(held)
    if kind == "hex":
        return bytes.fromhex(held)
    return b"".join(_line(line[0]) if type(line) is list else line.encode() for line in held)


def _line(value: Any) -> bytes:
    return _encoded(value).encode() + b"\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
