"""What a run over browsing, code or commits would write to, when it writes nothing: copies in memory, and a count.

Such a run goes through as it is; where it would write a document it meets a ``Shadow``, where it would open a database
of the brain's, that database's copy.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import contextmanager, nullcontext
from os.path import exists, join
from typing import TYPE_CHECKING, Any

import apsw

from core.files import read_or_none
from core.home import make_private
from core.locks import FileLock
from core.sqlite import connect
from ingest.pipeline.corpus import Corpus
from ingest.pipeline.remade import DAMAGE, set_aside
from ingest.pipeline.run import LOCK_WAIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.home import Home
    from ingest.pipeline.ledger import Ledger

_BUSY_MS = 10_000


class Shadow:
    """Stands in for a collection's ``Corpus``: it looks at documents, and counts what would become of them.

    ``new``, ``changed`` and ``removed`` are names; ``files`` maps what the run reads to its bytes.
    """

    def __init__(self, home: Home, collection: str) -> None:
        self.folder = home.path(collection)
        self.files: dict[str, int] = {}
        self.new: list[str] = []
        self.changed: list[str] = []
        self.removed: list[str] = []

    def __enter__(self) -> Shadow:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing waits."""

    def put(self, name: str, data: bytes) -> str:
        """Count a document that would be written; returns its SHA-256, hex. Raises OSError."""
        before = read_or_none(join(self.folder, name))
        if before != data:
            (self.new if before is None else self.changed).append(name)
        return hashlib.sha256(data).hexdigest()

    def remove(self, name: str) -> None:
        """Count a document that would go."""
        if exists(join(self.folder, name)):
            self.removed.append(name)

    def flush(self) -> None:
        """Nothing waits."""

    def digest(self, name: str) -> str:
        """As ``Corpus.digest``."""
        try:
            data = read_or_none(join(self.folder, name))
        except OSError:
            return ""
        return "" if data is None else hashlib.sha256(data).hexdigest()

    def as_dict(self, documents: int, shown: int) -> dict[str, Any]:
        """``would`` of the account, of which ``documents`` there would be; names of the first ``shown``."""
        return {
            "read": len(self.files),
            "bytes": sum(self.files.values()),
            "new": len(self.new),
            "changed": len(self.changed),
            "unchanged": max(0, documents - len(self.new) - len(self.changed)),
            "removed": len(self.removed),
            "units": sorted(name.removesuffix(".md") for name in self.new + self.changed)[:shown],
            "files": list(self.files)[:shown],
        }


def corpus(
    home: Home, collection: str, landed: Callable[[str, bytes, os.stat_result], None], shadow: Shadow | None
) -> Corpus | Shadow:
    """Where a run's documents go."""
    return Corpus(home, collection, landed) if shadow is None else shadow


@contextmanager
def state_of(home: Home, file: str, schema: str, ledger: Ledger, shadow: Shadow | None) -> Iterator[apsw.Connection]:
    """What is known of a source, in its ``file`` below ``state/``, for the time of a run, which it is to itself.

    Afterwards the account knows how many ``documents`` there are, and is kept. Raises LockContention and apsw.Error.
    """
    lock = FileLock(join(home.state, f"ingest-{ledger.source}.lock"), wait_s=LOCK_WAIT_S)
    with lock if shadow is None else nullcontext():
        connection = database(join(home.state, file), schema, shadow)
        try:
            yield connection
            ledger.documents = int(str(connection.execute("select count(*) from documents").get))
        finally:
            connection.close()
        ledger.finished = int(time.time())
        if shadow is None:
            ledger.write(home)


def listed(folder: str, shadow: Shadow | None) -> list[str]:
    """The names in a folder of the corpus, which a run makes where it is missing."""
    if shadow is None:
        make_private(folder)
    elif not exists(folder):
        return []
    return os.listdir(folder)


def database(path: str, schema: str, shadow: Shadow | None) -> apsw.Connection:
    """A database of what a source knows, with its tables; for a ``shadow`` a copy in memory.

    One that is damaged is moved aside, and made again by this run. Raises apsw.Error.
    """
    if shadow is not None:
        try:
            connection = in_memory(path)
            connection.execute(schema)
        except DAMAGE:  # as a run does, which moves it aside
            connection = apsw.Connection(":memory:")
            connection.execute(schema)
        return connection
    make_private(os.path.dirname(path))
    try:
        return _prepared(path, schema)
    except DAMAGE:
        set_aside(path)
        return _prepared(path, schema)


def _prepared(path: str, schema: str) -> apsw.Connection:
    connection = connect(path)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("pragma secure_delete=on; pragma journal_mode=wal; pragma synchronous=normal").fetchall()
        connection.execute(schema)
    except BaseException:
        connection.close()
        raise
    return connection


def in_memory(path: str) -> apsw.Connection:
    """A copy of the database at ``path``, empty where there is none. Raises apsw.Error."""
    memory = apsw.Connection(":memory:")
    if exists(path):
        original = to_read(path)
        try:
            with memory.backup("main", original, "main") as backup:
                backup.step()
        finally:
            original.close()
    return memory


def to_read(path: str) -> apsw.Connection:
    """The database at ``path``, which is not written to. Raises apsw.Error."""
    # To write is asked for so that SQLite removes the files beside the database that reading it makes.
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(_BUSY_MS)
    connection.execute("pragma query_only=on").fetchall()
    return connection
