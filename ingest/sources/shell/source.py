"""The histories of shells: zsh, bash and fish, and Atuin's database; one document a day.

Formats: ``ingest.sources.shell.parser``.
"""

from __future__ import annotations

from ingest.roots import ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore
    from ingest.source import Composed


class Shell(Source):
    """Commands of the shells' histories. A root may be the history itself."""

    name = "shell"
    patterns = ("*_history", "*-history", ".histfile", "HISTORY", "history.db")
    prefix = "shell__"
    grows = True
    suffixes = ("_history", ".db", ".histfile")
    roots = ROOTS["shell"]

    def wants(self, name: str) -> bool:
        return name.endswith(("_history", ".histfile", "-history")) or name in ("history.db", "HISTORY")

    def peek(self, path: str) -> str:
        """Group all files: histories share days, so they are read together."""
        del path
        return self.name

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.shell.parser import read

        yield read(path, raw)

    def compose(self, unit: str, parts: list[Any], link: str = "", mtime_ns: int = 0) -> Composed:
        """Return one day from all its histories."""
        from ingest.sources.shell.parser import compose

        return compose(unit, parts, link, mtime_ns)

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]]:
        """Return (day, bytes) of each command."""
        from ingest.sources.shell.parser import pieces

        return pieces(path, data)

    def dropped(self, path: str, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
        from ingest.sources.shell.parser import dropped

        return dropped(path, held, before, now, read)

    def redacted(self, path: str, data: bytes, counts: dict[str, int]) -> bytes:
        from ingest.sources.shell.parser import without_secrets

        return without_secrets(path, data, counts)


SOURCE = Shell()
