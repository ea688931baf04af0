"""Copilot CLI: ``~/.copilot/session-state/<id>/events.jsonl`` or ``<id>.jsonl``; ``history-session-state/*.json``.

Formats: ``ingest.sources.copilot.parser``.
"""

from __future__ import annotations

import contextlib
import os
from os.path import basename, dirname

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow
    from ingest.raw.store import RawStore, SourceFile


_JOURNAL = "events.jsonl"


class Copilot(Source):
    """Sessions of Copilot CLI, and the database that it makes of them, which outlasts them.

    A session is as new as the newest file that describes it.
    """

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

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        from ingest.pipeline.databases import with_logs

        found = super().discover(roots)
        files = list(with_logs([file for file in found if self._is_session(file.path)]))
        taken_over = {_session(file.path) for file in files if file.path.endswith(".jsonl")}
        for file in files:
            if file.skip:
                continue
            if basename(file.path) == _JOURNAL:
                file.mtime_ns = max(file.mtime_ns, _newest_companion(file.path))
            elif file.path.endswith(".json") and _session(file.path) in taken_over:
                file.skip = "session that a later version took over"
        return files

    def _is_session(self, path: str) -> bool:
        """Return True if a file may be a session: a document must lie, or be called, as sessions were."""
        is_document = "/history-session-state/" in path or "/session_" in path
        return is_document or path.endswith((".jsonl", f"/{self.history}"))

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Add the sessions that were renamed."""
        new = super().pending(files, known, trust_stat=trust_stat)
        there = {file.path for file in new}
        for file in files:
            row = known.get(file.path)
            if row is not None and not file.skip and file.path not in there and file.mtime_ns > row.mtime_ns:
                new.append(file)
        return new

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.copilot.parser import read, read_store

        if self.is_history(path):
            yield read_store(path, raw, self.transcript_folders)
            return
        reading = read(path, raw)
        if reading.parts and basename(path) == _JOURNAL and not raw.is_shelved(path):
            reading.mtime_ns = max(reading.mtime_ns, _newest_companion(path))  # as ``discover`` has it
        yield reading


def _newest_companion(path: str) -> int:
    """Return the latest mtime of the files that describe a session, in ns; 0 if there are none."""
    newest = 0
    for name in SOURCE.companion_names:
        with contextlib.suppress(OSError):
            newest = max(newest, os.stat(f"{dirname(path)}/{name}").st_mtime_ns)
    return newest


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
