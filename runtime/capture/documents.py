"""Documents that a command writes, one at a time, each indexed at once.

While a document is being written, a note in ``state/unindexed/`` names it; the note stays until the index has the
document. A killed command leaves its note. The next command that writes documents, and the next index run, index what
the notes name, or take it out of the index if its file is gone.
"""

from __future__ import annotations

import contextlib
import os
from os.path import join, lexists, relpath
from typing import TYPE_CHECKING

from core.errors import BadInput, BrainError
from core.files import FileLock, open_regular, read_or_none
from runtime.asking.absence import UNINDEXED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.config import Config
    from core.home import Home
    from qmd.index.writer import Writer

_WAIT_S = 5.0
# A document is kept whether or not it is indexed at once: its writer does not wait for long.
_BUSY_MS = 5_000


class Note:
    """One document that is being written; ``indexed`` says that the index agrees with its file."""

    def __init__(self) -> None:
        self.indexed = False


@contextlib.contextmanager
def writing(home: Home, path: str) -> Iterator[Note]:
    """Keep a note of the document at ``path`` until the index has it, or has lost it with its file.

    The note is locked as long as its process lives. Without a note, as on a read-only home, the document is written all
    the same.
    """
    import hashlib

    place = join(home.state, UNINDEXED, hashlib.sha256(os.fsencode(path)).hexdigest()[:24])
    note = Note()
    with contextlib.ExitStack() as held:
        there = False
        with contextlib.suppress(BrainError, OSError):
            held.enter_context(FileLock(place, _WAIT_S))
            with open(place, "wb") as stream:
                stream.write(os.fsencode(path))
            there = True
        yield note
        if there and note.indexed:
            _remove(place)


def heal(home: Home, config: Config) -> None:
    """Index what killed commands have written. A document that cannot be indexed now keeps its note."""
    folder = join(home.state, UNINDEXED)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        # The note of a command that is still at work is locked.
        with contextlib.suppress(BrainError, OSError), FileLock(join(folder, name), 0):
            data = read_or_none(join(folder, name))
            if data and b"\0" not in data:
                _index(home, config, os.fsdecode(data))
            _remove(join(folder, name))


def _index(home: Home, config: Config, path: str) -> None:
    """Bring the index in line with one file. Raises BrainError, OSError."""
    found = place(config, path)
    if found is None:
        return  # in no collection any more
    collection, relative = found
    if lexists(path):
        index_file(home, config, collection, join(config.collections[collection].path, relative))
    else:
        drop_file(home, collection, relative)


def _remove(place: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(place)


def place(config: Config, path: str) -> tuple[str, str] | None:
    """Return (collection, path below it) of the innermost collection that holds ``path``."""
    real = os.path.realpath(path)
    best: tuple[int, str, str] | None = None
    for name, collection in config.collections.items():
        base = os.path.realpath(collection.path)
        if real.startswith(join(base, "")) and (best is None or len(base) > best[0]):
            best = (len(base), name, relpath(real, base))
    return None if best is None else best[1:]


def index_file(home: Home, config: Config, collection: str, path: str) -> None:
    """Index one markdown file of the corpus at once. Raises BadInput, LockContention and EngineMissing."""
    folder = config.collections.get(collection)
    if folder is None:
        raise BadInput(f"there is no collection {collection!r}", f"add it to {config.own}")
    with open_regular(path) as stream:
        data = stream.read()
        status = os.fstat(stream.fileno())
    with _writer(home) as writer:
        writer.put(collection, relpath(path, folder.path), data, status)


def drop_file(home: Home, collection: str, relative: str) -> None:
    """Take a document that is gone out of the index, if there is one. Raises LockContention and EngineMissing."""
    if os.path.exists(home.index):
        with _writer(home) as writer:
            writer.drop(collection, relative)


@contextlib.contextmanager
def _writer(home: Home) -> Iterator[Writer]:
    import apsw

    from qmd.index.store import open_index, translate
    from qmd.index.writer import Writer

    connection = open_index(home.index, write=True, busy_ms=_BUSY_MS)
    try:
        with Writer(connection) as writer:
            yield writer
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
