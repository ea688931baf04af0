"""Grok CLI: ``~/.grok/sessions/<project>/<id>/chat_history.jsonl``.

Format: ``ingest.sources.grok.parser``.
"""

from __future__ import annotations

from os.path import dirname, join

from ingest.roots import RESUME, ROOTS
from ingest.sources.companions import Described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Grok(Described):
    """Sessions of Grok CLI and of its subagents."""

    name = "grok"
    prefix = "grok__"
    suffixes = ("chat_history.jsonl",)
    roots = ROOTS["grok"]
    resume = RESUME["grok"]
    companion_names = ("summary.json",)

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return the file that describes a session, and what its parent says of a subagent's."""
        from ingest.sources.grok.parser import LINK

        return [*super().companions(path, raw), join(dirname(path), LINK)]

    def read(self, path: str, raw: RawStore) -> Reading:
        from ingest.sources.grok.parser import read

        return read(path, raw)


SOURCE = Grok()
