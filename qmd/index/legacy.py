"""An index that an older qmd wrote, brought to the structure of 2.8.3 before it is used: the real one does so, too."""

from __future__ import annotations

import apsw

from core.errors import EngineMissing
from qmd.index import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What content_vectors has gained over time; the rest is as old as the table.
_LATER = {
    "seq": "INTEGER NOT NULL DEFAULT 0",
    "pos": "INTEGER NOT NULL DEFAULT 0",
    "model": "TEXT NOT NULL DEFAULT ''",
    "embed_fingerprint": "TEXT NOT NULL DEFAULT ''",
    "total_chunks": "INTEGER NOT NULL DEFAULT 1",
    "embedded_at": "TEXT NOT NULL DEFAULT ''",
}
_DOCUMENTS = {"id", "collection", "path", "title", "hash", "created_at", "modified_at", "active"}
_SPACED = "1"


def is_old(connection: apsw.Connection) -> bool:
    """Whether the vectors' table or the full-text table lacks what 2.8.3 has."""
    vectors = _columns(connection, "content_vectors")
    return bool(vectors and not vectors >= _LATER.keys()) or _is_outdated(connection)


def bring(connection: apsw.Connection) -> bool:
    """Add what is missing, inside the caller's transaction, before the tables of 2.8.3 are created.

    Returns whether ``refill`` is to be called after that. Raises EngineMissing where the index is older than contents
    apart from documents: no version that is in use reads it.
    """
    documents = _columns(connection, "documents")
    if not documents:
        return False
    if not documents >= _DOCUMENTS:
        fix = "move the index away, then: qmd update"
        raise EngineMissing("the index was written by a qmd of long ago", fix)
    vectors = _columns(connection, "content_vectors")
    if vectors:
        for name, definition in _LATER.items():
            if name not in vectors:
                connection.execute(f"ALTER TABLE content_vectors ADD COLUMN {name} {definition}")
    outdated = _is_outdated(connection)
    if outdated:
        # A full-text table over `documents` itself, which has no such columns any more: not a row of it can be deleted.
        for name in ("documents_ai", "documents_ad", "documents_au"):
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
        connection.execute("DROP TABLE documents_fts")
    return outdated or not _is_spaced(connection)


def refill(connection: apsw.Connection) -> None:
    """Write the full-text table anew from the active documents, inside the caller's transaction."""
    connection.execute("DELETE FROM documents_fts")
    last = 0
    while True:
        rows: list[Any] = connection.execute(
            "SELECT d.id, d.collection || '/' || d.path, d.title, c.doc"
            " FROM documents d JOIN content c ON c.hash = d.hash"
            " WHERE d.active = 1 AND d.id > ? ORDER BY d.id LIMIT 200",
            (last,),
        ).fetchall()
        if not rows:
            break
        last = rows[-1][0]
        connection.executemany(
            "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)",
            [(identity, *map(terms.spaced_out, texts)) for identity, *texts in rows],
        )
    connection.execute("INSERT OR REPLACE INTO store_config VALUES('fts_cjk_normalized_version', ?)", (_SPACED,))


def _is_outdated(connection: apsw.Connection) -> bool:
    columns = _columns(connection, "documents_fts")
    sql = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'documents_fts'").get
    stands_alone = "content=" not in str(sql).replace(" ", "").lower()
    return bool(columns) and not (columns >= {"filepath", "title", "body"} and stands_alone)


def _is_spaced(connection: apsw.Connection) -> bool:
    """Whether Chinese, Japanese and Korean text has been spaced out, which earlier versions did not do."""
    if not _columns(connection, "store_config"):
        return False
    query = "SELECT 1 FROM store_config WHERE key = 'fts_cjk_normalized_version' AND value = ?"
    return connection.execute(query, (_SPACED,)).fetchone() is not None


def _columns(connection: apsw.Connection, table: str) -> set[str]:
    """Its columns' names; none where there is no such table."""
    return {str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}
