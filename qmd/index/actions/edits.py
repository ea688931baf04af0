"""Cached traces of edits: what ``runtime.work.traces`` found in the raw records of a document's session, as digests.

A row is of the document's present text. It holds no text, and goes with the document. Every function raises apsw.Error.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import apsw


def read(connection: apsw.Connection, documents: Iterable[int]) -> dict[int, bytes]:
    """Return what is cached of documents, by id."""
    query = (
        "SELECT e.traces FROM brain_edits e JOIN documents d ON d.id = e.document_id AND d.hash = e.hash"
        " WHERE e.document_id = ?"
    )
    found = ((each, connection.execute(query, (each,)).fetchone()) for each in documents)
    return {each: row[0] for each, row in found if row is not None and isinstance(row[0], bytes)}


def write(connection: apsw.Connection, traces: Mapping[int, bytes]) -> None:
    """Cache the traces of documents that are still there, in one transaction."""
    with connection:
        connection.executemany(
            "INSERT OR REPLACE INTO brain_edits(document_id, hash, traces)"
            " SELECT id, hash, ? FROM documents WHERE id = ? AND active = 1",
            ((data, document) for document, data in traces.items()),
        )
