"""Kilo Code: ``tasks/<id>/`` as Cline has it; since 2026 ``~/.local/share/kilo``, as OpenCode has it.

Formats: ``ingest.sources.cline.parser`` and ``ingest.sources.opencode.parser``. Kilo Code 7 and its CLI 1.0 were made
from OpenCode: Kilo-Org/kilocode, packages/opencode/src/storage/db.ts.
"""

from __future__ import annotations

from os.path import basename

from ingest.roots import RESUME, ROOTS
from ingest.sources.cline.source import Cline
from ingest.sources.opencode.source import OpenCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore

# How the names of the files in a tree of OpenCode's begin.
_TREE = ("ses_", "msg_", "prt_")


class Kilo(Cline, OpenCode):
    """Tasks of Kilo Code, and the databases and trees of its later versions."""

    name = "kilo"
    patterns: tuple[str, ...] = ("ui_messages.json", "api_conversation_history.json", "*.db", "ses_*.json")
    prefix = "kilo__"
    suffixes = (".json", ".db")
    roots = ROOTS["kilo"]
    resume = RESUME["kilo"]

    def wants(self, name: str) -> bool:
        return Cline.wants(self, name) or name.endswith(".db") or (name.startswith(_TREE) and name.endswith(".json"))

    def describes(self, path: str) -> list[str]:
        return super().describes(path) if self._is_task(path) else []

    def companions(self, path: str, raw: RawStore) -> list[str]:
        return self.describes(path) if self._is_task(path) else OpenCode.companions(self, path, raw)

    def may_hold_any(self, path: str) -> bool:
        del path
        return False

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        if self._is_task(path):
            yield from Cline.parse(self, path, raw)
            return
        for reading in OpenCode.parse(self, path, raw):
            for session in reading.parts.values():
                session.extra["surface"] = "cli"
            yield reading

    def _is_task(self, path: str) -> bool:
        return Cline.wants(self, basename(path))


SOURCE = Kilo()
