"""Kimi CLI: ``~/.kimi/sessions/<digest>/<id>/context.jsonl``.

Format: ``ingest.sources.kimi.parser``.
"""

from __future__ import annotations

from os.path import basename, dirname, join

from ingest.roots import RESUME, ROOTS
from ingest.sources.companions import Described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_DIGEST = 32


class Kimi(Described):
    """Sessions of Kimi CLI."""

    name = "kimi"
    prefix = "kimi__"
    roots = ROOTS["kimi"]
    resume = RESUME["kimi"]
    companion_names = ("state.json",)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the contexts, and the sessions of before they had folders; logs of events are neither."""
        return [file for file in super().discover(roots) if _is_session(file.path)]

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return the files that describe a session, and the one with its folder that the archive has."""
        from ingest.sources.kimi.parser import FOLDER

        own = FOLDER if basename(path) == "context.jsonl" else f"{basename(path)}.{FOLDER}"
        return [*super().companions(path, raw), join(dirname(path), own)]

    def read(self, path: str, raw: RawStore) -> Reading:
        from ingest.sources.kimi.parser import read

        return read(path, raw)


def _is_session(path: str) -> bool:
    return basename(path) == "context.jsonl" or len(basename(dirname(path))) == _DIGEST


SOURCE = Kimi()
