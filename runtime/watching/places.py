"""The places to watch: folders of collections and sources, and single files.

A file that is a source of its own (a shell's history, a database) is watched by its folder, because most programs
replace the file. Browsers are watched once their history has been indexed; code and commits are not watched.
"""

from __future__ import annotations

import os
from itertools import chain
from os.path import basename, dirname, isdir, join
from typing import TYPE_CHECKING, NamedTuple

from core.errors import BrainError
from ingest import registry
from ingest.raw.store import DATABASES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

# Companions of a SQLite database; not its -shm, which readers write to as well.
_JOURNALS = ("-wal", "-journal")


class Place(NamedTuple):
    """A folder to watch: all below it, or, where ``files`` names some, only these in the folder itself.

    ``source`` is the source of its changes if that source is indexed on request only, else "".
    """

    folder: str
    files: frozenset[str] = frozenset()
    source: str = ""

    def counts(self, path: str) -> bool:
        """Return True if an event on ``path`` counts. Hidden and temporary files do not, unless they are sources."""
        name = basename(path)
        return name in self.files if self.files else not name.startswith(".")

    def paths(self) -> list[str]:
        """Return the watched paths: the folder, or those of its files that exist."""
        files = [join(self.folder, name) for name in sorted(self.files) if not name.endswith(_JOURNALS)]
        return [path for path in files if os.path.exists(path)] if files else [self.folder]


def is_database(path: str) -> bool:
    """Return True if a path is a database or its journal: applications write to those all the time."""
    for end in _JOURNALS:
        path = path.removesuffix(end)
    return path.endswith(DATABASES) or basename(path) == "History"


def places(home: Home) -> list[Place]:
    """Return the present places to watch; an invalid configuration leaves the sources' own places."""
    config = registry.settled(home)
    folders = [] if config is None else [each.path for each in config.collections.values()]
    files: dict[str, set[str]] = {}
    for root in chain.from_iterable(registry.every_root(home, config).values()):
        if isdir(root):
            folders.append(root)
        else:
            files.setdefault(dirname(root), set()).update(_names(root))
    there = sorted(dict.fromkeys(folder for folder in folders if isdir(folder)))
    # A folder below another is watched with it.
    whole = [each for each in there if not _below(each, there)]
    found = [Place(folder) for folder in whole]
    found += [Place(folder, frozenset(names)) for folder, names in sorted(files.items()) if not _below(folder, whole)]
    return [*found, *_on_request(home)]


def _below(folder: str, others: Iterable[str]) -> bool:
    return any(folder.startswith(other + os.sep) for other in others)


def _on_request(home: Home) -> list[Place]:
    """Return the places of sources that are read on request, of those that a person has indexed."""
    found: list[Place] = []
    ledgers = [name for name in registry.names() if os.path.exists(join(home.state, "ledger", f"{name}.json"))]
    for source in map(registry.source, filter(registry.is_on_request, ledgers)):
        if source.is_watched:
            try:
                roots = source.default_roots(home)
            except BrainError:
                roots = source.default_roots()
            files: dict[str, set[str]] = {}
            for file in source.discover(roots):
                files.setdefault(dirname(file.path), set()).update(_names(file.path))
            found += [Place(folder, frozenset(names), source.name) for folder, names in sorted(files.items())]
    return found


def _names(path: str) -> list[str]:
    name = basename(path)
    return [name, *(name + end for end in _JOURNALS)]
