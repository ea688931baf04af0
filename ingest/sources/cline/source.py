"""Cline: ``tasks/<id>/`` in an editor's global storage or ``~/.cline/data``; the CLI's ``~/.cline/data/sessions``.

Formats: ``ingest.sources.cline.parser``.
"""

from __future__ import annotations

from os.path import basename, dirname, join

from ingest.roots import RESUME, ROOTS
from ingest.sources.companions import Described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_WINDOWS = ("ui_messages.json", "claude_messages.json")
_HISTORY, _SDK = "api_conversation_history.json", ".messages.json"


class Cline(Described):
    """Tasks of Cline, and sessions of its SDK. Tools that were made from Cline are subclasses."""

    name = "cline"
    patterns: tuple[str, ...] = ("ui_messages.json", "api_conversation_history.json", "*.messages.json")
    prefix = "cline__"
    suffixes: tuple[str, ...] = (".json",)
    roots = ROOTS["cline"]
    resume = RESUME["cline"]
    companion_names = ("history_item.json", "task_metadata.json")
    skip_folders: Mapping[str, str] = {"checkpoints": "checkpoint", "cache": "cache", "settings": "settings"}

    def wants(self, name: str) -> bool:
        return name in _WINDOWS or name.endswith((_HISTORY, _SDK))

    def describes(self, path: str) -> list[str]:
        if path.endswith(_SDK):
            return [f"{path.removesuffix(_SDK)}.json"]
        return super().describes(path)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        files = super().discover(roots)
        there = {file.path for file in files if not file.skip}
        for file in files:
            folder, name = dirname(file.path), basename(file.path)
            first = next((each for each in _WINDOWS if join(folder, each) in there), name)
            if name in (*_WINDOWS, _HISTORY) and first != name:
                file.skip = file.skip or f"the same task as in {first}"
        return files

    def read(self, path: str, raw: RawStore) -> Reading:
        from ingest.sources.cline.parser import read

        return read(path, raw, self.name)


SOURCE = Cline()
