"""Reads of what the index has of a file, what it lacks, and what it has without need.

Facts, passages, vectors and a verdict of the redaction policy may be lacking.

Functions take a connection and return plain values. Every function raises apsw.Error.
"""

from __future__ import annotations

from core.version import REDACTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import apsw

    # (id, hash, active, hash of the text that its facts are of, "" for none)
    Known = tuple[int, str, int, str]

_FACTS = "documents d LEFT JOIN brain_facts f ON f.document_id = d.id"
# Facts are missing, or are those of another text: another program wrote the document.
_LACKS_FACTS = "d.active = 1 AND (f.hash IS NULL OR f.hash <> d.hash)"


def known(connection: apsw.Connection, collection: str, path: str) -> Known | None:
    """Return a path's row, also an inactive one; None if there is none."""
    query = (
        "SELECT d.id, d.hash, d.active, coalesce(f.hash, '') FROM documents d"
        " LEFT JOIN brain_facts f ON f.document_id = d.id WHERE d.collection = ? AND d.path = ?"
    )
    row: Known | None = connection.execute(query, (collection, path)).fetchone()
    return row


def is_used(connection: apsw.Connection, digest: str) -> bool:
    """Return True if a document has the text of a hash."""
    query = "SELECT 1 FROM documents WHERE hash = ? AND active = 1"
    return connection.execute(query, (digest,)).fetchone() is not None


def inactive(connection: apsw.Connection) -> int:
    """Return how many inactive documents wait for a cleanup."""
    found: int = connection.execute("SELECT count(*) FROM documents WHERE active = 0").get
    return found


def is_foreign(connection: apsw.Connection) -> bool:
    """Return True if another program has written a document that our tables do not know."""
    query = f"SELECT 1 FROM {_FACTS} WHERE {_LACKS_FACTS} LIMIT 1"
    return connection.execute(query).fetchone() is not None


def has_unjudged(connection: apsw.Connection) -> bool:
    """Return True if a document was not looked at under the present redaction policy."""
    query = "SELECT 1 FROM brain_facts WHERE abs(policy) <> ? LIMIT 1"
    return connection.execute(query, (REDACTION,)).fetchone() is not None


def unjudged(connection: apsw.Connection) -> list[tuple[int, str, str]]:
    """Return (id, ``collection/path``, hash) of documents not looked at under the present redaction policy."""
    found: list[Any] = connection.execute(
        f"SELECT d.id, d.collection || '/' || d.path, d.hash FROM {_FACTS} WHERE d.active = 1 AND abs(f.policy) <> ?",
        (REDACTION,),
    ).fetchall()
    return found


def underived(connection: apsw.Connection) -> list[tuple[int, str, int | None, str]]:
    """Return (id, hash, mtime in epoch seconds, hash of the facts' text) of documents that lack facts or passages."""
    found: list[Any] = connection.execute(
        "SELECT d.id, d.hash, unixepoch(d.modified_at), coalesce(f.hash, '') FROM documents d"
        " LEFT JOIN brain_facts f ON f.document_id = d.id LEFT JOIN brain_contents c ON c.hash = d.hash"
        f" WHERE {_LACKS_FACTS} OR (d.active = 1 AND c.id IS NULL)"
    ).fetchall()
    return found


def gaps(connection: apsw.Connection) -> dict[str, int]:
    """Return how many documents lack what is derived of them: ``content``, ``fts``, ``facts``, ``passages``."""
    lacking = {
        "content": ("content c ON c.hash = d.hash", "d.active = 1 AND c.hash IS NULL"),
        "fts": ("documents_fts_docsize s ON s.id = d.id", "d.active = 1 AND s.id IS NULL"),
        "facts": ("brain_facts f ON f.document_id = d.id", _LACKS_FACTS),
        "passages": ("brain_contents b ON b.hash = d.hash", "d.active = 1 AND b.hash IS NULL"),
    }
    found: dict[str, int] = {}
    for name, (table, condition) in lacking.items():
        found[name] = connection.execute(f"SELECT count(*) FROM documents d LEFT JOIN {table} WHERE {condition}").get
    return found


def files(connection: apsw.Connection, collection: str = "") -> Iterator[tuple[str, str, bool, Any, Any, Any, Any]]:
    """Yield (collection, path, active, size, mtime_ns, inode, checked_ns) of every row, also inactive ones.

    All four are None if the file was never read by us.
    """
    condition, bindings = (" WHERE d.collection = ?", (collection,)) if collection else ("", ())
    query = (
        "SELECT d.collection, d.path, d.active, f.size, f.mtime_ns, f.inode, f.checked_ns"
        f" FROM documents d LEFT JOIN brain_files f ON f.document_id = d.id{condition}"
    )
    yield from connection.execute(query, bindings)


def lacking_vectors(connection: apsw.Connection, model: str, fingerprint: str, collection: str = "") -> int:
    """Return how many texts of documents lack vectors of qmd's own that a model made, or some of a text's chunks."""
    condition, bindings = (" AND d.collection = ?", (collection,)) if collection else ("", ())
    query = (
        "SELECT count(DISTINCT d.hash) FROM documents d LEFT JOIN ("
        "  SELECT hash, count(*) AS chunks, max(total_chunks) AS expected FROM content_vectors"
        "  WHERE model = ? AND embed_fingerprint = ? GROUP BY hash"
        f") v ON v.hash = d.hash WHERE d.active = 1 AND (v.hash IS NULL OR v.chunks < v.expected){condition}"
    )
    found: int = connection.execute(query, (model, fingerprint, *bindings)).get
    return found


def orphaned_vectors(connection: apsw.Connection) -> int:
    """Return how many of qmd's own vectors are of texts that no document has."""
    query = (
        "SELECT count(*) FROM content_vectors v"
        " WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.hash = v.hash AND d.active = 1)"
    )
    found: int = connection.execute(query).get
    return found
