"""DeepSeek Harness: ``~/.dsh/sessions/--<project>--/<id>/session.jsonl.zstd``.

Format: ``ingest.sources.dsh.parser``. A newer version of the tool writes the journal anew, as ``session.v3.jsonl.zstd``
next to the old one, which stays as it was (@deepseek-ai/dsh-session-format-v2-to-v3, README.md).
"""

from __future__ import annotations

from os.path import basename, dirname

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_SUFFIXES = (".jsonl", ".jsonl.zstd")


class DeepSeekHarness(Source):
    """Sessions of DeepSeek Harness."""

    name = "dsh"
    prefix = "dsh__"
    suffixes = _SUFFIXES
    roots = ROOTS["dsh"]
    resume = RESUME["dsh"]

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the journals, of each session the newest generation."""
        files = super().discover(roots)
        newest: dict[str, tuple[int, str]] = {}
        for file in files:
            generation = _generation(basename(file.path))
            if generation >= 0 and not file.skip:
                folder = dirname(file.path)
                newest[folder] = max(newest.get(folder, (-1, "")), (generation, file.path))
        for file in files:
            known = newest.get(dirname(file.path), (-1, ""))
            if -1 < _generation(basename(file.path)) < known[0]:
                file.skip = file.skip or f"an older generation of {basename(known[1])}"
        return files

    def peek(self, path: str) -> str:
        """Return the folder of a session, which has all its generations."""
        return dirname(path)

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.dsh.parser import read

        yield read(path, raw)


def _generation(name: str) -> int:
    """Return the generation of the format by a journal's name, -1 if that is not a session's own journal."""
    stem = next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), "")
    if stem == "session":
        return 0
    number = stem.removeprefix("session.v")
    return int(number) if number != stem and number.isascii() and number.isdigit() and len(number) < 6 else -1


SOURCE = DeepSeekHarness()
