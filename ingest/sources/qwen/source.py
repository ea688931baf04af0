"""Qwen Code: ``~/.qwen/projects/<project>/chats/<id>.jsonl``; before them ``~/.qwen/tmp``, as Gemini CLI has it.

Formats: ``ingest.sources.qwen.parser`` and ``ingest.sources.gemini.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.sources.gemini.source import Gemini

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Qwen(Gemini):
    """Sessions of Qwen Code and of its subagents."""

    name = "qwen"
    prefix = "qwen__"
    roots = ROOTS["qwen"]
    resume = RESUME["qwen"]
    history = ""
    transcript_folders = ()

    def wants(self, name: str) -> bool:
        return super().wants(name) and name != "logs.json" and not name.endswith(".meta.json")

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        if path.endswith(".json"):
            from ingest.sources.gemini.parser import read as read_gemini

            yield read_gemini(path, raw, self.name)
        else:
            from ingest.sources.qwen.parser import read

            yield read(path, raw)


SOURCE = Qwen()
