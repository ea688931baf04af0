"""The distillation queue: documents that changed and await compression, in ``state/queue.jsonl``.

A journal: one JSON row an event, and the queue is what the rows add up to. A row without ``state`` makes a document
wait; ``done`` and ``dropped`` end that; ``dead`` ends it too and keeps the reason, until the document changes or is
added again. Rows are appended under a lock, so that no writer can lose another's, or a row of a later version.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from os.path import join
from typing import TYPE_CHECKING

from core import clock
from core.files import read_or_none, write_atomic
from core.home import PRIVATE_FILE, make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from core.home import Home

    Rows = dict[tuple[str, str], dict[str, Any]]

# A journal longer than this is rewritten as what it adds up to.
_COMPACT_BYTES = 1 << 18


def path(home: Home) -> str:
    """Return where the queue lies."""
    return join(home.state, "queue.jsonl")


@contextlib.contextmanager
def locked(home: Home) -> Iterator[None]:
    """Nobody else writes to the queue meanwhile. The lock is a file of its own: the journal may be replaced."""
    descriptor = os.open(join(home.state, "queue.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read(home: Home) -> list[dict[str, Any]]:
    """Return the waiting documents, oldest first, each once: ``collection``, ``path``, ``ts`` of the first change."""
    return list(_fold(read_or_none(path(home)) or b"")[0].values())


def dead(home: Home) -> list[dict[str, Any]]:
    """Return the dead letters, oldest first: like ``read``, with ``reason``, ``distiller`` and ``attempts``."""
    return list(_fold(read_or_none(path(home)) or b"")[1].values())


def _fold(data: bytes) -> tuple[Rows, Rows]:
    """Return (waiting, dead) of a journal."""
    waiting: Rows = {}
    dead: Rows = {}
    for line in data.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue  # torn by a crash; the others are whole
        if not isinstance(row, dict) or not isinstance(row.get("path"), str):
            continue
        key = (str(row.get("collection")), row["path"])
        state = row.get("state")
        if state is None:
            dead.pop(key, None)
            waiting.setdefault(key, row)
        elif state in ("done", "dropped", "dead"):
            waiting.pop(key, None)
            dead.pop(key, None)
            if state == "dead":
                dead[key] = row
    return waiting, dead


def add(home: Home, collection: str, relative: str) -> bool:
    """Make one document wait, as ``PendingQueue.add``, for whoever adds few; return False if it did already.

    Of all that waits, only the rows about this document are parsed. The journal is left for others to compact.
    """
    needle, key, journal = json.dumps(relative).encode(), (collection, relative), path(home)
    with locked(home):
        row = _row(*key)
        data = read_or_none(journal) or b""
        # Where the name does not stand as we write it, nothing is lost: the document is added once more.
        if needle in data and key in _fold(b"\n".join(line for line in data.splitlines() if needle in line))[0]:
            return False
        _write(journal, [row])
    return True


class PendingQueue:
    """Adds documents and ends their waiting; one that waits already keeps its place. ``added`` counts the new ones."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = path(home)
        self._seen: tuple[int, ...] = ()
        self._waiting: Rows = {}
        self._dead: Rows = {}
        self.added = 0
        # The size of the journal when it was last compacted: at twice that, compact it again.
        self._least = 0
        make_private(home.state)

    def add(self, collection: str, relative: str) -> bool:
        """Make one document wait; whether it did not already. Raises OSError."""
        return bool(
            self._append(lambda: [] if (collection, relative) in self._waiting else [_row(collection, relative)])
        )

    def end(
        self, collection: str, relative: str, state: str, still: Callable[[], bool] | None = None, **fields: object
    ) -> bool:
        """Say that a document waits no longer: ``done``, ``dropped`` or ``dead``; whether it was so.

        ``still`` is asked under the lock: where it says no, the document has changed meanwhile and goes on waiting.
        Whoever changes a document writes it first and adds it then, so a change is seen here or added later.
        """
        key = (collection, relative)

        def rows() -> list[dict[str, object]]:
            known = key in self._waiting or (state == "dropped" and key in self._dead)
            if (not known and state != "dead") or (still is not None and not still()):
                return []
            return [_row(collection, relative, state=state, **fields)]

        return bool(self._append(rows))

    def clear(self, *, letters: bool = False) -> int:
        """Drop all that wait, or all dead letters; how many went. Raises OSError."""

        def rows() -> list[dict[str, object]]:
            return [_row(*key, state="dropped") for key in (self._dead if letters else self._waiting)]

        return self._append(rows)

    def _append(self, rows: Callable[[], list[dict[str, object]]]) -> int:
        """Append the rows that ``rows`` makes of the journal, under the lock; return how many."""
        with locked(self._home):
            if _stamp(self._path) != self._seen:
                self._waiting, self._dead = _fold(read_or_none(self._path) or b"")
            new = rows()
            if new:
                size = _write(self._path, new)
                self._note(new)
                if size > max(_COMPACT_BYTES, 2 * self._least):
                    self._compact(size)
            self._seen = _stamp(self._path)
        return len(new)

    def _note(self, rows: list[dict[str, Any]]) -> None:
        """Keep what is known in step with what was appended."""
        for row in rows:
            key = (row["collection"], row["path"])
            state = row.get("state")
            self._dead.pop(key, None)
            if state is None:
                self._waiting[key] = row
                self.added += 1
                continue
            self._waiting.pop(key, None)
            if state == "dead":
                self._dead[key] = row

    def _compact(self, size: int) -> None:
        """Replace the journal of ``size`` bytes by what it adds up to, whole or not at all, where that is half."""
        kept = [*self._waiting.values(), *self._dead.values()]
        data = "".join(json.dumps(row) + "\n" for row in kept).encode()
        self._least = len(data)
        if len(data) < size // 2:
            write_atomic(self._path, data)


def _write(path: str, rows: list[dict[str, Any]]) -> int:
    """Append rows on lines of their own, whatever a crash left of the last one; return the size. Raises OSError."""
    data = ("\n" + "".join(json.dumps(row) + "\n" for row in rows)).encode()
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE), "ab") as stream:
        stream.write(data)
        stream.flush()
        return os.fstat(stream.fileno()).st_size


def _stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _row(collection: str, relative: str, **fields: object) -> dict[str, Any]:
    return {"schema": 1, "ts": clock.iso(time.time()), "collection": collection, "path": relative, **fields}
