"""One transcript into the corpus and the index: the path behind a hook, which has no time for a whole run."""

from __future__ import annotations

import os
from os.path import join

import apsw

from core import sqlite
from core.config import load
from core.errors import EngineMissing
from core.files import read_or_none
from ingest.archive.archive import CATALOGUE, FOLDER
from ingest.pipeline.run import one
from ingest.pipeline.state import FILE as SOURCES_FILE
from ingest.raw.records import UNREADABLE
from qmd.index import completeness
from qmd.index.store import open_index, translate
from qmd.index.writer import Writer, of_cleaned
from runtime.capture import demo
from runtime.distill_queue import add
from runtime.injections import FILE as INJECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home
    from ingest.pipeline.ledger import Ledger

NEEDS_RUN = "needs a whole run"


def index_transcript(
    home: Home, source: str, path: str, *, wait_s: float, whole: bool = False, config: Config | None = None
) -> str:
    """Normalise one transcript and index its documents; returns indexed, unchanged or "needs a whole run".

    The last is so where nothing is known of the source yet, or its documents are of another version; with ``whole``,
    that run is made first. Once this has returned anything else, the index has the file's documents as they are on
    disk, whoever wrote them. Raises LockContention if another run does not end within ``wait_s`` seconds, Internal,
    and EngineMissing also where the transcript cannot be read.
    """
    config = config or load(home)
    written: list[tuple[str, str, bytes, os.stat_result]] = []
    late: list[str] = []

    def on_written(collection: str, relative: str, data: bytes, status: os.stat_result) -> None:
        written.append((collection, relative, data, status))

    def settle(known: list[tuple[str, str, str]]) -> None:
        for collection, name, _, _ in written:
            add(home, collection, name)
        connection = open_index(home.index, write=True, busy_ms=max(50, int(wait_s * 1000)), hasty=True)
        try:
            with Writer(connection, merge=False) as writer:
                for document in written:
                    writer.put(*document, look=of_cleaned)
                for collection, name, digest in known:
                    # Written by a run that was cut short before it indexed the document, or changed by hand since.
                    file = join(config.collections[collection].path, name)
                    held = completeness.known(connection, collection, name)
                    if (not held or held[1:3] != (digest, 1)) and (data := read_or_none(file)) is not None:
                        writer.put(collection, name, data, os.stat(file))
                        late.append(name)
        except apsw.Error as error:
            raise translate(error, home.index) from error
        finally:
            connection.close()

    def read() -> Ledger | None:
        return one(home, source, path, wait_s=wait_s, settings=config.data, on_written=on_written, settle=settle)

    try:
        ledger = read()
        if ledger is None and whole:
            # It reads the tool's own folders; the transcript may lie elsewhere, and is then still to be read.
            from runtime.capture.indexing import index

            index(home, config, source=source, trust_stat=True, enqueue=True, wait_s=wait_s)
            ledger = read()
    except apsw.Error as error:
        raise translate(error, join(home.state, SOURCES_FILE)) from error
    if ledger is None:
        return NEEDS_RUN
    if UNREADABLE in ledger.failed_reasons:
        detail = next((str(each["detail"]) for each in ledger.failed if each["reason"] == UNREADABLE), "")
        raise EngineMissing(f"the transcript cannot be read: {detail}", f"make it readable: {path}")
    if written and os.path.exists(join(home.state, INJECTED)):
        from runtime.injections import judging

        judging.note_use(home, config, [(collection, name) for collection, name, _, _ in written])
    return "indexed" if written or late else "unchanged"


def is_untidy(home: Home) -> bool:
    """Return True if what ``index_transcript`` left is to be tidied up, by ``runtime.capture.tidying``."""
    return any(map(sqlite.is_log_long, databases(home))) or os.path.exists(join(home.state, demo.MARK))


def databases(home: Home) -> tuple[str, ...]:
    """Return the databases that a hook writes to: the logs of these may grow long."""
    return home.index, join(home.state, SOURCES_FILE), join(home.root, FOLDER, CATALOGUE)
