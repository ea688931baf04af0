"""Claude Code: ``<config>/projects/<project>/<session-id>.jsonl``, subagents in the same folder or ``subagents/``.

The vendor changes the format and does not document it. The parser knows 1.0.24 to 2.1.295, and counts the rest.
"""

from __future__ import annotations

import os
from os.path import abspath, expanduser, isdir, isfile, join

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore
    from ingest.source import Environ


class Claude(Source):
    """Transcripts of Claude Code, whatever their layout, and its history of prompts."""

    name = "claude"
    history = "history.jsonl"
    beside = ("projects",)
    skip_files: Mapping[str, str] = {"journal.jsonl": "workflow journal"}
    skip_folders: Mapping[str, str] = {"memory": "memory folder", "tool-results": "tool result"}

    def places(self, environ: Environ | None = None) -> list[str]:
        """Return the folders of transcripts, and the history of prompts if a folder of transcripts was removed.

        ``CLAUDE_CONFIG_DIR`` (one folder, or several separated by commas or the path separator) takes the place of
        ``~/.claude`` and ``~/.config/claude``.
        """
        env = os.environ if environ is None else environ
        given = (env.get("CLAUDE_CONFIG_DIR") or "").strip()
        if not given:
            configs = ["~/.claude", "~/.config/claude"]
        elif isdir(expanduser(given)):
            configs = [given]
        else:
            configs = [part.strip() for part in given.replace(os.pathsep, ",").split(",") if part.strip()]
        found: list[str] = []
        for config in configs:
            folder = abspath(expanduser(config))
            projects, history = join(folder, "projects"), join(folder, self.history)
            found.append(history if isfile(history) and not isdir(projects) else projects)
        return found

    def peek(self, path: str) -> str:
        from ingest.sources.claude.parser import peek

        return peek(path)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        if self.is_history(path):
            from ingest.sources.histories.reading import read as read_history

            yield read_history(self.name, path, raw)
            return
        from ingest.sources.claude.parser import read

        yield read(path, raw)


SOURCE = Claude()
