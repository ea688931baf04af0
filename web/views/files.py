"""`/file`: the files that were changed lately, and what was done to one of them, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.text import printable_value
from runtime.explaining.file_history import DEEDS, changed_lately, file_history
from web.visit import Page

if TYPE_CHECKING:
    from web.kept import Kept
    from web.visit import Visit


class Files:
    """The views of files; the list is kept until the index changes."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept

    def index(self, visit: Visit) -> Page:
        """List the files that were changed lately; ``path`` leads to one."""
        path = visit.text("path")
        if path:
            return _history(visit, path)
        found = self._kept.get(visit.home, "files", lambda: changed_lately(visit.home, visit.config))
        envelope = printable_value(found)
        return Page("files", "Files", envelope, {}, "recent", {"n_hits": len(envelope["items"])})


def view(visit: Visit) -> Page:
    """List what was done to the file that the address names."""
    path = visit.path["path"]
    # The address of a whole path has lost the slash that it begins with; `end/of/a/path` is asked by ``?path=``.
    return _history(visit, path if path.startswith(("/", "~")) or "/" not in path else f"/{path}")


def _history(visit: Visit, path: str) -> Page:
    envelope = printable_value(file_history(visit.home, visit.config, path))
    return Page("file", envelope["file"], envelope, {"deeds": DEEDS}, "recent", {"n_hits": len(envelope["items"])})
