"""Whether what the archive's catalogue names is there, and is what its name says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ingest.archive import archive

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

MISSING = "missing"
DAMAGED = "damaged"


class Broken(NamedTuple):
    """An object that cannot be read: ``name`` of it, ``reason``, and a version of a file that is made of it."""

    name: str
    reason: str
    source: str
    path: str
    version: int


def broken(home: Home, names: Iterable[str] | None = None, *, contents: bool = False) -> list[Broken]:
    """What of the archive cannot be read, once for each version of a file that is made of it; of these sources, or all.

    An object that is not there, or is empty, is missing. ``contents``: each is unpacked and its SHA-256 compared; else
    this costs a stat an object. Raises BrainError where the catalogue cannot be read.
    """
    folder = home.path(archive.FOLDER)
    seen: dict[str, str] = {}
    found: list[Broken] = []
    for source in archive.sources(home) if names is None else names:
        for entry in archive.versions(home, source):
            for segment in entry.segments:
                name = segment[0]
                if name not in seen:
                    seen[name] = fault(folder, segment, contents=contents)
                if seen[name]:
                    found.append(Broken(name, seen[name], source, entry.path, entry.version))
    return found


def fault(folder: str, segment: archive.Segment, *, contents: bool) -> str:
    """What is wrong with an object, or ""."""
    try:
        if not os.stat(archive.object_path(folder, segment[0])).st_size:
            return MISSING
    except OSError:
        return MISSING
    if contents:
        try:
            archive.content(folder, segment)
        except OSError:
            return DAMAGED
    return ""
