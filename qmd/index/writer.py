"""Writer: one document into the index, or out of it: its content, its row, its passages and its facts."""

from __future__ import annotations

import hashlib
import os
import time

import apsw

from core import clock, sqlite
from core.redaction import policy_of, shown
from core.text import is_plain
from qmd.index import catalogue, facts, passages, terms, vectors
from qmd.index.schema import NEXT_ID
from qmd.index.segments import Merging, Rows
from qmd.index.store import COUNT, Transaction
from qmd.index.walk import COARSE_TICK_NS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Changes(Protocol):
        """Counts of what changed: ``qmd.index.update.Changes``."""

        added: int
        updated: int

    Look = Callable[[str, str], int]

# A transaction ends after so many seconds, so that other writers get their turn and a killed run keeps its work.
_BATCH_S = 2.0
# …and then a moment passes: SQLite's waiting writers look again every few ms, and would else find it taken each time.
_TURN_S = 0.005


class Batch:
    """``with batch:`` around each document; a transaction spans those of two seconds.

    Inside a transaction that was open before, it neither begins nor commits one. Triggers are off from the first
    document to ``end``: see ``Untriggered``. ``rows`` is for ``index`` and ``derive``, and is written before a commit.
    """

    __slots__ = ("_begun", "_connection", "_outer", "_untriggered", "rows")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._begun = 0.0
        self._outer = connection.in_transaction
        self._untriggered: Untriggered | None = None
        self.rows = Rows(connection)

    def __enter__(self) -> None:
        if self._untriggered is None:
            self._untriggered = Untriggered(self._connection)
            self._untriggered.__enter__()
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            self._begun = time.monotonic()

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.rows.forget()
            if not self._outer:
                sqlite.roll_back(self._connection)
            self._triggers_again()
        elif not self._outer and time.monotonic() - self._begun > _BATCH_S:
            self._commit()
        elif self.rows.full:
            self.rows.write()

    def end(self) -> None:
        """Commit what is open."""
        self._commit()
        self._triggers_again()

    def _commit(self) -> None:
        self.rows.write()
        if self._connection.in_transaction and not self._outer:
            self._connection.execute("COMMIT")
            time.sleep(_TURN_S)

    def _triggers_again(self) -> None:
        if self._untriggered is not None:
            self._untriggered.__exit__()
            self._untriggered = None


class Untriggered:
    """``with Untriggered(connection):`` runs without the triggers that mirror ``documents`` into ``documents_fts``.

    A statement with a trigger opens a savepoint, and at a savepoint FTS5 writes out all that it holds in memory: twice
    the time for a large update. Whoever writes so mirrors the rows itself, as ``index`` and ``deactivate`` do.
    """

    __slots__ = ("_connection", "_were")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._were = 1

    def __enter__(self) -> Untriggered:
        self._were = self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)
        if self._were:
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._were:
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)


def put(
    connection: apsw.Connection,
    collection: str,
    relative: str,
    data: bytes,
    status: os.stat_result,
    *,
    merge: bool = True,
    batch: Batch | None = None,
    changes: Changes | None = None,
    look: Look = policy_of,
) -> bool:
    """Index one file from its bytes; return True if the index changed.

    For writers of the file itself: its stat is trusted from now on.

    Args:
        merge: merge full-text segments now; otherwise ``qmd.index.segments.merge`` does so later.
        batch: the full text is searchable once the batch has ended.
        changes: counts the document.
        look: finds the document's policy (``core.redaction.policy_of``).
    """
    checked = max(time.time_ns(), status.st_mtime_ns + COARSE_TICK_NS + 1)
    text = data.decode("utf-8", "replace")
    alone = not connection.in_transaction
    with Transaction(connection), Untriggered(connection), Merging(connection, merge):
        before = catalogue.known(connection, collection, relative)
        if batch and before:
            batch.rows.write()  # what is taken out may be among them
        embedded = _has_vectors(connection, before)
        if not text or text.isspace():
            changed = deactivate(connection, before)
        else:
            changed = index(connection, collection, relative, text, status, checked, before, batch, look)
            if alone:
                embedded |= _has_vectors(connection, catalogue.known(connection, collection, relative))
            if changes is not None and changed:
                existed = before is not None and before[3]
                changes.updated += bool(existed)
                changes.added += not existed
        if changed and alone:
            _recount(connection, embedded)
        return changed


def of_cleaned(text: str, place: str) -> int:
    """Return the policy of a document that its writer has made of clean parts just now: only its place is looked at.

    A secret with a hidden character in it is recognised once that character is gone: such a document is looked at, too.
    """
    return policy_of("" if is_plain(text) else text, place)


def unknown(text: str, place: str) -> int:
    """Return the policy of a document of an index that shows every document as it is."""
    del text, place
    return 0


def drop(connection: apsw.Connection, collection: str, relative: str, keep: bool = False) -> bool:
    """Take one file out of the index; returns whether it was there. ``keep`` leaves its text to a later cleanup."""
    alone = not connection.in_transaction
    with Transaction(connection), Untriggered(connection):
        before = catalogue.known(connection, collection, relative)
        embedded = _has_vectors(connection, before)
        gone = deactivate(connection, before, keep)
        if gone and alone:
            _recount(connection, embedded)
        return gone


def drop_collection(connection: apsw.Connection, collection: str) -> None:
    """Take every document of a collection out of the index; its files are not touched."""
    paths = [path for _, _, path, *_ in catalogue.entries(connection, (collection,))]
    batch = Batch(connection)
    for path in paths:
        with batch:
            drop(connection, collection, path)
    batch.end()


def _has_vectors(connection: apsw.Connection, row: tuple[Any, ...] | None) -> bool:
    return row is not None and vectors.has_cuts(connection, row[1])


def _recount(connection: apsw.Connection, embedded: bool) -> None:
    """Note how many documents there are, and, where a text with vectors came or went, how many have theirs."""
    connection.execute(COUNT)
    if embedded:
        vectors.note(connection)


def index(
    connection: apsw.Connection,
    collection: str,
    relative: str,
    text: str,
    status: os.stat_result,
    checked_ns: int,
    before: tuple[Any, ...] | None,
    batch: Batch | None = None,
    look: Look = policy_of,
) -> bool:
    """Index one text inside the caller's transaction, its triggers off; returns whether anything changed.

    ``checked_ns`` is when the file was read, ``before`` the row that the index has of the path. With a ``batch``, its
    full text is searchable once that has ended.
    """
    rows = batch.rows if batch else Rows(connection)
    digest = hashlib.sha256(text.encode()).hexdigest()
    identity: int = before[0] if before else 0
    changed = not before or before[1] != digest or not before[3]
    policy = 0
    if changed:
        policy = look(text, f"{collection}/{relative}")
        title = facts.title(shown(text) if policy < 0 else text, relative)
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
            connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))
        path = terms.spaced_out(f"{collection}/{relative}")
        rows.document(identity, path, terms.spaced_out(title), terms.spaced_out(text))
        if before and before[1] != digest:
            _release(connection, before[1])
    changed |= derive(connection, identity, digest, text, int(status.st_mtime), rows, policy, new=not before)
    if batch is None:
        rows.write()
    stat = (status.st_size, status.st_mtime_ns, status.st_ino, checked_ns, identity)
    _put(
        connection,
        "UPDATE brain_files SET size = ?, mtime_ns = ?, inode = ?, checked_ns = ? WHERE document_id = ?",
        "INSERT INTO brain_files(size, mtime_ns, inode, checked_ns, document_id) VALUES(?, ?, ?, ?, ?)",
        stat,
        new=not before,
    )
    return changed


def _put(connection: apsw.Connection, update: str, insert: str, bindings: tuple[Any, ...], *, new: bool) -> None:
    """UPDATE, else INSERT. (INSERT OR REPLACE opens a savepoint: see ``Untriggered``.)"""
    if not new:
        connection.execute(update, bindings)
        if connection.changes():
            return
    connection.execute(insert, bindings)


def derive(
    connection: apsw.Connection,
    identity: int,
    digest: str,
    text: str,
    mtime: int,
    rows: Rows,
    policy: int = 0,
    *,
    new: bool = False,
) -> bool:
    """Our tables for one document: its facts, and its content's passages (into ``rows``) unless they are there.

    ``policy`` is ``core.redaction.policy_of`` the document, 0 for not known: ``judge`` finds it. A ``new`` document has
    a number that none had before, and so no facts.
    """
    query = "SELECT hash FROM brain_facts WHERE document_id = ?"
    row = None if new else connection.execute(query, (identity,)).fetchone()
    fresh = row is not None and row[0] == digest
    if not fresh:
        found = facts.read(text, mtime)
        _put(
            connection,
            "UPDATE brain_facts SET hash = ?, date = ?, ended = ?, dated = ?, fields = ?, policy = ?"
            " WHERE document_id = ?",
            "INSERT INTO brain_facts(hash, date, ended, dated, fields, policy, document_id)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)",
            (digest, found.date, found.ended, int(found.dated), found.packed(), policy, identity),
            new=new,
        )
    if connection.execute("SELECT 1 FROM brain_contents WHERE hash = ?", (digest,)).fetchone():
        return not fresh
    cut = passages.Cut(text)
    first: int = connection.execute(NEXT_ID).get or 1
    connection.execute("INSERT INTO brain_contents VALUES(?, ?, ?)", (first, digest, cut.bounds.tobytes()))
    for rowid, (body, words) in enumerate(cut.rows, first):
        rows.passage(rowid, body, words)
    return True


def judge(connection: apsw.Connection) -> int:
    """Look at each document that was not looked at under the present redaction policy; returns how many there were."""
    found = catalogue.unjudged(connection)
    batch = Batch(connection)
    for identity, place, digest in found:
        with batch:
            policy = policy_of(catalogue.text(connection, digest) or "", place)
            connection.execute("UPDATE brain_facts SET policy = ? WHERE document_id = ?", (policy, identity))
    batch.end()
    return len(found)


def deactivate(connection: apsw.Connection, before: tuple[Any, ...] | None, keep: bool = False) -> bool:
    """Take a document out, inside the caller's transaction; returns whether it was there.

    ``keep`` leaves its row, inactive, and its text.
    """
    if not before or not before[3]:
        return False
    connection.execute("UPDATE documents SET active = 0 WHERE id = ?", (before[0],))
    connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (before[0],))
    connection.execute("DELETE FROM brain_facts WHERE document_id = ?", (before[0],))
    connection.execute("DELETE FROM brain_files WHERE document_id = ?", (before[0],))
    _release(connection, before[1], keep)
    return True


def heal(connection: apsw.Connection) -> int:
    """Fill our tables for documents that lack facts or passages, and drop what has no document any more.

    Another program, the real qmd, writes such documents. Returns how many were found.
    """
    foreign = catalogue.underived(connection)
    if not foreign:
        return 0
    batch = Batch(connection)
    for identity, digest, modified in foreign:
        with batch:
            text = catalogue.text(connection, digest) or ""
            derive(connection, identity, digest, text, modified or clock.now(), batch.rows)
    with batch:
        for _, digest, _ in catalogue.unused_passages(connection):
            _release(connection, digest)
    batch.end()
    return len(foreign)


def _release(connection: apsw.Connection, digest: str, keep: bool = False) -> None:
    """Delete a content that no active document has, its passages and vectors; with ``keep`` only those."""
    if catalogue.is_used(connection, digest):
        return
    row: Any = connection.execute(
        "SELECT id, length(starts) / 4 - 1 FROM brain_contents WHERE hash = ?", (digest,)
    ).fetchone()
    if row:
        connection.execute("DELETE FROM brain_passages WHERE rowid >= ? AND rowid < ?", (row[0], row[0] + row[1]))
        connection.execute("DELETE FROM brain_contents WHERE id = ?", (row[0],))
    vectors.release(connection, digest)
    if not keep:
        connection.execute("DELETE FROM content WHERE hash = ?", (digest,))


def _iso_ms(instant: float) -> str:
    return f"{clock.iso(instant)[:-1]}.{int(instant * 1000) % 1000:03d}Z"
