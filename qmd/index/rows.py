"""The rows of both full-text tables, held back until there are many: each table is then written in one go.

FTS5 collects terms in a hash table of its own for each index. Writing documents and passages in turn throws the one out
of the processor's cache for the other, which costs a fifth of a large update.
"""

from __future__ import annotations

import apsw

# Characters of text after which what is held is written: some hundred documents.
_ENOUGH = 1 << 20


class Rows:
    """Rows for ``documents_fts`` and ``brain_passages``, each in the order of its rowids as far as they come so."""

    __slots__ = ("_connection", "_documents", "_held", "_passages")

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._documents: list[tuple[int, str, str, str]] = []
        self._passages: list[tuple[int, str, str]] = []
        self._held = 0

    @property
    def full(self) -> bool:
        """Whether there is enough to write."""
        return self._held > _ENOUGH

    def document(self, identity: int, path: str, title: str, body: str) -> None:
        """One document; the caller has deleted the row that it had."""
        self._documents.append((identity, path, title, body))
        self._held += len(body)

    def passage(self, rowid: int, body: str, words: str) -> None:
        """One passage and the words inside its identifiers."""
        self._passages.append((rowid, body, words))
        self._held += len(body)

    def write(self) -> None:
        """Write what is held, inside the caller's transaction."""
        documents, passages = self._documents, self._passages
        self.forget()
        if documents:
            self._connection.executemany(
                "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)", documents
            )
        if passages:
            self._connection.executemany("INSERT INTO brain_passages(rowid, body, words) VALUES(?, ?, ?)", passages)

    def forget(self) -> None:
        """Drop what is held: its transaction was rolled back."""
        self._documents, self._passages, self._held = [], [], 0
