"""Raw files whose path is itself what was forgotten: known by a digest of it, as long as no document is made of them.

Such a file is not to be taken for new as long as it lies where its tool put it, and the state is not to say where.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.pipeline.state import FileRow
    from ingest.raw.files import SourceFile

# Stands in no path.
MARK = "\0"


def key(path: str) -> str:
    """What stands in the place of a path."""
    import hashlib  # a run that finds nothing new does without it

    return MARK + hashlib.sha256(os.fsencode(path)).hexdigest()


def found(rows: dict[str, FileRow], files: Iterable[SourceFile]) -> dict[str, FileRow]:
    """Path → row, also of those files that only a digest is known of; their rows keep that for a path."""
    hidden = {path: row for path, row in rows.items() if path.startswith(MARK)}
    if not hidden:
        return rows
    named = {path: row for path, row in rows.items() if path not in hidden}
    return named | {file.path: row for file in files if (row := hidden.get(key(file.path))) is not None}
