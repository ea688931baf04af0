"""The raw files of one source as the archive has them, read back in place of the tool's own."""

from __future__ import annotations

import copy
import io
import os
from os.path import join

from ingest.archive import archive
from ingest.policy.exclusions import Policy, Withholding
from ingest.raw.store import RawFile, SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.home import Home
    from ingest.archive.archive import Entry
    from ingest.source import Settings


class _Shelved(io.RawIOBase):
    """An archived file as a stream; an object is unpacked when its turn comes."""

    def __init__(self, folder: str, segments: list[archive.Segment]) -> None:
        self._folder = folder
        self._segments = list(reversed(segments))
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._held and self._segments:
            self._held = memoryview(archive.content(self._folder, self._segments.pop()))
        count = min(len(into), len(self._held))
        into[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


class ReadBack(Withholding):
    """The archived files of a source, without what is excluded or was forgotten. Other files are read from disk."""

    __slots__ = ("_entries", "_folder", "_folders", "_older", "_others", "files", "keeps_raw")

    from_archive = records = True

    def __init__(self, home: Home, source: str, settings: Settings) -> None:
        super().__init__(home, source, settings)
        self._folder = join(home.root, archive.FOLDER)
        self.keeps_raw = not Policy(settings).redact
        held = archive.versions(home, source)
        present = {entry.path: entry for entry in held if not entry.version}
        companions = {entry.path: entry for entry in held if entry.version == archive.COMPANION}
        # Path → the present version, path → older versions, the newest first.
        self._entries = {**companions, **present}
        self._older: dict[str, list[Entry]] = {}
        for entry in reversed(held):
            if entry.version > 0:
                self._older.setdefault(entry.path, []).append(entry)
        # The archived files, as ``Source.discover`` would have found them.
        self.files = [SourceFile(entry.path, entry.size, entry.mtime_ns, 0, "") for entry in present.values()]
        self._folders: dict[str, list[str]] = {}
        self._others: set[str] | None = None

    def open(self, path: str) -> RawFile:
        """Open a file to be read in order. Raises OSError."""
        entry = self._entries.get(path)
        if entry is None:
            return RawFile(path)
        return RawFile.archived(entry, _Shelved(self._folder, entry.segments))

    def is_shelved(self, path: str) -> bool:
        """Return True if the file is read from the archive."""
        return path in self._entries

    def below(self, folder: str) -> list[str]:
        """Return the paths of the archived files that lay in a folder, sorted."""
        if not self._folders:
            for path in sorted(self._entries):
                self._folders.setdefault(os.path.dirname(path), []).append(path)
        return self._folders.get(folder, [])

    def older(self, path: str) -> list[Entry]:
        """Return the archived versions of a file from before it said less: the newest first."""
        return self._older.get(path, [])

    def showing(self, entry: Entry) -> ReadBack:
        """Return a store that reads a file back as ``entry`` has it."""
        store = copy.copy(self)
        store._entries = {**self._entries, entry.path: entry}
        store._older = {}
        return store

    def alone_has(self, path: str, other: str) -> bool:
        """Return True if the archive has a file of this source and not of the ``other`` one."""
        if path not in self._entries:
            return False
        if self._others is None:
            self._others = {entry.path for entry in archive.versions(self._home, other)}
        return path not in self._others
