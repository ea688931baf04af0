"""Documents into the index, or out of it: the content, the row, the passages, the facts and the full text."""

from __future__ import annotations

import hashlib
import os
import time
from itertools import count
from operator import itemgetter

import apsw

from core import sqlite
from core.redaction import policy_of, shown
from core.text import is_plain
from qmd.index import completeness, derived, terms
from qmd.index.schema import COARSE_TICK_NS, NEXT_ID, has_vectors
from qmd.index.segments import TABLES
from qmd.index.store import COUNT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterable
    from typing import Any

    from qmd.index.completeness import Known

    Look = Callable[[str, str], int]

# What became of a document; ABSENT: an empty text that the index did not have.
ADDED, UPDATED, UNCHANGED, REMOVED, ABSENT = "added", "updated", "unchanged", "removed", "absent"
CHANGED = (ADDED, UPDATED, REMOVED)

# A transaction ends after so many seconds, so that other writers get their turn and a killed run keeps its work.
_BATCH_S = 2.0
# …and then a moment passes: SQLite's waiting writers look again every few ms, and would else find it taken each time.
_TURN_S = 0.005
# FTS5's own values, and those of a writer that leaves merging to others: it merges only where nobody else ever does,
# since a question looks through every segment (0.04 ms each for six words).
_USUAL = {"automerge": 4, "crisismerge": 16}
_LEFT = {"automerge": 0, "crisismerge": 64}
# Characters of text after which the full text that is held is written: some hundred documents.
_ENOUGH = 1 << 20

_FACTS = (
    "INSERT INTO brain_facts(document_id, hash, date, ended, dated, fields, policy) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    " ON CONFLICT(document_id) DO UPDATE SET hash = ?2, date = ?3, ended = ?4, dated = ?5, fields = ?6, policy = ?7"
)
_FILE = (
    "INSERT INTO brain_files(document_id, size, mtime_ns, inode, checked_ns) VALUES(?1, ?2, ?3, ?4, ?5)"
    " ON CONFLICT(document_id) DO UPDATE SET size = ?2, mtime_ns = ?3, inode = ?4, checked_ns = ?5"
)


class Writer:
    """``with Writer(connection) as writer: writer.put(…)`` writes documents.

    A transaction spans the documents of two seconds; inside one that was open before, none begins or ends. A document
    that fails takes the open transaction back, and ends the writing; what fails elsewhere does not. ``torn`` says which
    it was.

    The triggers that mirror ``documents`` into ``documents_fts`` are off: a statement with a trigger opens a savepoint,
    and at a savepoint FTS5 writes out all that it holds in memory, which takes twice the time for a large update.
    Instead, rows for the full text are held, and written in the order of their rowids before a commit.

    Args:
        merge: let FTS5 merge segments; otherwise ``qmd.index.segments.merge`` does so later.
    """

    def __init__(self, connection: apsw.Connection, *, merge: bool = True) -> None:
        self._connection = connection
        self._merge = merge
        self._outer = connection.in_transaction
        self._until = 0.0
        self._documents: dict[int, tuple[int, str, str, str]] = {}
        self._passages: list[tuple[int, str, str]] = []
        self._held = 0
        self._changed = self._embedded = self.torn = False

    def __enter__(self) -> Writer:
        self._triggers = self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if not self.torn:
                self._commit()
            elif not self._outer:
                sqlite.roll_back(self._connection)
        except apsw.Error:
            if kind is None:
                raise
        finally:
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, self._triggers)

    def put(
        self,
        collection: str,
        relative: str,
        data: bytes,
        status: os.stat_result,
        *,
        look: Look = policy_of,
        checked_ns: int = 0,
        keep: bool = False,
    ) -> str:
        """Index one file from its bytes; return what became of the document.

        Args:
            look: finds the document's policy (``core.redaction.policy_of``).
            checked_ns: when the file was read, in ns since 1970; 0 for writers of the file itself, who trust its stat.
            keep: see ``drop``, which an empty file amounts to.
        """
        self.begin()
        text = data.decode("utf-8", "replace")
        before = completeness.known(self._connection, collection, relative)
        if not text or text.isspace():
            outcome = REMOVED if self._take_out(before, keep) else ABSENT
        elif self._index(collection, relative, text, status, before, look, checked_ns):
            outcome = UPDATED if before and before[2] else ADDED
        else:
            outcome = UNCHANGED
        self.end(changed=outcome in CHANGED)
        return outcome

    def drop(self, collection: str, relative: str, *, keep: bool = False) -> bool:
        """Take one file out of the index; return True if it was there. ``keep`` leaves its text to a later cleanup."""
        self.begin()
        gone = self._take_out(completeness.known(self._connection, collection, relative), keep)
        self.end(changed=gone)
        return gone

    def begin(self) -> None:
        """Begin one document, and a transaction if none is open."""
        self.torn = True
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            self._until = time.monotonic() + _BATCH_S
            self._settings = [] if self._merge else leave_merging(self._connection)
        self._vectors = has_vectors(self._connection)

    def end(self, *, changed: bool = False) -> None:
        """End one document; commit if it is time to; ``changed``: documents are to be counted."""
        self._changed |= changed
        if not self._outer and time.monotonic() > self._until:
            self._commit()
            time.sleep(_TURN_S)
        elif self._held > _ENOUGH:
            self._write_full_text()
        self.torn = False

    def _commit(self) -> None:
        self._write_full_text()
        if self._outer or not self._connection.in_transaction:
            return
        if self._changed:
            self._connection.execute(COUNT)
        if self._embedded:
            from qmd.index.semantic import vectors

            vectors.note(self._connection)
        if self._settings:
            _configure(self._connection, self._settings)
        self._connection.execute("COMMIT")
        self._changed = self._embedded = False

    def _write_full_text(self) -> None:
        self._connection.executemany(
            "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)", self._documents.values()
        )
        self._connection.executemany(
            "INSERT INTO brain_passages(rowid, body, words) VALUES(?, ?, ?)", sorted(self._passages, key=itemgetter(0))
        )
        self._documents, self._passages, self._held = {}, [], 0

    def _index(
        self,
        collection: str,
        relative: str,
        text: str,
        status: os.stat_result,
        before: Known | None,
        look: Look,
        checked_ns: int,
    ) -> bool:
        """Index one text; return True if anything changed. ``before`` is the row that the index has of the path."""
        connection = self._connection
        identity, old, active, described = before or (0, "", 0, "")
        digest = hashlib.sha256(text.encode()).hexdigest()
        changed = not active or old != digest
        policy = 0
        if changed:
            place = f"{collection}/{relative}"
            policy = look(text, place)
            title = derived.title(shown(text) if policy < 0 else text, relative)
            modified = _iso_ms(status.st_mtime)
            connection.execute("INSERT OR IGNORE INTO content VALUES(?, ?, ?)", (digest, text, _iso_ms(time.time())))
            if identity:
                self._take_out_full_text(identity)
                query = "UPDATE documents SET title = ?, hash = ?, modified_at = ?, active = 1 WHERE id = ?"
                connection.execute(query, (title, digest, modified, identity))
            else:
                query = (
                    "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active)"
                    " VALUES(?, ?, ?, ?, ?, ?, 1)"
                )
                connection.execute(query, (collection, relative, title, digest, modified, modified))
                identity = connection.last_insert_rowid()
            path, title, body = map(terms.spaced_out, (place, title, text))
            self._documents[identity] = identity, path, title, body
            self._held += len(text)
            self._note_vectors(digest)
        changed |= self.derive(identity, digest, text, int(status.st_mtime), policy, described, old)
        if old and old != digest:
            self.release(old)
        checked_ns = checked_ns or max(time.time_ns(), status.st_mtime_ns + COARSE_TICK_NS + 1)
        connection.execute(_FILE, (identity, status.st_size, status.st_mtime_ns, status.st_ino, checked_ns))
        return changed

    def derive(
        self,
        identity: int,
        digest: str,
        text: str,
        mtime: int,
        policy: int = 0,
        described: str = "",
        old: str = "",
    ) -> bool:
        """Write our tables for one document, between ``begin`` and ``end``: facts, actions, and the content's passages.

        Args:
            identity: the document's number.
            digest: the hash of ``text``.
            mtime: epoch seconds, the date of a text that names none.
            policy: ``core.redaction.policy_of`` the document, 0 for not known: ``judge`` finds it.
            described: the hash of the text that the index has facts of, "" for none.
            old: the hash of the text that the document had, "" for none: passages that did not change keep their rows.

        Returns:
            True if anything was missing.
        """
        connection = self._connection
        body = None
        if described != digest:
            found = derived.read(text, mtime)
            body = found.body
            row = (identity, digest, found.date, found.ended, int(found.dated), found.packed(), policy)
            connection.execute(_FACTS, row)
            if described:
                connection.execute("DELETE FROM brain_actions WHERE document_id = ?", (identity,))
                connection.execute("DELETE FROM brain_edits WHERE document_id = ?", (identity,))
                connection.execute("DELETE FROM brain_durations WHERE document_id = ?", (identity,))
            if found.may_tell_work:
                from qmd.index.actions import reading, table

                table.write(connection, identity, reading.read(text, found.fields, found.date))
        if connection.execute("SELECT 1 FROM brain_contents WHERE hash = ?", (digest,)).fetchone():
            return described != digest
        spaced = terms.has_cjk(text)
        bounds = derived.cut(text, spaced, body)
        first, kept = self._inherited(old, text, bounds)
        first = first or connection.execute(NEXT_ID).get or 1
        connection.execute("INSERT INTO brain_contents VALUES(?, ?, ?)", (first, digest, bounds.tobytes()))
        bodies, words = derived.searchable(text, bounds[kept:], spaced)
        self._passages += zip(count(first + kept), bodies, words, strict=False)
        self._held += len(text)
        return True

    def _inherited(self, old: str, text: str, bounds: array[int]) -> tuple[int, int]:
        """Leave the first passages of an old text to the text in its place, as far as they are equal; delete the rest.

        Returns the id of the first passage and the number that stay: (0, 0), and nothing is deleted, if none are equal,
        another document has the old text, or the passages of the next content leave no room.
        """
        connection = self._connection
        if not old or completeness.is_used(connection, old):
            return 0, 0
        from qmd.index import catalogue

        held = catalogue.passages(connection, old)
        if held is None:
            return 0, 0
        other, first, others = held
        kept = derived.same_passages(text, bounds, other, others)
        beyond: int | None = connection.execute("SELECT min(id) FROM brain_contents WHERE id > ?", (first,)).get
        if not kept or (beyond is not None and first + len(bounds) - 1 > beyond):
            return 0, 0
        connection.execute(
            "DELETE FROM brain_passages WHERE rowid >= ? AND rowid < ?", (first + kept, first + len(others) - 1)
        )
        connection.execute("DELETE FROM brain_contents WHERE id = ?", (first,))
        return first, kept

    def _take_out(self, before: Known | None, keep: bool) -> bool:
        """Take a document out; return True if it was there. ``keep`` leaves its row, inactive, and its text."""
        if before is None or not before[2]:
            return False
        identity = before[0]
        self._take_out_full_text(identity)
        self._connection.execute("UPDATE documents SET active = 0 WHERE id = ?", (identity,))
        self._connection.execute("DELETE FROM brain_facts WHERE document_id = ?", (identity,))
        self._connection.execute("DELETE FROM brain_files WHERE document_id = ?", (identity,))
        self._connection.execute("DELETE FROM brain_actions WHERE document_id = ?", (identity,))
        self._connection.execute("DELETE FROM brain_edits WHERE document_id = ?", (identity,))
        self._connection.execute("DELETE FROM brain_durations WHERE document_id = ?", (identity,))
        self.release(before[1], keep=keep)
        return True

    def _take_out_full_text(self, identity: int) -> None:
        if identity in self._documents:
            self._write_full_text()  # the document's passages are held as well, and may go
        self._connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))

    def release(self, digest: str, *, keep: bool = False) -> None:
        """Delete a content that no active document has, its passages and vectors; with ``keep`` only those."""
        self._note_vectors(digest)
        connection = self._connection
        if completeness.is_used(connection, digest):
            return
        query = "SELECT id, length(starts) / 4 - 1 FROM brain_contents WHERE hash = ?"
        row: tuple[int, int] | None = connection.execute(query, (digest,)).fetchone()
        if row:
            connection.execute("DELETE FROM brain_passages WHERE rowid >= ? AND rowid < ?", (row[0], sum(row)))
            connection.execute("DELETE FROM brain_contents WHERE id = ?", (row[0],))
        if self._vectors:
            from qmd.index.semantic import vectors

            vectors.release(connection, digest)
        if not keep:
            connection.execute("DELETE FROM content WHERE hash = ?", (digest,))

    def _note_vectors(self, digest: str) -> None:
        """Have the documents with vectors counted where a text that has some comes or goes."""
        if self._vectors:
            from qmd.index.semantic import vectors

            self._embedded |= vectors.has_cuts(self._connection, digest)


def put(
    connection: apsw.Connection,
    collection: str,
    relative: str,
    data: bytes,
    status: os.stat_result,
    *,
    merge: bool = True,
) -> bool:
    """Index one file from its bytes, as its writer; return True if the index changed."""
    with Writer(connection, merge=merge) as writer:
        return writer.put(collection, relative, data, status) in CHANGED


def drop(connection: apsw.Connection, collection: str, relative: str) -> bool:
    """Take one file out of the index; return True if it was there."""
    with Writer(connection) as writer:
        return writer.drop(collection, relative)


def drop_collection(connection: apsw.Connection, collection: str) -> None:
    """Take every document of a collection out of the index; its files are not touched."""
    from qmd.index import catalogue

    paths = [path for _, _, path, *_ in catalogue.entries(connection, (collection,))]
    with Writer(connection) as writer:
        for path in paths:
            writer.drop(collection, path)


def of_cleaned(text: str, place: str) -> int:
    """Return the policy of a document that its writer has made of clean parts just now: only its place is looked at.

    A secret with a hidden character in it is recognised once that character is gone: such a document is looked at, too.
    """
    return policy_of("" if is_plain(text) else text, place)


def unknown(text: str, place: str) -> int:
    """Return the policy of a document of an index that shows every document as it is."""
    del text, place
    return 0


def judge(connection: apsw.Connection) -> int:
    """Look at each document that was not looked at under the present redaction policy; return how many there were."""
    from qmd.index import catalogue

    found = completeness.unjudged(connection)
    with Writer(connection) as writer:
        for identity, place, digest in found:
            writer.begin()
            policy = policy_of(catalogue.text(connection, digest) or "", place)
            connection.execute("UPDATE brain_facts SET policy = ? WHERE document_id = ?", (policy, identity))
            writer.end()
    return len(found)


def heal(connection: apsw.Connection) -> int:
    """Fill our tables for documents that lack facts or passages, and drop what has no document any more.

    Another program, the real qmd, writes such documents. Returns how many were found.
    """
    from qmd.index import catalogue

    foreign = completeness.underived(connection)
    with Writer(connection) as writer:
        for identity, digest, modified, described in foreign:
            writer.begin()
            text = catalogue.text(connection, digest) or ""
            writer.derive(identity, digest, text, modified or int(time.time()), described=described)
            writer.end()
        for _, digest, _ in catalogue.unused_passages(connection) if foreign else ():
            writer.begin()
            writer.release(digest)
            writer.end()
    return len(foreign)


def leave_merging(connection: apsw.Connection) -> list[tuple[str, str, int]]:
    """Have the open transaction merge nothing; return the settings for ``_configure`` before its end.

    The settings of FTS5 are the table's and not the connection's. They are set back before the transaction ends, so
    that no other writer, and nobody after a kill, ever meets these.
    """
    before = []
    for table in TABLES:
        held: dict[Any, Any] = dict(connection.execute(f"SELECT k, v FROM {table}_config").fetchall())  # type: ignore[arg-type]
        before += [(table, key, int(held.get(key, usual))) for key, usual in _USUAL.items()]
    _configure(connection, [(table, key, _LEFT[key]) for table, key, _ in before])
    return before


def _configure(connection: apsw.Connection, settings: Iterable[tuple[str, str, int]]) -> None:
    """Set (table, key, value); FTS5 first writes what it holds in memory, under the values that still hold."""
    for table, key, value in settings:
        connection.execute(f"INSERT INTO {table}({table}, rank) VALUES(?, ?)", (key, value))


def _iso_ms(instant: float) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(instant))
    return f"{seconds}.{int(instant * 1000) % 1000:03d}Z"
