"""Goose: ``~/.local/share/goose/sessions/sessions.db``, before it ``<id>.jsonl`` in the same folder.

Formats: ``ingest.sources.goose.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Goose(Source):
    """Sessions of Goose."""

    name = "goose"
    prefix = "goose__"
    suffixes = (".jsonl", ".db")
    roots = ROOTS["goose"]
    resume = RESUME["goose"]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.goose.parser import read, stream

        if path.endswith(".db"):
            yield from stream(path, raw)
        else:
            yield read(path, raw)


SOURCE = Goose()
