"""Junie: ``~/.junie/sessions/<id>/events.jsonl``.

Format: ``ingest.sources.junie.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.sources.companions import Described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Junie(Described):
    """Sessions of Junie."""

    name = "junie"
    patterns = ("events.jsonl",)
    prefix = "junie__"
    roots = ROOTS["junie"]
    resume = RESUME["junie"]
    companion_names = ("summary.json",)

    def wants(self, name: str) -> bool:
        return name == "events.jsonl"

    def read(self, path: str, raw: RawStore) -> Reading:
        from ingest.sources.junie.parser import read

        return read(path, raw)


SOURCE = Junie()
