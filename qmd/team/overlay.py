"""A team's documents laid over the index, for one connection: its tables then have the rows of both.

A temporary view hides the table of its name. So whatever reads ``documents``, ``content``, ``brain_facts`` and
``brain_actions`` by this connection reads both stores; the full-text tables stay those of the index. The rows are in
memory, and end with the connection. Actions are read from the markdown here, as those of own documents are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import jsonb
from core.version import REDACTION
from qmd.index.actions import reading, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from qmd.search.search import Hit

# Characters of a line from which actions are read. Some patterns take the square of a line's length, so that one line
# of another member could keep an answer for minutes.
_LINE = 5_000
_TABLES = ("documents", "content", "brain_facts", "brain_actions")


def lay(connection: apsw.Connection, documents: Iterable[tuple[Hit, str]]) -> None:
    """Lay documents of other members, each with its text, over the index. Raises apsw.Error.

    In the tables, the collection of such a document is ``owner/collection``, and its hash is no hash: nothing that a
    member writes can take the place of a row of the index.
    """
    connection.pragma("query_only", False)
    try:
        connection.pragma("temp_store", "MEMORY")
        with connection:  # all of it or nothing
            for name in _TABLES:
                connection.execute(f"CREATE TEMP TABLE team_{name} AS SELECT * FROM main.{name} WHERE false")
            for hit, text in documents:
                _add(connection, hit, text)
            connection.execute("CREATE INDEX temp.team_actions ON team_brain_actions(document_id, number)")
            for name in _TABLES:
                both = f"SELECT * FROM main.{name} UNION ALL SELECT * FROM temp.team_{name}"
                connection.execute(f"CREATE TEMP VIEW {name} AS {both}")
    finally:
        connection.pragma("query_only", True)


def _add(connection: apsw.Connection, hit: Hit, text: str) -> None:
    identity, digest, policy = hit.id, f"team:{hit.id}", REDACTION if hit.is_clean else 0
    place = (identity, f"{hit.owner}/{hit.collection}", hit.path, hit.title, digest)
    facts = (identity, digest, hit.date, hit.ended, hit.dated, jsonb.pack(hit.fields), policy)
    connection.execute("INSERT INTO team_documents VALUES(?, ?, ?, ?, ?, '', '', 1)", place)
    connection.execute("INSERT INTO team_content VALUES(?, ?, '')", (digest, text))
    connection.execute("INSERT INTO team_brain_facts VALUES(?, ?, ?, ?, ?, ?, ?)", facts)
    lines = "\n".join(line[:_LINE] for line in text.split("\n"))
    table.write(connection, identity, reading.read(lines, hit.fields, hit.date), "team_brain_actions")
