"""Pi: ``~/.pi/agent/sessions/--<project>--/<time>_<id>.jsonl``, a tree of entries.

Formats: ``ingest.sources.pi.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Pi(Source):
    """Transcripts of Pi."""

    name = "pi"
    prefix = "pi__"
    roots = ROOTS["pi"]
    resume = RESUME["pi"]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.pi.parser import read

        yield read(path, raw)


SOURCE = Pi()
