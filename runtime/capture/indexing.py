"""Sources into the corpus, the corpus into the index: the path behind ``brain index`` and every capture."""

from __future__ import annotations

import os
import time
from os.path import join, relpath

import apsw

import ingest.pipeline.run
from core import clock, wal
from core.config import remember
from core.errors import BadInput, EngineMissing, Internal
from core.files import open_regular, sweep_temporaries
from core.locks import FileLock
from ingest import registry
from ingest.archive.keeping import Policy
from ingest.pipeline.state import FILE as SOURCES_FILE
from qmd.index import catalogue
from qmd.index.store import disk_full, open_index, translate
from qmd.index.update import register, update
from runtime.asking import agents, freshness
from runtime.capture import demo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from core.config import Config
    from core.home import Home
    from ingest.pipeline.ledger import Ledger
    from qmd.index.rebuilding import Rebuild
    from qmd.index.update import Changes
    from qmd.index.writer import Batch
    from runtime.distill_queue import PendingQueue

    Progress = Callable[[int, int, str], None]

# Sessions are distilled; a day of browsing says what was looked at, and there is nothing to compress.
_DISTILLED = "brain"
_LOCK_WAIT_S = 60
_BUSY_MS = 30_000
# A note is kept whether or not it is indexed at once: its writer does not wait for long.
_NOTE_BUSY_MS = 5_000


def index(
    home: Home,
    config: Config,
    *,
    source: str | None = None,
    roots: Sequence[str] | None = None,
    trust_stat: bool = False,
    rebuild: bool = False,
    from_archive: bool = False,
    check_archive: bool = False,
    markdown_only: bool = False,
    enqueue: bool = False,
    wait_s: float | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Normalise new and changed files of the sources, then bring every collection's lexical index up to date.

    ``roots`` replaces the source's own folders; ``trust_stat`` takes an unchanged stat for an unchanged file;
    ``rebuild`` makes documents and index again, the index in a new file that replaces the old one in one transaction
    (``qmd.index.rebuilding``): a reader sees the old or the new one, and damage of the old one does not matter.
    ``from_archive`` makes the corpus again from the archive, whether or not the originals are there;
    ``check_archive`` reads the archive's objects, to repair damaged ones (``ingest.pipeline.run.run``);
    ``markdown_only`` reads no source at all, so that the index comes from the corpus as it lies on disk.
    ``wait_s`` is how long to wait for another run to end.
    Returns the envelope of ``brain index --json``. Raises BadInput, LockContention and EngineMissing.
    """
    started, started_ns = time.perf_counter(), time.time_ns()
    names: tuple[str, ...] = ()
    if not markdown_only:
        names = _archived(home, source, roots) if from_archive else chosen(home, source, roots, config)
    if source is not None and registry.is_on_request(source):
        _has_collection(config, source)
    home.make()
    remember(home)
    with FileLock(join(home.state, "index.lock"), _LOCK_WAIT_S if wait_s is None else min(wait_s, _LOCK_WAIT_S)):
        _sweep(home)
        if not rebuild:
            _resume_forgetting(home)
        rescanned = _rescan(home, config)
        busy_ms = _BUSY_MS if wait_s is None else int(wait_s * 1000)
        opened = _Opened(home, config, busy_ms, rebuild=rebuild)
        with opened as connection:
            older = not agents.is_current(connection)
            register(connection, config.collections.values())
            if source is not None and registry.source(source).reads_projects and not roots:
                from ingest.repositories import Worked

                if rebuild:  # the sessions say which folders there are
                    update(connection, [config.collections[_DISTILLED]])
                roots = Worked(projects(connection))
            reading = {
                "settings": config.data,
                "roots": roots,
                "trust_stat": trust_stat,
                "rebuild": rebuild,
                "from_archive": from_archive,
                "check_archive": check_archive,
                "progress": progress,
            }
            ledgers, queued, written = _ingest(home, connection, names, reading, enqueue)
            demo_left = 0 if markdown_only or demo.is_given(roots) else demo.give_way(home, connection)
            # The new documents were indexed from memory: they are not read back.
            changes = update(
                connection,
                config.collections.values(),
                trust_stat=trust_stat,
                since_ns=started_ns,
                progress=progress,
            )
            for name, (added, updated) in written.items():
                if name in changes:
                    changes[name].precede(added, updated)
            freshness.mark(connection, config)
            registry.note_roots(home)
            _judge(connection)
            if not older:
                agents.mark_current(connection)
            if older:
                # The secrets that an older policy let pass have left the documents, but not the free pages and
                # segments.
                from qmd.index.cleanup import erase, require_room

                require_room(home.index)
                erase(connection, ())
                agents.mark_current(connection)
            connection.execute("PRAGMA optimize")
        _heal(home, config)
    envelope = _envelope(ledgers, changes, queued, started)
    if opened.unread:
        envelope["unread"] = opened.unread
    if demo_left:
        envelope["demo_left"] = demo_left
    if rescanned:
        envelope["rescanned"] = rescanned
    if from_archive:
        from ingest.archive import verifier

        envelope["unnamed"] = len(verifier.orphan_objects(home))
    return envelope


class _Opened:
    """``with _Opened(…) as connection:`` is the index that a run writes to.

    With ``rebuild`` it is a new one, which replaces the old one at the end; ``unread`` then names tables of the old
    index that could not be carried over. Raises BrainError.
    """

    __slots__ = ("_busy_ms", "_config", "_connection", "_home", "_new", "unread")

    def __init__(self, home: Home, config: Config, busy_ms: int, *, rebuild: bool) -> None:
        self._home = home
        self._config = config
        self._busy_ms = busy_ms
        self._connection: apsw.Connection
        self._new: Rebuild | None = None
        self.unread: list[str] = []
        if rebuild:
            from qmd.index.rebuilding import Rebuild

            self._new = Rebuild(home.index, busy_ms)

    def __enter__(self) -> apsw.Connection:
        if self._new is not None:
            return self._new.__enter__().connection
        self._connection = _open(self._home, self._busy_ms)
        return self._connection

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        try:
            if self._new is None:
                self._connection.close()
            else:
                try:
                    if error is None:
                        self._new.finish()
                finally:
                    self._new.__exit__()
                if error is None:
                    self._catch_up(self._new)
        except apsw.Error as failure:
            raise translate(failure, self._home.index) from failure
        if isinstance(error, apsw.Error):
            raise translate(error, self._home.index) from error

    def _catch_up(self, new: Rebuild) -> None:
        """Bring in what was written to the old index meanwhile; all of it lies on disk."""
        self.unread += new.unread
        _resume_forgetting(self._home)
        connection = _open(self._home, self._busy_ms)
        try:
            update(connection, self._config.collections.values())
        finally:
            connection.close()


def _resume_forgetting(home: Home) -> None:
    if os.path.exists(join(home.state, "forgetting.json")):
        from runtime.forgetting.forget import resume

        resume(home)


def _heal(home: Home, config: Config) -> None:
    """Finish the notes that killed commands have left; usually this is one listing of a folder."""
    try:
        if not os.listdir(join(home.state, "unindexed")):
            return
    except OSError:
        return
    from runtime.capture import unindexed

    unindexed.heal(home, config)


NEEDS_RUN = "needs a whole run"


def index_transcript(home: Home, source: str, path: str, *, wait_s: float, whole: bool = False) -> str:
    """Normalise one transcript and index its documents; returns indexed, unchanged or "needs a whole run".

    The last is so where nothing is known of the source yet, or its documents are of another version; with ``whole``,
    that run is made first. Once this has returned anything else, the index has the file's documents as they are on
    disk, whoever wrote them. Raises LockContention if another run does not end within ``wait_s`` seconds, Internal,
    and EngineMissing also where the transcript cannot be read.
    """
    from core.config import load
    from ingest.pipeline.run import one
    from runtime.distill_queue import PendingQueue

    config = load(home)
    home.make()
    written: list[tuple[str, str, bytes, os.stat_result]] = []
    late: list[str] = []

    def settle(known: list[tuple[str, str, str]]) -> None:
        if written:
            waiting = PendingQueue(home)
            for collection, name, _, _ in written:
                waiting.add_alone(collection, name)
        late.extend(_bring_in(home, config, written, known, max(50, int(wait_s * 1000))))

    def read() -> Ledger | None:
        keep = written.append
        return one(
            home,
            source,
            path,
            wait_s=wait_s,
            settings=config.data,
            on_written=lambda *document: keep(document),
            settle=settle,
        )

    try:
        ledger = read()
        if ledger is None and whole:
            # It reads the tool's own folders; the transcript may lie elsewhere, and is then still to be read.
            index(home, config, source=source, trust_stat=True, enqueue=True, wait_s=wait_s)
            ledger = read()
    except apsw.Error as error:
        raise translate(error, join(home.state, SOURCES_FILE)) from error
    if ledger is None:
        return NEEDS_RUN
    from ingest.raw.records import UNREADABLE

    if UNREADABLE in ledger.failed_reasons:
        detail = next((str(each["detail"]) for each in ledger.failed if each["reason"] == UNREADABLE), "")
        raise EngineMissing(f"the transcript cannot be read: {detail}", f"make it readable: {path}")
    return "indexed" if written or late else "unchanged"


def _bring_in(
    home: Home,
    config: Config,
    written: list[tuple[str, str, bytes, os.stat_result]],
    known: list[tuple[str, str, str]],
    busy_ms: int,
) -> list[str]:
    """Index what was ``written``, and of what is ``known`` whatever the index has otherwise; the names of those.

    The others were written by a run that was cut short before it indexed them, or changed by hand since.
    """
    from core.files import read_or_none
    from qmd.index.writer import of_cleaned, put

    connection = _open(home, busy_ms)
    wal.leave(connection)
    late: list[str] = []
    try:
        for document in written:
            put(connection, *document, merge=False, look=of_cleaned)
        for collection, name, digest in known:
            file = join(config.collections[collection].path, name)
            if _hash(connection, collection, name) != digest and (data := read_or_none(file)) is not None:
                put(connection, collection, name, data, os.stat(file), merge=False)
                late.append(name)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()
    return late


def _hash(connection: apsw.Connection, collection: str, name: str) -> str | None:
    row = catalogue.by_path(connection, collection, name)
    return None if row is None else catalogue.Document(row).hash


def index_file(home: Home, config: Config, collection: str, path: str) -> None:
    """Index one markdown file of the corpus at once. Raises BadInput, LockContention and EngineMissing."""
    folder = config.collections.get(collection)
    if folder is None:
        raise BadInput(f"there is no collection {collection!r}", f"add it to {config.own}")
    from qmd.index.writer import put

    with open_regular(path) as stream:
        data = stream.read()
        status = os.fstat(stream.fileno())
    connection = _open(home, _NOTE_BUSY_MS)
    try:
        put(connection, collection, relpath(path, folder.path), data, status)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()


def drop_file(home: Home, collection: str, relative: str) -> None:
    """Take a document that is gone out of the index, if there is one. Raises LockContention and EngineMissing."""
    from qmd.index.writer import drop

    if not os.path.exists(home.index):
        return
    connection = _open(home, _NOTE_BUSY_MS)
    try:
        drop(connection, collection, relative)
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()


def chosen(
    home: Home, source: str | None, roots: Sequence[str] | None, config: Config | None = None
) -> tuple[str, ...]:
    """Return the sources to run: the one that is named, else those that have files here. Raises BadInput."""
    if source is not None and registry.find(source) is None:
        raise BadInput(f"unknown source {source!r}", f"sources of this version: {', '.join(registry.names())}")
    for root in roots or ():
        if not os.path.exists(root):
            raise BadInput(
                f"no such folder: {root}",
                f"brain index --source {source or registry.DEFAULT} --from DIR takes a file or folder of that source",
            )
    if source is not None:
        return (source,)
    return (registry.DEFAULT,) if roots else registry.present(home, config)


def _judge(connection: apsw.Connection) -> None:
    """Check the documents that another program, or an older version, has put into the index."""
    if catalogue.has_unjudged(connection):
        from qmd.index.writer import judge

        judge(connection)


def _rescan(home: Home, config: Config) -> dict[str, int] | None:
    """Apply a redaction policy that is new to corpus and archive; a read of one small file if it is not."""
    try:
        with open(join(home.state, "redaction"), "rb") as stream:
            if stream.read() == Policy(config.data).mark:
                return None
    except FileNotFoundError:
        pass
    from runtime.capture.rescan import rescan

    return rescan(home, config)


def projects(connection: apsw.Connection) -> list[str]:
    """Return the folders that sessions worked in."""
    rows = catalogue.rows(connection, catalogue.Filters((_DISTILLED,), fields=(("project", "GLOB", "/*"),)))
    return sorted({str(catalogue.Document(row).fields["project"]) for row in rows})


def _has_collection(config: Config, source: str) -> None:
    """Raise BadInput if no question would find the documents of the source."""
    name = registry.source(source).collection
    if name not in config.collections:
        raise BadInput(f"there is no collection {name!r} for it", f"add `{name}: {{path: {name}}}` to {config.own}")


def _archived(home: Home, source: str | None, roots: Sequence[str] | None) -> tuple[str, ...]:
    from ingest.archive import archive, verifier

    if roots:
        raise BadInput("--from names folders, --from-archive reads none", "brain index --from-archive")
    kept = archive.sources(home)
    own = registry.collectors()
    if not kept and source not in [each.name for each in own] and (count := len(verifier.orphan_objects(home))):
        raise EngineMissing(f"{verifier.orphans_phrase(count)}, and nothing else", verifier.orphans_fix(home))
    held = kept + [each.name for each in own if each.is_archived(home)]
    if source is not None:
        held = [name for name in held if name == source]
    if not held:
        raise BadInput("the archive holds nothing of that", "brain explain says what is archived")
    return tuple(name for name in held if registry.find(name) is not None)


def _open(home: Home, busy_ms: int | None = None) -> apsw.Connection:
    return open_index(home.index, write=True, busy_ms=_BUSY_MS if busy_ms is None else busy_ms)


# Below state/: other programs' databases, copied as they are, to be read.
COPIES = ("copies", "scratch")
# Besides them, what is written one file at a time: the archive, what was distilled, what was added.
_WRITTEN = ("raw", "distilled", "kb-raw", "kb-wiki")


def _sweep(home: Home) -> None:
    """Remove the temporary files of killed writers; ``ingest`` sweeps the corpus's own folders."""
    for top in (home.state, home.logs, home.inbox, *(join(home.root, name) for name in _WRITTEN)):
        for folder, folders, _ in os.walk(top):
            folders.sort()
            sweep_temporaries(folder)
    sweep_temporaries(home.root)
    for name in COPIES:
        if _holds_any(join(home.state, name)):
            from ingest.raw.sqlite_copy import sweep

            sweep(join(home.state, name))


def _holds_any(folder: str) -> bool:
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _ingest(
    home: Home,
    connection: apsw.Connection,
    names: Sequence[str],
    reading: dict[str, Any],
    enqueue: bool,
) -> tuple[dict[str, Ledger], int, dict[str, tuple[int, int]]]:
    """Return the ledgers, the number of documents queued for distillation, and collection → (added, updated) in the
    index.

    ``reading``: see ``ingest.pipeline.run.run``.
    """
    waiting: PendingQueue | None = None
    if enqueue:
        from runtime.distill_queue import PendingQueue

        waiting = PendingQueue(home)
    ledgers: dict[str, Ledger] = {}
    with _Indexer(connection) as indexer:

        def on_written(collection: str, relative: str, data: bytes, status: os.stat_result) -> None:
            # Queued before the source's state says that it was read: a run that dies is then repeated, not forgotten.
            if waiting is not None and collection == _DISTILLED:
                waiting.add(collection, relative)
            indexer.put(collection, relative, data, status)

        for name in names:
            try:
                ledgers[name] = ingest.pipeline.run.run(home, name, on_written=on_written, **reading)
            except apsw.Error as error:
                if indexer.failed:
                    raise
                # Not the index: what is known of the sources, which one full read of them makes again.
                path = join(home.state, registry.source(name).state_file or SOURCES_FILE)
                full = disk_full(error, path)
                if full is not None:
                    raise full from error
                raise Internal(f"{path} is damaged: {error}", f"mv {path} {path}.damaged; brain index") from error
    return ledgers, waiting.added if waiting is not None else 0, indexer.written()


class _Indexer:
    """Indexes documents as they land, in the thread that reads.

    A thread of its own would wait for Python's lock at each row: many small documents took a sixth longer with it.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._batch: Batch | None = None
        # (collection, path) → whether it is new, of each document that changed.
        self._changed: dict[tuple[str, str], bool] = {}
        self.failed = False
        """Whether indexing has failed."""

    def __enter__(self) -> _Indexer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._batch is None or self.failed:
            return
        try:
            self._batch.end()
        except apsw.Error:
            if kind is None:
                raise

    def written(self) -> dict[str, tuple[int, int]]:
        """Return collection → (new documents, changed documents), once the ``with`` has ended."""
        found: dict[str, tuple[int, int]] = {}
        for (collection, _), new in self._changed.items():
            added, updated = found.get(collection, (0, 0))
            found[collection] = (added + new, updated + (not new))
        return found

    def put(self, collection: str, relative: str, data: bytes, status: os.stat_result) -> None:
        """Index a document; its full text is searchable once the ``with`` has ended."""
        from qmd.index.update import Changes
        from qmd.index.writer import Batch, of_cleaned, put

        if self._batch is None:
            self._batch = Batch(self._connection)
        changes = Changes()
        try:
            with self._batch:
                put(
                    self._connection,
                    collection,
                    relative,
                    data,
                    status,
                    batch=self._batch,
                    changes=changes,
                    look=of_cleaned,
                )
        except BaseException:
            self.failed = True
            raise
        if changes.added or changes.updated:
            self._changed.setdefault((collection, relative), bool(changes.added))


def _envelope(ledgers: dict[str, Ledger], changes: dict[str, Changes], queued: int, started: float) -> dict[str, Any]:
    return {
        "schema": 1,
        "ok": True,
        "took_ms": round((time.perf_counter() - started) * 1000, 1),
        "as_of": clock.iso(clock.now()),
        "sources": {name: ledger.as_dict() for name, ledger in ledgers.items()},
        "collections": {name: change.as_dict() for name, change in changes.items()},
        "queued": queued,
    }
