"""Aider: ``.aider.chat.history.md`` in the repositories that sessions worked in.

Format: ``ingest.sources.aider.parser``.
"""

from __future__ import annotations

import contextlib
import os
from os.path import abspath, isfile, join

from ingest.roots import RESUME, ROOTS
from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore, SourceFile

_FILE = ".aider.chat.history.md"
_NEVER = frozenset(("node_modules", "__pycache__", "site-packages", "venv", "vendor", "target", "dist", "build"))
# How deep a folder of repositories is searched.
_DEPTH = 6


class Aider(Source):
    """Chats of Aider: a file holds all sessions in a repository."""

    name = "aider"
    prefix = "aider__"
    grows = True
    suffixes = (_FILE,)
    roots = ROOTS["aider"]
    resume = RESUME["aider"]
    reads_projects = True

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the histories at the roots, or below them.

        Around a folder that a session worked in, only its repository's history is looked for.
        """
        from ingest.repositories import Worked, top_of

        if isinstance(roots, Worked):
            places = dict.fromkeys(join(each, _FILE) for folder in roots for each in (folder, top_of(folder)) if each)
        else:
            places = dict.fromkeys(path for root in roots for path in _below(abspath(root)))
        return super().discover([path for path in places if isfile(path)])

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.aider.parser import read

        yield read(path, raw)

    def pieces(self, path: str, data: bytes) -> Iterable[tuple[str, bytes]]:
        from ingest.sources.aider.parser import pieces

        del path
        return pieces(data)


def _below(root: str) -> Iterator[str]:
    """Yield the places of histories at and below a folder, or the root itself if it is a file."""
    if not os.path.isdir(root):
        yield root
        return
    folders = [(root, 0)]
    while folders:
        folder, depth = folders.pop()
        yield join(folder, _FILE)
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                if entry.name not in _NEVER and entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                    folders += [(entry.path, depth + 1)] if depth < _DEPTH else []


SOURCE = Aider()
