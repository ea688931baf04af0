"""A project's index: opening, updating by one writer at a time, and its state."""

from __future__ import annotations

import os
from os.path import basename, dirname, exists, join
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import BadInput, EngineMissing
from qmd.index.store import open_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from qmd.index.update import Changes
    from qmd.project.config import Project

UPDATE = "commonplace-search-update"
_ROOT = "project_root"
_CONFIG = "project_config"
_UPDATED = "project_updated"
_WAIT_S = 30.0
_BUSY_MS = 10_000


def open_to_read(path: str) -> apsw.Connection:
    """Return the index for readers, any number of them. Raises EngineMissing if there is none yet."""
    if not exists(path):
        raise EngineMissing(f"there is no search index yet at {path}", UPDATE)
    try:
        connection = open_index(path, busy_ms=_BUSY_MS)
    except EngineMissing as error:
        raise EngineMissing(error.message, UPDATE) from None
    return connection


def root(connection: apsw.Connection, database: str) -> str:
    """Return the project's folder as the last update saw it."""
    row = connection.execute("SELECT value FROM brain_state WHERE key = ?", (_ROOT,)).fetchone()
    return str(row[0]) if row else dirname(dirname(database))


def update(
    project: Project,
    database: str,
    *,
    verify: bool = False,
    then: Callable[[apsw.Connection], None] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Changes]:
    """Bring the index up to date with the project's files; a second run changes nothing.

    ``then`` is called with the index once its words are up to date, before another update may begin.

    Documents of files and collections that are gone leave it. Raises LockContention if another update runs for long.
    """
    from core import clock
    from core.files import FileLock
    from qmd.index.update import register
    from qmd.index.update import update as bring_up_to_date

    _make_place(database)
    with FileLock(f"{database}.lock", _WAIT_S):
        _refuse_others(database)
        connection = open_index(database, write=True, busy_ms=_BUSY_MS)
        try:
            register(connection, project.collections)
            changes = bring_up_to_date(connection, project.collections, trust_stat=not verify, progress=progress)
            rows = [(_ROOT, project.root), (_CONFIG, project.path), (_UPDATED, clock.now())]
            connection.executemany("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", rows)
            if then is not None:
                then(connection)
        finally:
            connection.close()
    return changes


def status(connection: apsw.Connection, database: str) -> dict[str, Any]:
    """Return the state of an index: its place, its collections, and its last update (UTC)."""
    from core import clock
    from qmd.index.collections import stored

    known: dict[Any, Any] = dict(
        connection.execute("SELECT key, value FROM brain_state").fetchall()  # type: ignore[arg-type]
    )
    updated = known.get(_UPDATED)
    return {
        "database": database,
        "bytes": os.path.getsize(database),
        "config": known.get(_CONFIG),
        "root": root(connection, database),
        "updated": clock.iso(updated) if updated else None,
        "collections": [
            {
                "name": each.name,
                "path": each.path,
                "pattern": each.pattern,
                "files": each.count,
                "missing": not os.path.isdir(each.path),
            }
            for each in stored(connection)
        ],
    }


def _make_place(database: str) -> None:
    """The index's folder, which keeps itself out of version control."""
    from core.files import write_atomic
    from core.home import make_private

    folder = dirname(database)
    if basename(folder) == ".search" and not exists(folder):
        make_private(folder)
        write_atomic(join(folder, ".gitignore"), b"*\n")
    make_private(folder)


def _refuse_others(database: str) -> None:
    """Raise BadInput where the file is another program's database: our tables have no business in it."""
    if not os.path.isfile(database) or not os.path.getsize(database):
        return
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except apsw.Error:
        return  # opening it to write says what is wrong
    finally:
        if connection is not None:
            connection.close()
    if names and not {"documents", "content"} <= names:
        raise BadInput(f"{database} belongs to another program", "name another file: --database .search/search.db")
