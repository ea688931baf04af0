"""What a client is told when it connects: what is in the index now, what it lacks, how to search it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.index import retrieve

if TYPE_CHECKING:
    import apsw

_SEARCHING = """\
Search: `query` takes `searches`, each with a type:
  - lex: keywords (exact, fast)
  - vec: a question, by meaning
  - hyde: a passage such as the answer might read, by meaning
  `intent` says what a search is for: give it with every one.

Examples:
  A name or term: searches=[{type:'lex', query:'error handling'}]
  A concept: searches=[{type:'vec', query:'how are errors handled'}]
  Both: searches=[{type:'lex', query:'error'}, {type:'vec', query:'how are errors handled'}]
  With intent: searches=[{type:'lex', query:'performance'}], intent='web page load times'

Retrieval:
  - `get`: one document by path or docid (#abc123); `notes.md:100` is from line 100 on, `notes.md:100:40` 40 lines.
  - `multi_get`: several, by glob (`journals/2025-05*.md`), or by paths and docids with commas between them.

Tips:
  - A result's `file` begins with its collection; `get` takes it as it is, and its `line` as fromLine.
  - `minScore: 0.5` leaves out what is hardly relevant.
  - `context`, where a result has it, says what kind of document it is."""

EMPTY = "QMD is your local search engine over 0 markdown documents. There is no index yet: `qmd collection add PATH`."


def build(connection: apsw.Connection, model: str = "", embedding: dict[str, Any] | None = None) -> str:
    """The text for the index as it stands. Raises apsw.Error."""
    status = retrieve.status(connection, model, embedding)
    lines = [f"QMD is your local search engine over {status['totalDocuments']} markdown documents."]
    row = connection.execute("SELECT value FROM store_config WHERE key = 'global_context'").fetchone()
    if row and row[0]:
        lines.append(f"Context: {row[0]}")
    if status["collections"]:
        names = ", ".join(collection["name"] for collection in status["collections"])
        lines += ["", f"Collections (narrow a search with `collections`): {names}"]
        lines.append("`status` says what each holds, where it lies and how many documents it has.")
    if not status["hasVectorIndex"]:
        lines += ["", "Note: No vector embeddings yet: vec and hyde find nothing, lex works."]
    elif status["needsEmbedding"]:
        lines += ["", f"Note: {status['needsEmbedding']} documents need embedding. Run `qmd embed` to update."]
    return "\n".join([*lines, "", _SEARCHING])
