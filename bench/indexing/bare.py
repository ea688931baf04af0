"""The least that both full-text indexes can cost: FTS5 inserts of texts that are ready, and nothing else.

    python -m bench.indexing.bare FOLDER DATABASE

prints the seconds of cpu that inserting every document took, and every passage.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from qmd.index import derived, terms
from qmd.index.store import open_index


def main(folder: str, database: str) -> None:
    """Fill the two tables of a new index below ``database``."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(Path(folder).rglob("*.md"))]
    documents = [(number, f"notes/{number}.md", "", terms.spaced_out(text)) for number, text in enumerate(texts, 1)]
    bodies = [terms.spaced_out(body) for text in texts for body in derived.bodies(text, derived.cut(text))]
    cut = [(number, body, derived.inner_words(body)) for number, body in enumerate(bodies, 1)]
    connection = open_index(database, write=True)
    taken = {
        "documents": _insert(
            connection, "INSERT INTO documents_fts(rowid, filepath, title, body) VALUES(?, ?, ?, ?)", documents
        ),
        "passages": _insert(connection, "INSERT INTO brain_passages(rowid, body, words) VALUES(?, ?, ?)", cut),
    }
    connection.close()
    print(json.dumps(taken))


def _insert(connection: apsw.Connection, statement: str, rows: Sequence[tuple[int | str, ...]]) -> float:
    started = time.process_time()
    connection.execute("BEGIN")
    connection.executemany(statement, rows)
    connection.execute("COMMIT")
    return time.process_time() - started


if __name__ == "__main__":
    main(*sys.argv[1:])
