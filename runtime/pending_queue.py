"""The distillation queue: documents that changed and await compression, one JSON row each in ``state/queue.jsonl``."""

from __future__ import annotations

import json
from os.path import join
from typing import TYPE_CHECKING

from core import clock
from core.files import read_or_none, write_atomic
from core.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

_WAIT_S = 10


def path(home: Home) -> str:
    """Where the queue lies."""
    return join(home.state, "queue.jsonl")


def read(home: Home) -> list[dict[str, str]]:
    """The waiting documents, oldest first: ``collection``, ``path`` below it, ``ts`` of the first change."""
    rows = []
    for line in (read_or_none(path(home)) or b"").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("path"), str):
            rows.append(row)
    return rows


def append(home: Home, documents: Iterable[tuple[str, str]]) -> int:
    """Queue (collection, path) pairs; one that waits already keeps its place. Returns how many were added."""
    with FileLock(join(home.state, "queue.lock"), _WAIT_S):
        rows = read(home)
        waiting = {(row.get("collection"), row["path"]) for row in rows}
        now = clock.iso(clock.now())
        added = [
            {"schema": "1", "ts": now, "collection": collection, "path": relative}
            for collection, relative in dict.fromkeys(documents)
            if (collection, relative) not in waiting
        ]
        if added:
            lines = "".join(json.dumps(row) + "\n" for row in (*rows, *added))
            write_atomic(path(home), lines.encode())
    return len(added)
