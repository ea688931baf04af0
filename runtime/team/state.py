"""``state/team.json``: which machine of the member's this is, when it pushed, and what is still to be forgotten."""

from __future__ import annotations

import json
import os
from os.path import join
from typing import TYPE_CHECKING, Any

from core.errors import EngineMissing
from core.files import FileLock, read_or_none, write_atomic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

FILE = "team.json"
_LOCK_WAIT_S = 10.0


class State:
    """``device`` is a name that this machine gave itself; ``pushed_at`` in epoch seconds, 0 for never.

    ``forget``: (collection, path) of documents that were forgotten here, and that the server has not confirmed. Until a
    push was whole, nobody knows what an earlier home of this machine left at the server (``runtime.team.recovery``).
    """

    __slots__ = ("_path", "device", "forget", "pushed_at")

    def __init__(self, home: Home) -> None:
        """Read the file; without one, the machine gets a name. Raises EngineMissing if it is damaged."""
        self._path = join(home.state, FILE)
        try:
            data = read_or_none(self._path)
            held: dict[str, Any] = {} if data is None else json.loads(data)
            self.device = str(held.get("device") or os.urandom(8).hex())
            self.pushed_at = int(held.get("pushed_at") or 0)
            self.forget = [(str(collection), str(path)) for collection, path in held.get("forget") or []]
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise EngineMissing(
                f"{self._path} is damaged: {error}",
                f"mv {self._path} {self._path}.damaged; then: brain team push, which looks for what it knew",
            ) from error

    def save(self) -> None:
        """Write the file durably. Raises OSError."""
        kept = {"schema": 1, "device": self.device, "pushed_at": self.pushed_at, "forget": self.forget}
        write_atomic(self._path, json.dumps(kept).encode())


def lock(home: Home, wait_s: float = _LOCK_WAIT_S) -> FileLock:
    """Return the lock of everything that one home sends to the server."""
    home.make()
    return FileLock(join(home.state, "team.lock"), wait_s)


def begin_again(home: Home) -> int:
    """Note that this machine has pushed nothing yet, as to another server; return how many documents waited there."""
    with lock(home):
        state = State(home)
        waiting, state.pushed_at, state.forget = len(state.forget), 0, []
        state.save()
    return waiting


def note_forgotten(home: Home, documents: Iterable[tuple[str, str]]) -> None:
    """Note what the server is still to forget, before it is asked. Raises LockContention, OSError."""
    with lock(home):
        state = State(home)
        state.forget = list(dict.fromkeys([*state.forget, *documents]))
        state.save()
