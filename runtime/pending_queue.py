"""The distillation queue: documents that changed and await compression, one JSON row each in ``state/queue.jsonl``.

Rows are only ever appended, under a lock, so that no writer can lose another's, or a row of a later version.
"""

from __future__ import annotations

import fcntl
import json
import os
from os.path import join
from typing import TYPE_CHECKING

from core import clock
from core.files import read_or_none
from core.home import PRIVATE_FILE, make_private

if TYPE_CHECKING:
    from core.home import Home


def path(home: Home) -> str:
    """Where the queue lies."""
    return join(home.state, "queue.jsonl")


def read(home: Home) -> list[dict[str, object]]:
    """The waiting documents, oldest first, each once: ``collection``, ``path`` below it, ``ts`` of the first change."""
    rows: dict[tuple[object, object], dict[str, object]] = {}
    for line in (read_or_none(path(home)) or b"").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue  # torn by a crash; the others are whole
        if isinstance(row, dict) and isinstance(row.get("path"), str):
            rows.setdefault((row.get("collection"), row["path"]), row)
    return list(rows.values())


class PendingQueue:
    """Adds documents; one that waits already keeps its place. ``added`` counts the new ones."""

    def __init__(self, home: Home) -> None:
        self._path = path(home)
        self._waiting = {(row.get("collection"), row["path"]) for row in read(home)}
        self.added = 0
        make_private(home.state)

    def add(self, collection: str, relative: str) -> None:
        """Append one document. Raises OSError."""
        if (collection, relative) in self._waiting:
            return
        row = {"schema": 1, "ts": clock.iso(clock.now()), "collection": collection, "path": relative}
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # On a line of its own, whatever a crash left of the last one.
            os.write(descriptor, ("\n" + json.dumps(row) + "\n").encode())
        finally:
            os.close(descriptor)
        self._waiting.add((collection, relative))
        self.added += 1
