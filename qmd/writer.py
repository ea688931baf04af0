"""One document into the index, or out of it: its content, its row, its passages and its facts."""

from __future__ import annotations

import hashlib
import os
import time

import apsw

from core import clock
from core.jsonio import dumps
from qmd import cjk, facts, passages, titles
from qmd.schema import SPAN
from qmd.store import COUNT, Transaction
from qmd.update import COARSE_TICK_NS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A transaction ends after so many seconds, so that other writers get their turn and a killed run keeps its work.
_BATCH_S = 0.5

# What is known of a path: (id, hash, title, active), or None.
_KNOWN = "SELECT id, hash, title, active FROM documents WHERE collection = ? AND path = ?"


class Batch:
    """``with batch:`` around each document; a transaction spans those of half a second.

    Inside a transaction that was open before, it neither begins nor commits one.
    """

    __slots__ = ("_begun", "_connection", "_outer")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._begun = 0.0
        self._outer = connection.in_transaction

    def __enter__(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            self._begun = time.monotonic()

    def __exit__(self, kind: object, *_: object) -> None:
        if self._outer:
            return
        if kind is not None:
            self._connection.execute("ROLLBACK")
        elif time.monotonic() - self._begun > _BATCH_S:
            self.end()

    def end(self) -> None:
        """Commit what is open."""
        if self._connection.in_transaction and not self._outer:
            self._connection.execute("COMMIT")


def put(connection: apsw.Connection, collection: str, relative: str, data: bytes, status: os.stat_result) -> bool:
    """Index one file whose bytes are at hand; returns whether the index changed.

    For writers of the file itself: its stat is trusted from now on.
    """
    checked = max(time.time_ns(), status.st_mtime_ns + COARSE_TICK_NS + 1)
    text = data.decode("utf-8", "replace")
    with Transaction(connection):
        known = connection.execute(_KNOWN, (collection, relative)).fetchone()
        if not text or text.isspace():
            changed = deactivate(connection, known)
        else:
            changed = index(connection, collection, relative, text, status, checked, known)
        if changed and (not known or not known[3]):
            connection.execute(COUNT)
        return changed


def drop(connection: apsw.Connection, collection: str, relative: str) -> bool:
    """Take one file out of the index; returns whether it was there."""
    with Transaction(connection):
        known = connection.execute(_KNOWN, (collection, relative)).fetchone()
        gone = deactivate(connection, known)
        if gone:
            connection.execute(COUNT)
        return gone


def index(
    connection: apsw.Connection,
    collection: str,
    relative: str,
    text: str,
    status: os.stat_result,
    checked_ns: int,
    known: tuple[Any, ...] | None,
) -> bool:
    """Index one text inside the caller's transaction; returns whether anything changed.

    ``checked_ns`` is when the file was read, ``known`` the row that the index has of the path.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()
    identity: int = known[0] if known else 0
    changed = not known or known[1] != digest or not known[3]
    if changed:
        title = titles.title(text, relative)
        modified = _iso_ms(status.st_mtime)
        connection.execute("INSERT OR IGNORE INTO content VALUES(?, ?, ?)", (digest, text, _iso_ms(time.time())))
        if not identity:
            connection.execute(
                "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active)"
                " VALUES(?, ?, ?, ?, ?, ?, 1)",
                (collection, relative, title, digest, modified, modified),
            )
            identity = connection.last_insert_rowid()
        else:
            connection.execute(
                "UPDATE documents SET title = ?, hash = ?, modified_at = ?, active = 1 WHERE id = ?",
                (title, digest, modified, identity),
            )
        _normalize_fts(connection, identity, f"{collection}/{relative}", title, text)
        if known and known[1] != digest:
            _release(connection, known[1])
    changed |= derive(connection, identity, digest, text, int(status.st_mtime))
    connection.execute(
        "INSERT OR REPLACE INTO brain_files VALUES(?, ?, ?, ?, ?)",
        (identity, status.st_size, status.st_mtime_ns, status.st_ino, checked_ns),
    )
    return changed


def derive(connection: apsw.Connection, identity: int, digest: str, text: str, mtime: int) -> bool:
    """Our tables for one document: its facts, and its content's passages unless another document brought them."""
    row = connection.execute("SELECT hash FROM brain_facts WHERE document_id = ?", (identity,)).fetchone()
    fresh = row is not None and row[0] == digest
    if not fresh:
        found = facts.read(text, mtime)
        connection.execute(
            "INSERT OR REPLACE INTO brain_facts VALUES(?, ?, ?, ?, ?, ?)",
            (identity, digest, found.date, found.ended, int(found.dated), found.packed()),
        )
    if connection.execute("SELECT 1 FROM brain_contents WHERE hash = ?", (digest,)).fetchone():
        return not fresh
    bounds = passages.cut(text)
    connection.execute("INSERT INTO brain_contents(hash, starts) VALUES(?, ?)", (digest, bounds.tobytes()))
    base = connection.last_insert_rowid() * SPAN
    bodies = map(cjk.normalize, passages.bodies(text, bounds))
    # One statement for all passages of a document: SQLite works through them without coming back to Python.
    connection.execute(
        "INSERT INTO brain_passages(rowid, body, words) SELECT ? + key, value ->> 0, value ->> 1 FROM json_each(?)",
        (base, dumps([[body, passages.inner_words(body)] for body in bodies])),
    )
    return True


def deactivate(connection: apsw.Connection, known: tuple[Any, ...] | None) -> bool:
    """Take a document out, inside the caller's transaction; returns whether it was there."""
    if not known or not known[3]:
        return False
    connection.execute("UPDATE documents SET active = 0 WHERE id = ?", (known[0],))
    connection.execute("DELETE FROM brain_facts WHERE document_id = ?", (known[0],))
    connection.execute("DELETE FROM brain_files WHERE document_id = ?", (known[0],))
    _release(connection, known[1])
    return True


def heal(connection: apsw.Connection) -> int:
    """Fill our tables for documents that another program, the real qmd, wrote or changed, and drop what it dropped.

    Returns how many documents it found.
    """
    foreign: list[Any] = connection.execute(
        "SELECT d.id, d.hash, unixepoch(d.modified_at) FROM documents d"
        " LEFT JOIN brain_facts f ON f.document_id = d.id"
        " WHERE d.active = 1 AND (f.hash IS NULL OR f.hash <> d.hash)"
    ).fetchall()
    if not foreign:
        return 0
    batch = Batch(connection)
    for identity, digest, modified in foreign:
        with batch:
            text: Any = connection.execute("SELECT doc FROM content WHERE hash = ?", (digest,)).get
            derive(connection, identity, digest, text or "", modified or clock.now())
    with batch:
        orphans: list[Any] = connection.execute(
            "SELECT hash FROM brain_contents WHERE hash NOT IN (SELECT hash FROM documents WHERE active = 1)"
        ).fetchall()
        for (digest,) in orphans:
            _release(connection, digest)
    batch.end()
    return len(foreign)


def _release(connection: apsw.Connection, digest: str) -> None:
    """Delete a content that no active document has, and its passages."""
    if connection.execute("SELECT 1 FROM documents WHERE hash = ? AND active = 1", (digest,)).fetchone():
        return
    row: Any = connection.execute(
        "SELECT id, length(starts) / 4 FROM brain_contents WHERE hash = ?", (digest,)
    ).fetchone()
    if row:
        first = row[0] * SPAN
        connection.execute(
            "DELETE FROM brain_passages WHERE rowid >= ? AND rowid < ?", (first, first + max(0, row[1] - 1))
        )
        connection.execute("DELETE FROM brain_contents WHERE id = ?", (row[0],))
    connection.execute("DELETE FROM content WHERE hash = ?", (digest,))


def _normalize_fts(connection: apsw.Connection, identity: int, filepath: str, title: str, text: str) -> None:
    if cjk.has_cjk(text) or cjk.has_cjk(title) or cjk.has_cjk(filepath):
        connection.execute(
            "INSERT OR REPLACE INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)",
            (identity, cjk.normalize(filepath), cjk.normalize(title), cjk.normalize(text)),
        )


def _iso_ms(instant: float) -> str:
    return f"{clock.iso(instant)[:-1]}.{int(instant * 1000) % 1000:03d}Z"
