"""What was found in the raw records of a document's session, cached: traces of edits, and durations of commands.

Traces are digests (``runtime.work.traces``), durations are by the lines of calls (``runtime.work.durations``).
A row is of the document's present text. It holds no text, and goes with the document. Every function raises apsw.Error.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import apsw


# The tables by the column that has the data.
TRACES, TOOK = "traces", "took"
_TABLES = {TRACES: "brain_edits", TOOK: "brain_durations"}


def read(connection: apsw.Connection, documents: Iterable[int], column: str = TRACES) -> dict[int, bytes]:
    """Return what is cached of documents, by id."""
    query = (
        f"SELECT e.{column} FROM {_TABLES[column]} e JOIN documents d ON d.id = e.document_id AND d.hash = e.hash"
        " WHERE e.document_id = ?"
    )
    found = ((each, connection.execute(query, (each,)).fetchone()) for each in documents)
    return {each: row[0] for each, row in found if row is not None and isinstance(row[0], bytes)}


def write(connection: apsw.Connection, rows: Mapping[int, bytes], column: str = TRACES) -> None:
    """Cache the data of documents that are still there, in one transaction."""
    with connection:
        connection.executemany(
            f"INSERT OR REPLACE INTO {_TABLES[column]}(document_id, hash, {column})"
            " SELECT id, hash, ? FROM documents WHERE id = ? AND active = 1",
            ((data, document) for document, data in rows.items()),
        )
