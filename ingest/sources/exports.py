"""Exports of chats: one file, or a ZIP as it was downloaded, with a list of all conversations as JSON."""

from __future__ import annotations

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Record = dict[str, Any]

# How the names of files with conversations begin.
NAMED = "conversations"


class Export(Source):
    """A source that reads exports when it is named: ``brain index --source NAME --from FILE``."""

    on_request = True
    suffixes = (".json", ".zip")
    patterns = (f"{NAMED}*.json", "*.zip")

    def wants(self, name: str) -> bool:
        return name.endswith(".zip") or (name.startswith(NAMED) and name.endswith(".json"))

    def unit_of(self, conversation: Record) -> str:
        """Return the unit of a conversation."""
        raise NotImplementedError

    def may_hold_any(self, path: str) -> bool:
        del path
        return True

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]]:
        """Return (unit, bytes) of each conversation in an export as the archive has it."""
        import json

        from ingest.session.values import mapping

        del path
        for line in data.splitlines(keepends=True):
            try:
                yield self.unit_of(mapping(json.loads(line))), line
            except (ValueError, RecursionError):
                yield "", line
