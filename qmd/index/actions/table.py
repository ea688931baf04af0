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

_VALUES = f"({COLUMNS}) VALUES({', '.join('?' * (COLUMNS.count(',') + 1))})"
_SELECT = f"SELECT {COLUMNS} FROM brain_actions"
# Distinct errors that a search by words looks through, newest documents first.
_MOST_ERRORS = 20_000
# The project of a document, in ``brain_facts``.
_PROJECT = "coalesce(fields ->> '$.project', '')"
# The session of a document, over ``brain_facts`` and ``documents d``: a subagent has its session's.
_SESSION = "coalesce(fields ->> '$.parent', fields ->> '$.session_id', d.path)"
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


def write(connection: apsw.Connection, document: int, actions: Sequence[Action], table: str = "brain_actions") -> None:
    """Write the actions of a document that has none in the ``table``, in this order."""
    rows = ((*action.row()[:-2], document, number) for number, action in enumerate(actions))
    connection.executemany(f"INSERT INTO {table}{_VALUES}", rows)


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


class Session(NamedTuple):
    """The session of a document, without the document's title: ``session``, ``source``, ``project``, ``is_clean``."""

    session: str
    source: str
    project: str
    is_clean: bool


def sessions(connection: apsw.Connection) -> dict[int, Session]:
    """Return the session of each document: in a fifth of the time that ``origins`` takes for all of them."""
    rows = connection.execute(
        f"SELECT f.document_id, {_SESSION},"
        f" coalesce(fields ->> '$.source', ''), {_PROJECT}, f.policy"
        " FROM brain_facts f JOIN documents d ON d.id = f.document_id"
    )
    return {
        identity: Session(str(session), str(source), str(project), policy == REDACTION)
        for identity, session, source, project, policy in rows
    }


def within(connection: apsw.Connection, project: str) -> set[int]:
    """Return the documents of projects that match a GLOB."""
    query = "SELECT document_id FROM brain_facts WHERE fields ->> '$.project' GLOB ?"
    return {identity for (identity,) in connection.execute(query, (project,))}


class Runs(NamedTuple):
    """The runs of one command in one project: how many ended how, and the times (epoch seconds) of the last ones.

    ``worked_at`` and ``failed_at`` are 0 if no run did.
    """

    key: int
    project: str
    ok: int
    failed: int
    unknown: int
    worked_at: int
    failed_at: int
    at: int


class Activity(NamedTuple):
    """The runs of a program in one project: how many, how many failed, and when the last success and the last were."""

    runs: int
    failed: int
    worked_at: int
    at: int


class Asked(NamedTuple):
    """Which commands are asked for: those of a program that hold ``words``, or those with ``keys``; since when."""

    name: str
    words: tuple[str, ...]
    since: int
    keys: tuple[int, ...] = ()

    def sql(self) -> tuple[str, tuple[Any, ...]]:
        """Return (condition over the alias ``a``, bindings)."""
        if self.keys:
            return f"a.key IN ({_marks(self.keys)}) AND a.kind = 'command' AND a.at >= ?", (*self.keys, self.since)
        held = "".join(" AND instr(lower(a.subject), ?)" for _ in self.words)
        condition = f"a.name = ? AND a.kind = 'command' AND a.at >= ?{held}"
        return condition, (self.name, self.since, *map(str.lower, self.words))


def activity(connection: apsw.Connection, asked: Asked, project: str = "") -> dict[str, Activity]:
    """Return what was run in each project that matches the GLOB ``project`` ("": all)."""
    condition, bindings = asked.sql()
    chosen, glob = (f" WHERE {_PROJECT} GLOB ?", (project,)) if project else ("", ())
    projects: Any = connection.execute(f"SELECT document_id, {_PROJECT} FROM brain_facts{chosen}", glob)
    known: dict[int, str] = dict(projects)
    found: dict[str, Activity] = {}
    for document, *counted in connection.execute(
        "SELECT a.document_id, count(*), sum(a.outcome = 'failed'), max(iif(a.outcome = 'ok', a.at, 0)), max(a.at)"
        f" FROM brain_actions a WHERE {condition} GROUP BY a.document_id",
        bindings,
    ):
        name = known.get(document)
        if name is not None:
            runs, failed, worked_at, at = counted
            had = found.get(name, Activity(0, 0, 0, 0))
            found[name] = Activity(had.runs + runs, had.failed + failed, max(had.worked_at, worked_at), max(had.at, at))
    return found


def different(connection: apsw.Connection, asked: Asked, project: str = "") -> int:
    """Return how many different commands were run in projects that match the GLOB ``project`` ("": all)."""
    condition, bindings = asked.sql()
    query = f"SELECT count(DISTINCT a.key) FROM brain_actions a WHERE {condition}"
    if project:
        query += f" AND a.document_id IN (SELECT document_id FROM brain_facts WHERE {_PROJECT} GLOB ?)"
        bindings = (*bindings, project)
    ((count,),) = connection.execute(query, bindings)
    return int(count)


def runs(connection: apsw.Connection, asked: Asked, projects: Sequence[str]) -> list[Runs]:
    """Return the runs in some projects, by command and project; counted by SQLite, since there may be thousands."""
    condition, bindings = asked.sql()
    found: list[Runs] = []
    for first in range(0, len(projects), _BATCH):
        some = projects[first : first + _BATCH]
        rows = connection.execute(
            f"WITH p AS MATERIALIZED (SELECT document_id, {_PROJECT} AS project FROM brain_facts"
            f" WHERE {_PROJECT} IN ({_marks(some)}))"
            " SELECT a.key, p.project, sum(a.outcome = 'ok'), sum(a.outcome = 'failed'),"
            " sum(a.outcome NOT IN ('ok', 'failed')), max(iif(a.outcome = 'ok', a.at, 0)),"
            " max(iif(a.outcome = 'failed', a.at, 0)), max(a.at)"
            f" FROM brain_actions a JOIN p ON p.document_id = a.document_id WHERE {condition}"
            " GROUP BY a.key, p.project",
            (*some, *bindings),
        )
        found += map(Runs._make, rows)
    return found


def commands_with(connection: apsw.Connection, words: Sequence[str], since: int) -> dict[int, str]:
    """Return the commands that hold ``words``, by key: looks through all of them."""
    condition = "".join(" AND instr(lower(subject), ?)" for _ in words)
    query = f"SELECT key, subject FROM brain_actions WHERE kind = 'command' AND at >= ?{condition}"
    rows: Any = connection.execute(query, (since, *map(str.lower, words)))
    return dict(rows)


def last_runs(connection: apsw.Connection, runs: Runs) -> list[Action]:
    """Return the runs at the times that ``runs`` names, the newest first."""
    columns = ", ".join(f"a.{name}" for name in COLUMNS.split(", "))
    rows = connection.execute(
        f"SELECT {columns} FROM brain_actions a JOIN brain_facts f ON f.document_id = a.document_id"
        " WHERE a.key = ? AND a.at IN (?, ?, ?) AND a.kind = 'command'"
        " AND coalesce(f.fields ->> '$.project', '') = ? ORDER BY a.at DESC, a.document_id DESC, a.number DESC",
        (runs.key, runs.worked_at, runs.failed_at, runs.at, runs.project),
    )
    return [Action(*row) for row in rows]


def failures_by_document(connection: apsw.Connection, errors: Sequence[str], since: int) -> dict[int, int]:
    """Return how often actions failed with one of these signatures, by document."""
    query = (
        f"SELECT document_id, count(*) FROM brain_actions WHERE error IN ({_marks(errors)}) AND error <> ''"
        " AND at >= ? GROUP BY document_id"
    )
    rows: Any = connection.execute(query, (*errors, since))
    return dict(rows)


def errors(connection: apsw.Connection) -> list[str]:
    """Return the distinct signatures of all errors."""
    query = f"SELECT DISTINCT error FROM brain_actions WHERE error <> '' LIMIT {_MOST_ERRORS}"
    return [error for (error,) in connection.execute(query)]


def came_back(connection: apsw.Connection, document: int, number: int, error: str) -> bool:
    """Return True if the error occurs in the document after action ``number``."""
    query = "SELECT 1 FROM brain_actions WHERE error = ? AND error <> '' AND document_id = ? AND number > ? LIMIT 1"
    return connection.execute(query, (error, document, number)).fetchone() is not None


def frequent_errors(
    connection: apsw.Connection, since: int, least: int, project: str = ""
) -> list[tuple[str, int, int]]:
    """Return (signature, sessions, failures) of errors in at least ``least`` sessions, those of most sessions first.

    ``project`` is a GLOB, "" for all. A session and its subagents are one.
    """
    chosen, glob = (f" WHERE {_PROJECT} GLOB ?", (project,)) if project else ("", ())
    rows: Any = connection.execute(
        f"WITH s AS MATERIALIZED (SELECT f.document_id, {_SESSION} AS session"
        f" FROM brain_facts f JOIN documents d ON d.id = f.document_id{chosen})"
        " SELECT a.error, count(DISTINCT s.session) AS sessions, count(*) AS failures"
        " FROM brain_actions a JOIN s ON s.document_id = a.document_id WHERE a.error <> '' AND a.at >= ?"
        " GROUP BY a.error HAVING sessions >= ? ORDER BY sessions DESC, failures DESC, a.error",
        (*glob, since, least),
    )
    return list(rows)


def of_documents(connection: apsw.Connection, documents: Iterable[int], kinds: Sequence[str]) -> list[Action]:
    """Return the actions of these kinds of documents, by document and in order."""
    found: list[Action] = []
    for some in _batches(sorted(set(documents))):
        query = f"{_SELECT} WHERE document_id IN ({_marks(some)}) AND kind IN ({_marks(kinds)})"
        found += (Action(*row) for row in connection.execute(query, (*some, *kinds)))
    return found


def _batches(values: Sequence[int]) -> Iterator[Sequence[int]]:
    for first in range(0, len(values), _BATCH):
        yield values[first : first + _BATCH]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
