"""The database that Copilot CLI makes of its transcripts → the sessions whose transcripts are gone, marked ``partial``.

``~/.copilot/session-store.db``: ``sessions(id, cwd, branch, summary, created_at, updated_at, …)``, ``turns(session_id,
turn_index, user_message, assistant_response, timestamp)``; what tools did is in neither
(https://github.com/microsoft/vscode, extensions/copilot/src/platform/chronicle/node/sessionStore.ts, whose schema is
said to be the same).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.redaction import clean
from core.text import one_line
from ingest.pipeline.reading import Reading
from ingest.raw import databases
from ingest.session.builder import SessionBuilder
from ingest.session.values import moment, string
from ingest.sources.copilot.legacy import typed as without_asides
from ingest.sources.histories import source as histories
from ingest.sources.histories.reading import typed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import apsw

    from ingest.archive.rows import Shelf
    from ingest.raw.store import RawStore

NAME = "copilot"
_TABLES = {
    "sessions": ("id", "cwd", "branch", "summary", "created_at", "updated_at"),
    "turns": ("session_id", "turn_index", "user_message", "assistant_response", "timestamp"),
}
_NEEDED = {"sessions": {"id"}, "turns": {"session_id", "user_message"}}


def read(path: str, raw: RawStore) -> Reading:
    """Read the database. Never raises for what is in it or for its not being readable: see ``Reading.failed``."""
    reading = databases.read(path, raw, _take)
    if not reading.parts and reading.failed is None:
        reading.skipped = reading.skipped or reading.withheld or histories.HISTORY
    return reading


def _take(connection: apsw.Connection, there: dict[str, set[str]], reading: Reading, shelf: Shelf) -> Iterator[None]:
    if any(not columns <= there.get(table, set()) for table, columns in _NEEDED.items()):
        reading.skipped = histories.HISTORY
        return
    named: set[str] = set()
    if not reading.raw.is_shelved(reading.path):
        named = histories.names(histories.beside(NAME, reading.path))
    rows: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    for about in _select(connection, there, "sessions", "id"):
        unit = one_line(string(about[0]), 4000)
        if unit and not histories.is_named(unit, named):
            rows[unit] = [("sessions", about)]
            reading.parts[unit] = _session(unit, about, reading)
    for turn in _select(
        connection, there, "turns", "session_id, turn_index" if "turn_index" in there["turns"] else "1"
    ):
        unit = one_line(string(turn[0]), 4000)
        if unit in rows:
            rows[unit].append(("turns", turn))
            _turn(reading.parts[unit], turn, reading)
    for unit in [unit for unit, part in reading.parts.items() if not part.records]:
        del reading.parts[unit]
    transcripts = reading.raw.transcripts
    if transcripts is not None:
        reading.raw.remove(reading)
        shelf.tables = _TABLES
        shelf.lets_go = transcripts.tells
        for unit in list(reading.parts):
            shelf.put(unit, shelf.open(rows[unit]))
        shelf.tidy()
    yield


def _select(
    connection: apsw.Connection, there: dict[str, set[str]], table: str, order: str
) -> Iterator[tuple[Any, ...]]:
    columns = [name if name in there[table] else "null" for name in _TABLES[table]]
    yield from connection.execute(f"select {', '.join(columns)} from {table} order by {order}")


def _session(unit: str, about: tuple[Any, ...], reading: Reading) -> SessionBuilder:
    _, cwd, branch, summary, created, updated = about
    session = SessionBuilder(unit, NAME)
    session.partial = True
    session.extra["partial"] = True
    session.cwd, session.branch = (clean(string(value), reading.redacted) for value in (cwd, branch))
    session.title = clean(string(summary), reading.redacted)
    session.extend_to(moment(created))
    session.extend_to(moment(updated))
    return session


def _turn(session: SessionBuilder, turn: tuple[Any, ...], reading: Reading) -> None:
    _, _, asked, answered, stamp = turn
    at = moment(stamp)
    session.records += 1
    session.extend_to(at)
    typed(session, without_asides(clean(string(asked), reading.redacted)), at)
    session.reply(clean(string(answered), reading.redacted), at)
