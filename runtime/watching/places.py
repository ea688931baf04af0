"""Where something may change that the index should know of: folders of collections and sources, and single files.

A file that is a source of its own (a shell's history, a database) is watched by its folder, because most programs put
a new file in its place. Browsers are watched where somebody has asked for their history to be read once; code and
commits, which are read on request too, are not.
"""

from __future__ import annotations

import os
from itertools import chain
from os.path import basename, dirname, isdir, join
from typing import TYPE_CHECKING, NamedTuple

from core.errors import BrainError
from ingest import registry
from ingest.raw.databases import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.home import Home

CHROME = "chrome"
# What SQLite writes beside a database; not its -shm, which readers write to as well.
_JOURNALS = ("-wal", "-journal")


class Place(NamedTuple):
    """A folder to watch: all below it, or, where ``files`` names some, only these in the folder itself.

    ``source`` is what its changes belong to where that is read on request only, else empty.
    """

    folder: str
    files: frozenset[str] = frozenset()
    source: str = ""

    def counts(self, path: str) -> bool:
        """Whether an event on ``path`` is news: not temporary and hidden files, except those that are sources."""
        name = basename(path)
        return name in self.files if self.files else not name.startswith(".")

    def paths(self) -> list[str]:
        """What is watched, as its user knows it: the folder, or those of its files that are there."""
        files = [join(self.folder, name) for name in sorted(self.files) if not name.endswith(_JOURNALS)]
        return [path for path in files if os.path.exists(path)] if files else [self.folder]


def is_database(path: str) -> bool:
    """Whether a path is a database's, or its journal's: their applications write to them all the time."""
    for end in _JOURNALS:
        path = path.removesuffix(end)
    return path.endswith(SUFFIXES) or basename(path) == "History"


def places(home: Home) -> list[Place]:
    """What there is to watch now; a configuration that does not hold leaves the sources' own places."""
    config = registry.settled(home)
    folders = [] if config is None else [each.path for each in config.collections.values()]
    files: dict[str, set[str]] = {}
    for root in chain.from_iterable(registry.every_root(home, config).values()):
        if isdir(root):
            folders.append(root)
        else:
            files.setdefault(dirname(root), set()).update(_names(root))
    there = sorted(dict.fromkeys(folder for folder in folders if isdir(folder)))
    # What lies below another is watched with it.
    whole = [each for each in there if not _below(each, there)]
    found = [Place(folder) for folder in whole]
    found += [Place(folder, frozenset(names)) for folder, names in sorted(files.items()) if not _below(folder, whole)]
    return [*found, *_browsers(home)]


def _below(folder: str, others: Iterable[str]) -> bool:
    return any(folder.startswith(other + os.sep) for other in others)


def _browsers(home: Home) -> list[Place]:
    if not os.path.exists(join(home.state, "ledger", f"{CHROME}.json")):
        return []  # nobody who indexes sessions has thereby asked for browsing to be read
    chrome = registry.source(CHROME)

    try:
        roots = chrome.default_roots(home)
    except BrainError:
        roots = chrome.default_roots()
    files: dict[str, set[str]] = {}
    for file in chrome.discover(roots):
        files.setdefault(dirname(file.path), set()).update(_names(file.path))
    return [Place(folder, frozenset(names), CHROME) for folder, names in sorted(files.items())]


def _names(path: str) -> list[str]:
    name = basename(path)
    return [name, *(name + end for end in _JOURNALS)]
