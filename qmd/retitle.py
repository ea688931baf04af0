"""Titles that an older version took out of private spans are made anew, once: their texts have not changed since."""

from __future__ import annotations

from core.redaction import clean, may_span
from qmd import cjk, titles
from qmd.rows import Rows
from qmd.schema import RETITLED
from qmd.store import Transaction
from qmd.writer import Untriggered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw


def retitle(connection: apsw.Connection) -> int:
    """Give documents whose title is of the text as it stands that of the clean one; returns how many were changed."""
    rows = Rows(connection)
    found: list[tuple[int, str, str, str, str, str]] = []
    documents: Any = connection.execute(
        "SELECT d.id, d.collection, d.path, d.title, d.hash, c.doc FROM documents d JOIN content c ON c.hash = d.hash"
    )
    for identity, collection, path, title, digest, text in documents:
        if may_span(text) and title == titles.title(text, path):
            clear = titles.title(clean(text, {}), path)
            if clear != title:
                found.append((identity, collection, path, clear, digest, text))
    with Transaction(connection), Untriggered(connection):
        for identity, collection, path, title, digest, text in found:
            connection.execute("UPDATE documents SET title = ? WHERE id = ? AND hash = ?", (title, identity, digest))
            if not connection.changes():  # another process wrote it anew meanwhile, with its title
                continue
            connection.execute("DELETE FROM documents_fts WHERE rowid = ?", (identity,))
            if connection.execute("SELECT active FROM documents WHERE id = ?", (identity,)).get:
                name = cjk.normalize(f"{collection}/{path}")
                rows.document(identity, name, cjk.normalize(title), cjk.normalize(text))
        rows.write()
        connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, 1)", (RETITLED,))
    return len(found)
