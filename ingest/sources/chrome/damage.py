"""What is said where the archive of visits is damaged, emptied or gone: it is named, and a backup is the way out."""

from __future__ import annotations

import os
import re
from os.path import join

import apsw

from core.errors import Internal
from core.sqlite import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, Protocol, TypeVar

    from core.home import Home

    class Placed(Protocol):
        """What knows where its database lies."""

        path: str

    P = ParamSpec("P")
    S = TypeVar("S", bound=Placed)
    T = TypeVar("T")

_BUSY_MS = 10_000
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.md")
# Where days are made, as ``ingest.sources.chrome.source`` has it, which knows more than is needed here.
_COLLECTION = "chrome-history"


def damaged(path: str, error: object) -> Internal:
    """The failure of an archive that SQLite cannot read; what hangs on its log goes with it."""
    return Internal(f"the archive of visits {path} is damaged: {error}", way_out(path))


def way_out(path: str) -> str:
    """How the archive at ``path`` is had again, and what can be done without a backup."""
    from shlex import quote

    home = os.path.dirname(os.path.dirname(path))
    aside = f'for s in "" -wal -shm; do mv {quote(path)}$s {quote(f"{path}.damaged")}$s; done'
    if not os.path.exists(path):
        aside = f"rm -f {quote(path)}-wal {quote(path)}-shm"
    return (
        f"{aside}; then take it out of a backup, if there is one: tar --zstd -xf FILE -C {quote(home)}"
        f" {os.path.relpath(path, home)}; then add what browsers still have: brain index --source chrome --rebuild"
    )


def named(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method that raises Internal where its own database is damaged: whoever catches apsw.Error further up cannot
    know which one it was.
    """

    def inner(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise damaged(self.path, error) from error

    return inner


def refuse_emptied(home: Home, path: str) -> None:
    """Raise Internal where the archive at ``path`` is an empty file although days were made of it."""
    try:
        is_empty = not os.stat(path).st_size and not os.path.exists(f"{path}-wal")
    except OSError:
        return
    if is_empty and days_there(home):
        raise damaged(path, "it is empty")


def examine(home: Home, path: str) -> set[str]:
    """Read all of the archive at ``path``; returns the days (``YYYY-MM-DD``) that have a document which is not made of
    it. Raises Internal where it is damaged, else apsw.Error.
    """
    from ingest.session.zones import iso_day

    refuse_emptied(home, path)
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("pragma query_only=on")
        said = connection.execute("pragma quick_check(1)").get
        if said != "ok":
            raise damaged(path, " ".join(str(said).split()))
        there = days_there(home)
        if there:
            there -= {iso_day(day) for (day,) in connection.execute("select day from days where dirty or digest != ''")}
        return there
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError) as error:
        raise damaged(path, error) from error
    finally:
        connection.close()


def days_there(home: Home) -> set[str]:
    """The days (``YYYY-MM-DD``) that have a document."""
    try:
        names = os.listdir(join(home.root, _COLLECTION))
    except OSError:
        return set()
    return {name.removesuffix(".md") for name in names if _DAY.fullmatch(name)}
