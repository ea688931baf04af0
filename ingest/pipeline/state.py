"""The state of the sources, raw files and the units they make: ``$BRAIN_HOME/state/sources.sqlite``.

Not derivable from the corpus, and the only place that knows absolute paths of sources. Losing it costs one full read
of the sources and nothing else.
"""

from __future__ import annotations

import os
from operator import attrgetter
from os.path import join

import apsw

from core.home import Home
from core.sqlite import open_store, open_to_read
from core.version import DOCUMENT, PARSER, REDACTION
from ingest.pipeline.remade import DAMAGE, set_aside
from ingest.session.units import split_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ingest.raw.store import SourceFile

FILE = "sources.sqlite"
_FILE_VALUES = attrgetter("size", "mtime_ns", "inode", "consumed", "digest", "status", "reason", "notes")
_UNIT_VALUES = attrgetter("unit", "name", "hash", "records", "link", "truncated")

_VERSION = 3
# The first character of the key that replaces a forgotten path; no path contains it. Without a row the next run would
# treat the file as new; with its path, the state would contain what was forgotten.
HIDDEN = "\0"

# Paths are blobs: a file name need not be UTF-8. ``notes`` is the file's part of the ledger, JSON or NULL.
# ``outdated``: units that another parser, document format or policy made. Runs over a part of the files leave some.
_SCHEMA = """
create table if not exists meta(key text primary key, value text not null) without rowid;
create table if not exists files(
  source text not null, path blob not null, size int not null, mtime_ns int not null, inode int not null,
  consumed int not null, digest text not null, status text not null, reason text not null, notes text,
  primary key(source, path)) without rowid;
create table if not exists members(
  source text not null, unit text not null, path blob not null,
  primary key(source, unit, path)) without rowid;
create index if not exists members_path on members(source, path);
create table if not exists units(
  source text not null, unit text not null, name text not null, hash text not null, records int not null,
  link text not null, truncated int not null default 0, primary key(source, unit)) without rowid;
create table if not exists outdated(
  source text not null, unit text not null, primary key(source, unit)) without rowid;
create table if not exists links(
  source text not null, unit text not null, link text not null, primary key(source, unit)) without rowid;
"""


class FileRow:
    """A raw file as the last run left it. ``status``: ingested, skipped, failed, unreadable or vanished."""

    __slots__ = ("consumed", "digest", "inode", "mtime_ns", "notes", "path", "reason", "size", "status")

    def __init__(
        self,
        path: str,
        size: int,
        mtime_ns: int,
        inode: int,
        consumed: int,
        digest: str,
        status: str,
        reason: str,
        notes: str | None,
    ) -> None:
        self.path, self.size, self.mtime_ns, self.inode = path, size, mtime_ns, inode
        self.consumed, self.digest, self.status, self.reason, self.notes = consumed, digest, status, reason, notes


class UnitRow:
    """A document in the corpus: its file name, the SHA-256 of its bytes, how many records it was made from.

    ``truncated``: how many pieces of it are left out because there were too many.
    """

    __slots__ = ("hash", "link", "name", "records", "truncated", "unit")

    def __init__(self, unit: str, name: str, digest: str, records: int, link: str, truncated: int) -> None:
        self.unit, self.name, self.hash = unit, name, digest
        self.records, self.link, self.truncated = records, link, truncated


class Changes:
    """What a run has to remember: rows of files and documents, in one transaction.

    ``members``: path → the units that the file has records of; ``links``: unit of a subagent → its parent's description
    of it; ``gone``: units without a document from now on; ``left``: (unit, path) of members that are none any more;
    ``current``: units that were made again of all their files.
    """

    def __init__(self, files: Iterable[FileRow] = ()) -> None:
        self.files = list(files)
        self.members: dict[str, set[str]] = {}
        self.units: dict[str, UnitRow] = {}
        self.links: dict[str, str] = {}
        self.gone, self.current = set[str](), set[str]()
        self.left: list[tuple[str, str]] = []


class State:
    """An open connection; every method that writes is one transaction. Raises apsw.Error if the file is broken.

    ``hasty``: what is written stays in the log, also when this closes (``core.sqlite.leave_log``).
    """

    def __init__(self, home: Home, *, hasty: bool = False) -> None:
        path = join(home.state, FILE)
        try:
            self._connection = _opened(path, hasty)
        except DAMAGE:
            set_aside(path)
            self._connection = _opened(path, hasty)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def expire(self, source: str, mark: str = "", policy: str = "") -> bool:
        """Make every file of ``source`` be read again if another version of parser or document format made its rows, or
        another ``policy``; return True if so.

        All units are then ``outdated()``. Where ``mark`` is not the one that was left (``mark()``: of the archive), the
        files are read again too, but no unit is outdated. One transaction: a run cut short leaves the rest to be read.
        """
        made_by = _meta(self._connection, f"versions {source}")
        is_outdated = made_by != _versions() or (bool(policy) and _meta(self._connection, f"policy {source}") != policy)
        is_elsewhere = bool(mark) and made_by is not None and _meta(self._connection, f"archive {source}") != mark
        if not (is_outdated or is_elsewhere):
            return False
        with self._connection:
            execute = self._connection.execute
            execute("update files set size = -1 where source = ?", (source,))
            if is_outdated:
                execute("insert or ignore into outdated select source, unit from units where source = ?", (source,))
                execute("insert or replace into meta values(?, ?)", (f"versions {source}", _versions()))
                if policy:
                    execute("insert or replace into meta values(?, ?)", (f"policy {source}", policy))
        return is_outdated and made_by is not None

    def is_current(self, source: str) -> bool:
        """Return True if this version of parser and document format made the rows of ``source``."""
        return _meta(self._connection, f"versions {source}") == _versions()

    def mark(self, source: str, mark: str) -> None:
        """Remember which archive the files that were read are in."""
        if _meta(self._connection, f"archive {source}") != mark:
            self._connection.execute("insert or replace into meta values(?, ?)", (f"archive {source}", mark))

    def outdated(self, source: str) -> set[str]:
        """Return the units that were not made again of all their files since ``expire`` found another version or
        policy: their documents may lose content.
        """
        return {unit for (unit,) in self._connection.execute("select unit from outdated where source = ?", (source,))}

    def files(self, source: str) -> dict[str, FileRow]:
        """Return path → row."""
        return _files(self._connection, source)

    def file(self, source: str, path: str) -> FileRow | None:
        """Return the row of one file, None if it is not known."""
        row = _files(self._connection, source, path).get(path)
        return row or _files(self._connection, source, hidden_key(path)).get(hidden_key(path))

    def near(self, source: str, path: str, unit: str) -> list[str]:
        """Return the units that the file at ``path`` bears on: its sessions, their agents, and who shares their names.

        ``unit``: the unit that the file probably belongs to. A name is taken by the session of that id, and by the
        agents of that id of every session (``ingest.session.units``).
        """
        import json

        sessions = {split_key(each)[0] for each in (unit, *self.units_of(source, path))}
        below = "select unit from units where source = ? and (unit = ? or unit > ? and unit < ?)"
        found = {unit}
        for session in sessions:
            rows = self._connection.execute(below, (source, session, f"{session}\t", f"{session}\n"))
            found.update(each for (each,) in rows)
        ids = {part.casefold() for each in found for part in _ids(each)}
        # SQLite folds ASCII alone: units with other letters are always looked at.
        known = self._connection.execute(
            "select unit from units where source = ? and ("
            "lower(substr(unit, instr(unit, char(9)) + 1)) in (select value from json_each(?)) or unit glob ?)",
            (source, json.dumps([*ids, *(each.removeprefix("agent-") for each in ids)]), "*[^\x01-\x7f]*"),
        )
        return [each for (each,) in known if not ids.isdisjoint(part.casefold() for part in _ids(each))]

    def units_of(self, source: str, path: str) -> list[str]:
        """Return the units that the file at ``path`` has records of."""
        rows = self._connection.execute(
            "select unit from members where source = ? and path = ?", (source, os.fsencode(path))
        )
        return [unit for (unit,) in rows]

    def units(self, source: str, only: Sequence[str] | None = None) -> dict[str, UnitRow]:
        """Return unit → row of the units that have a document, or of those of them in ``only``."""
        query = "select unit, name, hash, records, link, truncated from units where source = ?"
        return {row[0]: UnitRow(*row) for row in self._rows(query, source, only)}

    def names(self, source: str) -> set[str]:
        """Return the file names of the documents."""
        return {name for (name,) in self._connection.execute("select name from units where source = ?", (source,))}

    def totals(self, source: str) -> tuple[int, int, int]:
        """Return (documents, documents that lack pieces of their transcript, pieces they lack)."""
        query = "select count(*), count(nullif(truncated, 0)), coalesce(sum(truncated), 0) from units where source = ?"
        found: tuple[int, int, int] = self._connection.execute(query, (source,)).get
        return found

    def members(self, source: str, only: Sequence[str] | None = None) -> dict[str, set[str]]:
        """Return unit → paths of the files that have records of it."""
        found: dict[str, set[str]] = {}
        for unit, blob in self._rows("select unit, path from members where source = ?", source, only):
            found.setdefault(unit, set()).add(os.fsdecode(blob))
        return found

    def _hidden(self, source: str) -> set[str]:
        """Return the hidden keys of a source's files."""
        rows = self._connection.execute(
            "select path from files where source = ? and path >= x'00' and path < x'01'", (source,)
        )
        return {os.fsdecode(path) for (path,) in rows if isinstance(path, bytes)}

    def _rows(self, query: str, source: str, only: Sequence[str] | None) -> Iterator[tuple[Any, ...]]:
        if only is None:
            yield from self._connection.execute(query, (source,))
        for unit in only or ():
            yield from self._connection.execute(f"{query} and unit = ?", (source, unit))

    def links(self, source: str) -> dict[str, str]:
        """Return unit of a subagent → its parent's description of it."""
        return dict(self._connection.execute("select unit, link from links where source = ?", (source,)))

    def save(self, source: str, changes: Changes) -> None:
        """Write a batch: rows replaced, the ``members`` of a file replaced path by path.

        A file that only a digest was known of gets its path where a document is made of it.
        """
        encode = os.fsencode
        files, keys, named = changes.files, dict[str, str](), list[str]()
        if files and (hidden := self._hidden(source)):
            keys, named = _digests(files, hidden)
        execute = self._connection.executemany
        with self._connection:
            if named or changes.gone or changes.left:
                execute("delete from files where source = ? and path = ?", [(source, encode(key)) for key in named])
                execute("delete from units where source = ? and unit = ?", [(source, unit) for unit in changes.gone])
                execute(
                    "delete from members where source = ? and unit = ? and path = ?",
                    [(source, unit, encode(path)) for unit, path in changes.left],
                )
            made = [(source, unit) for unit in (*changes.current, *changes.gone)]
            execute("delete from outdated where source = ? and unit = ?", made)
            execute(
                "insert or replace into files values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(source, encode(keys.get(row.path, row.path)), *_FILE_VALUES(row)) for row in files],
            )
            owned = [(encode(path), units) for path, units in changes.members.items()]
            execute("delete from members where source = ? and path = ?", [(source, path) for path, _ in owned])
            execute(
                "insert or replace into members values(?, ?, ?)",
                [(source, unit, path) for path, units in owned for unit in units],
            )
            rows = [(source, *_UNIT_VALUES(row)) for row in changes.units.values()]
            execute("insert or replace into units values(?, ?, ?, ?, ?, ?, ?)", rows)
            execute("insert or replace into links values(?, ?, ?)", [(source, *link) for link in changes.links.items()])


def _opened(path: str, hasty: bool) -> apsw.Connection:
    return open_store(path, "pragma synchronous=normal", _SCHEMA, _VERSION, hasty=hasty)


def _digests(files: list[FileRow], hidden: set[str]) -> tuple[dict[str, str], list[str]]:
    """Return path → the ``hidden`` key that the file keeps, and the keys of files that get their path."""
    found = {row.path: hidden_key(row.path) for row in files if not row.path.startswith(HIDDEN)}
    named = [key for row in files if (key := found.get(row.path)) in hidden and row.status == "ingested"]
    return {path: key for path, key in found.items() if key in hidden and key not in named}, named


def _ids(unit: str) -> tuple[str, ...]:
    session, agent = split_key(unit)
    return (agent, f"agent-{agent}") if agent else (session,)


def known(home: Home, source: str) -> dict[str, FileRow]:
    """Return ``State.files`` without creating or writing anything.

    Empty before the first run, and where another version made the rows: the next run reads every file. Raises
    apsw.Error if the file is broken or may not be read.
    """
    path = join(home.state, FILE)
    if not os.path.exists(path):
        return {}
    connection = open_to_read(path)
    try:
        if not connection.pragma("user_version") or _meta(connection, f"versions {source}") != _versions():
            return {}
        return _files(connection, source)
    finally:
        connection.close()


def holds(home: Home, source: str, path: str) -> bool:
    """Return True if a source has records of the file at ``path`` in a document. Raises apsw.Error."""
    if not os.path.exists(join(home.state, FILE)):
        return False
    connection = open_to_read(join(home.state, FILE))
    try:
        query = "select 1 from members where source = ? and path = ? limit 1"
        asked = (source, os.fsencode(path))
        return bool(connection.pragma("user_version") and connection.execute(query, asked).fetchone())
    finally:
        connection.close()


def known_units(home: Home, source: str) -> dict[str, UnitRow]:
    """Return ``State.units`` without creating or writing anything. Raises apsw.Error like ``known``."""
    path = join(home.state, FILE)
    if not os.path.exists(path):
        return {}
    connection = open_to_read(path)
    try:
        return _units(connection, source) if connection.pragma("user_version") else {}
    finally:
        connection.close()


def _units(connection: apsw.Connection, source: str) -> dict[str, UnitRow]:
    query = "select unit, name, hash, records, link, truncated from units where source = ?"
    return {row[0]: UnitRow(*row) for row in connection.execute(query, (source,))}


def _files(connection: apsw.Connection, source: str, path: str = "") -> dict[str, FileRow]:
    decode = os.fsdecode
    rows = connection.execute(
        "select path, size, mtime_ns, inode, consumed, digest, status, reason, notes from files where source = ?"
        + (" and path = ?" if path else ""),
        (source, os.fsencode(path)) if path else (source,),
    )
    return {path: FileRow(path, *rest) for blob, *rest in rows if (path := decode(blob))}


def _meta(connection: apsw.Connection, key: str) -> str | None:
    row = connection.execute("select value from meta where key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def _versions() -> str:
    return f"{PARSER}.{DOCUMENT}.{REDACTION}"


def hidden_key(path: str) -> str:
    """Return the key that replaces a path."""
    import hashlib  # a run that finds nothing new does without it

    return HIDDEN + hashlib.sha256(os.fsencode(path)).hexdigest()


def with_hidden(rows: dict[str, FileRow], files: Iterable[SourceFile]) -> dict[str, FileRow]:
    """Return path → row, also of the ``files`` that have a hidden row; such a row keeps its digest as its path."""
    hidden = {path: row for path, row in rows.items() if path.startswith(HIDDEN)}
    if not hidden:
        return rows
    named = {path: row for path, row in rows.items() if path not in hidden}
    return named | {file.path: row for file in files if (row := hidden.get(hidden_key(file.path))) is not None}
