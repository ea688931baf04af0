"""Rebuild of the index: a new file next to the old one, which it replaces when it is complete.

Only vectors and the tables of other programs are read from the old index, each as far as it can be read. So a rebuild
heals all damage. SQLite's backup interface copies the new file over the old one in one transaction: other connections
read the old index before it and the new index after it (https://sqlite.org/backup.html). A rename would be unsafe: a
connection to the old file removes the new file's log when it closes (https://sqlite.org/howtocorrupt.html#unlink).
"""

from __future__ import annotations

import contextlib
import os
from os.path import dirname
from typing import TYPE_CHECKING

import apsw

from core import sqlite
from core.errors import EngineMissing
from core.files import sync_folder, write_temporary
from core.sqlite import DAMAGE, connect
from qmd.index import catalogue, schema
from qmd.index.semantic import coarse, spaces, vectors
from qmd.index.store import Transaction, require_file, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from qmd.index.semantic.spaces import Space

# Errors by which SQLite refuses to write to a file that is no sound database; the file is then replaced.
_NOT_WRITABLE = (apsw.NotADBError, apsw.CorruptError, apsw.ReadOnlyError, apsw.SQLError)
# Errors of reading the old index. Damaged bytes can also give rows of another type and shape than the code expects.
_UNREADABLE = (*DAMAGE, EngineMissing, TypeError, LookupError, ArithmeticError, MemoryError)
# Cuts that a running embedder made in the old index get no id that the new index gives to another text.
_SPARE_IDS = 1 << 20


class Rebuild:
    """``with Rebuild(path) as rebuild:`` fills ``rebuild.connection``, then ``rebuild.finish()`` puts it in place.

    Without ``finish`` the index at ``path`` stays as it was. ``unread`` names what could not be read from it.
    """

    __slots__ = ("_busy_ms", "_path", "_temporary", "connection", "unread")

    def __init__(self, path: str, busy_ms: int) -> None:
        self._path = path
        self._busy_ms = busy_ms
        self._temporary = ""
        self.connection: apsw.Connection
        self.unread: list[str] = []

    def __enter__(self) -> Rebuild:
        require_file(self._path)
        self._temporary, descriptor = write_temporary(dirname(self._path), b"")
        os.close(descriptor)
        self.connection = connect(self._temporary)
        # A killed rebuild leaves one temporary file, which is swept: no log, no sync.
        self.connection.execute(
            "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA foreign_keys=ON; PRAGMA synchronous=OFF;"
            " PRAGMA journal_mode=MEMORY; PRAGMA cache_size=-64000; PRAGMA temp_store=MEMORY"
        ).fetchall()
        schema.ensure(self.connection)
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        if os.path.exists(self._temporary):
            os.unlink(self._temporary)

    def finish(self) -> None:
        """Carry over what only the old index has, then put the new one in its place. Raises BrainError."""
        old = _open_old(self._path)
        if old is not None:
            try:
                self.unread = _carry(old, self.connection)
            finally:
                old.close()
        with Transaction(self.connection):
            vectors.settle(self.connection)
        try:
            self._copy_over()
        except _NOT_WRITABLE:
            self._replace()
        except apsw.Error as error:
            raise translate(error, self._path) from error

    def _copy_over(self) -> None:
        if not os.path.exists(self._path):
            raise apsw.NotADBError("there is no index yet")
        target = connect(self._path)
        try:
            target.set_busy_timeout(self._busy_ms)
            with target.backup("main", self.connection, "main") as copying:
                copying.step(-1)
        finally:
            target.close()
        with contextlib.suppress(apsw.BusyError):  # whoever closes the index last writes the log back
            sqlite.checkpoint(self._path)

    def _replace(self) -> None:
        """Put the new file in the place of one that no connection can read; the log must never meet a new database."""
        self.connection.close()
        for suffix in ("-wal", "-shm", "-journal"):
            if os.path.exists(self._path + suffix):
                os.unlink(self._path + suffix)
        descriptor = os.open(self._temporary, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(self._temporary, self._path)
        sync_folder(dirname(self._path))


def _open_old(path: str) -> apsw.Connection | None:
    """Open the old index to read it; return None if there is none or SQLite cannot read its schema."""
    if not os.path.exists(path):
        return None
    connection = connect(path)
    try:
        connection.execute("PRAGMA query_only=1").fetchall()
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except DAMAGE:
        connection.close()
        return None
    return connection


def _carry(old: apsw.Connection, new: apsw.Connection) -> list[str]:
    """Copy vectors and other programs' tables; returns the names of what could not be read."""
    unread: list[str] = []
    try:
        if schema.has_vectors(old):
            with Transaction(new):
                unread += _carry_vectors(old, new)
    except _UNREADABLE:
        unread.append("brain_models")
    try:
        with Transaction(new):
            unread += _carry_tables(old, new)
    except _UNREADABLE:
        unread.append("sqlite_schema")
    return unread


def _carry_vectors(old: apsw.Connection, new: apsw.Connection) -> list[str]:
    """Copy the vectors of the new index's texts, a text at a time, inside the caller's transaction."""
    spaces.load(old)
    vectors.prepare(new)
    unread: list[str] = []
    _copy_rows(old, new, "brain_models")
    for table in ("brain_layouts", "brain_renewals"):
        if _exists(old, table):
            if table == "brain_renewals":
                new.execute(spaces.RENEWALS)
            unread += _tolerant(_copy_rows, old, new, table)
    _copy_rows(old, new, "brain_state", "WHERE key GLOB 'embedded_at:*'")
    known = spaces.every(new)
    for space in known:
        spaces.create(new, space)
    wanted = {digest for *_, digest in catalogue.entries(new)}
    lost = set()
    highest = 0
    for digest in wanted:
        try:
            cuts: Any = old.execute(
                "SELECT id, layout, chunks, grammar FROM brain_cuts WHERE hash = ?", (digest,)
            ).fetchall()
        except DAMAGE:
            lost.add("brain_cuts")
            continue
        for cut in cuts:
            highest = max(highest, cut[0])
            lost.update(_carry_cut(old, new, known, digest, cut))
    if highest:
        new.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'brain_cuts'", (highest + _SPARE_IDS,))
    for space in known:
        if space.id > 0:
            coarse.keep(new, space)
    return unread + sorted(lost)


def _carry_cut(
    old: apsw.Connection, new: apsw.Connection, known: list[Space], digest: str, row: tuple[int, str, int, str]
) -> Iterable[str]:
    """Copy one cut with its chunks and vectors; yields the names of tables that could not be read."""
    cut, layout, count, grammar = row
    try:
        chunks: Any = old.execute(
            'SELECT id, "start", "end", kind FROM brain_chunks WHERE id >= ? AND id < ?',
            (cut * schema.SPAN, (cut + 1) * schema.SPAN),
        ).fetchall()
    except DAMAGE:
        chunks = []
    if len(chunks) != count:
        yield "brain_chunks"
        return
    new.execute(
        "INSERT INTO brain_cuts(id, hash, layout, chunks, grammar) VALUES(?, ?, ?, ?, ?)",
        (cut, digest, layout, count, grammar),
    )
    new.executemany('INSERT INTO brain_chunks(id, "start", "end", kind) VALUES(?, ?, ?, ?)', chunks)
    for space in known:
        try:
            found = list(_vectors(old, space, cut))
        except (*DAMAGE, TypeError):
            yield space.table
        else:
            if found:
                vectors.add(new, space, cut, 0, found)


def _vectors(old: apsw.Connection, space: Space, cut: int) -> Iterator[bytes]:
    """Yield the vectors that a space has of a cut. Raises DAMAGE, and TypeError if a vector is missing."""
    row: Any = old.execute("SELECT done FROM brain_embedded WHERE model = ? AND cut = ?", (space.id, cut)).fetchone()
    for chunk in range(cut * schema.SPAN, cut * schema.SPAN + (row[0] if row else 0)):
        vector: Any = old.execute(f'SELECT embedding FROM "{space.table}" WHERE rowid = ?', (chunk,)).get
        if len(vector) != space.dimensions:
            raise apsw.CorruptError(f"vector {chunk} has {len(vector)} dimensions")
        yield vector


def _carry_tables(old: apsw.Connection, new: apsw.Connection) -> list[str]:
    """Copy the rows of tables that a rebuild does not make: caches and the vectors of another program."""
    tables: Any = old.execute(
        "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual')"
        " AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'brain_*' ORDER BY type, name"
    ).fetchall()
    unread: list[str] = []
    for name, kind in tables:
        if name not in schema.MADE:
            unread += _tolerant(_carry_table, old, new, name, kind)
    if "vectors_vec" in unread:
        new.execute("DELETE FROM content_vectors")  # it says which texts have a vector there
    return unread


def _carry_table(old: apsw.Connection, new: apsw.Connection, name: str, kind: str) -> None:
    if kind == "virtual":
        spaces.load(old)
        spaces.load(new)
    if not _exists(new, name):
        # Read here, since the text of another table can be damaged.
        sql: Any = old.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).get
        new.execute(sql)
    _copy_rows(old, new, name)


def _copy_rows(old: apsw.Connection, new: apsw.Connection, table: str, where: str = "") -> None:
    columns = [f'"{name}"' for name, hidden in _columns(old, table) if not hidden]
    rows = old.execute(f'SELECT {", ".join(columns)} FROM "{table}" {where}')
    marks = ", ".join("?" * len(columns))
    new.executemany(f'INSERT OR IGNORE INTO "{table}"({", ".join(columns)}) VALUES({marks})', rows)


def _columns(connection: apsw.Connection, table: str) -> list[tuple[str, int]]:
    rows: Any = connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    return list(rows)


def _tolerant(
    copy: Callable[..., None], old: apsw.Connection, new: apsw.Connection, name: str, *more: str
) -> list[str]:
    """Run ``copy`` in a savepoint; returns the name where the old table cannot be read."""
    try:
        with new:
            copy(old, new, name, *more)
    except _UNREADABLE:
        return [name]
    return []


def _exists(connection: apsw.Connection, table: str) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None
