"""Documents of dated entries that are no sessions: messages of a conversation by mail, events and bookmarks of a month.

A parser yields records of its file; each is one entry of a unit. The archive has a line of JSON an entry, so that one
unit can be forgotten without the others, whatever the form of the file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from core.counting import add as count
from core.document import Failure, Timestamp
from core.redaction import clean_record
from core.text import clean, one_line
from ingest.pipeline.reading import BROKEN, whole
from ingest.raw import records
from ingest.session.document import escape
from ingest.session.session import MAX_DOCUMENT, Part, bounded
from ingest.session.values import mapping, moment, string
from ingest.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore

    Record = dict[str, Any]
    # Yields the records of a file as it was found: {unit, key, at, title, head, text}.
    Entries = Callable[[bytes, Reading], Iterator[Record]]
    # Returns why a record, redacted, is left out, "" if it is not.
    Judge = Callable[[Record], str]
    Composed = tuple[dict[str, object], str] | str

# How the archive's own lines begin.
_ARCHIVED = b'{"unit":'
_TITLE = 300
# Entries of one file; a calendar of thirty years has 50,000.
_MOST = 500_000
# Bytes of records that are redacted in a row.
_BATCH = 256 * 1024


class Entry(NamedTuple):
    """One entry: ``key`` names it in all copies, ``head`` are lines about it, ``text`` is its own."""

    key: str
    at: str
    title: str
    head: tuple[str, ...]
    text: str


class Page(Part):
    """The entries of one unit in one file."""

    __slots__ = ("entries",)

    def __init__(self, unit: str) -> None:
        super().__init__(unit)
        self.entries: dict[str, Entry] = {}

    @property
    def uuids(self) -> set[str]:
        """The keys of the entries."""
        return set(self.entries)

    def with_older(self, older: Part) -> Part:
        """Return the page with the entries that an earlier version of its file had."""
        assert isinstance(older, Page)
        self.entries = {**older.entries, **self.entries}
        return self


class Paged(Source):
    """A source whose units have entries; read only when it is named."""

    on_request = True
    # A month, a conversation: it goes on growing.
    grows = True
    collection = "kb-raw"

    def title(self, unit: str, entries: list[Entry]) -> str:
        """Return the title of a unit's document."""
        raise NotImplementedError

    def compose(self, unit: str, parts: list[Any], link: str = "", mtime_ns: int = 0) -> Composed:
        """Return (frontmatter, body) of one unit; an entry that several files have is shown once."""
        del link
        found: dict[str, Entry] = {}
        for part in sorted(parts, key=lambda each: sorted(each.entries.values())):
            found.update(part.entries)
        entries = sorted(found.values(), key=lambda each: (each.at or "9", each.key))
        if not entries:
            return "no entry"
        title = one_line(self.title(unit, entries), _TITLE)
        dated = [f"{each.at[:19]}Z" for each in entries if each.at]
        meta: dict[str, object] = {
            "session_id": unit,
            "source": self.name,
            "title": title,
            "date": Timestamp(dated[0] if dated else clock.iso(mtime_ns // 1_000_000_000)),
            "date_source": None if dated else "mtime",
            "ended": Timestamp(dated[-1]) if len(dated) > 1 else None,
            "entries": len(entries),
        }
        return meta, _body(title, entries)

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]] | None:
        """Return (unit, bytes) of each entry as the archive has it."""
        del path
        if not data.startswith(_ARCHIVED):
            return None
        return [(string(mapping(_decoded(line)).get("unit")), line) for line in data.splitlines(keepends=True)]

    def dropped(self, path: str, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
        """Return the entries that a file has lost."""
        del path, read
        there = {_key(line) for line in now.splitlines()}
        lost = {_key(line): line for data in (held, before) for line in data.splitlines(keepends=True)}
        return b"".join(line for key, line in lost.items() if key not in there)


def read(path: str, raw: RawStore, entries: Entries, foreign: str, judge: Judge | None = None) -> Reading:
    """Read one file. Faults are recorded in the result, and what ``judge`` leaves out is counted by its reason."""

    def take(data: bytes, reading: Reading) -> bytes:
        whole_text = records.without_tail(data)
        if len(whole_text) != len(data):
            reading.recovered[records.HOLES] = 1
            data = whole_text
        found = _archived(data, reading) if data.startswith(_ARCHIVED) else entries(data, reading)
        held: list[bytes] = []
        for line, cleaned, replaced in _cleaned(found):
            if judge is not None and (reason := judge(cleaned)):
                count(reading.dropped, {reason: 1})
                continue
            count(reading.redacted, replaced)
            try:
                add(reading, cleaned)
            except BROKEN as error:
                reading.broken(error)
                continue
            held.append(line + b"\n")
            if len(held) == _MOST:
                reading.fail(Failure(path, "too many entries", f"only the first {_MOST:,} are read"))
                break
        if not reading.parts and reading.failures:
            reading.failed = reading.failures[0]  # of this form, and nothing of it could be read
        return b"".join(held)

    return whole(path, raw, take, foreign, as_bytes=True)


def _cleaned(found: Iterator[Record]) -> Iterator[tuple[bytes, Record, dict[str, int]]]:
    """Yield (line of JSON, record, kind → secrets replaced) of each record, redacted.

    Many records are looked at in a row: in between, the processor would forget the automata.
    """
    batch: list[tuple[bytes, Record]] = []
    size = 0
    for record in found:
        line = _line(record)
        batch.append((line, record))
        size += len(line)
        if size > _BATCH:
            yield from _cleaned_batch(batch)
            batch, size = [], 0
    yield from _cleaned_batch(batch)


def _cleaned_batch(batch: list[tuple[bytes, Record]]) -> list[tuple[bytes, Record, dict[str, int]]]:
    done = []
    for line, record in batch:
        replaced: dict[str, int] = {}
        cleaned = clean_record(line, record, replaced)
        done.append((line if cleaned is record else _line(cleaned), cleaned, replaced))
    return done


def add(reading: Reading, record: Record) -> None:
    """Add the entry of a record to the reading."""
    unit = one_line(string(record["unit"]), 200)
    page = reading.parts.setdefault(unit, Page(unit))
    head = tuple(one_line(clean(each), 1000) for each in record.get("head") or ())
    title, text = one_line(clean(string(record.get("title"))), _TITLE), bounded(clean(string(record.get("text"))))
    key = string(record["key"])
    page.entries[key] = Entry(key, moment(record.get("at")), title, tuple(filter(None, head)), text.strip())


def _archived(data: bytes, reading: Reading) -> Iterator[Record]:
    for number, line in enumerate(data.splitlines()):
        record = _decoded(line)
        if type(record) is dict and "unit" in record and "key" in record:
            yield record
        else:
            reading.fail(Failure(reading.path, records.MALFORMED, "", number + 1))


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _key(line: bytes) -> tuple[str, str]:
    record = mapping(_decoded(line))
    return string(record.get("unit")), string(record.get("key"))


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def _body(title: str, entries: list[Entry]) -> str:
    pieces, size = [f"# {title}\n"], 0
    for number, entry in enumerate(entries):
        when = f"{entry.at[:10]} {entry.at[11:16]}" if entry.at else ""
        heading = " · ".join(filter(None, (when, entry.title or "(no title)")))
        lines = [f"\n## {heading}\n", *(f"- {line}" for line in entry.head)]
        text = "\n".join([*lines, *(["", escape(entry.text)] if entry.text else [])]) + "\n"
        size += len(text)
        if size > MAX_DOCUMENT:
            pieces.append(f"\n… ({len(entries) - number} more entries)\n")
            break
        pieces.append(text)
    return "".join(pieces)
