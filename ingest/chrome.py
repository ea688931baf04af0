"""Chrome and its family: the ``History`` database of each profile, one document a local day.

The four parts of every source, in order: ``discover``, ``pending``, ``parse``, ``stats``. Days are not sessions: a
day's document is made from all visits ever archived (``ingest._chrome_archive``), so this source brings a ``run`` of
its own. What is kept of browsing is decided in ``ingest._chrome_policy``.
"""

from __future__ import annotations

import os
import sys
from os.path import abspath, expanduser, isdir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from core.document import Document, Failure
    from core.home import Home
    from ingest.files import SourceFile
    from ingest.ledger import Ledger
    from ingest.shadow import Shadow
    from ingest.state import FileRow

    Progress = Callable[[int, int, str], None]
    OnWritten = Callable[[str, str, bytes, os.stat_result], None]

NAME = "chrome"
COLLECTION = "chrome-history"


def default_roots(home: Home | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
    """The folders of profiles on this machine, those that exist; with ``home``, ``sources.chrome.roots`` are added."""
    from ingest._chrome_browsers import folders

    found = folders(sys.platform, environ)
    if home is not None:
        found += [abspath(expanduser(str(root))) for root in _section(home).get("roots") or []]
    return [folder for folder in dict.fromkeys(found) if os.path.exists(folder)]


def discover(roots: Iterable[str]) -> list[SourceFile]:
    """The history of every profile below the roots, sorted by path; a root may be a database, or any folder of them.

    ``size`` and ``mtime_ns`` are those of the database with the journals beside it. Files that cannot be histories are
    listed with the reason in ``skip``.
    """
    from ingest._chrome_browsers import histories

    found: dict[str, SourceFile] = {}
    for root in roots:
        root = abspath(root)
        if isdir(root):
            for path in histories(root):
                found[path] = _look(path)
        else:
            found[root] = _look(root)
    return [found[path] for path in sorted(found)]


def pending(files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool) -> list[SourceFile]:
    """Those of ``files`` that are new or not what they were when ``known`` was recorded.

    ``trust_stat``: same size, mtime and inode means unchanged; otherwise the bytes must also have the same digest.
    """
    from ingest._chrome_changed import changed

    return [file for file in files if not file.skip and changed(file, known.get(file.path), trust_stat=trust_stat)]


def parse(path: str) -> Iterator[Document | Failure]:
    """The days of one database taken alone, by the shipped policy and in this machine's time zone, then its failures.

    A run goes through the archive instead, which puts all databases and what they have forgotten together.
    """
    from ingest._chrome_run import documents

    return documents(path)


def stats(home: Home) -> dict[str, object]:
    """What the last run recorded (see ``ingest.ledger``), and the size of the archive; empty before the first."""
    from ingest.ledger import read as ledger

    found: Any = ledger(home).get(NAME)
    if not isinstance(found, dict):
        return {}
    from ingest._chrome_run import figures

    return {**found, "archive": figures(home)}


def run(
    home: Home,
    roots: Sequence[str] | None = None,
    *,
    trust_stat: bool,
    rebuild: bool = False,
    from_archive: bool = False,
    progress: Progress | None = None,
    on_written: OnWritten | None = None,
    shadow: Shadow | None = None,
) -> Ledger:
    """As ``ingest.run.run`` for this source; nothing is written for a ``shadow``."""
    from ingest._chrome_run import Run

    made = Run(
        home,
        roots,
        trust_stat=trust_stat,
        rebuild=rebuild,
        from_archive=from_archive,
        progress=progress,
        on_written=on_written,
        shadow=shadow,
    )
    return made.go()


def is_archived(home: Home) -> bool:
    """Whether there are visits that days can be made of without a browser."""
    from ingest._chrome_archive import place

    return os.path.exists(place(home))


def _section(home: Home) -> dict[str, Any]:
    """``sources.chrome`` of collections.yml. Raises BadInput where that does not hold."""
    from core.config import load

    section: dict[str, Any] = load(home).section("sources").get(NAME) or {}
    return section


def _look(path: str) -> SourceFile:
    from ingest.files import SourceFile
    from ingest.sqlite_copy import is_database, parts

    try:
        found = parts(path)
        if not is_database(path):
            return SourceFile(path, 0, 0, 0, "not a database")
    except OSError as error:
        return SourceFile(path, 0, 0, 0, f"unreadable: {error.strerror or error}")
    return SourceFile(path, sum(part.size for part in found), max(part.mtime_ns for part in found), found[0].inode, "")
