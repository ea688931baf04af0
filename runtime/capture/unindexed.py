"""Documents that a command is writing: a note in ``state/unindexed/`` stays until the index has the document.

A killed command leaves its note. The next command that writes documents, and the next index run, index what the notes
name, or take it out of the index if its file is gone.
"""

from __future__ import annotations

import contextlib
import os
from os.path import join, lexists
from typing import TYPE_CHECKING

from core.errors import BrainError
from core.files import read_or_none
from core.locks import FileLock
from runtime.asking.absence import UNINDEXED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.config import Config
    from core.home import Home

_WAIT_S = 5.0


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
    from runtime.capture.inbox import place
    from runtime.capture.indexing import drop_file, index_file

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
