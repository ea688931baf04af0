"""Cursor: the editor's ``state.vscdb`` (global, and of each workspace), and agents' transcripts in ``~/.cursor``.

Formats: ``ingest.sources.cursor.reading``.
"""

from __future__ import annotations

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.raw.files import SourceFile
    from ingest.raw.store import RawStore
    from ingest.source import Composed


_IN_EDITOR = ("Cursor/User/globalStorage", "Cursor/User/workspaceStorage")


class Cursor(Source):
    """Databases of Cursor and transcripts of its agents; texts only where transcripts lie."""

    name = "cursor"
    prefix = "cursor__"
    suffixes = (".vscdb", ".db", ".jsonl", ".txt")
    companion_names = ("meta.json",)
    roots = (
        ("", "~/Library/Application Support", _IN_EDITOR),
        ("XDG_CONFIG_HOME", "~/.config", _IN_EDITOR),
        ("APPDATA", "", _IN_EDITOR),
        # What an editor asks of `cursor-agent acp` lies apart, in the same form (tiann/hapi pull request 844).
        ("", "~/.cursor", ("projects", "chats", "acp-sessions")),
        # The agent in the terminal keeps its chats, and they alone, with its settings (rimio-ai/rimz pull request 399;
        # with a capital letter chenhg5/cc-connect pull request 1232).
        ("CURSOR_CONFIG_DIR", "", ("chats", "acp-sessions")),
        ("XDG_CONFIG_HOME", "~/.config", ("cursor/chats", "cursor/acp-sessions", "Cursor/chats")),
    )

    def wants(self, name: str) -> bool:
        return name.endswith((".vscdb", "store.db", ".jsonl", ".txt"))

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        from ingest.raw.databases import with_logs

        files = super().discover(roots)
        return list(
            with_logs([file for file in files if not file.path.endswith(".txt") or "/agent-transcripts/" in file.path])
        )

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.cursor.reading import stream

        yield from stream(path, raw)

    def compose(self, unit: str, parts: list[Any], link: str = "", mtime_ns: int = 0) -> Composed:
        """Drop what a conversation's transcript repeats of its database."""
        from ingest.sources.cursor.copies import once

        return super().compose(unit, once(parts), link, mtime_ns)


SOURCE = Cursor()
