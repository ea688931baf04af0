"""Aider: ``.aider.chat.history.md`` in the repositories that sessions worked in.

Format: ``ingest.sources.aider.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.sources.in_projects import InProjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Aider(InProjects):
    """Chats of Aider: a file holds all sessions in a repository."""

    name = "aider"
    prefix = "aider__"
    grows = True
    suffixes = (".aider.chat.history.md",)
    project_file = ".aider.chat.history.md"
    roots = ROOTS["aider"]
    resume = RESUME["aider"]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.aider.parser import read

        yield read(path, raw)

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]]:
        from ingest.sources.aider.parser import pieces

        del path
        return pieces(data)


SOURCE = Aider()
