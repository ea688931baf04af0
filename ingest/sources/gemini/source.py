"""Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*.json``, and since 2026 ``.jsonl``, a journal.

Formats: ``ingest.sources.gemini.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Gemini(Source):
    """Sessions of Gemini CLI, conversations that a person saved, and each project's history of prompts."""

    name = "gemini"
    prefix = "gemini__"
    hashes_folders = True
    suffixes = (".json", ".jsonl")
    roots = ROOTS["gemini"]
    resume = RESUME["gemini"]
    skip_files: Mapping[str, str] = {
        "projects.json": "names of projects",
        "settings.json": "settings",
        "state.json": "settings",
        "mcp-oauth-tokens.json": "credentials",
        "oauth_creds.json": "credentials",
        "google_accounts.json": "credentials",
    }
    skip_folders: Mapping[str, str] = {
        "checkpoints": "tool checkpoint",
        "logs": "activity log",
        "tool-outputs": "tool output",
    }
    history = "logs.json"
    transcript_folders: tuple[str, ...] = ("chats",)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.gemini.parser import PROMPTS, read

        yield PROMPTS.read(path, raw) if self.is_history(path) else read(path, raw)


SOURCE = Gemini()
