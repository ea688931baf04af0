"""OpenCode: ``~/.local/share/opencode/``: ``opencode.db``; before it a tree of JSON files; exported sessions.

Formats: ``ingest.sources.opencode.reading``.
"""

from __future__ import annotations

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.files import SourceFile


class OpenCode(Source):
    """Databases, exported sessions, and the sessions of a tree of JSON files, which stand for their messages."""

    name = "opencode"
    prefix = "opencode__"
    suffixes = (".db", ".json", ".jsonl")
    roots = (
        ("XDG_DATA_HOME", "~/.local/share", ("opencode/opencode.db", "opencode/storage", "opencode/project")),
        # Versions that are not released keep a database each, named after their channel.
        ("XDG_DATA_HOME", "~/.local/share", ("opencode/opencode-*.db",)),
        ("OPENCODE_DB", "", ()),
    )

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        from ingest.raw.databases import with_logs
        from ingest.sources.opencode.tree import fold

        return fold(list(with_logs(super().discover(roots))))

    def may_hold_any(self, path: str) -> bool:
        """Return True for an exported session: a person chooses the name of the file."""
        from ingest.sources.opencode.tree import storage

        return path.endswith((".json", ".jsonl")) and not storage(path)

    def companions(self, path: str) -> list[str]:
        """Return the messages and parts of a session in a tree of JSON files."""
        from ingest.sources.opencode.reading import inside

        return inside(path)

    def read(self, path: str) -> Reading:
        from ingest.sources.opencode.reading import read

        return read(path)

    def stream(self, path: str) -> Iterator[Reading]:
        from ingest.sources.opencode.reading import stream

        return stream(path)


SOURCE = OpenCode()
