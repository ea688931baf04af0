"""Factory Droid: ``~/.factory/sessions/<project>/<id>.jsonl``.

Format: ``ingest.sources.droid.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.sources.companions import Described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Droid(Described):
    """Sessions of Factory Droid."""

    name = "droid"
    prefix = "droid__"
    roots = ROOTS["droid"]
    resume = RESUME["droid"]

    def describes(self, path: str) -> list[str]:
        return [f"{path.removesuffix('.jsonl')}.settings.json"]

    def read(self, path: str, raw: RawStore) -> Reading:
        from ingest.sources.droid.parser import read

        return read(path, raw)


SOURCE = Droid()
