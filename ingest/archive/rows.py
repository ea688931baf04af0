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
from core.redaction.automaton import suspects
from core.version import REDACTION
from ingest.archive import archive
from ingest.raw import records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import apsw

    from ingest.archive.recording import Recorder
    from ingest.pipeline.reading import Reading

    # (table, values), as the database has them.
    Row = tuple[str, tuple[Any, ...]]
    # Table → its columns that are read.
    Tables = Mapping[str, tuple[str, ...]]
    # (unit, its rows).
    Groups = Iterable[tuple[str, Iterable[Row]]]

# Made once: `json.dumps` makes an encoder for each value.
_encoded = json.JSONEncoder(separators=(",", ":")).encode
# The encoder of a text.
_string = json.encoder.encode_basestring_ascii
# Bytes of rows that are looked at together, and rows where something may be in these.
_TOGETHER = 4096
_FEW = 8
# The reason under which lost sessions are counted.
LOST = "archived sessions that cannot be read any more"
# Characters of a text that may come again, and how many of those are remembered.
_SHORT, _MANY = 256, 10_000
# Columns of JSON text.
_DOCUMENTS = frozenset({"value", "data", "event_json", "content_json", "parts", "tool_calls"})


class Names(bytes):
    """A blob that names others and holds no text: the only bytes that are kept as they are."""


class Lines(bytes):
    """A blob of JSON Lines."""


class Json:
    """A cell of JSON text: decoded and redacted once, for its document and for the archive.

    ``plain``: there is nothing in it to redact; ``raw``: the archive keeps it as it was found.
    """

    __slots__ = ("_error", "_plain", "_raw", "_text", "_value")

    def __init__(self, text: str | bytes, *, plain: bool, raw: bool) -> None:
        self._text: str | bytes | None = text  # until it is of no more use
        self._plain = plain
        self._raw = raw
        self._value: Any = None
        self._error: ValueError | RecursionError | None = None

    def value(self, redacted: dict[str, int]) -> Any:
        """Return the value; the first call adds to ``redacted`` (kind → secrets replaced).

        Raises ValueError and RecursionError if it is no JSON.
        """
        if self._error is not None:
            raise self._error
        if self._text is not None and self._value is None:
            try:
                self._value = records.value(self._text, None if self._plain else redacted)
            except (ValueError, RecursionError) as error:
                self._error = error
                raise
            if not self._raw:
                self._text = None
        return self._value

    @property
    def may_span(self) -> bool:
        """Return True if the text may hold a tag of a private span."""
        text = self._text or ""
        return not self._plain and (
            b"private" in text.lower() if isinstance(text, bytes) else "private" in text.lower()
        )

    def found(self) -> Any:
        """Return the value with its secrets, for secrets that only several cells reveal. Raises ValueError and
        RecursionError."""
        return records.value(self._text or "", None)

    def become(self, value: Any, redacted: dict[str, int]) -> None:
        """Replace the value, and the secrets in it; a cell that is stored raw stays as it was found."""
        self._value = clean_record(_encoded(value).encode(), value, redacted)
        if not self._raw:
            self._text = None

    def archived(self) -> Any:
        """Return the cell as it is archived."""
        with contextlib.suppress(ValueError, RecursionError):
            return {"json": json.loads(self._text or "", strict=False) if self._raw else self.value({})}
        return _text(self._text or "", None if self._plain or self._raw else _Cleaned())


def decoded(cell: str | bytes | Json, redacted: dict[str, int]) -> Any:
    """Return the value of a cell of JSON text, opened or not: see ``Json.value``."""
    return cell.value(redacted) if isinstance(cell, Json) else records.value(cell, redacted)


class Opened:
    """A row of ``table`` with its ``cells``: a ``Json`` where the column's text should be that, else the value.

    ``plain``: there is nothing in it to redact.
    """

    __slots__ = ("cells", "plain", "table")

    def __init__(self, table: str, cells: list[Any], *, plain: bool) -> None:
        self.table = table
        self.cells = cells
        self.plain = plain


class Shelf:
    """Takes the rows of a database into the archive, a unit's at a time, once the reading has that one's part.

    Sessions that the database lost stay in the archive, as their documents do. A session that was longer in the archive
    stays so, and becomes the reading's part: ``parts`` reads archived lines. Nothing of units that were forgotten or
    are excluded is stored. Without
    ``parts``, or if the store records nothing, rows are only opened.
    """

    def __init__(self, reading: Reading, parts: Callable[[Iterable[bytes]], dict[str, Any]] | None) -> None:
        self.tables: Tables = {}
        """What is read of the database, for whoever reads it to say."""
        self.lets_go: Callable[[str], bool] = lambda _: False
        """Whether a unit that is not read any more goes from the archive as well."""
        self._reading = reading
        self._parts = parts if reading.raw.records else None
        self._raw = reading.raw.keeps_raw
        self._cleaned = _Cleaned()
        self._recorder: Recorder | None = None
        self._before: dict[str, list[tuple[archive.Segment, int]]] = {}
        self._made: dict[str, int] = {}
        self._stay: set[str] = set()
        self._loose: list[tuple[str, list[Opened]]] = []

    def open(self, rows: Iterable[Row]) -> list[Opened]:
        """Return rows to be read and then ``put``."""
        opened: list[Opened] = []
        documents = {
            table: [place for place, column in enumerate(columns) if column in _DOCUMENTS]
            for table, columns in self.tables.items()
        }
        for (table, values), plain in _looked_at(rows):
            cells = list(values)
            for place in documents[table]:
                if cells[place] and type(cells[place]) in (str, bytes):
                    cells[place] = Json(cells[place], plain=plain, raw=self._raw)
            opened.append(Opened(table, cells, plain=plain))
        return opened

    def put(self, unit: str, rows: list[Opened], *, whole: bool = True) -> None:
        """Archive the rows of a unit; if they are not ``whole``, as many archived rows precede them.

        Raises OSError and apsw.Error.
        """
        part = self._reading.parts.get(unit)
        if self._parts is None or unit in self._stay:
            return
        if part is None and unit not in self._made:
            self._loose.append((unit, rows))
            return
        withheld = part is not None and self._reading.raw.withholds(unit, self._reading)
        recorder = None if withheld else self._opened()
        if recorder is not None:
            count = self._made[unit] if part is None else len(part.uuids)
            longer = self._longer(recorder, unit, count if whole else count - 1)
            if longer is not None:
                self._stay.add(unit)
                self._reading.parts[unit] = longer
                return
            self._made[unit] = count
            recorder.piece(self._packed(unit, count, rows))

    def keep(self, groups: Groups) -> None:
        """Archive units that were not read from ``open`` rows."""
        if self._parts is None:
            return
        self._reading.raw.remove(self._reading)
        if self._reading.parts or self._reading.taken:
            for unit, rows in groups:
                self.put(unit, self.open(rows))

    def tidy(self) -> None:
        """Have what is let go leave the archive, also where nothing else is put there."""
        if self._parts is not None and self._recorder is None:
            recorder = self._opened()
            self._recorder = recorder if recorder is not None and recorder.before is not None else None

    def finish(self) -> None:
        """Finish a database that was read to its end. Raises OSError and apsw.Error."""
        store, loose = self._reading.raw, self._loose
        whole = not store.remove(self._reading)
        self._loose = []
        for unit, rows in loose:
            self.put(unit, rows)
        recorder = self._recorder
        if recorder is None:
            return
        recorder.in_pieces()
        for unit, held in self._before.items():
            if unit and unit not in self._made and not store.forgot(unit) and not self.lets_go(unit):
                for segment, _ in held:
                    recorder.piece(self._again(recorder, segment))
        if self._loose and whole:  # their unit is not certain: they go with any unit that is forgotten
            recorder.piece(self._packed("", 0, [row for _, rows in self._loose for row in rows]))
        reading = self._reading
        recorder.finish(reading.size, reading.mtime_ns, reading.consumed, reading.digest)

    def abandon(self) -> None:
        """Drop everything that was recorded of the database."""
        if self._recorder is not None:
            self._recorder.abandon()

    def _opened(self) -> Recorder | None:
        if self._recorder is None:
            self._recorder = recorder = self._reading.raw.recorder(self._reading.path)
            if recorder is not None and recorder.before is not None:
                for segment in recorder.before.segments:
                    try:
                        held = archive.content(recorder.archive.settle(), segment)
                    except OSError:
                        # A session that the database still has is stored again; the others are lost.
                        self._reading.recovered[LOST] = self._reading.recovered.get(LOST, 0) + 1
                        continue
                    head = json.loads(held[: held.index(b"\n")])
                    self._before.setdefault(unit_of(held), []).append((segment, head["records"]))
        return self._recorder

    def _longer(self, recorder: Recorder, unit: str, count: int) -> Any:
        """Return the archived part of a unit if it has more than ``count`` records, else None."""
        held = self._before.get(unit, ())
        if all(before <= count for _, before in held):
            return None
        lines = [line for segment, _ in held for line in self._again(recorder, segment).splitlines(keepends=True)]
        # So many they were to the parser of then.
        found = None if self._parts is None else self._parts(lines).get(unit)
        return found if found is not None and len(found.uuids) > count else None

    def _again(self, recorder: Recorder, segment: archive.Segment) -> bytes:
        """Return an archived object, redacted by the present rules."""
        held = archive.content(recorder.archive.settle(), segment)
        if not self._raw and recorder.before is not None and recorder.before.policy != REDACTION:
            held = b"".join(_line(clean_record(line, json.loads(line), {})) for line in held.splitlines(keepends=True))
        return held

    def _packed(self, unit: str, count: int, rows: list[Opened]) -> bytes:
        tables = {name: list(columns) for name, columns in self.tables.items()}
        lines = [f"{_encoded({'unit': unit, 'records': count, 'tables': tables})}\n"]
        raw, names = self._raw, {name: _string(name) for name in tables}
        for row in rows:
            cleaned = None if row.plain or raw else self._cleaned
            # As JSON, most of them here: a call for each cell took as long as all the rest.
            cells = [
                f'{{"text":{_string(cell if cleaned is None else cleaned[cell])}}}'
                if type(cell) is str
                else str(cell)
                if type(cell) is int
                else _encoded(_cell(cell, cleaned, raw=raw))
                for cell in row.cells
            ]
            lines.append(f"[{names[row.table]},[{','.join(cells)}]]\n")
        return "".join(lines).encode()


def unit_of(data: bytes) -> str:
    """Return the unit of the rows in an archived object; "" if they belong to several units. Raises ValueError."""
    head = json.loads(data[: data.index(b"\n")])
    if type(head) is not dict or "unit" not in head:
        raise ValueError("no rows of a database")
    return str(head["unit"])


def restored(lines: Iterable[bytes]) -> contextlib.AbstractContextManager[apsw.Connection]:
    """Open a database of the rows in the lines of archived objects. Raises OSError if they cannot be read."""
    import apsw

    connection = apsw.Connection("")  # on disk where it is large, and in no folder
    connection.execute("begin").fetchall()
    there: dict[str, list[str]] = {}
    inserts: dict[str, str] = {}
    for line in lines:
        found = json.loads(line)
        if type(found) is dict:
            for table, columns in found["tables"].items():
                names = ", ".join(map(_quoted, columns))
                if table not in there:
                    connection.execute(f"create table {_quoted(table)}({names})")
                    there[table] = list(columns)
                # A session that the database lost may be from a time when it had other columns.
                for column in columns:
                    if column not in there[table]:
                        connection.execute(f"alter table {_quoted(table)} add column {_quoted(column)}")
                        there[table].append(column)
                inserts[table] = f"insert into {_quoted(table)}({names}) values({', '.join('?' * len(columns))})"
        else:
            table, cells = found
            connection.execute(inserts[table], [_value(cell) for cell in cells])
    connection.execute("commit").fetchall()
    return contextlib.closing(connection)


def _looked_at(rows: Iterable[Row]) -> Iterator[tuple[Row, bool]]:
    """Yield each row, and True if it has nothing to redact: most have nothing, and short ones are checked together."""
    batch: list[tuple[Row, bytes]] = []
    held = 0
    for row in rows:
        text = b"\n".join([_bytes(value) for value in row[1] if type(value) is not int])
        batch.append((row, text))
        held += len(text)
        if held > _TOGETHER:
            yield from _harmless(batch)
            batch, held = [], 0
    yield from _harmless(batch)


def _harmless(batch: list[tuple[Row, bytes]]) -> Iterator[tuple[Row, bool]]:
    """Yield each row, and True if it has nothing to redact; if some may have, a few are checked together, then each."""
    any_may = suspects(b"\n".join(text for _, text in batch))
    for start in range(0, len(batch), _FEW):
        few = batch[start : start + _FEW]
        some_may = any_may and (len(few) == len(batch) or suspects(b"\n".join(text for _, text in few)))
        for row, text in few:
            yield row, not some_may or (len(few) > 1 and not suspects(text))


def _bytes(value: Any) -> bytes:
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, bytes) else b""


def _cell(value: Any, cleaned: _Cleaned | None, *, raw: bool) -> Any:
    if isinstance(value, Json):
        return value.archived()
    if isinstance(value, Names):
        return {"hex": value.hex()}
    if isinstance(value, Lines):
        return {"lines": list(_lines(value, raw))}
    if not isinstance(value, str | bytes):
        return value
    return _text(value, cleaned)


def _text(value: str | bytes, cleaned: _Cleaned | None) -> Any:
    try:
        text = value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        return None
    return {"text": text if cleaned is None else cleaned[text]}


class _Cleaned(dict[str, str]):
    """Short text → what is left of it once it is redacted: commands recur."""

    def __missing__(self, text: str) -> str:
        found = clean(text, {})
        if len(text) <= _SHORT and len(self) < _MANY:
            self[text] = found
        return found


def _lines(data: bytes, raw: bool) -> Iterator[Any]:
    """Yield each line as ``[JSON value]``, or as text if it is no JSON."""
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
