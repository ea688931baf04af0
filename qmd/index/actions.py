"""Reads and writes of ``brain_actions``: the one place with SQL over what sessions did.

Functions take a connection and return plain values. A row is ``qmd.index.action_reading.Action`` with the document's
number and the action's own before it. Every function raises apsw.Error.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from qmd.index.action_reading import Action

_INSERT = f"INSERT INTO brain_actions VALUES({', '.join('?' * 18)})"


def write(connection: apsw.Connection, document: int, actions: Sequence[Action]) -> None:
    """Make ``actions`` the actions of a document, in this order."""
    drop(connection, document)
    if actions:
        connection.executemany(_INSERT, ((document, number, *action) for number, action in enumerate(actions)))


def drop(connection: apsw.Connection, document: int) -> None:
    """Delete the actions of a document."""
    connection.execute("DELETE FROM brain_actions WHERE document_id = ?", (document,))
