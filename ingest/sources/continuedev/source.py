"""Continue: ``~/.continue/sessions/<id>.json``.

Format: ``ingest.sources.continuedev.parser``. The package is not called ``continue``, which is a word of Python's.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Continue(Source):
    """Sessions of Continue, in editors and in the terminal."""

    name = "continuedev"
    prefix = "continuedev__"
    suffixes = (".json",)
    roots = ROOTS["continuedev"]
    resume = RESUME["continuedev"]
    skip_files: Mapping[str, str] = {"sessions.json": "index of sessions"}

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.continuedev.parser import read

        yield read(path, raw)


SOURCE = Continue()
