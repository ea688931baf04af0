"""Sessions that a second file next to their transcript describes: its title, its folder, its models.

A session is as new as the newest of its files: a run reads it again after it was renamed.
"""

from __future__ import annotations

import contextlib
import os

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ingest.pipeline.reading import Reading
    from ingest.pipeline.state import FileRow
    from ingest.raw.store import RawStore, SourceFile

_LIMIT = 1 << 20


class Described(Source):
    """A source whose transcripts have companion files (``companion_names``, or what ``companions`` returns)."""

    def describes(self, path: str) -> list[str]:
        """Return the paths of the files that may describe the session of a transcript."""
        return [os.path.join(os.path.dirname(path), name) for name in self.companion_names]

    def companions(self, path: str, raw: RawStore) -> list[str]:
        del raw
        return self.describes(path)

    def read(self, path: str, raw: RawStore) -> Reading:
        """Return the reading of one transcript."""
        raise NotImplementedError

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        found = super().discover(roots)
        for file in found:
            if not file.skip:
                file.mtime_ns = max(file.mtime_ns, self._newest(file.path))
        return found

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        """Add the sessions whose description changed."""
        new = super().pending(files, known, trust_stat=trust_stat)
        there = {file.path for file in new}
        for file in files:
            row = known.get(file.path)
            if row is not None and not file.skip and file.path not in there and file.mtime_ns > row.mtime_ns:
                new.append(file)
        return new

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        reading = self.read(path, raw)
        if reading.parts and not raw.is_shelved(path):
            reading.mtime_ns = max(reading.mtime_ns, self._newest(path))  # as ``discover`` has it
        yield reading

    def _newest(self, path: str) -> int:
        """Return the latest mtime of the files that describe a session, in ns; 0 if there are none."""
        newest = 0
        for companion in self.describes(path):
            with contextlib.suppress(OSError):
                newest = max(newest, os.stat(companion).st_mtime_ns)
        return newest


def companion(
    path: str, raw: RawStore, later: list[Callable[[], None]], parse: Callable[[str], Any] | None = None
) -> dict[str, Any]:
    """Return the object in a companion file, which is JSON without ``parse``; empty if it cannot be read.

    Args:
        later: takes the function that archives the file, for ``RawStore.keep_with``.
    """
    import json

    try:
        found = (parse or json.loads)(raw.load(path, _LIMIT, later=later).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if type(found) is dict else {}
