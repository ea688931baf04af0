"""Hermes: ``~/.hermes/state.db``, before it ``~/.hermes/sessions/session_<id>.json``.

Formats: ``ingest.sources.hermes.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


class Hermes(Source):
    """Sessions of Hermes, in the terminal and in messengers."""

    name = "hermes"
    prefix = "hermes__"
    suffixes = (".db", ".json", ".jsonl")
    roots = ROOTS["hermes"]
    resume = RESUME["hermes"]
    skip_files: Mapping[str, str] = {"sessions.json": "index of sessions"}

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.hermes.parser import read, stream

        if path.endswith(".db"):
            yield from stream(path, raw)
        else:
            yield read(path, raw)


SOURCE = Hermes()
