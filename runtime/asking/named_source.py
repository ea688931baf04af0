"""A source that a selection names: an unknown one is a wrong call, as an unknown collection is, and no absence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import BadInput

if TYPE_CHECKING:
    import apsw

# What no source makes, and has a source in its frontmatter all the same.
_OTHERS = ("article", "note")


def require(connection: apsw.Connection, name: str) -> None:
    """Raise BadInput where neither this version nor any document of the index knows a source ``name``.

    Meant for selections that found nothing: what a document calls its source is its own affair, and looking through
    all of them costs what they are many.
    """
    from ingest.registry import names

    known = (*names(), *_OTHERS)
    if name in known:
        return
    having = connection.execute(
        "SELECT 1 FROM documents d JOIN brain_facts f ON f.document_id = d.id"
        " WHERE d.active = 1 AND CAST(f.fields ->> '$.source' AS TEXT) = ? LIMIT 1",
        (name,),
    ).fetchone()
    if having is not None:
        return
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), known, n=1)
    listed = f"one of: {', '.join(known)}"
    raise BadInput(f"there is no source {name!r}", f"did you mean {near[0]}? {listed}" if near else listed)
