"""Amp: ``~/.local/share/amp/threads/T-<id>.json``, before it below an editor's ``sourcegraph.amp``.

Format: ``ingest.sources.amp.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Amp(Source):
    """Threads of Amp."""

    name = "amp"
    prefix = "amp__"
    suffixes = (".json",)
    roots = ROOTS["amp"]
    resume = RESUME["amp"]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.amp.parser import read

        yield read(path, raw)


SOURCE = Amp()
