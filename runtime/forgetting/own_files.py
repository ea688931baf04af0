"""What below the home a person wrote and the brain does not: forgetting names it, and does not touch it.

That is ``collections.yml``, and whatever lies beside the folders and files that the brain keeps there, documents of its
own making excepted (a folder may have been a collection's once).
"""

from __future__ import annotations

import os
import tarfile
from os.path import basename, join
from typing import TYPE_CHECKING, Any

from core.config import FILE as CONFIG
from core.config import load
from core.document import split
from core.errors import BrainError
from core.home import CORPUS, LOCAL, RECORDS, Home
from runtime.forgetting.verify_erasure import among, find, holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

_INDEX = "index.sqlite"
_BACKUPS = "backups"
_REPLACED = "replaced-"
_PACKED = ".tar.zst"
_LONGEST_LINE = 1 << 20
_CHUNK = 1 << 20
_MOST_OF_A_DOCUMENT = 1 << 16


def search(home: Home, probes: list[bytes]) -> tuple[list[str], list[str]]:
    """(paths of the brain's own, places of the person's) below the home that hold one of ``probes``.

    Paths are as ``leftovers.find`` gives them; a place is a path and, where it can be told, ``:`` and a line.
    """
    left: list[str] = []
    own: list[str] = []
    places = brains(home)
    for path in find(home, probes):
        if is_own(home, path, places):
            own.append(_with_line(home, path, probes))
        elif packed := _in_backup(home, path, probes):
            own += packed
        else:
            left.append(path)
    return left, own


def is_own(home: Home, path: str, places: frozenset[str]) -> bool:
    """Whether a person wrote the file at ``path``, which is relative to the home; ``places``: of ``brains``."""
    parts = path.split(os.sep)
    if parts[0] == _BACKUPS and len(parts) > 2 and parts[1].startswith(_REPLACED):
        parts = parts[2:]  # a home that was put aside
    if parts == [CONFIG]:
        return True
    if parts[0] in places or parts[0].startswith(_INDEX) or parts[0] == os.pardir:
        return False
    if parts[-1].startswith(".") and parts[-1].endswith(".tmp"):
        return False  # as core.files calls what is half written
    return not (path.endswith(".md") and _is_made(home.path(path)))


def brains(home: Home) -> frozenset[str]:
    """The names below the home that are the brain's: its own, and the folders of collections."""
    try:
        folders = [folder.path for folder in load(home).collections.values()]
    except BrainError:
        folders = []
    below = (os.path.relpath(os.path.realpath(each), os.path.realpath(home.root)) for each in folders)
    return frozenset((*RECORDS, *LOCAL, *CORPUS, *(each.split(os.sep)[0] for each in below)))


def _is_made(path: str) -> bool:
    """Whether a document says of itself what only the brain writes."""
    try:
        with open(path, "rb") as stream:
            fields, _ = split(stream.read(_MOST_OF_A_DOCUMENT).decode("utf-8", "replace"))
    except OSError:
        return True  # nobody knows
    return bool(fields.get("source") and fields.get("session_id"))


def _with_line(home: Home, path: str, probes: list[bytes]) -> str:
    with open(home.path(path), "rb") as stream:
        return path + _line(stream, probes)


def _line(stream: BinaryIO | Any, probes: Iterable[bytes]) -> str:
    wanted = list(probes)
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if holds(line.lower(), wanted):
            return f":{number}"
    return ""  # it goes over a line's end


def _in_backup(home: Home, path: str, probes: list[bytes]) -> list[str]:
    """What of a backup holds it and is a person's; nothing where anything else in it does too."""
    if not (path.startswith(join(_BACKUPS, "")) and path.endswith(_PACKED)):
        return []
    own: list[str] = []
    try:
        for name, stream in _members(home.path(path)):
            if name == CONFIG:
                where = _line(stream, probes)
                own += [f"{path}: {name}{where}"] if where else []
            elif holds(name.lower().encode("utf-8", "surrogateescape"), probes) or among(_blocks(stream), probes):
                return []
    except (OSError, EOFError, tarfile.TarError):
        return []
    return own


def _blocks(stream: Any) -> Iterator[bytes]:
    while block := stream.read(_CHUNK):
        yield block


def _members(path: str) -> Iterator[tuple[str, Any]]:
    import zstandard

    with open(path, "rb") as packed:
        unpacked = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        try:
            with tarfile.open(fileobj=unpacked, mode="r|") as archive:
                for member in archive:
                    if (stream := archive.extractfile(member)) is not None:
                        yield member.name, stream
        except zstandard.ZstdError as error:
            raise OSError(f"damaged: {basename(path)}") from error
