"""One run over one source: discover → pending → parse → compose → write → remember → account.

A run that is killed at any moment leaves whole documents and a state that is at worst older than the documents. The
next run then reads those files again, finds the same bytes and writes nothing.
"""

from __future__ import annotations

import time
from os.path import abspath, join

from core.files import FileLock, write_atomic
from ingest import registry
from ingest.archive.keeping import Keeping
from ingest.pipeline import ledger as ledgers
from ingest.pipeline import pulse
from ingest.pipeline.ledger import ARCHIVE, GIVEN, OWN, Ledger
from ingest.pipeline.state import HIDDEN, Changes, FileRow, State, holds, with_hidden
from ingest.raw import store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.home import Home
    from ingest.policy.exclusions import Withholding
    from ingest.raw.store import SourceFile
    from ingest.source import OnWritten, Progress, Settings, Source

LOCK_WAIT_S = 60.0


def run(
    home: Home,
    source_name: str,
    roots: Sequence[str] | None = None,
    *,
    trust_stat: bool,
    rebuild: bool = False,
    from_archive: bool = False,
    check_archive: bool = False,
    settings: Settings | None = None,
    progress: Progress | None = None,
    on_written: OnWritten | None = None,
) -> Ledger:
    """Bring the corpus up to date with one source and return the account of it, which is also kept for ``explain``.

    One run a source at a time.

    Args:
        home: the brain.
        source_name: the source.
        roots: folders to look below; None for the source's own (where the tool keeps its files, and those configured).
        trust_stat: True if a file with the same size, mtime and inode counts as unchanged. Otherwise its bytes, and
            those of its document, are verified, and objects that the archive has lost of a present file are stored
            again.
        rebuild: read everything again, and verify the archived form of each file.
        from_archive: read what the archive holds, not the files on disk.
        check_archive: also verify the contents of the archive's objects.
        settings: collections.yml as plain data; read from the home if None.
        progress: called with (done, total, what) for each file that is read.
        on_written: called with (collection, name, data, status) for each document that landed, in this thread, with no
            database transaction open.

    Raises:
        LockContention: another run did not end within a minute.
        BadInput: there is no such source.
        OSError: the home cannot be written. A fault of a source file raises nothing.
    """
    source = registry.source(source_name)
    if source.is_collector:
        from ingest.collector import Collector, Options

        assert isinstance(source, Collector)
        options = Options(
            trust_stat=trust_stat,
            rebuild=rebuild,
            from_archive=from_archive,
            check_archive=check_archive,
            progress=progress,
            on_written=on_written,
        )
        return source.run(home, roots, options)
    if settings is None:
        settings = registry.settings(home)
    started_ns = time.time_ns()
    own_places = source.default_roots(settings=settings)
    places = [abspath(root) for root in roots] if roots else own_places
    ledger = Ledger(source_name, ARCHIVE if from_archive else GIVEN if roots else OWN)
    keeping: Withholding
    if from_archive:
        from ingest.archive.reading_back import ReadBack

        keeping = back = ReadBack(home, source_name, settings)
    else:
        keeping = own = Keeping(home, source_name, settings, checks=check_archive or rebuild, holds=holds)
    everything = rebuild or from_archive
    with FileLock(join(home.state, f"ingest-{source_name}.lock"), wait_s=LOCK_WAIT_S):
        state = State(home)
        try:
            state.expire(source_name, keeping.mark(), _policy(source, settings))
            if not from_archive:
                own.drop_outdated_states()
            files = back.files if from_archive else source.discover(places)
            known = with_hidden(state.files(source_name), files)
            readable = [file for file in files if not file.skip]
            new = readable if everything else source.pending(files, known, trust_stat=trust_stat)
            if not everything and (check_archive or not trust_stat):
                new = _with(new, own.lacking(readable))
            account_for_the_rest(files, new, known, ledger)
            gone = [] if from_archive else vanished(files, known, places, ledger)
            if gone:
                state.save(source_name, Changes(gone))
            if new or not trust_stat or _is_any_missing(home, source, state):
                from ingest.pipeline.normalise import Normaliser

                job = Normaliser(
                    home,
                    source,
                    state,
                    ledger,
                    keeping,
                    stale=everything,
                    progress=progress,
                    on_written=on_written,
                    seen=(files, known),
                    damaged=_damaged(known) if from_archive else {},
                )
                job.go(new, {file.path for file in readable}, verify=not trust_stat)
            ledger.documents, cut, pieces = state.totals(source_name)
            ledger.truncated = cut, pieces
        finally:
            try:
                keeping.close()
            finally:
                state.close()
        ledger.finished = int(time.time())
        there = {file.path for file in files}
        elsewhere = (row for path, row in known.items() if path not in there)
        kept = [(ledgers.path(home, source_name), ledger.encoded(home, elsewhere))]
        if not from_archive and (not roots or (own_places and set(own_places) <= set(places))):
            hidden = {path for path, row in known.items() if row.path.startswith(HIDDEN)}
            calm = [file for file in files if file.path not in hidden and _is_news(source, file)]
            seen = pulse.encoded(own_places, calm, started_ns, source.suffixes, with_empty=not hidden)
            kept.append((pulse.path(home, source_name), seen))
        for path, data in kept:
            if data:
                write_atomic(path, data)
    return ledger


def _is_news(source: Source, file: SourceFile) -> bool:
    """Return True if a change of a file means that there is something to read."""
    return not (source.is_restless(file.path) or source.is_history(file.path))


def _damaged(known: dict[str, FileRow]) -> dict[str, tuple[str, str]]:
    """Return the damage that ended the last reading of each database: the archive holds what was read before it."""
    from ingest.pipeline.databases import damage_of

    return {path: damage for path, row in known.items() if (damage := damage_of(row)) is not None}


def _with(files: list[SourceFile], more: list[SourceFile]) -> list[SourceFile]:
    """Return the files of both lists by path, each once."""
    if not more:
        return files
    found = {file.path: file for file in (*files, *more)}
    return [found[path] for path in sorted(found)]


def account_for_the_rest(
    files: list[SourceFile], new: list[SourceFile], known: dict[str, FileRow], ledger: Ledger
) -> None:
    """Count the files that will not be read, by what is known of them."""
    ahead = {file.path for file in new}
    ledger.seen = len(files)
    for file in files:
        if file.skip.startswith("unreadable"):
            ledger.fail(file.path, "unreadable", file.skip)
        elif file.skip:
            ledger.skip(file.skip)
        elif file.path not in ahead:
            ledger.account(known[file.path], fresh=False)


def vanished(files: list[SourceFile], known: dict[str, FileRow], places: list[str], ledger: Ledger) -> list[FileRow]:
    """Count the files below the roots that are gone; return the rows of those that vanished since the last run."""
    found = {file.path for file in files}
    below = tuple(join(place, "") for place in places)
    rows: list[FileRow] = []
    for path, row in known.items():
        if path not in found and path.startswith(below):
            # The vendor deletes transcripts after a month; the document stays.
            ledger.vanished += 1
            if row.status != "vanished":
                row.status = "vanished"
                rows.append(row)
    return rows


def _is_any_missing(home: Home, source: Source, state: State) -> bool:
    """Return True if a document of the source is not in its folder."""
    from os import listdir

    try:
        there = set(listdir(join(home.root, source.collection)))
    except OSError:
        there = set()
    return not there.issuperset(state.names(source.name))


def _policy(source: Source, settings: Settings) -> str:
    """Return a digest of the settings that decide what is kept of a source's files, "" if there are none."""
    if not source.judged_by:
        return ""
    import hashlib
    import json

    sections = [(settings.get("sources") or {}).get(name) for name in source.judged_by]
    return hashlib.sha256(json.dumps(sections, sort_keys=True, default=str).encode()).hexdigest()[:16]


def one(
    home: Home,
    source_name: str,
    path: str,
    *,
    wait_s: float,
    settings: Settings,
    on_written: OnWritten,
    settle: Callable[[list[tuple[str, str, str]]], None],
) -> Ledger | None:
    """Bring the corpus up to date with one file; return None if only a whole run can do that.

    A whole run is needed before the first run of the source and after a change of parser or document format.

    Args:
        home: the brain.
        source_name: the source.
        path: the file.
        wait_s: how long to wait for another run to end, in seconds.
        settings: collections.yml as plain data.
        on_written: as in ``run``.
        settle: called with (collection, file name, SHA-256) of every document that the file has a part in. Both are
            called under the source's lock, which a command that forgets a document holds as well.

    Raises:
        LockContention: another run did not end in time.
        BadInput: there is no such source.
        OSError: the home cannot be written.
    """
    source = registry.source(source_name)
    ledger = Ledger(source_name, GIVEN)
    (file,) = store.walk([path], "", {}, {})
    with FileLock(join(home.state, f"ingest-{source_name}.lock"), wait_s=wait_s):
        state = State(home, hasty=True)
        try:
            if not state.is_current(source_name):
                return None
            ledger.seen = 1
            if file.skip:
                ledger.fail(file.path, "unreadable", file.skip)
                return ledger
            known = state.file(source_name, file.path)
            if store.changed(file, known, trust_stat=False):
                from ingest.pipeline.normalise import Normaliser

                keeping = Keeping(home, source_name, settings, hasty=True)
                near = state.near(source_name, file.path, source.peek(file.path))
                job = Normaliser(home, source, state, ledger, keeping, on_written=on_written, only=near)
                try:
                    job.go([file], {file.path}, verify=False)
                finally:
                    keeping.close()
            rows = state.units(source_name, state.units_of(source_name, path)).values()
            settle([(source.collection, row.name, row.hash) for row in rows])
        finally:
            state.close()
        if known is None or not known.path.startswith(HIDDEN):
            pulse.touch(home, source_name, file)
    return ledger
