"""Sources into the corpus, the corpus into the index: the path behind ``brain index`` and every capture."""

from __future__ import annotations

import os
import sys
import time
from os.path import join

import apsw

from core import clock
from core.config import remember
from core.errors import BadInput, EngineMissing, Internal
from core.files import FileLock, read_or_none, sweep_temporaries, sweep_tree, write_atomic
from ingest import registry
from ingest.pipeline.run import run
from ingest.pipeline.state import FILE as SOURCES_FILE
from ingest.policy.exclusions import Policy
from qmd.index import completeness
from qmd.index.store import disk_full, is_redacted, mark_complete, mark_redacted, open_index, translate
from qmd.index.update import as_dicts, register, update
from runtime.capture import demo
from runtime.injections import FILE as INJECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from core.config import Config
    from core.errors import BrainError
    from core.home import Home
    from ingest.repositories import Worked
    from qmd.index.writer import Writer
    from runtime.distill_queue import PendingQueue

    Progress = Callable[[int, int, str], None]
    Fill = Callable[[apsw.Connection], dict[str, Any]]

# Sessions are distilled; a day of browsing says what was looked at, and there is nothing to compress.
_DISTILLED = "brain"
_LOCK_WAIT_S = 60
_BUSY_MS = 30_000
# Below state/: what is still to be forgotten, where that was cut short.
_FORGETTING = "forgetting.json"


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
    swept = [home.state, home.logs, home.inbox, *(join(home.root, name) for name in _WRITTEN)]
    copies = [join(home.state, name) for name in COPIES]
    redacted = [join(home.root, _ARCHIVE), *(each.path for each in config.collections.values())]
    names: tuple[str, ...] = ()
    if not markdown_only:
        names = _archived(home, source, roots) if from_archive else chosen(home, source, roots, config)
    if source is not None:
        _has_collection(config, source)
    busy_ms = _BUSY_MS if wait_s is None else int(wait_s * 1000)
    how = {
        "trust_stat": trust_stat,
        "rebuild": rebuild,
        "from_archive": from_archive,
        "check_archive": check_archive,
        "progress": progress,
    }

    def fill(connection: apsw.Connection) -> dict[str, Any]:
        of_projects = source is not None and not roots and registry.source(source).reads_projects
        places = _projects(config, connection, rebuild) if of_projects else roots
        return _fill(home, config, connection, names, places, how, enqueue, started_ns)

    policy = Policy(config.data).mark
    registry.note_roots(home)
    home.make()
    remember(home)
    with FileLock(join(home.state, "index.lock"), _LOCK_WAIT_S if wait_s is None else min(wait_s, _LOCK_WAIT_S)):
        # The temporary files of killed writers; ``ingest`` sweeps the corpus's own folders.
        for folder in swept:
            sweep_tree(folder)
        sweep_temporaries(home.root)
        if any(map(os.path.isdir, copies)):
            _sweep_copies(copies)
        if not rebuild and os.path.exists(join(home.state, _FORGETTING)):
            _resume_forgetting(home)
        rescanned = None
        if read_or_none(mark := join(home.state, "redaction")) != policy:
            if any(map(os.path.exists, redacted)):
                rescanned = _rescan(home, config)
            else:
                write_atomic(mark, policy)  # a new home: no other policy has let anything pass
        try:
            if rebuild:
                report = _rebuild(home, config, busy_ms, fill)
            else:
                connection = open_index(home.index, write=True, busy_ms=busy_ms)
                try:
                    report = fill(connection)
                finally:
                    connection.close()
        except apsw.Error as error:
            raise translate(error, home.index) from error
        if os.path.isdir(join(home.state, "unindexed")):
            from runtime.capture import documents

            documents.heal(home, config)
    if rescanned:
        report["rescanned"] = rescanned
    if from_archive:
        from ingest.archive import verifier

        report["unnamed"] = len(verifier.orphan_objects(home))
    took_ms = round((time.perf_counter() - started) * 1000, 1)
    return {"schema": 1, "ok": True, "took_ms": took_ms, "as_of": clock.iso(time.time()), **report}


def _rebuild(home: Home, config: Config, busy_ms: int, fill: Fill) -> dict[str, Any]:
    """Fill a new index, which replaces the old one; return the report, with what could not be carried over."""
    from qmd.index.rebuilding import Rebuild

    with Rebuild(home.index, busy_ms) as new:
        report = fill(new.connection)
        new.finish()
    # Documents written to the old index meanwhile are files, too.
    if os.path.exists(join(home.state, _FORGETTING)):
        _resume_forgetting(home)
    connection = open_index(home.index, write=True, busy_ms=busy_ms)
    try:
        update(connection, config.collections.values())
    finally:
        connection.close()
    return {**report, "unread": new.unread} if new.unread else report


def _fill(
    home: Home,
    config: Config,
    connection: apsw.Connection,
    names: Sequence[str],
    roots: Sequence[str] | None,
    how: dict[str, Any],
    enqueue: bool,
    started_ns: int,
) -> dict[str, Any]:
    """Read the sources ``names``, then compare every collection's folder with the index; return the report.

    ``how``: options of ``ingest.pipeline.run.run``. A document is indexed from memory as it lands, by the thread that
    reads: a thread of its own would wait for Python's lock at each row. ``started_ns``: when the run began.
    """
    older = not is_redacted(connection)
    register(connection, config.collections.values())
    waiting: PendingQueue | None = None
    if enqueue:
        from runtime.distill_queue import PendingQueue

        waiting = PendingQueue(home)
    brings_demo = bool(roots) and demo.is_given(roots)
    if brings_demo:
        demo.bring(home, config)
    writer: Writer | None = None
    ledgers: dict[str, dict[str, object]] = {}
    written: dict[tuple[str, str], str] = {}

    def on_written(collection: str, relative: str, data: bytes, status: os.stat_result) -> None:
        nonlocal writer
        from qmd.index.writer import CHANGED, Writer, of_cleaned  # here, since most runs find nothing new

        if writer is None:
            writer = Writer(connection).__enter__()
        # Queued before the source's state says that it was read: a run that dies is then repeated, not forgotten.
        if waiting is not None and collection == _DISTILLED:
            waiting.add(collection, relative)
        outcome = writer.put(collection, relative, data, status, look=of_cleaned)
        if outcome in CHANGED:
            written.setdefault((collection, relative), outcome)

    try:
        for name in names:
            try:
                ledgers[name] = run(home, name, roots, settings=config.data, on_written=on_written, **how).as_dict()
            except apsw.Error as error:
                if writer is None or not writer.torn:
                    raise _state_failure(home, name, error) from error
                raise
    finally:
        if writer is not None:
            writer.__exit__(sys.exc_info()[0])
    demo_left = 0
    if names and not brings_demo and os.path.exists(join(home.state, demo.MARK)):
        demo_left = demo.give_way(home, connection)
    # The new documents are not read back.
    changes = update(
        connection,
        config.collections.values(),
        trust_stat=how["trust_stat"],
        since_ns=started_ns,
        progress=how["progress"],
    )
    for (collection, _), outcome in written.items():
        if collection in changes:
            changes[collection].precede(outcome)
    if written and os.path.exists(join(home.state, INJECTED)):
        from runtime.injections import judging

        judging.note_use(home, config, written)
    mark_complete(connection, config)
    if completeness.has_unjudged(connection):
        from qmd.index.writer import judge

        judge(connection)
    if older:
        # The secrets that an older policy let pass have left the documents, but not the free pages and segments.
        from qmd.index.cleanup import erase, require_room

        require_room(home.index)
        erase(connection, ())
        mark_redacted(connection)
    connection.execute("PRAGMA optimize")
    report: dict[str, Any] = {
        "sources": ledgers,
        "collections": as_dicts(changes),
        "queued": waiting.added if waiting is not None else 0,
    }
    return {**report, "demo_left": demo_left} if demo_left else report


def _state_failure(home: Home, source: str, error: apsw.Error) -> BrainError:
    """Return the failure of what is known of a source, which one full read of the source makes again."""
    path = join(home.state, registry.source(source).state_file or SOURCES_FILE)
    return disk_full(error, path) or Internal(f"{path} is damaged: {error}", f"mv {path} {path}.damaged; brain index")


def _resume_forgetting(home: Home) -> None:
    from runtime.forgetting.forget import resume

    resume(home)


def chosen(
    home: Home, source: str | None, roots: Sequence[str] | None, config: Config | None = None
) -> tuple[str, ...]:
    """Return the sources to run: the one that is named, else those that have files here. Raises BadInput."""
    if source is None and not roots:
        return registry.present(home, config)
    if source is not None and registry.find(source) is None:
        raise BadInput(f"unknown source {source!r}", f"sources of this version: {', '.join(registry.names())}")
    for root in roots or ():
        if not os.path.exists(root):
            raise BadInput(
                f"no such folder: {root}",
                f"brain index --source {source or registry.DEFAULT} --from DIR takes a file or folder of that source",
            )
    return (source or registry.DEFAULT,)


def _rescan(home: Home, config: Config) -> dict[str, int] | None:
    """Apply a redaction policy that is new to corpus and archive."""
    from runtime.capture.rescan import rescan

    return rescan(home, config)


def _projects(config: Config, connection: apsw.Connection, rebuild: bool) -> Worked:
    """Return the folders that sessions worked in, to look for repositories there."""
    from ingest.repositories import Worked

    if rebuild:  # the sessions say which folders there are
        update(connection, [config.collections[_DISTILLED]])
    return Worked(projects(connection))


def projects(connection: apsw.Connection) -> list[str]:
    """Return the folders that sessions worked in."""
    from qmd.index import catalogue

    rows = catalogue.rows(connection, catalogue.Filters((_DISTILLED,), fields=(("project", "GLOB", "/*"),)))
    return sorted({str(catalogue.Document(row).fields["project"]) for row in rows})


def _has_collection(config: Config, source: str) -> None:
    """Raise BadInput if no question would find the documents of a source that is read on request."""
    name = registry.source(source).collection
    if registry.is_on_request(source) and name not in config.collections:
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


_ARCHIVE = "raw"
# Below state/: other programs' databases, copied as they are, to be read.
COPIES = ("copies", "scratch")
# Besides them, what is written one file at a time: the archive, what was distilled, what was added.
_WRITTEN = (_ARCHIVE, "distilled", "kb-raw", "kb-wiki")


def _sweep_copies(copies: list[str]) -> None:
    from ingest.raw.sqlite_copy import sweep

    for folder in filter(os.path.isdir, copies):
        sweep(folder)
