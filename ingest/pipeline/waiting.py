"""Which raw files the next run would read, counted exactly: every file is looked at by stat, and nothing is written."""

from __future__ import annotations

from core.errors import BrainError
from ingest import registry
from ingest.pipeline.state import known
from ingest.policy import hashed_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.home import Home
    from ingest.pipeline.state import FileRow
    from ingest.raw.files import SourceFile
    from ingest.source import Source


def waiting(home: Home, source_name: str | None = None) -> dict[str, int]:
    """Return for each source how many files below its own folders are new, grown or changed since they were read.

    ``source_name``: that source alone. Before the first run, and after a change of the parser, all files wait. Raises
    BadInput for an unknown source, apsw.Error if the recorded state cannot be read.
    """
    names = registry.present(home) if source_name is None else (source_name,)
    return {name: len(paths(home, name)) for name in names}


def paths(home: Home, source_name: str) -> list[str]:
    """Return the paths of the files of one source that the next run would read. Raises as ``waiting``."""
    source = registry.source(source_name)
    files = source.discover(standing(source, home))
    rows = hashed_paths.found(known(home, source_name), files)
    new: list[SourceFile] = source.pending(files, rows, trust_stat=True)
    # Every run retries an unreadable file; that file waits only if its stat has changed.
    # A history of prompts grows with each prompt of a transcript, which is counted already.
    return [file.path for file in new if not (_same(file, rows.get(file.path)) or source.is_history(file.path))]


def standing(source: Source, home: Home) -> list[str]:
    """The folders that the source has of its own."""
    try:
        return source.default_roots(home)
    except BrainError:
        return source.default_roots()  # an invalid configuration is reported by those who need it


def _same(file: SourceFile, row: FileRow | None) -> bool:
    if row is None or row.status != "unreadable":
        return False
    return (file.size, file.mtime_ns, file.inode) == (row.size, row.mtime_ns, row.inode)
