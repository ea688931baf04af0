"""Calendars that a person exported: ``*.ics``; read when they are named.

Format: ``ingest.sources.calendar.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME
from ingest.sources.entries import Paged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore
    from ingest.sources.entries import Entry


class Calendar(Paged):
    """Events, tasks and journals by the month in which they begin."""

    name = "calendar"
    prefix = "calendar__"
    suffixes = (".ics", ".ical")
    resume = RESUME["calendar"]

    def peek(self, path: str) -> str:
        """Group all files: calendars share months, so they are read together."""
        del path
        return self.name

    def title(self, unit: str, entries: list[Entry]) -> str:
        del entries
        return "Calendar without dates" if unit == "undated" else f"Calendar of {unit}"

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.calendar.parser import FOREIGN, events
        from ingest.sources.entries import read

        yield read(path, raw, events, FOREIGN)


SOURCE = Calendar()
