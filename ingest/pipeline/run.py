"""One run over one source: discover → pending → read → compose → write → remember → account.

Killed at any moment it leaves whole documents and a state that is at worst older than they are; the next run then
reads those files again, finds the same bytes and writes nothing.
"""

from __future__ import annotations

import time
from os.path import abspath, join

from core.home import Home
from core.locks import FileLock
from ingest import registry
from ingest.archive.keeping import Keeping
from ingest.pipeline import pulse
from ingest.pipeline.ledger import ARCHIVE, GIVEN, OWN, Ledger
from ingest.pipeline.pulse import standing
from ingest.pipeline.state import HIDDEN, FileRow, State, with_hidden
from ingest.pipeline.units import split_key
from ingest.raw import files
from ingest.source import Options
from ingest.sources.histories.source import Transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ingest.pipeline.state import UnitRow
    from ingest.raw.files import SourceFile
    from ingest.source import OnWritten, Progress, Source

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
    progress: Progress | None = None,
    on_written: OnWritten | None = None,
) -> Ledger:
    """Bring the corpus up to date with one source and return the account of it, which is also kept for ``explain``.

    ``roots``: folders to look below, None for the source's own (where it keeps its files on this machine, and those
    configured). ``trust_stat``: a file whose size, mtime and inode are as before counts as unchanged; otherwise its
    bytes, and those of its document, are verified. ``rebuild``: read everything again. ``from_archive``: read what the
    archive holds, not what lies on disk. Without ``trust_stat``, what the archive has lost of a file that lies here is
    stored anew; with ``check_archive`` also what is damaged there, for which all that it has of the source is read, and
    with ``rebuild`` all that it has of those files. ``progress(done, total,
    what)`` is called for each file read; ``on_written(collection, name, data, status)`` for each document that
    landed, in this thread, with no database transaction open.

    One run a source at a time: raises LockContention where another holds on for over a minute, BadInput for an
    unknown source; OSError where the home cannot be written. What is wrong with a source file raises nothing.
    """
    options = Options(
        trust_stat=trust_stat,
        rebuild=rebuild,
        from_archive=from_archive,
        check_archive=check_archive,
        progress=progress,
        on_written=on_written,
    )
    return registry.source(source_name).run(home, roots, options)


def over(source: Source, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
    """Run over a source whose files become sessions: see ``run``."""
    own_places = standing(source, home)
    places = [abspath(root) for root in roots] if roots else own_places
    started_ns = time.time_ns()
    ledger = Ledger(source.name, ARCHIVE if options.from_archive else GIVEN if roots else OWN)
    everything = options.rebuild or options.from_archive
    checks = options.check_archive or options.rebuild
    keeping = Keeping(home, source.name, from_archive=options.from_archive, checks=checks)
    with FileLock(join(home.state, f"ingest-{source.name}.lock"), wait_s=LOCK_WAIT_S):
        state = State(home)
        try:
            stale = state.expire(source.name, "" if options.from_archive else keeping.mark()) or everything
            files = keeping.files() if options.from_archive else source.discover(places)
            known = with_hidden(state.files(source.name), files)
            readable = [file for file in files if not file.skip]
            new = readable if everything else source.pending(files, known, trust_stat=options.trust_stat)
            if not everything and (options.check_archive or not options.trust_stat):
                new = _with(new, keeping.lacking(readable))
            account_for_the_rest(files, new, known, ledger)
            rows = [] if options.from_archive else vanished(files, known, places, ledger)
            if rows:
                state.save(source.name, files=rows)
            keeping.transcripts = Transcripts(source, files, known)
            if new or _damaged(home, source.collection, state, source.name, options.trust_stat):
                from ingest.pipeline.normalise import Normaliser
                from ingest.raw.databases import damage_of

                # The archive has what was read before the damage: that there was more of it stays to be said.
                told = {path: damage_of(row) for path, row in known.items()} if options.from_archive else {}
                damaged = {path: damage for path, damage in told.items() if damage is not None}
                job = Normaliser(
                    home,
                    source,
                    state,
                    ledger,
                    keeping,
                    stale=stale,
                    progress=options.progress,
                    on_written=options.on_written,
                    damaged=damaged,
                )
                job.go(new, {file.path for file in readable}, verify=not options.trust_stat)
            ledger.documents = state.count(source.name)
            ledger.truncated = state.truncated(source.name)
        finally:
            try:
                keeping.close()
            finally:
                state.close()
        ledger.finished = int(time.time())
        found = {file.path for file in files}
        ledger.write(home, (row for path, row in known.items() if path not in found))
        if not options.from_archive and (not roots or (own_places and set(own_places) <= set(places))):
            unsaid = {path for path, row in known.items() if row.path.startswith(HIDDEN)}
            calm = [
                file
                for file in files
                if not (source.is_restless(file.path) or source.is_history(file.path) or file.path in unsaid)
            ]
            pulse.write(home, source.name, own_places, calm, started_ns, source.suffixes, with_empty=not unsaid)
    return ledger


def _with(files: list[SourceFile], more: list[SourceFile]) -> list[SourceFile]:
    """Both, by path, each file once."""
    found = {file.path: file for file in (*files, *more)}
    return [found[path] for path in sorted(found)] if more else files


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
    """Count the files below the roots that are gone; returns the rows of those gone since the last run."""
    found = {file.path for file in files}
    below = tuple(join(place, "") for place in places)
    rows: list[FileRow] = []
    for path, row in known.items():
        if path not in found and path.startswith(below):
            # Its document stays: the vendor deletes transcripts after a month, memory does not.
            ledger.vanished += 1
            if row.status != "vanished":
                row.status = "vanished"
                rows.append(row)
    return rows


def _damaged(home: Home, collection: str, state: State, source: str, trust_stat: bool) -> bool:
    """Whether a document may have to be restored: some are missing, or their bytes are to be verified."""
    if not trust_stat:
        return True
    from os import listdir

    try:
        there = set(listdir(home.path(collection)))
    except OSError:
        there = set()
    return not there.issuperset(state.names(source))


def one(
    home: Home,
    source_name: str,
    path: str,
    *,
    wait_s: float,
    on_written: OnWritten,
    settle: Callable[[list[tuple[str, str, str]]], None],
) -> Ledger | None:
    """Bring the corpus up to date with the file at ``path``; None where only a whole run can do that.

    That is so before the first run and after a change of parser or document format. ``on_written`` as in
    ``ingest.pipeline.run.run``; ``settle`` is then given (collection, file name, SHA-256) of every document that the
    file has a part in. Both are called under the source's lock: whoever forgets a document holds it too. Raises
    LockContention where a run holds on for over ``wait_s`` seconds, BadInput for an unknown source, OSError where
    the home cannot be written.
    """
    source = registry.source(source_name)
    ledger = Ledger(source_name, GIVEN)
    (file,) = files.walk([path], "", {}, {})
    with FileLock(join(home.state, f"ingest-{source_name}.lock"), wait_s=wait_s):
        state = State(home)
        state.hasten()
        try:
            if not state.is_current(source_name):
                return None
            ledger.seen = 1
            if file.skip:
                ledger.fail(file.path, "unreadable", file.skip)
                return ledger
            scope = _Scope(state, source_name, file.path, source.peek(file.path))
            if files.changed(file, scope.file, trust_stat=False):
                from ingest.pipeline.normalise import Normaliser

                keeping = Keeping(home, source_name, hasty=True)
                job = Normaliser(
                    home, source, scope, ledger, keeping, stale=False, progress=None, on_written=on_written, sweep=False
                )
                try:
                    job.go([file], {file.path}, verify=False)
                finally:
                    keeping.close()
            if scope.file is None or not scope.file.path.startswith(HIDDEN):
                pulse.touch(home, source_name, file)
            rows = state.units(source_name, state.units_of(source_name, path)).values()
            settle([(source.collection, row.name, row.hash) for row in rows])
        finally:
            state.close()
    return ledger


class _Scope:
    """The part of the state that one file bears on: its session, that one's agents, and whoever shares their names."""

    def __init__(self, state: State, source: str, path: str, unit: str) -> None:
        self._state = state
        self.file = state.file(source, path)
        owned = state.units_of(source, path)
        sessions = {split_key(each)[0] for each in (unit, *owned)}
        near = state.unit_keys(source, sessions)
        # A name is taken by the session of that id, and by the agents of that id of every session
        # (ingest.pipeline.units).
        ids = {part.casefold() for each in (unit, *near) for part in _ids(each)}
        known = state.like(source, ids | {each.removeprefix("agent-") for each in ids})
        self._near = [each for each in known if not ids.isdisjoint(part.casefold() for part in _ids(each))]

    def units(self, source: str) -> dict[str, UnitRow]:
        """As ``State.units``."""
        return self._state.units(source, self._near)

    def members(self, source: str) -> dict[str, set[str]]:
        """As ``State.members``."""
        return self._state.members(source, self._near)

    def links(self, source: str) -> dict[str, str]:
        """As ``State.links``."""
        return self._state.links(source)

    def mark(self, source: str, mark: str) -> None:
        """Nothing: that one file is in the archive says nothing of the others."""

    def save(self, source: str, *batch: Any, **named: Any) -> None:
        """As ``State.save``."""
        self._state.save(source, *batch, **named)


def _ids(unit: str) -> tuple[str, ...]:
    session, agent = split_key(unit)
    return (agent, f"agent-{agent}") if agent else (session,)
