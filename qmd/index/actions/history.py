"""What the actions of earlier sessions say about one command, error or file: reads of ``brain_actions`` by identity.

Each function returns the newest rows first, at most ``MOST``, and raises apsw.Error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.index.actions.action import COLUMNS, Action

if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

MOST = 200
_NEWEST = f"ORDER BY at DESC, document_id DESC, number DESC LIMIT {MOST}"


def runs(connection: apsw.Connection, key: int) -> list[Action]:
    """Return the runs of the command with this key."""
    return _found(connection, "key = ? AND kind = 'command'", key)


def runs_of(connection: apsw.Connection, name: str) -> list[Action]:
    """Return the runs of a program, with any arguments."""
    return _found(connection, "name = ? AND kind = 'command'", name)


def failures_of(connection: apsw.Connection, name: str) -> list[Action]:
    """Return the failures of a program, with any arguments."""
    return _found(connection, "name = ? AND outcome = 'failed' AND kind = 'command'", name)


def failures(connection: apsw.Connection, error: str) -> list[Action]:
    """Return the failures with this signature."""
    return _found(connection, "error = ? AND error <> '' AND outcome = 'failed'", error)


def statements(connection: apsw.Connection, names: Iterable[str]) -> list[Action]:
    """Return the decisions and rejections that mention one of ``names``, in what was said or in the reason."""
    wanted = [name for name in names if name]
    bindings = [each for name in wanted for each in (name, name)]
    condition = " OR ".join("instr(subject, ?) OR instr(note, ?)" for _ in wanted)
    if not wanted:
        return []
    return _found(connection, f"kind IN ('decision', 'rejection') AND ({condition})", *bindings)


def of_file(connection: apsw.Connection, name: str) -> list[Action]:
    """Return what was done to files of a name."""
    return _found(connection, "name = ? AND kind IN ('read', 'edit', 'create')", name)


def refusals(connection: apsw.Connection, tool: str) -> list[Action]:
    """Return the refused calls of a tool."""
    return _found(connection, "kind = 'rejection' AND name = ?", tool)


def between(connection: apsw.Connection, document: int, first: int, last: int) -> list[Action]:
    """Return the actions of a document after number ``first`` and up to ``last``, in their order."""
    query = f"SELECT {COLUMNS} FROM brain_actions WHERE document_id = ? AND number > ? AND number <= ? ORDER BY number"
    return [Action(*row) for row in _rows(connection, query, (document, first, last))]


def _found(connection: apsw.Connection, condition: str, *bindings: Any) -> list[Action]:
    query = f"SELECT {COLUMNS} FROM brain_actions WHERE {condition} {_NEWEST}"
    return [Action(*row) for row in _rows(connection, query, bindings)]


def _rows(connection: apsw.Connection, query: str, bindings: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = connection.execute(query, bindings).fetchall()
    return found
