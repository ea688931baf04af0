"""Journals that grow piece by piece, read after each piece, with and without the parser's kept state."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from core.home import Home
from ingest.archive import archive, resuming
from ingest.archive.keeping import Keeping
from ingest.pipeline.normalise import notes
from ingest.raw.records import Records
from ingest.source import Source

_GO_ON = Records.go_on


class Reader:
    """Reads one file again and again, as runs do. Without ``resumes`` each reading begins at the start of the file.

    ``went_on``: how many bytes each reading left out.
    """

    def __init__(self, home: Home, source: Source, path: Path, *, resumes: bool = True) -> None:
        self.home, self._source, self._path, self._resumes = home, source, path, resumes
        self.went_on: list[int] = []
        self.settings: dict[str, Any] = {}
        self.step = 1
        home.make()

    def read(self) -> dict[str, Any]:
        """Read the file and record it in the archive; return the documents, the account, and what was recorded."""
        left_out: list[int] = []

        def go_on(records: Records, state: Any, digest: Any, consumed: int, head: bytes) -> None:
            left_out.append(consumed)
            _GO_ON(records, state, digest, consumed, head)

        step = self.step if self._resumes else 1 << 60
        keeping = Keeping(self.home, self._source.name, self.settings)
        keeping.drop_outdated_states()
        try:
            with patch.object(resuming, "STEP", step), patch.object(Records, "go_on", go_on):
                *_, reading = self._source.parse(str(self._path), keeping)
            made = {unit: self._source.compose(unit, [part], "", 1) for unit, part in reading.parts.items()}
            failures = [(each.reason, each.detail, each.line) for each in reading.failures]
            faults = reading.skipped, bool(reading.failed), failures, reading.consumed, reading.digest
            keeping.commit()
        finally:
            keeping.close()
        self.went_on += left_out or [0]
        entries = archive.versions(self.home, self._source.name)
        held = sorted((entry.path, entry.version, *entry[2:9]) for entry in entries)
        return {"documents": made, "notes": notes(reading), "faults": faults, "archive": held}


def grow(path: Path, pieces: Iterable[bytes], *readers: Reader) -> list[list[dict[str, Any]]]:
    """Append each piece to the file and have each reader read it; return what the readers found, piece by piece."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    found: list[list[dict[str, Any]]] = []
    for piece in pieces:
        with path.open("ab") as stream:
            stream.write(piece)
        found.append([reader.read() for reader in readers])
    return found


def split(data: bytes, places: Iterable[int]) -> list[bytes]:
    """Return the pieces of some bytes between places, without empty ones."""
    cuts = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(cuts)]
