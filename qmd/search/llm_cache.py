"""Answers of models, in ``llm_cache``, where qmd 2.8.3 keeps its own; ``cleanup`` and ``update`` empty it.

A reader's connection cannot write, and must not wait long to: an answer that cannot be kept is asked for again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import apsw

from core import clock
from core.sqlite import connect

if TYPE_CHECKING:
    from collections.abc import Mapping

# The real program keeps 1,000, which are 25 reranked questions: a question's expansion would not outlive them.
MOST = 5000
_BUSY_MS = 500


def get(connection: apsw.Connection, key: str) -> str | None:
    """Return the answer kept under ``key`` (``qmd.vectors.models.cache_key``), None if there is none.

    An index of another program may lack the table: then there is none. Raises apsw.Error.
    """
    try:
        row = connection.execute("SELECT result FROM llm_cache WHERE hash = ?", (key,)).fetchone()
    except apsw.SQLError:
        return None
    return row[0] if row and isinstance(row[0], str) else None


def put(connection: apsw.Connection, answers: Mapping[str, str]) -> bool:
    """Keep ``answers`` by key in the database of ``connection``, and of all there only the newest; False: not kept."""
    now = time.time()
    stamp = f"{clock.iso(now)[:-1]}.{int(now * 1000) % 1000:03d}Z"
    try:
        writer = connect(connection.db_filename("main"), apsw.SQLITE_OPEN_READWRITE)
    except apsw.Error:
        return False  # another user's, or a backup
    try:
        writer.set_busy_timeout(_BUSY_MS)
        with writer:
            writer.executemany(
                "INSERT OR REPLACE INTO llm_cache(hash, result, created_at) VALUES(?, ?, ?)",
                [(key, result, stamp) for key, result in answers.items()],
            )
            writer.execute(
                "DELETE FROM llm_cache WHERE rowid IN"
                " (SELECT rowid FROM llm_cache ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
                (MOST,),
            )
    except apsw.Error:
        return False  # somebody writes, or the disk is full: nothing depends on it
    finally:
        writer.close()
    return True
