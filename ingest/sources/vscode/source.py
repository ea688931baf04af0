"""Copilot in VS Code: ``workspaceStorage/<id>/chatSessions`` and ``globalStorage/emptyWindowChatSessions``.

Formats: ``ingest.sources.vscode.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_FOLDERS = ("/chatSessions/", "/emptyWindowChatSessions/")


class VSCode(Source):
    """Chat sessions of VS Code and of editors that were made from it."""

    name = "vscode"
    patterns = ("chatSessions/*.json", "chatSessions/*.jsonl")
    prefix = "vscode__"
    suffixes = (".json", ".jsonl")
    roots = ROOTS["vscode"]
    resume = RESUME["vscode"]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the sessions; a log counts more than the document that it was made from."""
        files = [file for file in super().discover(roots) if any(each in file.path for each in _FOLDERS)]
        there = {file.path for file in files}
        for file in files:
            if file.path.endswith(".json") and f"{file.path}l" in there:
                file.skip = file.skip or "session that a later version took over"
        return files

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return nothing: the file with a session's folder is that of all sessions in it."""
        del path, raw
        return []

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.vscode.parser import read

        yield read(path, raw)


SOURCE = VSCode()
