"""Chrome and its family: the ``History`` database of each profile, one document a local day.

Days are not sessions: a day's document is made from all visits ever archived (``ingest.sources.chrome.visits``).
``ingest.sources.chrome.policy`` decides what is kept of browsing.
"""

from __future__ import annotations

import os
import sys
from os.path import abspath, isdir

from ingest.source import Collector, configured, existing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from core.document import Document, Failure
    from core.home import Home
    from ingest.pipeline.ledger import Ledger
    from ingest.pipeline.state import FileRow
    from ingest.raw.files import SourceFile
    from ingest.source import Environ, Options

NAME = "chrome"
COLLECTION = "chrome-history"


class Chrome(Collector):
    """Browsing history: a day's document is made from all visits ever archived."""

    name = NAME
    collection = COLLECTION

    def default_roots(self, home: Home | None = None, environ: Environ | None = None) -> list[str]:
        """Return the folders of profiles on this machine; with ``home``, ``sources.chrome.roots`` are added."""
        from ingest.sources.chrome.browsers import folders

        return existing([*folders(sys.platform, environ), *(configured(NAME, home) if home is not None else [])])

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the history of every profile below the roots, sorted by path; a root may be a database itself.

        ``size`` and ``mtime_ns`` are those of the database with the journals beside it.
        """
        from ingest.sources.chrome.browsers import histories

        found: dict[str, SourceFile] = {}
        for root in roots:
            root = abspath(root)
            if isdir(root):
                for path in histories(root):
                    found[path] = _look(path)
            else:
                found[root] = _look(root)
        return [found[path] for path in sorted(found)]

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        from ingest.sources.chrome.changed import changed

        return [file for file in files if not file.skip and changed(file, known.get(file.path), trust_stat=trust_stat)]

    def documents(self, path: str) -> Iterator[Document | Failure]:
        """Yield the days of one database, by the shipped policy and in this machine's time zone, then its failures.

        A run goes through the archive instead, which puts all databases and what they have forgotten together.
        """
        from ingest.sources.chrome.run import documents

        return documents(path)

    def stats(self, home: Home) -> dict[str, object]:
        """Return what the last run recorded, and the size of the archive; empty before the first run."""
        found = super().stats(home)
        if not found:
            return {}
        from ingest.sources.chrome.run import figures

        return {**found, "archive": figures(home)}

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        from ingest.sources.chrome.run import Run

        return Run(home, roots, options).go()


SOURCE = Chrome()


def is_archived(home: Home) -> bool:
    """Whether there are visits that days can be made of without a browser."""
    from ingest.sources.chrome.visits import place

    return os.path.exists(place(home))


def _look(path: str) -> SourceFile:
    from ingest.raw.files import SourceFile
    from ingest.raw.sqlite_copy import is_database, parts

    try:
        found = parts(path)
        if not is_database(path):
            return SourceFile(path, 0, 0, 0, "not a database")
    except OSError as error:
        return SourceFile(path, 0, 0, 0, f"unreadable: {error.strerror or error}")
    return SourceFile(path, sum(part.size for part in found), max(part.mtime_ns for part in found), found[0].inode, "")
