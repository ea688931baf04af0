"""How much of a collection is code: what decides how far its texts are asked for in words of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qmd.index import catalogue

if TYPE_CHECKING:
    import apsw

# Documents of a collection that are looked at, and characters of each.
_DOCUMENTS = 200
_CHARACTERS = 4000


def measure(connection: apsw.Connection) -> None:
    """Note the share (0–1) of code in each collection, inside the caller's transaction."""
    for name in catalogue.counts(connection):
        shares = [share(text) for text in catalogue.sample(connection, name, _DOCUMENTS, _CHARACTERS)]
        value = sum(shares) / len(shares) if shares else 0.0
        connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (f"code:{name}", round(value, 3)))


def share(text: str) -> float:
    """The part (0–1) of a text's lines that are code: inside a fence, or indented like it."""
    code = count = 0
    fenced = False
    for line in text.splitlines():
        bare = line.lstrip()
        if bare.startswith("```"):
            fenced = not fenced
            continue
        if not bare:
            continue
        count += 1
        code += fenced or line.startswith(("    ", "\t"))
    return code / count if count else 0.0
