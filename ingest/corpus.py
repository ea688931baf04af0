"""The corpus on disk: markdown files that are whole or not there, and are not touched when nothing changed."""

from __future__ import annotations

import contextlib
import hashlib
import os
from os.path import join
from typing import NamedTuple

from core.files import read_or_none, sweep_temporaries, write_atomic
from core.home import Home, make_private


class Written(NamedTuple):
    """``status`` is None where the file already held these bytes."""

    digest: str
    status: os.stat_result | None


class Corpus:
    """One collection's folder below the home. What a killed writer left behind is swept when it is opened."""

    def __init__(self, home: Home, collection: str) -> None:
        self.folder = home.path(collection)
        make_private(self.folder)
        sweep_temporaries(self.folder)

    def put(self, name: str, data: bytes) -> Written:
        """Write ``data`` as ``name`` unless that is what it holds. Raises OSError."""
        path = join(self.folder, name)
        digest = hashlib.sha256(data).hexdigest()
        if read_or_none(path) == data:
            return Written(digest, None)
        return Written(digest, write_atomic(path, data))

    def rename(self, old: str, new: str) -> tuple[bytes, os.stat_result] | None:
        """Move a document; returns its bytes and stat, or None where it is no longer there. Raises OSError."""
        path = join(self.folder, new)
        try:
            os.rename(join(self.folder, old), path)
        except FileNotFoundError:
            return None
        with open(path, "rb") as stream:
            return stream.read(), os.fstat(stream.fileno())

    def remove(self, name: str) -> None:
        """Remove a document that no unit claims any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(join(self.folder, name))

    def names(self) -> set[str]:
        """The names of the files in the folder."""
        return set(os.listdir(self.folder))

    def digest(self, name: str) -> str:
        """SHA-256 of a document's bytes, hex; "" where it is missing or unreadable."""
        try:
            data = read_or_none(join(self.folder, name))
        except OSError:
            return ""
        return "" if data is None else hashlib.sha256(data).hexdigest()
