"""Opening the archive of visits for a run that may change it; and what earlier versions kept in ``state/`` moves there.

What lies in ``state/`` can be made anew, visits cannot: they belong below ``raw/``, with all else that a corpus is
made of again.
"""

from __future__ import annotations

import os
from os.path import dirname, exists, join

import apsw

from core.files import sync_folder
from ingest._chrome_archive import FILE, Archive, place
from ingest._chrome_damage import damaged, refuse_emptied
from ingest.zones import iso_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from core.home import Home

_BUSY_MS = 10_000


def places(home: Home) -> list[str]:
    """Where there are visits: the archive, and what an earlier version left."""
    return [path for path in (place(home), _former(home)) if exists(path)]


def days_with(home: Home, test: Callable[[bytes], bool]) -> set[str]:
    """The days (``YYYY-MM-DD``) of which a visit passes ``test``, shown or not; nothing is moved.

    Raises Internal where they are damaged, else apsw.Error.
    """
    found: set[int] = set()
    refuse_emptied(home, place(home))
    for path in places(home):
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(_BUSY_MS)
            connection.execute("pragma query_only=on")
            rows = connection.execute("select day, url, title, term, label, led_term from visits")
            found.update(day for day, *texts in rows if test("\n".join(texts).encode("utf-8", "surrogatepass")))
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise damaged(path, error) from error
        finally:
            connection.close()
    return {iso_day(day) for day in found}


def opened(home: Home) -> Archive:
    """The archive, with what an earlier version left in ``state/``; the caller holds the source's lock.

    Raises Internal where it is damaged, else apsw.Error.
    """
    path = place(home)
    try:
        archive = Archive(home)
        path = _former(home)
        if exists(path):
            try:
                _fold(path)
                archive.take_in(path)
            except BaseException:
                archive.close()
                raise
            sync_folder(dirname(place(home)))
            os.unlink(path)
            sync_folder(home.state)
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise damaged(path, error) from error
    return archive


def _former(home: Home) -> str:
    return join(home.state, FILE)


def _fold(path: str) -> None:
    """Make a database one file: what was removed in its log alone must not come back, should only the log be lost."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        if connection.execute("pragma journal_mode=delete").get != "delete":
            raise apsw.BusyError(f"another program holds {path} open")
    finally:
        connection.close()
