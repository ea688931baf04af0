"""ChatGPT: the export as it was downloaded, or ``conversations.json`` of it; read when it is named.

Format: ``ingest.sources.chatgpt.parser``.
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


class ChatGPT(Export):
    """Conversations of ChatGPT."""

    name = "chatgpt"
    prefix = "chatgpt__"
    resume = RESUME["chatgpt"]

    def unit_of(self, conversation: dict[str, Any]) -> str:
        from ingest.sources.chatgpt.parser import unit_of

        return unit_of(conversation)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.chatgpt.parser import FOREIGN, take
        from ingest.sources.export_reading import read

        yield read(path, raw, take, FOREIGN)


SOURCE = ChatGPT()
