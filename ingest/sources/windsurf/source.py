"""Windsurf: ``~/.windsurf/transcripts/<id>.jsonl``.

Format: ``ingest.sources.windsurf.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile


class Windsurf(Source):
    """Transcripts of Windsurf; what it encrypts is listed with that reason."""

    name = "windsurf"
    prefix = "windsurf__"
    suffixes = (".jsonl", ".pb")
    roots = ROOTS["windsurf"]
    resume = RESUME["windsurf"]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        files = super().discover(roots)
        for file in files:
            if file.path.endswith(".pb"):
                file.skip = "encrypted by Windsurf: its hook for transcripts writes what can be read"
        return files

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.windsurf.parser import read

        yield read(path, raw)


SOURCE = Windsurf()
