"""Objects that no row of the archive's catalogue names: a killed run left them, or the catalogue was lost.

None of them can be read back, but a catalogue that comes out of a backup names them again: nothing removes them for
being unnamed.
"""

from __future__ import annotations

import os
from os.path import basename
from typing import TYPE_CHECKING, NamedTuple

import zstandard

from core.counting import counted
from ingest.archive import archive, losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from core.home import Home

_SUFFIX = ".zst"
# So many a killed run may leave: what they hold was stored again since.
_FEW = 16


def objects(home: Home) -> list[str]:
    """Their paths, sorted. Raises BrainError where the catalogue cannot be read."""
    folder = home.path(archive.FOLDER)
    there = {name_of(path): path for path in archive.objects(folder)}
    if not there:
        return []
    names = archive.names(home)
    return [path for name, path in there.items() if name not in names and path == archive.object_path(folder, name)]


class Strays(NamedTuple):
    """How many there are, ``new`` and ``accepted`` as lost; ``is_lost``: the new are no killed run's leavings."""

    new: int
    accepted: int
    is_lost: bool


def count(home: Home) -> Strays:
    """Raises BrainError where the catalogue cannot be read."""
    found = set(map(name_of, objects(home)))
    known = len(found & losses.accepted(home).keys()) if found else 0
    new = len(found) - known
    return Strays(new, known, new > _FEW or bool(new and not archive.sources(home)))


def name_of(path: str) -> str:
    """The SHA-256 that an object is called by."""
    return basename(path).removesuffix(_SUFFIX)


def remove(paths: Iterable[str], holds: Callable[[bytes], bool]) -> int:
    """Remove those that ``holds`` says hold something; returns how many. What cannot be unpacked tells nothing, and
    stays. Raises OSError.
    """
    gone = 0
    for path in paths:
        try:
            with open(path, "rb") as stream:
                data = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True).read()
        except (FileNotFoundError, zstandard.ZstdError):
            continue
        if holds(data):
            os.unlink(path)
            gone += 1
    return gone


def said(count: int) -> str:
    """How many there are, as a sentence's beginning."""
    return f"{counted(count, 'object')} of the archive that no catalogue names"


def way_out(home: Home) -> str:
    """What may name them again."""
    from shlex import quote

    place = home.path(archive.FOLDER, archive.CATALOGUE)
    logs = f"{quote(f'{place}-wal')} {quote(f'{place}-shm')}"
    aside = f"mv {quote(place)} {quote(f'{place}.newer')}; rm -f {logs}; " if os.path.exists(place) else ""
    return (
        f"take the catalogue out of a backup, if one has it: {aside}tar --zstd -xf FILE -C {quote(home.root)}"
        f" {archive.FOLDER}/{archive.CATALOGUE}; then: brain index"
    )
