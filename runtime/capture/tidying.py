"""Tidying up after hooks, in short steps, so that other processes can write in between."""

from __future__ import annotations

import os
from os.path import join

import apsw

from core import sqlite
from core.errors import LockContention
from core.files import FileLock, sweep_temporaries
from qmd.index.store import open_index, translate
from runtime.capture import demo
from runtime.capture.transcripts import databases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home

_CORPUS = "brain"
# Whoever tidies up leaves it to the next one rather than to wait long.
_BUSY_MS = 1_000


def tidy(home: Home, stop: Callable[[], bool]) -> bool:
    """Write back the databases' logs where they are long, merge the segments of the full text, sweep the corpus.

    ``stop`` is asked between two steps of a few milliseconds each; returns False where it ended the merging, after
    which nothing more is written. Raises Internal and EngineMissing.
    """
    _replace_demo(home)
    _write_back(home)
    merged = _merge(home, stop)
    if merged:
        _write_back(home)
        sweep_temporaries(join(home.root, _CORPUS))
    return merged


def _replace_demo(home: Home) -> None:
    """Remove the demo set once a hook has indexed a session of the user's."""
    if not os.path.exists(join(home.state, demo.MARK)) or not os.path.exists(home.index):
        return
    try:
        with FileLock(join(home.state, "index.lock"), 0.0):
            connection = open_index(home.index, write=True, busy_ms=_BUSY_MS)
            try:
                demo.give_way(home, connection)
            finally:
                connection.close()
    except LockContention:
        return  # a run of `brain index` does the same at its end
    except apsw.Error as error:
        raise translate(error, home.index) from error


def _write_back(home: Home) -> None:
    for path in filter(sqlite.is_log_long, databases(home)):
        try:
            sqlite.checkpoint(path)
        except apsw.BusyError:
            continue  # whoever writes now is followed by another hook, which looks again
        except apsw.Error as error:
            raise translate(error, path) from error


def _merge(home: Home, stop: Callable[[], bool]) -> bool:
    from qmd.index.segments import merge

    if not os.path.exists(home.index):
        return True
    try:
        connection = open_index(home.index, write=True, busy_ms=_BUSY_MS)
    except LockContention:
        return True  # as with the logs
    try:
        # A large merge writes its log back as it grows, which keeps nobody out, and leaves the end of it.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        return merge(connection, stop)
    except apsw.BusyError:
        return True
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
