"""The demo set: what a home answers from until it has input of its own, which then takes the demo set's place."""

from __future__ import annotations

import os
from os.path import abspath, basename, join

from core.errors import BadInput
from core.files import FileLock, write_atomic
from core.home import shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from core.home import Home

SOURCE = "claude"
_COLLECTION = "brain"
_DISTILLED = "distilled"
# The collections that sources fill. Notes and articles of a person do not replace a memory of sessions.
_READ = (_COLLECTION, "chrome-history", "code", "git")
_LOCK_WAIT_S = 60
# A file below state/, in a home that holds the demo set.
MARK = "demo"


def folder() -> str:
    """Return the folder of the demo set's transcripts. Raises BadInput if this installation has none."""
    return shipped("demo")


def names() -> frozenset[str]:
    """Return the file names of the demo set's documents."""
    try:
        found = os.walk(folder())
    except BadInput:
        return frozenset()  # an installation without the demo set has put none into a home
    return frozenset(f"{stem(name)}.md" for _, _, files in found for name in files if name.endswith(".jsonl"))


def stem(path: str) -> str:
    """Return a transcript's file name without its folder and ``.jsonl``."""
    return basename(path).removesuffix(".jsonl")


def is_there(home: Home) -> bool:
    """Return True if the demo set was indexed, and has not given way yet."""
    return os.path.exists(join(home.state, MARK))


def note(home: Home) -> None:
    """Note that the demo set is about to be indexed. Raises OSError."""
    write_atomic(join(home.state, MARK), b"", sync=False)


def is_given(roots: Sequence[str] | None) -> bool:
    """Return True if ``roots`` name the demo set and nothing else."""
    return bool(roots) and all(
        abspath(root) == folder() or abspath(root).startswith(folder() + os.sep) for root in roots or ()
    )


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
    demo, corpus = names(), join(home.root, _COLLECTION)
    leaving = [name for name in sorted(demo) if os.path.exists(join(corpus, name))]
    if leaving and not _has_others(connection, demo):
        return 0
    if leaving:
        _remove(home, connection, demo, leaving)
    if is_there(home):
        os.unlink(join(home.state, MARK))
    return len(leaving)


def _remove(home: Home, connection: apsw.Connection, demo: frozenset[str], leaving: list[str]) -> None:
    from ingest import forgetting
    from ingest.pipeline.state import Changes, State
    from qmd.index.writer import drop

    with FileLock(join(home.state, f"ingest-{SOURCE}.lock"), _LOCK_WAIT_S):
        state = State(home)
        try:
            files = [row for path, row in state.files(SOURCE).items() if f"{stem(path)}.md" in demo]
            units = {unit for unit, row in state.units(SOURCE).items() if row.name in demo}
            forgetting.erase(home, SOURCE, forgetting.look(home, SOURCE, units))
            for row in files:
                row.size = -1
            state.save(SOURCE, Changes(files))
        finally:
            state.close()
        for collection in (_COLLECTION, _DISTILLED):
            for name in leaving:
                if os.path.exists(path := join(home.root, collection, name)):
                    os.unlink(path)
                drop(connection, collection, name)


def _has_others(connection: apsw.Connection, demo: frozenset[str]) -> bool:
    from qmd.index import catalogue

    return any(path not in demo for _, _, path, *_ in catalogue.entries(connection, _READ))
