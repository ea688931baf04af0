"""The rehearsal of a collector: documents are counted instead of written, databases are copied into memory."""

from __future__ import annotations

import hashlib
from os.path import exists, join
from typing import TYPE_CHECKING, Any

import apsw

from core.files import read_or_none
from core.sqlite import open_to_read

if TYPE_CHECKING:
    from core.home import Home


class Shadow:
    """Takes the place of a collection's ``Corpus`` and counts the changes to its documents.

    ``new``, ``changed`` and ``removed`` are names; ``files`` maps each file that was read to its size in bytes.
    """

    def __init__(self, home: Home, collection: str) -> None:
        self.folder = home.path(collection)
        self.files: dict[str, int] = {}
        self.new: list[str] = []
        self.changed: list[str] = []
        self.removed: list[str] = []

    def __enter__(self) -> Shadow:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing waits."""

    def put(self, name: str, data: bytes) -> str:
        """Count a document that would be written; returns its SHA-256, hex. Raises OSError."""
        before = read_or_none(join(self.folder, name))
        if before != data:
            (self.new if before is None else self.changed).append(name)
        return hashlib.sha256(data).hexdigest()

    def remove(self, name: str) -> None:
        """Count a document that would be removed."""
        if exists(join(self.folder, name)):
            self.removed.append(name)

    def flush(self) -> None:
        """Nothing waits."""

    def digest(self, name: str) -> str:
        """Return the digest of a document: see ``Corpus.digest``."""
        try:
            data = read_or_none(join(self.folder, name))
        except OSError:
            return ""
        return "" if data is None else hashlib.sha256(data).hexdigest()

    def as_dict(self, documents: int, shown: int) -> dict[str, Any]:
        """Return ``would`` of the account, if there were ``documents``; with the first ``shown`` names."""
        return {
            "read": len(self.files),
            "bytes": sum(self.files.values()),
            "new": len(self.new),
            "changed": len(self.changed),
            "unchanged": max(0, documents - len(self.new) - len(self.changed)),
            "removed": len(self.removed),
            "units": sorted(name.removesuffix(".md") for name in self.new + self.changed)[:shown],
            "files": list(self.files)[:shown],
        }


def in_memory(path: str) -> apsw.Connection:
    """Return a copy of the database at ``path``, empty if there is none. Raises apsw.Error."""
    memory = apsw.Connection(":memory:")
    if exists(path):
        original = open_to_read(path)
        try:
            with memory.backup("main", original, "main") as backup:
                backup.step()
        finally:
            original.close()
    return memory
