"""Codex CLI: ``<CODEX_HOME>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl``, or ``.zst``, and ``archived_sessions``.

Formats: ``ingest.sources.codex.reading``.
"""

from __future__ import annotations

from os.path import basename

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow
    from ingest.raw.files import SourceFile
    from ingest.raw.store import RawStore


class Codex(Source):
    """Transcripts of Codex, the index and the database that name its sessions, and its history of prompts."""

    name = "codex"
    prefix = "codex__"
    suffixes = (".jsonl", ".jsonl.zst", ".json")
    roots = (("CODEX_HOME", "~/.codex", ("sessions", "archived_sessions", "history.jsonl")),)
    history = "history.jsonl"
    beside = ("sessions", "archived_sessions")

    def wants(self, name: str) -> bool:
        return name.endswith((".jsonl", ".jsonl.zst")) or (name.startswith("rollout-") and name.endswith(".json"))

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Skip a compressed transcript if its plain form lies beside it."""
        from ingest.raw.databases import with_logs
        from ingest.sources.codex.names import above

        places = list(roots)
        indexes = [index for place in places for index in above(place)]
        files = list(with_logs(super().discover([*places, *indexes])))
        there = {file.path for file in files}
        for file in files:
            if not file.skip and file.path.endswith(".zst") and file.path.removesuffix(".zst") in there:
                file.skip = "compressed copy of a plain file"
        return files

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Add the transcripts that were renamed in an index."""
        new = super().pending(files, known, trust_stat=trust_stat)
        indexes = [file.path for file in new if is_index(file.path)]
        if not indexes:
            return new
        from ingest.sources.codex.names import renamed

        there = {file.path for file in new}
        return new + [file for file in renamed(files, known, indexes) if file.path not in there]

    def companions(self, path: str, raw: RawStore) -> list[str]:
        """Return the archive's own path for the name that an index gave a transcript."""
        del raw
        from ingest.sources.codex.names import beside

        return [beside(path)]

    def is_restless(self, path: str) -> bool:
        """Return True for the database, to which Codex writes whenever it runs."""
        return path.endswith(".sqlite")

    def peek(self, path: str) -> str:
        """Return the file's name, which copies of one session share."""
        return basename(path)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.codex.reading import read

        yield read(path, raw)


def is_index(path: str) -> bool:
    """Return True if a file is no transcript, but says what the sessions are called."""
    return path.endswith(("/session_index.jsonl", ".sqlite"))


SOURCE = Codex()
