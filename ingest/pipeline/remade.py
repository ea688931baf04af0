"""Databases of ``state/`` that runs make again: one that cannot be read is moved aside, and a run goes on without."""

from __future__ import annotations

import os
from os.path import join

import apsw

from core.sqlite import open_to_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.home import Home

ASIDE = ".damaged"
# The state of all sources; the other databases belong to one source each, and hold its repositories.
FILES = ("sources.sqlite", "code.sqlite", "git.sqlite")
DAMAGE = (apsw.NotADBError, apsw.CorruptError)


def set_aside(path: str) -> None:
    """Move a database out of the way, its log first."""
    for suffix in ("-wal", "-shm", ""):
        if os.path.exists(path + suffix):
            os.replace(path + suffix, f"{path}{ASIDE}{suffix}")


def aside(home: Home) -> list[str]:
    """Return the names of the damaged files that were moved aside in ``state/``, sorted."""
    try:
        return sorted(name for name in os.listdir(home.state) if name.endswith(ASIDE))
    except OSError:
        return []


def fault(path: str) -> str:
    """Return what is wrong with the database at ``path``, "" if it is sound or missing. It is read as a whole."""
    if not os.path.exists(path):
        return ""
    connection = open_to_read(path)
    try:
        said = str(connection.execute("pragma quick_check(1)").get)
        return "" if said == "ok" else " ".join(said.split())
    except DAMAGE as error:
        return reason(error)
    finally:
        connection.close()


def knows_nothing(home: Home, source: str, collection: str) -> bool:
    """Return True if a source has documents, and its own database was emptied and knows none of them."""
    folder = home.path(collection)
    # Documents of other machines are in a folder of their own (``ops.sync.pull``).
    theirs = join(folder, "machines", "")
    made = (name for place, _, names in os.walk(folder) if not join(place, "").startswith(theirs) for name in names)
    if not any(name.endswith(".md") for name in made):
        return False
    path = join(home.state, f"{source}.sqlite")
    if not os.path.exists(path):
        return True
    connection = open_to_read(path)
    try:
        return connection.execute("select 1 from documents limit 1").get is None
    except apsw.SQLError:
        return True  # there is no such table
    finally:
        connection.close()


def reason(error: apsw.Error) -> str:
    """Return SQLite's message for a damaged database; its backup interface gives none."""
    return "file is not a database" if isinstance(error, apsw.NotADBError) else str(error)
