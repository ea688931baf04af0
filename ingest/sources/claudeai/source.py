"""Claude.ai: the export as it was downloaded, or ``conversations.json`` of it; read when it is named.

Format: ``ingest.sources.claudeai.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME
from ingest.sources.exports import Export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class ClaudeAI(Export):
    """Conversations of Claude.ai."""

    name = "claudeai"
    prefix = "claudeai__"
    resume = RESUME["claudeai"]

    def unit_of(self, conversation: dict[str, Any]) -> str:
        from ingest.sources.claudeai.parser import unit_of

        return unit_of(conversation)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.claudeai.parser import FOREIGN, take
        from ingest.sources.export_reading import read

        yield read(path, raw, take, FOREIGN)


SOURCE = ClaudeAI()
