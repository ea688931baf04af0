"""Claude Code: ``<config>/projects/<project>/<session-id>.jsonl``, subagents in the same folder or ``subagents/``.

The vendor changes the format and does not document it. The parser knows 1.0.24 to 2.1.295, and counts the rest.
"""

from __future__ import annotations

from ingest.roots import ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Claude(Source):
    """Transcripts of Claude Code, whatever their layout, and its history of prompts."""

    name = "claude"
    # The history of prompts is a root once the folder of transcripts was removed.
    roots = ROOTS["claude"]
    history = "history.jsonl"
    beside = ("projects",)
    pieces_need_whole = True
    skip_files: Mapping[str, str] = {"journal.jsonl": "workflow journal"}
    skip_folders: Mapping[str, str] = {"memory": "memory folder", "tool-results": "tool result"}

    def peek(self, path: str) -> str:
        from ingest.sources.claude.parser import peek

        return peek(path)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        if self.is_history(path):
            from ingest.sources.claude.user_text import PROMPT_FIELDS, prompt_of
            from ingest.sources.prompts import PromptHistory

            yield PromptHistory(self.name, self.beside, prompt_of, PROMPT_FIELDS).read(path, raw)
            return
        from ingest.sources.claude.parser import read

        yield read(path, raw)

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]] | None:
        """Return (unit, bytes) of the lines: a file may have records of several sessions."""
        from ingest.sources.claude.parser import pieces

        return pieces(path, data)


SOURCE = Claude()
