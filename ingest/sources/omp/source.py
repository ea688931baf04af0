"""omp (oh-my-pi): ``~/.omp/agent/sessions/<project>/<time>_<id>.jsonl``, a tree of entries as Pi has it.

Formats: ``ingest.sources.pi.parser``. Source: can1357/oh-my-pi, packages/coding-agent (``SessionManager``).
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Omp(Source):
    """Transcripts of omp."""

    name = "omp"
    prefix = "omp__"
    roots = ROOTS["omp"]
    resume = RESUME["omp"]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.pipeline.reading import journal
        from ingest.sources.pi.parser import Tree, TreeFile, named

        def make(reading: Reading) -> TreeFile:
            return TreeFile(reading, Tree(reading, self.name, named(path)))

        yield journal(path, raw, make, "not a transcript of omp's")


SOURCE = Omp()
