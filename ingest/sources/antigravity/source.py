"""Antigravity: ``~/.gemini/antigravity*/brain/<id>/.system_generated/logs/transcript.jsonl``.

Format: ``ingest.sources.antigravity.parser``.
"""

from __future__ import annotations

from os.path import dirname, join

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_LOGS = "/.system_generated/logs/"
# The uncut transcript counts, then the cut one, then what the editor's first versions wrote.
_NAMES = ("transcript_full.jsonl", "transcript.jsonl", "overview.txt")
_CLOSED = (".pb", ".db")


class Antigravity(Source):
    """Transcripts of Antigravity's agents, in the editor and in the terminal."""

    name = "antigravity"
    patterns = ("transcript.jsonl", "transcript_full.jsonl", "overview.txt", "*.jsonl")
    prefix = "antigravity__"
    suffixes = (".jsonl",)
    roots = ROOTS["antigravity"]
    resume = RESUME["antigravity"]

    def wants(self, name: str) -> bool:
        return name.endswith((".jsonl", *_CLOSED)) or name in _NAMES

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the transcripts, one of each conversation; artifacts of agents are no transcripts."""
        files = [
            file
            for file in super().discover(roots)
            if file.path.endswith(tuple(_LOGS + name for name in _NAMES))
            or ("/brain/" not in file.path and file.path.endswith(".jsonl"))
            or ("/conversations/" in file.path and file.path.endswith(_CLOSED))
        ]
        there = {file.path for file in files}
        for file in files:
            if file.path.endswith(_CLOSED):
                file.skip = "encrypted, or of a form that is not published: only the transcript is read"
            elif _LOGS in file.path:
                first = next(each for each in _NAMES if join(dirname(file.path), each) in there)
                if not file.path.endswith(f"/{first}"):
                    file.skip = file.skip or f"the same conversation as in {first}"
        return files

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.antigravity.parser import read

        yield read(path, raw)


SOURCE = Antigravity()
