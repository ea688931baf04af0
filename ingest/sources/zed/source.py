"""Zed: ``~/.local/share/zed/threads/threads.db``, on macOS in ``~/Library/Application Support/Zed``.

Format: ``ingest.sources.zed.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Zed(Source):
    """Threads of Zed's own agent; agents that Zed only shows keep their sessions themselves."""

    name = "zed"
    prefix = "zed__"
    suffixes = (".db",)
    roots = ROOTS["zed"]
    resume = RESUME["zed"]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.zed.parser import stream

        yield from stream(path, raw)


SOURCE = Zed()
