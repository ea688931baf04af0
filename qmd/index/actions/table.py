"""Reads and writes of ``brain_actions``: with ``history``, the SQL over what sessions did.

``qmd.index.writer`` deletes a document's actions with the document's other rows.

Functions take a connection and return plain values. All actions are of active documents: those of others are deleted.
Every function raises apsw.Error.
"""

from __future__ import annotations

from typing import NamedTuple

from core.jsonb import unpack
from core.version import REDACTION
from qmd.index.actions.action import COLUMNS, Action

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import apsw

_INSERT = f"INSERT INTO brain_actions({COLUMNS}) VALUES({', '.join('?' * len(Action._fields))})"
_SELECT = f"SELECT {COLUMNS} FROM brain_actions"
# Distinct errors that a search by words looks through, newest documents first.
_MOST_ERRORS = 20_000
# Bindings of one statement.
_BATCH = 500


class Origin(NamedTuple):
    """The document of an action.

    ``session`` is the same for a session and its subagents. ``is_clean``: the present redaction policy hides nothing of
    the document.
    """

    id: int
    collection: str
    path: str
    title: str
    project: str
    source: str
    session: str
    is_clean: bool


def write(connection: apsw.Connection, document: int, actions: Sequence[Action]) -> None:
    """Write the actions of a document that has none in the table, in this order."""
    rows = ((*action[:-2], document, number) for number, action in enumerate(actions))
    connection.executemany(_INSERT, rows)


def origins(connection: apsw.Connection, documents: Iterable[int]) -> dict[int, Origin]:
    """Return the origins of documents, by id."""
    found: dict[int, Origin] = {}
    for some in _batches(sorted(set(documents))):
        for identity, collection, path, title, policy, fields in connection.execute(
            "SELECT d.id, d.collection, d.path, d.title, f.policy, f.fields"
            " FROM documents d JOIN brain_facts f ON f.document_id = d.id"
            f" WHERE d.id IN ({_marks(some)})",
            some,
        ):
            value: Any = unpack(fields)
            own = value.get("title")
            session = str(value.get("parent") or value.get("session_id") or path)
            found[identity] = Origin(
                identity, collection, path, own if isinstance(own, str) and own else title,
                str(value.get("project") or ""), str(value.get("source") or ""), session, policy == REDACTION,
            )  # fmt: skip
    return found


def within(connection: apsw.Connection, project: str) -> set[int]:
    """Return the documents of projects that match a GLOB."""
    query = "SELECT document_id FROM brain_facts WHERE fields ->> '$.project' GLOB ?"
    return {identity for (identity,) in connection.execute(query, (project,))}


def runs(
    connection: apsw.Connection, name: str, since: int, words: Sequence[str] = ()
) -> Iterator[tuple[int, int, int, str, int]]:
    """Yield (key, document, number, outcome, at) of each run of a program since ``since``.

    ``words`` are in each command, whatever their case.
    """
    condition = "".join(" AND instr(lower(subject), ?)" for _ in words)
    yield from connection.execute(
        "SELECT key, document_id, number, outcome, at FROM brain_actions"
        f" WHERE name = ? AND kind = 'command' AND at >= ?{condition}",
        (name, since, *map(str.lower, words)),
    )


def runs_with(
    connection: apsw.Connection, words: Sequence[str], since: int
) -> Iterator[tuple[int, int, int, str, int, str]]:
    """Yield what ``runs`` does, and the command, for every command that holds ``words``: looks through all of them."""
    condition = "".join(" AND instr(lower(subject), ?)" for _ in words)
    yield from connection.execute(
        "SELECT key, document_id, number, outcome, at, subject FROM brain_actions"
        f" WHERE kind = 'command' AND at >= ?{condition}",
        (since, *map(str.lower, words)),
    )


def one(connection: apsw.Connection, document: int, number: int) -> Action:
    """Return one action. Raises LookupError if there is none."""
    row = connection.execute(f"{_SELECT} WHERE document_id = ? AND number = ?", (document, number)).fetchone()
    if row is None:
        raise LookupError(f"action {number} of document {document}")
    return Action(*row)


def between(connection: apsw.Connection, document: int, first: int, last: int) -> list[Action]:
    """Return the actions ``first`` to ``last`` of a document, both included, in order."""
    rows = connection.execute(f"{_SELECT} WHERE document_id = ? AND number BETWEEN ? AND ?", (document, first, last))
    return [Action(*row) for row in rows]


def with_error(connection: apsw.Connection, errors: Sequence[str], since: int = 0) -> list[Action]:
    """Return the actions that failed with one of these signatures, newest first."""
    rows = connection.execute(
        f"{_SELECT} WHERE error IN ({_marks(errors)}) AND error <> '' AND at >= ?"
        " ORDER BY at DESC, document_id, number",
        (*errors, since),
    )
    return [Action(*row) for row in rows]


def errors(connection: apsw.Connection) -> list[str]:
    """Return the distinct signatures of all errors."""
    query = f"SELECT DISTINCT error FROM brain_actions WHERE error <> '' LIMIT {_MOST_ERRORS}"
    return [error for (error,) in connection.execute(query)]


def came_back(connection: apsw.Connection, document: int, number: int, error: str) -> bool:
    """Return True if the error occurs in the document after action ``number``."""
    query = "SELECT 1 FROM brain_actions WHERE error = ? AND error <> '' AND document_id = ? AND number > ? LIMIT 1"
    return connection.execute(query, (error, document, number)).fetchone() is not None


def frequent_errors(connection: apsw.Connection, since: int, least: int) -> list[tuple[str, int, int]]:
    """Return (signature, failures, documents) of errors in at least ``least`` documents, most documents first."""
    rows: list[Any] = connection.execute(
        "SELECT error, count(*), count(DISTINCT document_id) FROM brain_actions WHERE error <> '' AND at >= ?"
        " GROUP BY error HAVING count(DISTINCT document_id) >= ? ORDER BY 3 DESC, 2 DESC, error",
        (since, least),
    ).fetchall()
    return rows


def of_file(connection: apsw.Connection, name: str, since: int = 0) -> list[Action]:
    """Return what was done to files of the name ``name``, newest first."""
    rows = connection.execute(
        f"{_SELECT} WHERE name = ? AND kind IN ('read', 'edit', 'create') AND at >= ?"
        " ORDER BY at DESC, document_id DESC, number DESC",
        (name, since),
    )
    return [Action(*row) for row in rows]


def of_documents(connection: apsw.Connection, documents: Iterable[int], kinds: Sequence[str]) -> list[Action]:
    """Return the actions of these kinds of documents, by document and in order."""
    found: list[Action] = []
    for some in _batches(sorted(set(documents))):
        query = f"{_SELECT} WHERE document_id IN ({_marks(some)}) AND kind IN ({_marks(kinds)})"
        found += (Action(*row) for row in connection.execute(query, (*some, *kinds)))
    return found


def statements(connection: apsw.Connection, since: int = 0, most: int = -1) -> list[Action]:
    """Return the decisions and rejections, newest first; at most ``most`` unless it is negative."""
    query = (
        f"{_SELECT} WHERE kind IN ('decision', 'rejection') AND at >= ? ORDER BY at DESC, document_id, number LIMIT ?"
    )
    return [Action(*row) for row in connection.execute(query, (since, most))]


def _batches(values: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(values), _BATCH):
        yield values[first : first + _BATCH]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
