"""Sessions that did something, for tests of the commands about the work."""

from __future__ import annotations

from core import clock
from tests.runtime.index_fixture import Shelf

DAY = 86_400


def did(shelf: Shelf, name: str, calls: str, *, ago: int = 1, project: str = "/u/x/api", **meta: object) -> None:
    """Put a session of one turn into the index, ``ago`` days old."""
    date = clock.now() - ago * DAY
    at = clock.iso(date)
    body = f"## [1] assistant · {at[:10]} {at[11:16]}\n\n{calls}"
    given = {"session_id": name, "source": "claude", "project": project, "turns": 1, **meta}
    shelf.put("brain", f"{name}.md", body, date=date, ended=date, **given)
