"""Claude Code: ``<config>/projects/<project>/<session-id>.jsonl``, subagents beside them or in ``subagents/``.

The format is not documented by its vendor and changes; what was seen on versions 1.0.24 to 2.1.295 is handled in the
modules whose names begin with ``_claude``, what was not is counted.
"""

from __future__ import annotations

import os
from os.path import abspath, expanduser, isdir, isfile, join

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.source import Composed, Environ


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
        from ingest.sources.claude.reading import peek

        return peek(path)

    def read(self, path: str) -> Reading:
        if self.is_history(path):
            from ingest.sources.histories.reading import read as read_history

            return read_history(self.name, path)
        from ingest.sources.claude.reading import read

        return read(path)

    def compose(self, unit: str, parts: list[Any], link: str = "", mtime_ns: int = 0) -> Composed:
        if _is_partial(parts):
            return super().compose(unit, parts, link, mtime_ns)
        from ingest.sources.claude.document import compose

        return compose(unit, _with_earlier(parts), link, mtime_ns)

    def links(self, unit: str, parts: list[Any]) -> dict[str, str]:
        from ingest.pipeline.units import split_key, unit_key

        if _is_partial(parts):
            return {}
        session = split_key(unit)[0]
        found: dict[str, str] = {}
        for part in sorted(_with_earlier(parts), key=lambda part: (len(part.uuids), part.digest)):
            for agent, link in part.links.items():
                if not agent.startswith("call "):
                    found[unit_key(session, agent)] = link
        return found


def _with_earlier(parts: list[Any]) -> list[Any]:
    """A file that was rewritten is a copy of its session for each time that it said something else."""
    return [each for part in parts for each in (part, *getattr(part, "earlier", ()))]


def _is_partial(parts: list[Any]) -> bool:
    """Whether all that is known of a unit is what was typed: a transcript and a history never make one together."""
    return bool(parts) and all(getattr(part, "partial", False) for part in parts)


SOURCE = Claude()
