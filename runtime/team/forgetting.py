"""Forgetting at the team's server: removed, kept away, and proven by what its tables hold past all row security."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.config import MACHINES
from core.counting import counted
from core.errors import BrainError
from qmd.team import connection, writing
from runtime.team.push import CONNECT_S, forget
from runtime.team.state import State, lock, note_forgotten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.config import Config
    from core.home import Home

# How long a vacuum may take: what remains is for the server's own.
_VACUUM_S = 60.0


def carry_out(home: Home, config: Config, documents: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Forget (collection, path) at the server, and what an earlier run could not; return what is left, where to look.

    A server that is away is left: the documents are noted, and the next push, or the next forgetting, begins with them.
    """
    if config.engine is None:
        return [], []
    note_forgotten(home, [(collection, _own_path(path)) for collection, path in documents])
    with lock(home):
        state = State(home)
        if not state.forget:
            return [], []
        try:
            with connection.closing(connection.open_writer(config.engine, CONNECT_S)) as server:
                removed, left = forget(server, state.forget)
                vacuumed = not removed or writing.vacuum(server, _VACUUM_S)
        except BrainError as error:
            waiting = counted(len(state.forget), "document")
            # No push forgets anything for who was removed from the team.
            fix = error.fix if isinstance(error, connection.NoMember) else "brain team push"
            return [f"the team's server ({waiting} waiting: {error.message}): {fix}"], []
        if not left:
            state.forget = []
            state.save()
    if not removed:
        return left, []
    said = f"the team's server: {counted(removed, 'document')} removed, and no member can read any of it"
    files = "" if vacuumed else "; its files keep the rows until its next VACUUM"
    return left, [f"{said}{files}; its files, replicas, backups and write-ahead log may keep bytes: docs/team.md"]


def _own_path(path: str) -> str:
    """Return the path that a document has at the machine that it came from, which pushes it."""
    parts = path.split("/", 2)
    return parts[2] if len(parts) == 3 and parts[0] == MACHINES else path
