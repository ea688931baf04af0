"""An entry that another took the place of never stands above it, and says so. On the interactive path."""

from __future__ import annotations

from os.path import basename

from qmd.index import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import apsw

    from qmd.search.snippets import Hit

# Successors are followed so far; a longer chain is a loop that somebody wrote by hand.
_CHAIN = 20


def arrange(connection: apsw.Connection, hits: list[Hit]) -> list[Hit]:
    """``hits`` with each superseded entry directly below its successor, where that is among them. Raises apsw.Error."""
    places = {basename(hit.path).removesuffix(".md"): hit for hit in hits}
    arranged: list[Hit] = []
    for hit in hits:
        successor = places.get(final(connection, hit.fields))
        if successor is not None and successor is not hit and successor not in arranged:
            arranged.append(successor)
        if hit not in arranged:
            arranged.append(hit)
    return arranged


def final(connection: apsw.Connection, fields: dict[str, Any]) -> str:
    """The id of the entry that holds now: the end of the chain that ``superseded_by`` begins, "" for no successor."""
    last = ""
    for _ in range(_CHAIN):
        following = fields.get("superseded_by")
        if not isinstance(following, str) or not following:
            break
        last = following
        # An entry's id begins with its month: 20261121T101500Z-… lies in 2026/11.
        row = catalogue.in_any_collection(connection, f"{following[:4]}/{following[4:6]}/{following}.md")
        if row is None:
            break
        fields = catalogue.Document(row).fields
    return last
