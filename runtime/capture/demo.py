"""The demo set: what a home answers from until it has input of its own, which then takes the demo set's place.

Its transcripts are read as any. Its days of browsing, commands and commits, and its notes, are documents that are
copied: their names are no source's, so that no day of the user's is mixed with them.
"""

from __future__ import annotations

import os
from os.path import abspath, basename, dirname, join, relpath

from core.errors import BadInput
from core.files import FileLock, read_or_none, write_atomic
from core.home import shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import apsw

    from core.config import Config
    from core.home import Home

SOURCE = "claude"
_COLLECTION = "brain"
_DISTILLED = "distilled"
# The collections that sources fill. Notes and articles of a person do not replace a memory of sessions.
_READ = (_COLLECTION, "chrome-history", "code", "git")
_LOCK_WAIT_S = 60
# A file below state/, in a home that holds the demo set; its content once every document was copied.
MARK = "demo"
_WHOLE = b"whole"
# Below the demo set: documents to copy, in a folder a collection.
_DOCUMENTS = "documents"


def folder() -> str:
    """Return the folder of the demo set. Raises BadInput if this installation has none."""
    return shipped("demo")


def documents() -> frozenset[tuple[str, str]]:
    """Return the demo set's documents as (collection, path)."""
    try:
        root = folder()
    except BadInput:
        return frozenset()  # an installation without the demo set has put none into a home
    found = (name for _, _, names in os.walk(root) for name in names if name.endswith(".jsonl"))
    return frozenset((_COLLECTION, f"{stem(name)}.md") for name in found) | frozenset(_copied(root))


def _copied(root: str) -> Iterator[tuple[str, str]]:
    """Yield (collection, path) of the documents that are copied."""
    place = join(root, _DOCUMENTS)
    for below, _, names in os.walk(place):
        for name in names:
            collection, _, path = relpath(join(below, name), place).partition(os.sep)
            yield collection, path


def stem(path: str) -> str:
    """Return a transcript's file name without its folder and ``.jsonl``."""
    return basename(path).removesuffix(".jsonl")


def is_there(home: Home) -> bool:
    """Return True if the demo set was indexed, and has not given way yet."""
    return os.path.exists(join(home.state, MARK))


def is_given(roots: Sequence[str] | None) -> bool:
    """Return True if ``roots`` name the demo set and nothing else."""
    return bool(roots) and all(
        abspath(root) == folder() or abspath(root).startswith(folder() + os.sep) for root in roots or ()
    )


def bring(home: Home, config: Config) -> None:
    """Copy the documents of the demo set that are neither there nor forgotten, once; its transcripts follow.

    A collection that lies outside the home gets none. Raises OSError.
    """
    if read_or_none(mark := join(home.state, MARK)) == _WHOLE:
        return
    from core.tombstones import Tombstones
    from ingest.identity import Meant

    write_atomic(mark, b"", sync=False)
    forgotten, root = Meant(Tombstones(home).marks()), folder()
    for collection, path in sorted(_copied(root)):
        held, target = config.collections.get(collection), join(home.root, collection, path)
        if held is None or held.path != join(home.root, collection) or os.path.exists(target):
            continue
        with open(join(root, _DOCUMENTS, collection, path), "rb") as stream:
            data = stream.read()
        if not forgotten.covers(data):
            write_atomic(target, data, sync=False)
    write_atomic(mark, _WHOLE, sync=False)


def give_way(home: Home, connection: apsw.Connection) -> int:
    """Remove the demo set if the index holds any other document of a source; the caller holds the index lock.

    Its distillates, its archived transcripts and its rows in ``state/`` go too. Its files count as unread, so that
    ``brain init --demo`` can bring it back.

    Returns:
        How many documents were removed from the corpus.

    Raises:
        LockContention: another process reads the source.
        apsw.Error: the index or the state cannot be written.
    """
    demo = documents()
    leaving = [each for each in sorted(demo) if os.path.exists(join(home.root, *each))]
    if leaving and not _has_others(connection, demo):
        return 0
    if leaving:
        _remove(home, connection, leaving)
    if is_there(home):
        os.unlink(join(home.state, MARK))
    return len(leaving)


def _remove(home: Home, connection: apsw.Connection, leaving: list[tuple[str, str]]) -> None:
    from ingest import forgetting
    from ingest.pipeline.state import Changes, State
    from qmd.index.writer import drop

    names = {path for collection, path in leaving if collection == _COLLECTION}
    with FileLock(join(home.state, f"ingest-{SOURCE}.lock"), _LOCK_WAIT_S):
        state = State(home)
        try:
            files = [row for path, row in state.files(SOURCE).items() if f"{stem(path)}.md" in names]
            units = {unit for unit, row in state.units(SOURCE).items() if row.name in names}
            forgetting.erase(home, SOURCE, forgetting.look(home, SOURCE, units))
            for row in files:
                row.size = -1
            state.save(SOURCE, Changes(files))
        finally:
            state.close()
        for collection, name in [*leaving, *((_DISTILLED, name) for name in sorted(names))]:
            if os.path.exists(path := join(home.root, collection, name)):
                os.unlink(path)
                forgetting.leave_no_empty_folder(home, dirname(path))
            drop(connection, collection, name)


def _has_others(connection: apsw.Connection, demo: frozenset[tuple[str, str]]) -> bool:
    from qmd.index import catalogue

    return any((collection, path) not in demo for _, collection, path, *_ in catalogue.entries(connection, _READ))
