"""A run over browsing: databases that changed into the archive, days that changed out of it.

Killed at any moment it leaves whole documents: which days are to be made anew is kept beside the visits, in one
transaction with them, and a database counts as read only after that. A run with nothing new is most of them: what
only the others need is imported where they do.
"""

from __future__ import annotations

import hashlib
import os
import time
from os.path import abspath, join

import apsw

from core.files import NO_ROOM
from core.locks import FileLock
from core.sqlite import is_full
from core.version import DOCUMENT
from ingest.pipeline.ledger import ARCHIVE, GIVEN, OWN, Ledger
from ingest.pipeline.run import LOCK_WAIT_S
from ingest.pipeline.state import FileRow, State
from ingest.raw.sqlite_copy import Unsettled, apart, copied
from ingest.sources.chrome import settings
from ingest.sources.chrome import source as chrome
from ingest.sources.chrome.changed import digest_of
from ingest.sources.chrome.damage import damaged, refuse_emptied
from ingest.sources.chrome.visits import Archive, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from core.document import Document, Failure
    from core.home import Home
    from ingest.raw.files import SourceFile
    from ingest.session.zones import Zones
    from ingest.source import Options
    from ingest.sources.chrome.policy import Policy
    from ingest.sources.chrome.reading import Visit

# Bump when the same visits give other bytes: every day is then made anew.
_DAYS_VERSION = 1
_NOT_HISTORY = "not a browser's history"
_IN_USE = "written to all the time"
_DAMAGED = "damaged database"
KEPT = "a day that shows more than the archive has"
_DAY_S = 86_400


class Run:
    """One run; ``go`` returns the account of it."""

    def __init__(
        self,
        home: Home,
        roots: Sequence[str] | None,
        options: Options,
    ) -> None:
        self._home = home
        self._shadow = options.shadow
        self._places = [abspath(root) for root in roots] if roots else chrome.SOURCE.default_roots(home)
        self._trust_stat = options.trust_stat
        self._rebuild = options.rebuild or options.from_archive
        self._from_archive = options.from_archive
        self._progress = options.progress
        self._on_written = options.on_written
        self._ledger = Ledger(chrome.NAME, ARCHIVE if options.from_archive else GIVEN if roots else OWN)
        self._settings = settings.load(home)
        self._copies = join(home.state, "copies")
        self._policy: Policy | None = None

    def go(self) -> Ledger:
        """Raises BadInput, LockContention, OSError, and Internal where the archive is damaged."""
        if self._shadow is not None:
            return self._rehearse()
        home, ledger = self._home, self._ledger
        with FileLock(join(home.state, f"ingest-{chrome.NAME}.lock"), wait_s=LOCK_WAIT_S):
            state = State(home)
            try:
                archive = Archive(home)
                try:
                    if self._from_archive:
                        self._read_back(archive)
                    else:
                        stale = state.expire(chrome.NAME)
                        self._take_over(state.files(chrome.NAME), archive, state, stale=stale)
                    self._make_days(archive)
                    self._count(archive)
                finally:
                    archive.close()
            finally:
                state.close()
            ledger.finished = int(time.time())
            ledger.write(home)
        return ledger

    def _rehearse(self) -> Ledger:
        """All of it with a copy of the archive in memory; the copies of databases are gone when it ends."""
        from ingest.pipeline.shadow import in_memory
        from ingest.pipeline.state import known

        path = place(self._home)
        refuse_emptied(self._home, path)
        try:
            archive = Archive(self._home, in_memory(path))
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise damaged(path, error) from error
        try:
            with apart() as folder:
                self._copies = join(folder, "copies")
                self._take_over(known(self._home, chrome.NAME), archive, None, stale=False)
            self._make_days(archive)
            self._count(archive)
        finally:
            archive.close()
        self._ledger.finished = int(time.time())
        return self._ledger

    def _count(self, archive: Archive) -> None:
        self._ledger.documents = sum(bool(digest) for digest, _ in archive.days().values())

    def _judge(self) -> Policy:
        if self._policy is None:
            from ingest.sources.chrome.policy import Policy

            self._policy = Policy(self._settings)
        return self._policy

    def _zones(self, archive: Archive) -> Zones:
        from ingest.session.zones import system_zone

        return archive.zones(system_zone(), self._settings.get("time_zone") or "")

    def _read_back(self, archive: Archive) -> None:
        """No browser is looked at: the archive is the one file that is read."""
        archive.judge_again(settings.fingerprint(self._settings), self._judge)
        self._ledger.seen = self._ledger.ingested = 1
        self._ledger.bytes = os.stat(place(self._home)).st_size

    def _take_over(self, known: dict[str, FileRow], archive: Archive, state: State | None, *, stale: bool) -> None:
        stale = stale or self._rebuild
        # What another policy left out may be wanted by this one.
        stale = archive.judge_again(settings.fingerprint(self._settings), self._judge) or stale
        files = chrome.SOURCE.discover(self._places)
        readable = [file for file in files if not file.skip]
        new = readable if stale else chrome.SOURCE.pending(files, known, trust_stat=self._trust_stat)
        ahead = {file.path for file in new}
        self._ledger.seen = len(files)
        for file in files:
            if file.skip.startswith("unreadable"):
                self._ledger.fail(file.path, "unreadable", file.skip.partition(": ")[2])
            elif file.skip:
                self._ledger.skip(file.skip)
            elif file.path not in ahead:
                self._ledger.account(known[file.path], fresh=False)
        gone = self._vanished(files, known)
        if gone and state is not None:
            state.save(chrome.NAME, files=gone)
        if new:
            local = self._zones(archive)
            for number, file in enumerate(new, 1):
                row = self._one(file, archive, local)
                if state is not None:
                    state.save(chrome.NAME, files=[row])
                self._ledger.account(row, fresh=True)
                if self._progress is not None:
                    self._progress(number, len(new), "browsers")

    def _vanished(self, files: list[SourceFile], known: dict[str, FileRow]) -> list[FileRow]:
        """Count the databases that are gone; returns the rows of those gone since the last run."""
        found = {file.path for file in files}
        below = tuple(join(place, "") for place in self._places)
        gone = [row for path, row in known.items() if path not in found and path.startswith(below)]
        self._ledger.vanished = len(gone)
        rows = [row for row in gone if row.status != "vanished"]
        for row in rows:
            row.status = "vanished"
        return rows

    def _one(self, file: SourceFile, archive: Archive, local: Zones) -> FileRow:
        """Take over one database; the row says how that went."""
        from ingest.sources.chrome.reading import NotHistory

        policy = self._judge()
        policy.redacted = {}
        taken = _Taken()
        status, reason, digest, consumed = "ingested", "", "", 0
        try:
            before = digest_of(file.path)
            with copied(file.path, self._copies) as copy:
                consumed = sum(part.size for part in copy.parts)
                if self._shadow is not None:
                    self._shadow.files[file.path] = consumed
                if _stat(file.path) == (file.size, file.mtime_ns, file.inode):
                    digest = before
                archive.unite(
                    file.path,
                    taken.visits(copy.connection, policy),
                    local,
                    follow_clears=self._settings.get("follow_clears") is True,
                    is_whole=lambda: not taken.damage,
                )
        except NotHistory:
            status, reason = "skipped", _NOT_HISTORY
        except Unsettled:
            status, reason = "unreadable", _IN_USE
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            status, reason = "unreadable", f"unreadable: {error.strerror or error}"
        except (apsw.NotADBError, apsw.CorruptError, apsw.CantOpenError, apsw.FullError) as error:
            if not isinstance(error, apsw.NotADBError | apsw.CorruptError) and is_full(self._home.state):
                raise
            status, reason = "failed", f"{_DAMAGED}: {error}"
        if taken.damage:
            # What was read before the damage is kept; the rest is said to be missing.
            status, reason = "failed", f"{_DAMAGED}: {taken.damage}"
        self._ledger.bytes += consumed
        return FileRow(
            file.path,
            file.size,
            file.mtime_ns,
            file.inode,
            consumed,
            digest,
            status,
            reason,
            _notes(dropped=taken.dropped, redacted=policy.redacted, failed=taken.failed),
        )

    def _make_days(self, archive: Archive) -> None:
        if self._rebuild:
            archive.soil_all()
        archive.made_by(f"{_DAYS_VERSION}.{DOCUMENT}")
        folder = self._home.path(chrome.COLLECTION)
        there = set(os.listdir(folder)) if os.path.isdir(folder) else set()
        due = [
            day
            for day, (digest, dirty) in archive.days().items()
            if dirty or (digest and (_name(day) not in there or self._is_edited(join(folder, _name(day)), digest)))
        ]
        if not due:
            return
        from core.document import render
        from ingest.pipeline.shadow import corpus as corpus_of
        from ingest.sources.chrome.day import compose

        local = self._zones(archive)
        held = archive.days()
        # Days that have a document which this archive has not made.
        lost = {day for day in due if not held[day][0] and _name(day) in there}
        made: list[tuple[int, str]] = []
        with corpus_of(self._home, chrome.COLLECTION, self._landed, self._shadow) as corpus:
            for number, day in enumerate(due, 1):
                composed = compose(day, archive.rows(day), local)
                if composed is None:
                    if _name(day) in there:
                        corpus.remove(_name(day))
                        self._ledger.removed += 1
                    made.append((day, ""))
                elif day in lost and _shows_more(join(folder, _name(day)), *composed):
                    # Its visits were lost with the archive that it was made of: what browsers still have is less.
                    self._ledger.skip(KEPT)
                    made.append((day, ""))
                else:
                    meta, body = composed
                    made.append((day, corpus.put(_name(day), render(meta, body))))
                    left_out = meta.get("truncated") or 0
                    if left_out:
                        documents, pieces = self._ledger.truncated
                        self._ledger.truncated = (documents + 1, pieces + left_out)
                if self._progress is not None:
                    self._progress(number, len(due), "days")
            corpus.flush()
            archive.settle(made)

    def _is_edited(self, path: str, digest: str) -> bool:
        if self._trust_stat:
            return False
        try:
            with open(path, "rb") as stream:
                return hashlib.sha256(stream.read()).hexdigest() != digest
        except OSError:
            return True

    def _landed(self, name: str, data: bytes, status: os.stat_result) -> None:
        self._ledger.written += 1
        if self._on_written is not None:
            self._on_written(chrome.COLLECTION, name, data, status)


class _Taken:
    """What reading one database came to: counts by reason, and how it broke off."""

    def __init__(self) -> None:
        self.dropped: dict[str, int] = {}
        self.failed: dict[str, int] = {}
        self.damage = ""

    def visits(self, connection: apsw.Connection, policy: Policy) -> Iterator[Visit]:
        from ingest.sources.chrome.reading import read

        try:
            yield from read(connection, policy, self._drop, self._fail)
        except (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.SQLError) as error:
            self.damage = str(error)

    def _drop(self, reason: str) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1

    def _fail(self, reason: str) -> None:
        self.failed[reason] = self.failed.get(reason, 0) + 1


def documents(path: str) -> Iterator[Document | Failure]:
    """The days of one database taken alone, then what in it could not be read. Raises OSError for the machine's own."""
    from core.document import Document, Failure
    from core.home import Home
    from ingest.session.zones import system_zone
    from ingest.sources.chrome.day import compose
    from ingest.sources.chrome.policy import Policy
    from ingest.sources.chrome.reading import NotHistory

    taken = _Taken()
    with apart() as folder:
        archive = Archive(Home(folder))
        try:
            with copied(path, join(folder, "copies")) as copy:
                local = archive.zones(system_zone(), "")
                visits = taken.visits(copy.connection, Policy(settings.load(None)))
                archive.unite(path, visits, local, follow_clears=False, is_whole=lambda: True)
            for day in archive.days():
                composed = compose(day, archive.rows(day), local)
                if composed is not None:
                    yield Document(_name(day), *composed)
        except NotHistory:
            yield Failure(path, _NOT_HISTORY)
        except Unsettled:
            yield Failure(path, _IN_USE)
        except (OSError, apsw.Error) as error:
            yield Failure(path, _DAMAGED if isinstance(error, apsw.Error) else "unreadable", str(error))
        finally:
            archive.close()
    if taken.damage:
        yield Failure(path, _DAMAGED, taken.damage)
    for reason, count in taken.failed.items():
        yield Failure(path, reason, f"{count} ×")


def figures(home: Home) -> dict[str, int | None]:
    """The size of the archive, empty where there is none."""
    if not os.path.exists(place(home)):
        return {}
    archive = Archive(home)
    try:
        return archive.figures()
    finally:
        archive.close()


def _stat(path: str) -> tuple[int, int, int]:
    file = chrome.SOURCE.discover([path])[0]
    return file.size, file.mtime_ns, file.inode


def _shows_more(path: str, meta: dict[str, Any], body: str) -> bool:
    """Whether the document at ``path`` is made of more visits, or of others, than one of ``meta`` and ``body``."""
    from core.document import split

    try:
        with open(path, encoding="utf-8") as stream:
            said, text = split(stream.read())
    except (OSError, ValueError):
        return False
    visits = said.get("visits")
    fewer = isinstance(visits, int) and visits > int(meta["visits"])
    return fewer or not _addresses(text) <= _addresses(body)


def _addresses(body: str) -> set[str]:
    return {line.strip() for line in body.splitlines() if line.lstrip().startswith(("http://", "https://"))}


def _name(day: int) -> str:
    return time.strftime("%Y-%m-%d.md", time.gmtime(day * _DAY_S))


def _notes(**counts: dict[str, int]) -> str | None:
    kept: dict[str, Any] = {what: tally for what, tally in counts.items() if tally}
    if not kept:
        return None
    import json

    return json.dumps(kept)
