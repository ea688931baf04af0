"""Verification of the archive: objects that are missing, damaged, acknowledged as lost, or in no catalogue.

A person acknowledges the loss of objects in ``state/accepted-losses.json``, which holds their names alone. A known loss
is no alarm any more, so that the next one is noticed; it stays in the catalogue, and reports mention it.

An orphan is an object that no row of the catalogue names: a killed run left it, or the catalogue was lost. Nothing can
read it back, but a catalogue that comes out of a backup may name it again, so only forgetting removes orphans.
"""

from __future__ import annotations

import json
import os
from os.path import basename, join
from typing import TYPE_CHECKING, NamedTuple

from core import clock
from core.counting import counted
from core.files import FileLock, read_or_none, write_atomic
from ingest.archive import archive
from ingest.archive.archive import LOSSES_FILE
from ingest.policy.exclusions import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from core.home import Home
    from ingest.source import Settings

_LOCK = "accepted-losses.lock"
_WAIT_S = 10.0
_SUFFIX = ".zst"
# A killed run may leave so many orphans: what they hold was stored again since.
_FEW = 16


class Broken(NamedTuple):
    """An unreadable object: its ``name``, the ``reason``, and a version of a file that consists of it."""

    name: str
    reason: str
    source: str
    path: str
    version: int


def broken(home: Home, names: Iterable[str] | None = None, *, contents: bool = False) -> list[Broken]:
    """Return the unreadable objects of some sources, or of all, once for each version of a file that consists of them.

    An object that is not there, or is empty, is missing. ``contents``: each object is unpacked and its SHA-256
    compared; else an object costs a stat. Raises BrainError if the catalogue cannot be read.
    """
    folder = join(home.root, archive.FOLDER)
    seen: dict[str, str] = {}
    found: list[Broken] = []
    for source in archive.sources(home) if names is None else names:
        for entry in archive.versions(home, source):
            for segment in entry.segments:
                name = segment[0]
                if name not in seen:
                    seen[name] = archive.fault(folder, segment, contents=contents)
                if seen[name]:
                    found.append(Broken(name, seen[name], source, entry.path, entry.version))
    return found


# Accepted losses


def accepted_losses(home: Home) -> dict[str, str]:
    """Return object → when its loss was accepted, ISO 8601; empty if the file cannot be read, so that losses alarm."""
    try:
        held = json.loads(read_or_none(join(home.state, LOSSES_FILE)) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    objects = held.get("objects") if isinstance(held, dict) else None
    return {str(name): str(at) for name, at in objects.items()} if isinstance(objects, dict) else {}


def accept_losses(home: Home, names: Iterable[str]) -> int:
    """Accept the loss of these objects and of no others; return how many were not accepted before.

    Raises OSError, LockContention.
    """
    with FileLock(join(home.state, _LOCK), _WAIT_S):
        before, now = accepted_losses(home), clock.iso(clock.now())
        after = {name: before.get(name, now) for name in sorted(set(names))}
        if after != before:
            _write_losses(home, after)
    return len(after.keys() - before.keys())


def withdraw_losses(home: Home, names: Collection[str]) -> None:
    """Accept no loss of objects that are there again: their next loss is to alarm. Raises as ``accept_losses``."""
    _filter_losses(home, lambda name: name not in names)


def keep_losses(home: Home, named: Collection[str]) -> None:
    """Drop the losses of objects that are neither ``named`` in the catalogue nor there: they were forgotten.

    Raises as ``accept_losses``.
    """
    _filter_losses(home, lambda name: name in named)


def _filter_losses(home: Home, stays: Callable[[str], bool]) -> None:
    if os.path.exists(join(home.state, LOSSES_FILE)) and not all(map(stays, accepted_losses(home))):
        with FileLock(join(home.state, _LOCK), _WAIT_S):
            _write_losses(home, {name: at for name, at in accepted_losses(home).items() if stays(name)})


def _write_losses(home: Home, objects: dict[str, str]) -> None:
    write_atomic(join(home.state, LOSSES_FILE), json.dumps({"schema": 1, "objects": objects}, indent=0).encode())


# Orphans


class Orphans(NamedTuple):
    """How many orphans are ``new`` and ``accepted`` as lost; ``is_lost``: no killed run left the new ones."""

    new: int
    accepted: int
    is_lost: bool


def orphan_objects(home: Home) -> list[str]:
    """Return the paths of the orphans, sorted. Raises BrainError if the catalogue cannot be read."""
    folder = join(home.root, archive.FOLDER)
    there = {object_name(path): path for path in archive.objects(folder)}
    if not there:
        return []
    names = archive.names(home)
    return [path for name, path in there.items() if name not in names and path == archive.object_path(folder, name)]


def count_orphans(home: Home) -> Orphans:
    """Count the orphans. Raises BrainError if the catalogue cannot be read."""
    found = set(map(object_name, orphan_objects(home)))
    known = len(found & accepted_losses(home).keys()) if found else 0
    new = len(found) - known
    return Orphans(new, known, new > _FEW or bool(new and not archive.sources(home)))


def object_name(path: str) -> str:
    """Return the SHA-256 that names an object."""
    return basename(path).removesuffix(_SUFFIX)


def remove_orphans(paths: Iterable[str], holds: Callable[[bytes], bool]) -> int:
    """Delete the objects for which ``holds(data)`` is true; return how many. An object that cannot be unpacked stays.

    Raises OSError.
    """
    import zstandard

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


def orphans_phrase(count: int) -> str:
    """Return how many orphans there are, as the beginning of a sentence."""
    return f"{counted(count, 'object')} of the archive that no catalogue names"


def orphans_fix(home: Home) -> str:
    """Return the commands that may bring back a catalogue that names the orphans."""
    from shlex import quote

    place = join(home.root, archive.FOLDER, archive.CATALOGUE)
    logs = f"{quote(f'{place}-wal')} {quote(f'{place}-shm')}"
    aside = f"mv {quote(place)} {quote(f'{place}.newer')}; rm -f {logs}; " if os.path.exists(place) else ""
    return (
        f"take the catalogue out of a backup, if one has it: {aside}tar --zstd -xf FILE -C {quote(home.root)}"
        f" {archive.FOLDER}/{archive.CATALOGUE}; then: brain index"
    )


def summarize(home: Home, settings: Settings) -> dict[str, object]:
    """Return the state of the archive for ``explain``.

    ``enabled``, ``redacted``; ``objects`` and their ``bytes``; the cap ``max_bytes``, and True in ``over`` if they take
    more; ``lost``: objects with an accepted loss; ``unnamed``: orphans. Raises BrainError if the catalogue cannot be
    read.
    """
    policy = Policy(settings)
    count, total = archive.size(home)
    orphans = set(map(object_name, orphan_objects(home)))
    return {
        "enabled": policy.enabled,
        "redacted": policy.redact,
        "objects": count,
        "bytes": total,
        "max_bytes": policy.max_bytes,
        "over": total > policy.max_bytes,
        "lost": len(accepted_losses(home).keys() - orphans),
        "unnamed": len(orphans),
    }
