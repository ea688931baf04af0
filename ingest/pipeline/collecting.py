"""The mechanics that runs of all collectors share: account, lock, exclusions, and where state and documents go.

A rehearsal takes the same steps. Its documents go into a ``Shadow``, its databases are copies in memory.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from os.path import exists, join
from typing import TYPE_CHECKING

import apsw

from core.files import FileLock
from core.home import make_private
from core.sqlite import open_store
from ingest import registry
from ingest.pipeline.corpus import Corpus
from ingest.pipeline.ledger import ARCHIVE, GIVEN, OWN, Ledger
from ingest.pipeline.remade import DAMAGE, set_aside
from ingest.pipeline.run import LOCK_WAIT_S
from ingest.pipeline.shadow import in_memory
from ingest.policy.exclusions import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.home import Home
    from ingest.collector import Collector, Options
    from ingest.pipeline.shadow import Shadow


class Collecting:
    """One run of a collector."""

    def __init__(self, source: Collector, home: Home, roots: Sequence[str] | None, options: Options) -> None:
        self.source = source
        self.home = home
        self.options = options
        self.shadow = options.shadow
        self.ledger = Ledger(source.name, ARCHIVE if options.from_archive else GIVEN if roots else OWN)
        self.rules = Rules(home, registry.settings(home))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of the source, then keep the account. A rehearsal does neither. Raises LockContention."""
        if self.shadow is not None:
            yield
            self.ledger.finished = int(time.time())
            return
        with FileLock(join(self.home.state, f"ingest-{self.source.name}.lock"), wait_s=LOCK_WAIT_S):
            yield
            self.ledger.finished = int(time.time())
            self.ledger.write(self.home)
        self.rules.save()

    @contextmanager
    def state(self, schema: str) -> Iterator[apsw.Connection]:
        """Open ``state/<source>.sqlite`` for this run alone; its table ``documents`` is counted at the end.

        Raises LockContention and apsw.Error.
        """
        with self.alone():
            connection = self._database(join(self.home.state, f"{self.source.name}.sqlite"), schema)
            try:
                yield connection
                self.ledger.documents = int(str(connection.execute("select count(*) from documents").get))
            finally:
                connection.close()

    def corpus(self) -> Corpus | Shadow:
        """Return the place where documents go, to be used with ``with``."""
        if self.shadow is not None:
            return self.shadow
        return Corpus(self.home, self.source.collection, self._landed)

    def listed(self, *folder: str) -> list[str]:
        """Return the names in a folder of the collection. A run creates a missing folder."""
        path = self.home.path(self.source.collection, *folder)
        if self.shadow is None:
            make_private(path)
        elif not exists(path):
            return []
        return os.listdir(path)

    def note_read(self, path: str, size: int) -> None:
        """Note a file that was read, for a rehearsal."""
        if self.shadow is not None:
            self.shadow.files[path] = size

    def progress(self, done: int, total: int, what: str) -> None:
        """Report progress to the caller of the run."""
        if self.options.progress is not None:
            self.options.progress(done, total, what)

    def _landed(self, name: str, data: bytes, status: os.stat_result) -> None:
        self.ledger.written += 1
        if self.options.on_written is not None:
            self.options.on_written(self.source.collection, name, data, status)

    def _database(self, path: str, schema: str) -> apsw.Connection:
        """Open a database with its tables; move a damaged one aside, since this run makes it again."""
        if self.shadow is not None:
            try:
                connection = in_memory(path)
                connection.execute(schema)
            except DAMAGE:
                connection = apsw.Connection(":memory:")
                connection.execute(schema)
            return connection
        try:
            return _prepared(path, schema)
        except DAMAGE:
            set_aside(path)
            return _prepared(path, schema)


def _prepared(path: str, schema: str) -> apsw.Connection:
    connection = open_store(path, "pragma secure_delete=on; pragma synchronous=normal")
    try:
        connection.execute(schema)
    except BaseException:
        connection.close()
        raise
    return connection
