"""Claude Code: ``<config>/projects/<project>/<session-id>.jsonl``, subagents in the same folder or ``subagents/``.

The vendor changes the format and does not document it. The parser knows 1.0.24 to 2.1.295, and counts the rest.

Claude Code deletes transcripts ``cleanupPeriodDays`` after their last activity (settings.json, 30 by default;
https://docs.claude.com/en/docs/claude-code/settings).
"""

from __future__ import annotations

from os.path import dirname, join

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


# An administrator's settings for the whole machine go before a user's own.
MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)
_MOST_DAYS = 1_000_000


class Claude(Source):
    """Transcripts of Claude Code, whatever their layout, and its history of prompts."""

    name = "claude"
    # The history of prompts is a root once the folder of transcripts was removed.
    roots = ROOTS["claude"]
    resume = RESUME["claude"]
    history = "history.jsonl"
    transcript_folders = ("projects",)
    pieces_need_whole = True
    deletes_after_days = 30
    skip_files: Mapping[str, str] = {"journal.jsonl": "workflow journal"}
    skip_folders: Mapping[str, str] = {"memory": "memory folder", "tool-results": "tool result"}

    def peek(self, path: str) -> str:
        from ingest.sources.claude.parser import peek

        return peek(path)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        if self.is_history(path):
            from ingest.sources.claude.user_text import PROMPT_FIELDS, prompt_of
            from ingest.sources.prompts import PromptHistory

            yield PromptHistory(self.name, self.transcript_folders, prompt_of, PROMPT_FIELDS).read(path, raw)
            return
        from ingest.sources.claude.parser import read

        yield read(path, raw)

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]] | None:
        """Return (unit, bytes) of the lines: a file may have records of several sessions."""
        from ingest.sources.claude.parser import pieces

        return pieces(path, data)

    def deletes_after(self, root: str) -> int:
        """Return ``cleanupPeriodDays`` of the settings next to a folder of transcripts, else the default."""
        import json

        folder = dirname(root)
        for path in (*MANAGED, join(folder, "settings.local.json"), join(folder, "settings.json")):
            try:
                with open(path, encoding="utf-8") as stream:
                    settings = json.load(stream)
            except (OSError, ValueError, RecursionError):
                continue
            days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
            if isinstance(days, int | float) and not isinstance(days, bool) and days >= 0:
                return int(min(days, _MOST_DAYS))
        return self.deletes_after_days


SOURCE = Claude()
