"""Copilot CLI: ``~/.copilot/session-state/<id>/events.jsonl`` or ``<id>.jsonl``; ``history-session-state/*.json``.

Formats: ``ingest.sources.copilot.parser``.
"""

from __future__ import annotations

from os.path import basename, dirname

from ingest.roots import RESUME, ROOTS
from ingest.sources.companions import Described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile


_JOURNAL = "events.jsonl"


class Copilot(Described):
    """Sessions of Copilot CLI, and the database that it makes of them, which outlasts them."""

    name = "copilot"
    prefix = "copilot__"
    suffixes = (".jsonl", ".json")
    roots = ROOTS["copilot"]
    resume = RESUME["copilot"]
    skip_folders: Mapping[str, str] = {
        "logs": "log",
        "rewind-snapshots": "snapshot of files",
        "checkpoints": "checkpoint",
    }
    history = "session-store.db"
    transcript_folders = ("session-state", "history-session-state")
    # A session's name and project; the title that VS Code gives it.
    companion_names = ("workspace.yaml", "vscode.metadata.json")

    def wants(self, name: str) -> bool:
        return name.endswith((*self.suffixes, self.history))

    def describes(self, path: str) -> list[str]:
        """Return the files that describe a session; only one that is a folder has any."""
        return super().describes(path) if basename(path) == _JOURNAL else []

    def companions(self, path: str, raw: RawStore) -> list[str]:
        del raw
        return super().describes(path)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        files = [file for file in super().discover(roots) if self._is_session(file.path)]
        taken_over = {_session(file.path) for file in files if file.path.endswith(".jsonl")}
        for file in files:
            if not file.skip and file.path.endswith(".json") and _session(file.path) in taken_over:
                file.skip = "session that a later version took over"
        return files

    def _is_session(self, path: str) -> bool:
        """Return True if a file may be a session: a document must lie, or be called, as sessions were."""
        is_document = "/history-session-state/" in path or "/session_" in path
        return is_document or path.endswith((".jsonl", f"/{self.history}"))

    def read(self, path: str, raw: RawStore) -> Reading:
        from ingest.sources.copilot.parser import read, read_store

        return read_store(path, raw, self.transcript_folders) if self.is_history(path) else read(path, raw)


def _session(path: str) -> str:
    """Return the id of the session in a file's name."""
    name = basename(path)
    if name == _JOURNAL:
        return basename(dirname(path))
    if name.endswith(".json"):
        name = name.removesuffix(".json").removeprefix("session_")
        return name.rpartition("_")[0] or name
    return name.removesuffix(".jsonl")


SOURCE = Copilot()
