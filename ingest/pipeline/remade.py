"""Databases of ``state/`` that runs make again: one that cannot be read is moved aside, and a run goes on without."""

from __future__ import annotations

import os
from os.path import join

import apsw

from core.sqlite import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.home import Home

ASIDE = ".damaged"
# What is known of sources; the others are of one source each, and of repositories that it was pointed to.
FILES = ("sources.sqlite", "code.sqlite", "git.sqlite")
DAMAGE = (apsw.NotADBError, apsw.CorruptError)
_BUSY_MS = 10_000


def set_aside(path: str) -> None:
    """Move a database out of the way, its log first."""
    for suffix in ("-wal", "-shm", ""):
        if os.path.exists(path + suffix):
            os.replace(path + suffix, f"{path}{ASIDE}{suffix}")


def aside(home: Home) -> list[str]:
    """What lies in ``state/`` that was damaged and moved out of the way: names, sorted."""
    try:
        return sorted(name for name in os.listdir(home.state) if name.endswith(ASIDE))
    except OSError:
        return []


def fault(path: str) -> str:
    """What is wrong with the database at ``path``, all of which is read; "" where it is sound, or there is none."""
    if not os.path.exists(path):
        return ""
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("pragma query_only=on")
        said = str(connection.execute("pragma quick_check(1)").get)
        return "" if said == "ok" else " ".join(said.split())
    except DAMAGE as error:
        return reason(error)
    finally:
        connection.close()


def knows_nothing(home: Home, source: str, collection: str) -> bool:
    """Whether a source with a database of its own has documents of which that knows none, as it was emptied."""
    folder = home.path(collection)
    # What other machines have of it lies apart (``ops.sync.pull``).
    theirs = join(folder, "machines", "")
    made = (name for place, _, names in os.walk(folder) if not join(place, "").startswith(theirs) for name in names)
    if not any(name.endswith(".md") for name in made):
        return False
    path = join(home.state, f"{source}.sqlite")
    if not os.path.exists(path):
        return True
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("pragma query_only=on")
        return connection.execute("select 1 from documents limit 1").get is None
    except apsw.SQLError:
        return True  # there is no such table
    finally:
        connection.close()


def reason(error: apsw.Error) -> str:
    """What SQLite says of a damaged database; its backup interface says nothing."""
    return "file is not a database" if isinstance(error, apsw.NotADBError) else str(error)
