"""Update of the lexical index from the files of its collections.

A file is read again if its size, mtime or inode changed. It is also read again if its mtime is so close to the last
reading that the same stat could hide a change (the racy-clean rule of git's index).
"""

from __future__ import annotations

import os
import time
from itertools import count

import apsw

from core.jsonio import dumps
from qmd.index import completeness
from qmd.index.schema import has_vectors, is_clean
from qmd.index.store import COUNT, Transaction, give_back
from qmd.index.walk import Entry, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from qmd.index.walk import Folder

    Progress = Callable[[int, int, str], None]

# Files from which on an update is large.
_MANY = 1000
# No file was read as late as this, in ns since 1970.
_NEVER = 1 << 63

_COUNTED = "SELECT value FROM brain_state WHERE key = 'documents'"


class Changes:
    """Changes of one collection by an update. ``failed``: (path, reason); ``missing``: there is no such folder."""

    added = updated = unchanged = removed = absent = 0
    missing = False

    def __init__(self) -> None:
        self.failed: list[tuple[str, str]] = []

    def count(self, outcome: str) -> None:
        """Count one document by what became of it: see ``qmd.index.writer.Writer.put``."""
        setattr(self, outcome, getattr(self, outcome) + 1)

    def precede(self, outcome: str) -> None:
        """Count a document that was indexed before the update, which found it as it was then: unchanged."""
        self.count(outcome)
        self.unchanged = max(0, self.unchanged - 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the changes for JSON; at most 20 failures are listed, all are counted."""
        counts = {name: getattr(self, name) for name in ("added", "updated", "unchanged", "removed", "missing")}
        failures = [{"path": path, "reason": reason} for path, reason in self.failed[:20]]
        return {**counts, "failed": len(self.failed), "failures": failures}


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
    started = int(time.time())
    trusted_ns = 0 if trust_stat else _NEVER if since_ns is None else since_ns
    found: dict[str, Changes] = {}
    for folder in collections:
        found[folder.name] = changes = Changes()
        pending, vanished = _compare(connection, folder, trusted_ns, changes)
        if pending or vanished:
            _apply(connection, folder.name, pending, vanished, changes, keep, redacts, progress)
    changed = any(each.added or each.updated or each.removed for each in found.values())
    if completeness.is_foreign(connection):
        from qmd.index.writer import heal

        heal(connection)
        changed = True
    with Transaction(connection):
        rows = [(f"updated:{name}", started) for name, each in found.items() if not each.missing]
        connection.executemany("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", rows)
        # Readers have no time to count.
        before = connection.execute(_COUNTED).get
        connection.execute(COUNT)
        if has_vectors(connection) and (changed or connection.execute(_COUNTED).get != before):
            from qmd.index import vectors

            vectors.settle(connection)
    if changed:
        give_back(connection)
    return found


def register(connection: apsw.Connection, collections: Iterable[Any]) -> None:
    """Write the collections into ``store_collections``, where qmd looks for them.

    A collection that is no longer among them goes, and its documents leave the index.
    """
    wanted = {folder.name: _row(folder) for folder in collections}
    stored = {row[0]: row for row in connection.execute("SELECT * FROM store_collections")}
    if stored == wanted:
        return
    for name in stored:
        if name not in wanted:
            from qmd.index.writer import drop_collection

            drop_collection(connection, str(name))
    with Transaction(connection):
        connection.execute("DELETE FROM store_collections")
        connection.executemany("INSERT INTO store_collections VALUES(?, ?, ?, ?, ?, ?, ?)", list(wanted.values()))


def _row(folder: Any) -> tuple[Any, ...]:
    ignore = dumps(list(folder.ignore)) if folder.ignore else None
    default, context = int(folder.include_by_default), dumps(folder.context) if folder.context else None
    return folder.name, folder.path, folder.pattern, ignore, default, folder.update or None, context


def _compare(
    connection: apsw.Connection, folder: Folder, trusted_ns: int, changes: Changes
) -> tuple[list[Entry], list[str]]:
    """Return the files that have to be read, and the paths that are gone; count the others.

    ``trusted_ns``: the stat of what was indexed since then is trusted.
    """
    # (active, size, mtime_ns, inode, checked_ns) by path, as it was before the walk. Writing looks each path up again,
    # since a note may be indexed in between.
    known = {path: stat for _, path, *stat in completeness.files(connection, folder.name)}
    try:
        entries = list(walk(folder, lambda path, error: changes.failed.append((path, error.strerror or str(error)))))
    except OSError:
        changes.missing = True
        return [], []
    pending: list[Entry] = []
    for entry in entries:
        active, size, *when = known.pop(entry.relative, (False, None))
        if active and size is not None and when[-1] >= trusted_ns and is_clean(entry.status, size, *when):
            changes.unchanged += 1
        else:
            pending.append(entry)
    # A folder that could not be listed says nothing about the files in it.
    unlisted = tuple(os.path.relpath(path, folder.path) for path, _ in changes.failed)
    below = tuple(f"{path}/" for path in unlisted)
    return pending, [path for path, row in known.items() if row[0] and not (path in unlisted or path.startswith(below))]


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
    from qmd.index.writer import Writer, unknown

    if len(pending) > _MANY:
        from qmd.index import large_pages

        large_pages.ask()
    look = policy_of if redacts else unknown
    with Writer(connection) as writer:
        for done, entry in enumerate(pending, 1):
            checked = time.time_ns()
            try:
                data, status = _read_stable(entry)
            except FileNotFoundError:
                pass
            except OSError as error:
                changes.failed.append((entry.path, error.strerror or str(error)))
            else:
                relative = entry.relative
                outcome = writer.put(collection, relative, data, status, look=look, checked_ns=checked, keep=keep)
                changes.count(outcome)
            if progress:
                progress(done, len(pending), collection)
        for relative in vanished:
            changes.removed += writer.drop(collection, relative, keep=keep)


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
