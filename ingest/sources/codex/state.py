"""What Codex's sessions are called since 0.144: ``state_<N>.sqlite``, table ``threads``, the database of the highest N.

``name`` is a name that was given (since July 2026); before it ``title``, which begins as the first prompt and is a name
where it is none of that. The transcripts have neither (https://github.com/brizzai/fleet/pull/199,
https://github.com/openai/codex/issues/38761).
"""

from __future__ import annotations

import hashlib
import os
from os.path import join
from typing import TYPE_CHECKING

from core.redaction import clean
from ingest.session.values import string

if TYPE_CHECKING:
    from collections.abc import Mapping

    import apsw

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore

_BEGINS, _ENDS = "state_", ".sqlite"
_MAX_TITLE = 300
# Database → (what it was like, id → name): one database names all sessions.
_known: dict[str, tuple[tuple[int, int, int], dict[str, str]]] = {}


def is_state(path: str) -> bool:
    """Whether a file is such a database."""
    name = path.rpartition("/")[2]
    return name.startswith(_BEGINS) and name.endswith(_ENDS) and name[len(_BEGINS) : -len(_ENDS)].isdigit()


def database(folder: str) -> str:
    """The database of a folder of Codex's, or ""."""
    try:
        found = [name for name in os.listdir(folder) if is_state(name)]
    except OSError:
        return ""
    latest = max(found, key=lambda name: int(name[len(_BEGINS) : -len(_ENDS)]), default="")
    return join(folder, latest) if latest else ""


def names(path: str) -> dict[str, str]:
    """Id → name of the sessions that have one. Where the database cannot be read now, what it said before."""
    import apsw

    from core.home import resolve
    from ingest.raw import databases
    from ingest.raw.sqlite_copy import Unsettled, bear, copied, is_database

    before = _known.get(path)
    try:
        stamp = databases.look(path)
        if before is not None and before[0] == stamp:
            return before[1]
        if not is_database(path):
            return {}
        with copied(path, join(resolve().state, "scratch")) as copy:
            bear(copy.connection)
            found = _names(copy.connection, databases.tables(copy.connection).get("threads", set()))
    except (OSError, Unsettled, apsw.Error):
        return {} if before is None else before[1]
    _known[path] = (stamp, found)
    return found


def _names(connection: apsw.Connection, columns: set[str]) -> dict[str, str]:
    if "id" not in columns:
        return {}
    wanted = [name if name in columns else "null" for name in ("name", "title", "first_user_message")]
    found: dict[str, str] = {}
    for unit, name, title, first in connection.execute(f"select id, {', '.join(wanted)} from threads"):
        given = string(name).strip() or _given(string(title), string(first))
        if given and type(unit) is str:
            found[unit] = clean(given, {})
    return found


def _given(title: str, first: str) -> str:
    """A title that is not the first prompt, nor made of it; "" of any other."""
    title, first = " ".join(title.split()), " ".join(first.split())
    is_name = bool(title and first) and len(title) <= _MAX_TITLE and title.rstrip("….") not in first
    return title if is_name else ""


def marks(path: str) -> dict[str, str]:
    """Id → a digest of the session's name: what a later run compares with."""
    return {unit: hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=6).hexdigest()
            for unit, name in names(path).items()}  # fmt: skip


def renamed(path: str, before: Mapping[str, str]) -> set[str]:
    """The sessions that are called otherwise than when ``before`` was taken."""
    now = marks(path)
    return {unit for unit in now.keys() | before.keys() if now.get(unit) != before.get(unit)}


def read(path: str, raw: RawStore) -> Reading:
    """The database as a file of the source: no sessions, but what they are called."""
    from ingest.pipeline.reading import Reading, unreadable
    from ingest.raw import databases

    reading = Reading(path, raw)
    try:
        reading.size, reading.mtime_ns, reading.inode = databases.look(path)
        reading.digest = databases.NOTHING
        reading.skipped = "index of sessions"
        reading.marks = marks(path)
    except OSError as error:
        unreadable(reading, error)
    return reading
