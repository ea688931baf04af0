"""OpenClaw: ``~/.openclaw/agents/<agent>/sessions/<id>.jsonl``, since 2026.7 a database an agent, ``cold/*.jsonl.zst``.

Formats: ``ingest.sources.openclaw.parser``.
"""

from __future__ import annotations

from ingest.roots import ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile


# Named by a transcript and more, but no copy of it; and ``.bak-``, the snapshots that a repair once made each time,
# thousands of one session (openclaw/openclaw issue 80960): every sound line of those stays in the transcript.
_ASIDE = (".codex-app-server", ".bak-", ".lock", ".tmp", ".json.", ".sqlite")
_ENDS = (".json", ".gz", "-wal", "-shm")


class OpenClaw(Source):
    """Transcripts of OpenClaw, archived ones of reset and deleted sessions too, and every agent's database."""

    name = "openclaw"
    prefix = "openclaw__"
    suffixes = (".jsonl", ".sqlite", ".zst")
    patterns = ("*.jsonl", "*.jsonl.*", "*-agent.sqlite")
    roots = ROOTS["openclaw"]

    def wants(self, name: str) -> bool:
        if name.endswith((".jsonl", ".jsonl.zst", "-agent.sqlite")):
            return True
        _, found, copy = name.partition(".jsonl.")
        return bool(found) and not name.endswith(_ENDS) and not any(mark in f".{copy}." for mark in _ASIDE)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        files = super().discover(roots)
        for file in files:
            if file.path.endswith(".trajectory.jsonl"):
                file.skip = file.skip or "trajectory of a run"
            elif ".checkpoint." in file.path.rpartition("/")[2]:
                file.skip = file.skip or "checkpoint of a session"
        return files

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.openclaw.parser import read

        yield read(path, raw)


SOURCE = OpenClaw()
