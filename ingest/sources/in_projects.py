"""Sources whose files lie in the projects that a person works in, not in a folder of the tool's."""

from __future__ import annotations

import contextlib
import os
from os.path import abspath, isfile, join

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ingest.raw.store import SourceFile

_NEVER = frozenset(("node_modules", "__pycache__", "site-packages", "venv", "vendor", "target", "dist", "build"))
# How deep a folder of projects is searched.
_DEPTH = 6


class InProjects(Source):
    """A source that has one file in each project: ``project_file``, its path below the project."""

    project_file = ""
    reads_projects = True

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the files at the roots, or below them.

        Around a folder that a session worked in, only its repository's file is looked for.
        """
        from ingest.repositories import Worked, top_of

        if isinstance(roots, Worked):
            found = (join(each, self.project_file) for folder in roots for each in (folder, top_of(folder)) if each)
        else:
            found = (path for root in roots for path in self._below(abspath(root)))
        return super().discover([path for path in dict.fromkeys(found) if isfile(path)])

    def _below(self, root: str) -> Iterator[str]:
        """Yield the places of files at and below a folder, or the root itself if it is a file."""
        if not os.path.isdir(root):
            yield root
            return
        folders = [(root, 0)]
        while folders:
            folder, depth = folders.pop()
            yield join(folder, self.project_file)
            with contextlib.suppress(OSError):
                for entry in os.scandir(folder):
                    if entry.name not in _NEVER and entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                        folders += [(entry.path, depth + 1)] if depth < _DEPTH else []
