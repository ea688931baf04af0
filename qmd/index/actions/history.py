"""What the actions of earlier sessions say about one command, error or file: reads of ``brain_actions`` by identity.

Each function but ``between`` returns the newest rows first, and raises apsw.Error. ``since`` is epoch seconds; ``most``
is the number of rows, -1 for all.
"""

from __future__ import annotations

from qmd.index.actions.action import COLUMNS, NEWEST, Action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import apsw

MOST = 200
_SAID = "kind IN ('decision', 'rejection')"


def runs(connection: apsw.Connection, key: int) -> list[Action]:
    """Return the runs of the command with this key."""
    return _found(connection, "key = ? AND kind = 'command'", key)


def runs_of(connection: apsw.Connection, name: str) -> list[Action]:
    """Return the runs of a program, with any arguments."""
    return _found(connection, "name = ? AND kind = 'command'", name)


def failures_of(connection: apsw.Connection, name: str) -> list[Action]:
    """Return the failures of a program, with any arguments."""
    return _found(connection, "name = ? AND outcome = 'failed' AND kind = 'command'", name)


def with_error(connection: apsw.Connection, errors: Sequence[str], since: int = 0, most: int = MOST) -> list[Action]:
    """Return the failures with one of these signatures."""
    condition = f"error IN ({', '.join('?' * len(errors))}) AND error <> '' AND at >= ?"
    return _found(connection, condition, *errors, since, most=most)


def statements(connection: apsw.Connection, since: int = 0, most: int = -1) -> list[Action]:
    """Return the decisions and rejections."""
    return _found(connection, f"{_SAID} AND at >= ?", since, most=most)


def statements_about(
    connection: apsw.Connection, names: Iterable[str], since: int = 0, most: int = MOST
) -> list[Action]:
    """Return the decisions and rejections that have one of ``names`` in what was said or in the reason."""
    wanted = [name for name in names if name]
    if not wanted:
        return []
    bindings = [each for name in wanted for each in (name, name)]
    named = " OR ".join("instr(subject, ?) OR instr(note, ?)" for _ in wanted)
    # The index has all that this looks at: only the rows that are found are read from the table.
    query = f"SELECT document_id, number FROM brain_actions WHERE {_SAID} AND ({named}) AND at >= ? {NEWEST} LIMIT ?"
    return _found(connection, f"(document_id, number) IN ({query})", *bindings, since, most, most=most)


def of_file(connection: apsw.Connection, name: str, since: int = 0, most: int = MOST) -> list[Action]:
    """Return what was done to files of a name."""
    return _found(connection, "name = ? AND kind IN ('read', 'edit', 'create') AND at >= ?", name, since, most=most)


def refusals(connection: apsw.Connection, tool: str) -> list[Action]:
    """Return the refused calls of a tool."""
    return _found(connection, "kind = 'rejection' AND name = ?", tool)


def between(connection: apsw.Connection, document: int, first: int, last: int) -> list[Action]:
    """Return the actions ``first`` to ``last`` of a document, both included, in order."""
    query = f"SELECT {COLUMNS} FROM brain_actions WHERE document_id = ? AND number BETWEEN ? AND ? ORDER BY number"
    return [Action(*row) for row in connection.execute(query, (document, first, last))]


def _found(connection: apsw.Connection, condition: str, *bindings: Any, most: int = MOST) -> list[Action]:
    query = f"SELECT {COLUMNS} FROM brain_actions WHERE {condition} {NEWEST} LIMIT ?"
    return [Action(*row) for row in connection.execute(query, (*bindings, most))]
