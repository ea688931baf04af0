"""Update of the lexical index from the files of its collections.

A file is read again if its size, mtime or inode changed. It is also read again if its mtime is so close to the last
reading that the same stat could hide a change (the racy-clean rule of git's index).
"""

from __future__ import annotations

import os
import time
from itertools import count

import apsw

from core import clock
from core.jsonio import dumps
from qmd.index import catalogue
from qmd.index.store import COUNT, Transaction, give_back
from qmd.index.walk import Entry, is_clean, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from qmd.index.walk import Folder
    from qmd.index.writer import Batch, Look

    Progress = Callable[[int, int, str], None]

# Files from which on an update is large.
_MANY = 1000

_COUNTED = "SELECT value FROM brain_state WHERE key = 'documents'"


class Changes:
    """Changes of one collection by an update. ``failed``: (path, reason); ``missing``: there is no such folder."""

    __slots__ = ("added", "failed", "missing", "removed", "unchanged", "updated")

    def __init__(self) -> None:
        self.added = 0
        self.updated = 0
        self.unchanged = 0
        self.removed = 0
        self.missing = False
        self.failed: list[tuple[str, str]] = []

    def precede(self, added: int, updated: int) -> None:
        """Count in what was indexed before the update, which found it as it was then: unchanged."""
        self.added += added
        self.updated += updated
        self.unchanged = max(0, self.unchanged - added - updated)

    def as_dict(self) -> dict[str, Any]:
        """Return the changes for JSON; at most 20 failures are listed, all are counted."""
        return {
            "added": self.added,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "missing": self.missing,
            "failed": len(self.failed),
            "failures": [{"path": path, "reason": reason} for path, reason in self.failed[:20]],
        }


def update(
    connection: apsw.Connection,
    collections: Iterable[Folder],
    *,
    trust_stat: bool = True,
    since_ns: int | None = None,
    keep: bool = False,
    redacts: bool = True,
    progress: Progress | None = None,
) -> dict[str, Changes]:
    """Walk each collection and index what changed; ``trust_stat=False`` reads and hashes every file.

    Args:
        since_ns: the stat of what was indexed since then (ns since 1970) is trusted in any case.
        keep: leave the row and the text of a file that is gone to a later cleanup, inactive, as qmd does.
        redacts: documents are shown under the redaction policy, so each is looked at under it.

    A collection with a missing folder keeps its documents. Raises what ``qmd.index.store.translate`` explains.
    """
    trusted_ns = 0 if trust_stat else since_ns
    result = {
        folder.name: _update_one(connection, folder, trusted_ns, keep, redacts, progress) for folder in collections
    }
    foreign = catalogue.is_foreign(connection)
    if foreign:
        from qmd.index import writer

        writer.heal(connection)
    changed = foreign or any(each.added or each.updated or each.removed for each in result.values())
    _count(connection, changed)
    if changed:
        give_back(connection)
    return result


def register(connection: apsw.Connection, collections: Iterable[Any]) -> None:
    """Write the collections into ``store_collections``, where qmd looks for them.

    A collection that is no longer among them goes, and its documents leave the index.
    """
    wanted = {
        folder.name: (
            folder.name,
            folder.path,
            folder.pattern,
            dumps(list(folder.ignore)) if folder.ignore else None,
            int(folder.include_by_default),
            folder.update or None,
            dumps(folder.context) if folder.context else None,
        )
        for folder in collections
    }
    stored = {row[0]: row for row in connection.execute("SELECT * FROM store_collections")}
    if stored == wanted:
        return
    gone = [name for name in stored if name not in wanted]
    if gone:
        from qmd.index.writer import drop_collection

        for name in gone:
            drop_collection(connection, name)
    with Transaction(connection):
        connection.execute("DELETE FROM store_collections")
        connection.executemany("INSERT INTO store_collections VALUES(?, ?, ?, ?, ?, ?, ?)", list(wanted.values()))


def _update_one(
    connection: apsw.Connection,
    folder: Folder,
    trusted_ns: int | None,
    keep: bool,
    redacts: bool,
    progress: Progress | None,
) -> Changes:
    """Update one collection; ``trusted_ns``: the stat of what was indexed since then is trusted, None: of nothing."""
    changes = Changes()
    # (active, size, mtime_ns, inode, checked_ns) by path, as it was before the walk. Writing looks each path up again,
    # since a note may be indexed in between.
    known = {path: (active, *stat) for _, path, active, *stat in catalogue.files(connection, folder.name)}
    started = clock.now()
    try:
        entries = list(walk(folder, lambda path, error: changes.failed.append((path, error.strerror or str(error)))))
    except OSError:
        changes.missing = True
        return changes
    seen: set[str] = set()
    pending: list[Entry] = []
    for entry in entries:
        seen.add(entry.relative)
        row = known.get(entry.relative)
        trusted = row and row[0] and row[1] is not None and trusted_ns is not None and row[4] >= trusted_ns
        if row and trusted and is_clean(entry.status, *row[1:]):
            changes.unchanged += 1
        else:
            pending.append(entry)
    # A folder that could not be listed says nothing about the files in it.
    unseen = tuple(os.path.relpath(path, folder.path) for path, _ in changes.failed)
    vanished = [
        path
        for path, row in known.items()
        if path not in seen and row[0] and not any(path == each or path.startswith(f"{each}/") for each in unseen)
    ]
    if pending or vanished:
        _apply(connection, folder.name, pending, vanished, changes, keep, redacts, progress)
    with Transaction(connection):
        connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (f"updated:{folder.name}", started))
    return changes


def _apply(
    connection: apsw.Connection,
    collection: str,
    pending: list[Entry],
    vanished: list[str],
    changes: Changes,
    keep: bool,
    redacts: bool,
    progress: Progress | None,
) -> None:
    # Imported here: most runs find nothing to do, and pay for no hash, YAML or regular expression.
    from core.redaction import policy_of
    from qmd.index.writer import Batch, drop, unknown

    if len(pending) > _MANY:
        from qmd.index import large_pages

        large_pages.ask()
    batch = Batch(connection)
    look = policy_of if redacts else unknown
    for done, entry in enumerate(pending, 1):
        with batch:
            _refresh(connection, collection, entry, changes, keep, batch, look)
        if progress:
            progress(done, len(pending), collection)
    for relative in vanished:
        with batch:
            changes.removed += drop(connection, collection, relative, keep)
    batch.end()


def _refresh(
    connection: apsw.Connection,
    collection: str,
    entry: Entry,
    changes: Changes,
    keep: bool,
    batch: Batch,
    look: Look,
) -> None:
    from qmd.index import writer

    checked = time.time_ns()
    try:
        data, status = _read_stable(entry)
    except FileNotFoundError:
        return
    except OSError as error:
        changes.failed.append((entry.path, error.strerror or str(error)))
        return
    known = catalogue.known(connection, collection, entry.relative)
    text = data.decode("utf-8", "replace")
    if not text or text.isspace():
        changes.removed += writer.deactivate(connection, known, keep)
        return
    existed = bool(known and known[3])
    if writer.index(connection, collection, entry.relative, text, status, checked, known, batch, look):
        if existed:
            changes.updated += 1
        else:
            changes.added += 1
    else:
        changes.unchanged += 1


def _read_stable(entry: Entry) -> tuple[bytes, os.stat_result]:
    """Return the bytes of a file and their stat; a file that changes while it is read is read again."""
    for attempt in count():
        # O_NOFOLLOW and O_NONBLOCK: what was a regular file a moment ago may be a symlink or a fifo now.
        descriptor = os.open(entry.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            before = os.fstat(descriptor)
            data = _read(descriptor, before.st_size)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size
        if same or attempt == 3:
            return data, after
    raise AssertionError("unreachable")


def _read(descriptor: int, size: int) -> bytes:
    """Return all bytes of a file that had ``size`` of them a moment ago."""
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while data:
        data = os.read(descriptor, 1 << 20)
        parts.append(data)
    return b"".join(parts)


def _count(connection: apsw.Connection, changed: bool) -> None:
    """Note how many documents there are, and how many of them have vectors, for readers with no time to count."""
    with Transaction(connection):
        before = connection.execute(_COUNTED).get
        connection.execute(COUNT)
        if changed or connection.execute(_COUNTED).get != before:
            from qmd.index import vectors

            vectors.settle(connection)
