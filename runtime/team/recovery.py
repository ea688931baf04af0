"""What a machine finds of itself at the team's server once ``state/team.json`` is gone: by a restored backup, say.

The file says which machine this is, and what the server is still to forget. Without it the machine has a new name: a
document that is here as well becomes its own with the next push, and what is forgotten here is known by the tombstones
of the home. The rest may be another machine's, and stays until the user says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.tombstones import Tombstones
from ingest.identity import Meant
from qmd.index import catalogue

if TYPE_CHECKING:
    import apsw
    import psycopg

    from core.home import Home

_BATCH = 200


def forgotten_before(
    home: Home, index: apsw.Connection, server: psycopg.Connection[Any], device: str
) -> list[tuple[str, str]]:
    """Return (collection, path) of own documents that the server has, and that the tombstones of the home mean.

    What the index has at the same path is another document by now, and takes the place of the one at the server.
    """
    marks = Tombstones(home).marks()
    if not marks:
        return []
    meant, found, last = Meant(marks), list[tuple[str, str]](), 0
    query = (
        "SELECT d.id, u.collection, d.path, d.text FROM documents d JOIN units u ON u.id = d.unit"
        " WHERE u.owner = session_user AND d.device <> %s AND d.id > %s ORDER BY d.id LIMIT %s"
    )
    while rows := server.execute(query, (device, last, _BATCH)).fetchall():
        found += [
            (collection, path)
            for _, collection, path, text in rows
            if meant.covers(text.encode()) and catalogue.by_path(index, collection, path) is None
        ]
        last = rows[-1][0]
    return found
