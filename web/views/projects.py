"""`/project`: the projects, and what was done in one of them, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core import clock
from core.errors import BadInput
from core.text import printable_value
from runtime.explaining import activity
from web.visit import Page

if TYPE_CHECKING:
    from web.kept import Kept
    from web.views.times import Times
    from web.visit import Visit

_LISTED = 50


class Projects:
    """The views of projects; the list is kept until the index changes, ``times`` has their years."""

    def __init__(self, kept: Kept, times: Times) -> None:
        self._kept, self._times = kept, times

    def index(self, visit: Visit) -> Page:
        """List the projects, those worked on last first."""
        found = self._kept.get(visit.home, "projects", lambda: activity.projects(visit.home, visit.config))
        envelope = printable_value(found)
        return Page("projects", "Projects", envelope, {}, "recent", {"n_hits": envelope["total"]})

    def view(self, visit: Visit) -> Page:
        """List the documents of a project; ``until`` (ISO 8601) leads to older ones."""
        name = visit.path["project"].rstrip("/")
        if not name:
            raise BadInput("the address names no project", "/project lists them")
        # The address of a folder has lost the slash that it begins with.
        if "/" in name and not name.startswith(("/", "~")):
            name = f"/{name}"
        given = visit.text("until")
        until = clock.parse_iso(given) if given else None
        if given and until is None:
            raise BadInput(f"{given!r} is no time", "a time such as 2026-03-12T09:14:00Z")
        envelope = printable_value(activity.project(visit.home, visit.config, name, limit=_LISTED, until=until))
        more = {"year": self._times.past_year(visit, name) if envelope["items"] and not given else {}}
        return Page("project", name, envelope, more, "recent", {"n_hits": len(envelope["items"])})
