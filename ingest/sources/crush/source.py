"""Crush: ``.crush/crush.db`` in the projects that sessions worked in.

Format: ``ingest.sources.crush.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.sources.in_projects import InProjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Crush(InProjects):
    """Sessions of Crush and of its subagents."""

    name = "crush"
    prefix = "crush__"
    suffixes = (".db",)
    project_file = ".crush/crush.db"
    roots = ROOTS["crush"]
    resume = RESUME["crush"]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.crush.parser import stream

        yield from stream(path, raw)


SOURCE = Crush()
