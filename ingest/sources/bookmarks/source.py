"""Bookmarks: Chrome's ``Bookmarks``, Firefox's ``places.sqlite``, Safari's ``Bookmarks.plist``, exported pages.

Formats: ``ingest.sources.bookmarks.parser``. They are read when they are named, as browsing is.
"""

from __future__ import annotations

import sys
from os.path import basename

from ingest.roots import RESUME
from ingest.sources.entries import Paged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore
    from ingest.source import Environ
    from ingest.sources.entries import Entry

_CHROME, _FIREFOX, _SAFARI = "Bookmarks", "places.sqlite", "Bookmarks.plist"


class Bookmarks(Paged):
    """Bookmarks by the month in which they were made."""

    name = "bookmarks"
    patterns = ("Bookmarks", "places.sqlite", "Bookmarks.plist", "bookmarks*.html", "bookmarks*.htm")
    prefix = "bookmarks__"
    judged_by = ("chrome",)
    suffixes = (".html", ".htm")
    resume = RESUME["bookmarks"]

    def places(self, environ: Environ | None = None) -> list[str]:
        """Return the folders of profiles of every known browser on this system."""
        from ingest.sources.chrome.source import folders

        return folders(sys.platform, environ)

    def wants(self, name: str) -> bool:
        # An export's name has the day in it (bookmarks_28_04_26.html).
        return name in (_CHROME, _FIREFOX, _SAFARI) or (
            name.lower().startswith("bookmarks") and name.lower().endswith(self.suffixes)
        )

    def peek(self, path: str) -> str:
        """Group all files: browsers share months, so they are read together."""
        del path
        return self.name

    def is_restless(self, path: str) -> bool:
        """Return True for Firefox's database, which has the history as well."""
        return basename(path) == _FIREFOX

    def title(self, unit: str, entries: list[Entry]) -> str:
        del entries
        return "Bookmarks without a date" if unit == "undated" else f"Bookmarks of {unit}"

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.bookmarks.parser import read

        yield read(path, raw)


SOURCE = Bookmarks()
