"""Kimi CLI: ``~/.kimi/sessions/<digest>/<id>/context.jsonl``; Kimi Code: ``~/.kimi-code/sessions/*/<id>/agents``.

Formats: ``ingest.sources.kimi.parser`` and, of Kimi Code, ``ingest.sources.kimi.wire``.
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


_WIRE = "wire.jsonl"


class Kimi(Described):
    """Sessions of Kimi CLI, and of Kimi Code."""

    name = "kimi"
    patterns = ("context.jsonl", "wire.jsonl", "<id>.jsonl")
    prefix = "kimi__"
    roots = ROOTS["kimi"]
    resume = RESUME["kimi"]
    companion_names = ("state.json",)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the contexts, and the sessions of before they had folders; logs of events are neither."""
        return [file for file in super().discover(roots) if _is_session(file.path)]

    def describes(self, path: str) -> list[str]:
        if _is_wire(path):
            return [join(dirname(dirname(dirname(path))), *self.companion_names)]
        return super().describes(path)

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return the files that describe a session, and the one with its folder that the archive has."""
        from ingest.sources.kimi.parser import FOLDER

        if _is_wire(path):
            # The session's file stays when an agent of it is forgotten.
            return self.describes(path) if basename(dirname(path)) == "main" else []

        own = FOLDER if basename(path) == "context.jsonl" else f"{basename(path)}.{FOLDER}"
        return [*super().companions(path, raw), join(dirname(path), own)]

    def read(self, path: str, raw: RawStore) -> Reading:
        if _is_wire(path):
            from ingest.sources.kimi.wire import read as read_wire

            return read_wire(path, raw)
        from ingest.sources.kimi.parser import read

        return read(path, raw)


def _is_wire(path: str) -> bool:
    """Return True for the journal of an agent; Kimi CLI has a log of events of this name next to its contexts."""
    return basename(path) == _WIRE and basename(dirname(dirname(path))) == "agents"


def _is_session(path: str) -> bool:
    return _is_wire(path) or basename(path) == "context.jsonl" or len(basename(dirname(path))) == _DIGEST


SOURCE = Kimi()
