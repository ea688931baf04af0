"""The corpus in ``explain``: each collection on disk against the index, and how far distillation lags behind."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import apsw

from core import clock
from core.counting import counted
from core.errors import BrainError
from qmd.index import catalogue, completeness
from runtime import distill_queue
from runtime.asking import absence
from runtime.distill.distillate import DISTILLED, SESSIONS
from runtime.explaining import semantic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.config import Collection, Config
    from core.home import Home
    from runtime.asking.absence import Stat


class KnownCorpus:
    """The contents of the index: active documents by collection and path; times are epoch seconds.

    ``updated``: when each collection was last walked; ``written``: when a document was last added to it, by a walk or
    by a capture such as ``brain inbox``; ``as_of`` and ``complete``: time and collections of the last run that ended.
    """

    __slots__ = (
        "as_of", "complete", "documents", "exists", "inactive", "journal", "spaces", "updated", "user_version",
        "written",
    )  # fmt: skip

    def __init__(self, exists: bool) -> None:
        self.exists = exists
        self.documents: dict[str, dict[str, Stat]] = {}
        self.updated: dict[str, int] = {}
        self.written: dict[str, int] = {}
        self.as_of: int | None = None
        self.complete: object = None
        self.inactive = 0
        self.spaces: list[dict[str, Any]] = []
        self.journal = ""
        self.user_version = 0


def read(home: Home) -> KnownCorpus:
    """Return the index as it is; an empty one if there is none yet.

    Raises OSError if the home cannot be looked into, EngineMissing where the file is no index, LockContention where
    a writer holds it too long.
    """
    try:
        os.lstat(home.index)  # a home that cannot be looked into must not pass for one without an index
    except FileNotFoundError:
        return KnownCorpus(exists=False)
    from qmd.index.store import open_index, translate

    connection = open_index(home.index)
    try:
        return _read(connection)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()


def index(home: Home, known: KnownCorpus, config: Config | None) -> dict[str, Any]:
    """Return the index: its documents by collection, and the last run over it that ended.

    ``complete``: such a run has been; ``current``: with the collections as they are configured now (None: not known).
    """
    from qmd.index.store import fingerprint

    return {
        "path": home.index,
        "exists": known.exists,
        "complete": known.complete is not None,
        "current": None if config is None else known.complete == fingerprint(config),
        "as_of": _iso(known.as_of),
        "documents": sum(map(len, known.documents.values())),
        "inactive": known.inactive,
        "by_collection": {name: len(rows) for name, rows in sorted(known.documents.items())},
        "user_version": known.user_version,
        "journal": known.journal,
    }


def collection(folder: Collection, known: KnownCorpus | None, config: Config | None = None) -> dict[str, Any]:
    """Return one collection: files on disk, documents indexed, pending, and the freshness of either clock.

    ``known`` is None if the index cannot be read: what depends on it is then None, not guessed.
    """
    result: dict[str, Any] = {
        "name": folder.name,
        "path": folder.path,
        "pattern": folder.pattern,
        "trust": folder.trust,
        "exists": os.path.isdir(folder.path),
    }
    rows = None if known is None else known.documents.get(folder.name, {})
    files, size, lacking, differing, unreadable = absence.compare(folder, rows or {})
    pending = None if rows is None or differing is None else differing
    as_of = known.updated.get(folder.name, known.written.get(folder.name)) if known else None
    result.update(
        files=files,
        bytes=size,
        documents=None if rows is None else len(rows),
        pending=pending,
        missing=None if rows is None else lacking,
        unreadable=unreadable,
        lexical={
            "fresh": None if pending is None else bool(known and known.exists and pending == 0),
            "pending": pending,
            "as_of": _iso(as_of),
        },
        semantic=semantic.collection(known, config, folder.name),
    )
    return result


def collections(config: Config, known: KnownCorpus | None) -> list[dict[str, Any]]:
    """Return every configured collection; one that cannot be walked says so and hides no other."""
    result = []
    for folder in config.collections.values():
        try:
            result.append(collection(folder, known, config))
        except (OSError, ImportError) as error:
            fix = f"check its permissions: ls -ld {folder.path}" if isinstance(error, OSError) else ""
            result.append({"name": folder.name, "path": folder.path, "error": str(error), "fix": fix})
    return result


def _read(connection: apsw.Connection) -> KnownCorpus:
    known = KnownCorpus(exists=True)
    connection.execute("BEGIN")  # one snapshot for all that follows
    now = clock.now()
    for name, path, active, size, mtime_ns, inode, checked_ns in completeness.files(connection):
        if not active:
            known.inactive += 1
            continue
        known.documents.setdefault(name, {})[path] = None if size is None else (size, mtime_ns, inode)
        if checked_ns is not None:
            # A writer's own file counts as read a moment after it was written, which may still be to come.
            written = min(now, checked_ns // 1_000_000_000)
            known.written[name] = max(written, known.written.get(name, 0))
    for key, value in connection.execute("SELECT key, value FROM brain_state WHERE key GLOB 'updated:*'"):
        known.updated[key.removeprefix("updated:")] = int(value)
    run = "SELECT value FROM brain_state WHERE key = ?"
    known.complete = connection.execute(run, ("complete",)).get
    known.as_of = connection.execute(run, ("as_of",)).get
    known.spaces = semantic.read(connection)
    known.journal = connection.execute("PRAGMA journal_mode").get
    known.user_version = connection.execute("PRAGMA user_version").get
    connection.execute("COMMIT")
    return known


def _iso(instant: int | None) -> str | None:
    return None if instant is None else clock.iso(instant)


# After so many days of waiting a distilled layer is not late but stale: answers from it mislead.
LATE_DAYS = 2


def distillation(home: Home) -> dict[str, Any]:
    """Counts of sessions distilled, stale and without a distillate, of the queue and its dead letters.

    ``behind_days``: from the end of the last session that is distilled to that of the last session. Counts of the index
    are None if there is none that can be read. Raises OSError.
    """
    waiting = distill_queue.read(home)
    oldest = min((str(row["ts"]) for row in waiting if row.get("ts")), default=None)
    since = clock.parse_iso(oldest) if oldest else None
    found: dict[str, Any] = {
        "waiting": len(waiting),
        "oldest": oldest,
        "oldest_days": None if since is None else max(0, clock.now() - since) // clock.DAY,
        "dead": len(distill_queue.dead(home)),
        "sessions": None,
        "distilled": None,
        "stale": None,
        "missing": None,
        "behind_days": None,
    }
    counts = None
    if os.path.exists(home.index):
        with suppress(BrainError):  # an index that cannot be read is that part's own finding
            counts = _counts(home)
    if counts is not None:
        sessions, made, stale, last, last_made = counts
        found |= {"sessions": sessions, "distilled": made, "stale": stale, "missing": sessions - made}
        if last is not None and last_made is not None:
            found["behind_days"] = max(0, last - last_made) // clock.DAY
    return found


def _counts(home: Home) -> tuple[int, int, int, int | None, int | None]:
    """Return how many sessions there are, are distilled, are stale by now, and the last ends of both."""
    from qmd.index.store import open_index, translate

    connection = open_index(home.index)
    try:
        rows = list(catalogue.walk(connection, ("source_hash",)))
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    # The hash of each session and when it ended; of each distillate the hash of its session's text, and that one's end.
    sessions = {path: (digest, ended) for _, name, path, digest, _, ended, *_ in rows if name == SESSIONS}
    made = {path: (of, ended) for _, name, path, _, _, ended, _, of in rows if name == DISTILLED and path in sessions}
    stale = sum(of is not None and of != sessions[path][0] for path, (of, _) in made.items())
    last, last_made = (max((ended for _, ended in each.values()), default=None) for each in (sessions, made))
    return len(sessions), len(made), stale, last, last_made


def line(part: dict[str, Any]) -> str:
    """Return the part as one line of the report."""
    if not part["distilled"] and not part["waiting"]:
        return "nothing distilled yet (brain distill)"
    said = [f"{part['distilled'] or 0:,} of {counted(part['sessions'] or 0, 'session')}"]
    if part["stale"]:
        said.append(f"{part['stale']:,} stale")
    if part["waiting"]:
        said.append(f"{part['waiting']:,} waiting, the oldest for {part['oldest_days'] or 0} days")
    if part["dead"]:
        said.append(f"{part['dead']:,} dead letters")
    if part["behind_days"]:
        said.append(f"{part['behind_days']} days behind the last session")
    return "; ".join(said)


def findings(part: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield (severity, message, fix) of what is wrong; nothing where nobody distils."""
    if "error" in part:
        return
    if part["waiting"] and (part["oldest_days"] or 0) >= LATE_DAYS:
        sessions, days = counted(part["waiting"], "session"), counted(part["oldest_days"], "day")
        message = f"{sessions} to be distilled, the oldest for {days}"
        yield "warning", message, "brain distill --from-pending"
    if part["stale"]:
        message = f"{part['stale']:,} distilled documents are of an earlier state of their session"
        yield "notice", message, "brain distill"
    if part["dead"]:
        yield "notice", f"{counted(part['dead'], 'session')} could not be distilled", "brain queue list --dead"
