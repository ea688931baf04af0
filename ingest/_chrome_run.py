"""A run over browsing: databases that changed into the archive, days that changed out of it.

Killed at any moment it leaves whole documents: which days are to be made anew is kept beside the visits, in one
transaction with them, and a database counts as read only after that.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from os.path import abspath, basename, join
from typing import TYPE_CHECKING, Any

import apsw

from core.document import Document, Failure, render
from core.errors import Internal
from core.home import Home, shipped
from core.locks import FileLock
from core.version import DOCUMENT
from ingest import _chrome_day, chrome, zones
from ingest._chrome_archive import FILE, Archive
from ingest._chrome_policy import Policy
from ingest._chrome_read import NotHistory, Visit, read
from ingest.corpus import Corpus
from ingest.files import SourceFile
from ingest.ledger import GIVEN, OWN, Ledger
from ingest.sqlite_copy import Unsettled, copied, parts
from ingest.state import FileRow, State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.chrome import OnWritten, Progress

LOCK_WAIT_S = 60.0
_NOT_HISTORY = "not a browser's history"
_IN_USE = "written to all the time"
_DAMAGED = "damaged database"
_CHUNK = 1024 * 1024


class Run:
    """One run; ``go`` returns the account of it. Parameters as ``ingest.run.run`` has them."""

    def __init__(
        self,
        home: Home,
        roots: Sequence[str] | None,
        *,
        trust_stat: bool,
        rebuild: bool,
        progress: Progress | None,
        on_written: OnWritten | None,
    ) -> None:
        self._home = home
        self._given = bool(roots)
        self._places = [abspath(root) for root in roots] if roots else chrome.default_roots(home)
        self._trust_stat = trust_stat
        self._rebuild = rebuild
        self._progress = progress
        self._on_written = on_written
        self._ledger = Ledger(chrome.NAME, GIVEN if roots else OWN)
        self._policy = policy(home)

    def go(self) -> Ledger:
        """Raises BadInput, LockContention, OSError, and Internal where the archive is damaged."""
        home, ledger = self._home, self._ledger
        with FileLock(join(home.state, f"ingest-{chrome.NAME}.lock"), wait_s=LOCK_WAIT_S):
            state = State(home)
            try:
                archive = _open(home)
                try:
                    self._take_over(state, archive)
                    self._make_days(archive)
                    ledger.documents = sum(bool(digest) for digest, _ in archive.days().values())
                finally:
                    archive.close()
            finally:
                state.close()
            ledger.finished = int(time.time())
            ledger.write(home)
        return ledger

    def _take_over(self, state: State, archive: Archive) -> None:
        stale = state.expire(chrome.NAME) or self._rebuild
        # What another policy left out may be wanted by this one.
        stale = archive.judge_again(self._policy) or stale
        files = chrome.discover(self._places)
        known = state.files(chrome.NAME)
        readable = [file for file in files if not file.skip]
        new = readable if stale else chrome.pending(files, known, trust_stat=self._trust_stat)
        ahead = {file.path for file in new}
        self._ledger.seen = len(files)
        for file in files:
            if file.skip.startswith("unreadable"):
                self._ledger.fail(file.path, "unreadable", file.skip.partition(": ")[2])
            elif file.skip:
                self._ledger.skip(file.skip)
            elif file.path not in ahead:
                self._ledger.account(known[file.path], fresh=False)
        self._note_vanished(state, files, known)
        if new:
            local = archive.zones(zones.system_zone(), self._policy.time_zone)
            for number, file in enumerate(new, 1):
                row = self._one(file, archive, local)
                state.save(chrome.NAME, files=[row])
                self._ledger.account(row, fresh=True)
                if self._progress is not None:
                    self._progress(number, len(new), basename(file.path))

    def _note_vanished(self, state: State, files: list[SourceFile], known: dict[str, FileRow]) -> None:
        found = {file.path for file in files}
        below = tuple(join(place, "") for place in self._places)
        gone = [row for path, row in known.items() if path not in found and path.startswith(below)]
        self._ledger.vanished = len(gone)
        rows = [row for row in gone if row.status != "vanished"]
        for row in rows:
            row.status = "vanished"
        if rows:
            state.save(chrome.NAME, files=rows)

    def _one(self, file: SourceFile, archive: Archive, local: zones.Zones) -> FileRow:
        """Take over one database; the row says how that went."""
        taken = _Taken()
        self._policy.redacted = {}
        status, reason, digest, consumed = "ingested", "", "", 0
        try:
            before = digest_of(file.path)
            with copied(file.path, join(self._home.state, "copies")) as copy:
                consumed = sum(part.size for part in copy.parts)
                if _stat(file.path) == (file.size, file.mtime_ns, file.inode):
                    digest = before
                visits = taken.visits(copy.connection, self._policy)
                archive.unite(
                    file.path,
                    visits,
                    local,
                    follow_clears=self._policy.follow_clears,
                    is_whole=lambda: not taken.damage,
                )
        except NotHistory:
            status, reason = "skipped", _NOT_HISTORY
        except Unsettled:
            status, reason = "unreadable", _IN_USE
        except OSError as error:
            status, reason = "unreadable", f"unreadable: {error.strerror or error}"
        except (apsw.NotADBError, apsw.CorruptError, apsw.CantOpenError, apsw.FullError) as error:
            status, reason = "failed", f"{_DAMAGED}: {error}"
        if taken.damage:
            # What was read before the damage is kept; the rest is said to be missing.
            status, reason = "failed", f"{_DAMAGED}: {taken.damage}"
        self._ledger.bytes += consumed
        notes: dict[str, Any] = {}
        if taken.dropped:
            notes["dropped"] = taken.dropped
        if self._policy.redacted:
            notes["redacted"] = self._policy.redacted
        if taken.failed:
            notes["failed"] = taken.failed
        return FileRow(
            file.path,
            file.size,
            file.mtime_ns,
            file.inode,
            consumed,
            digest,
            status,
            reason,
            json.dumps(notes) if notes else None,
        )

    def _make_days(self, archive: Archive) -> None:
        version = f"{_chrome_day.VERSION}.{DOCUMENT}"
        if self._rebuild:
            archive.soil_all()
        archive.made_by(version)
        days = archive.days()
        with Corpus(self._home, chrome.COLLECTION, self._landed) as corpus:
            there = corpus.names()
            due: list[int] = []
            for day, (digest, dirty) in days.items():
                name = f"{zones.iso_day(day)}.md"
                damaged = bool(digest) and (name not in there or self._is_edited(corpus, name, digest))
                if dirty or damaged:
                    due.append(day)
            if not due:
                return
            local = archive.zones(zones.system_zone(), self._policy.time_zone)
            made: list[tuple[int, str]] = []
            for number, day in enumerate(due, 1):
                name = f"{zones.iso_day(day)}.md"
                composed = _chrome_day.compose(day, archive.rows(day), local)
                if composed is None:
                    if name in there:
                        corpus.remove(name)
                        self._ledger.removed += 1
                    made.append((day, ""))
                else:
                    meta, body = composed
                    made.append((day, corpus.put(name, render(meta, body))))
                    self._ledger.truncated = _longer(self._ledger.truncated, meta.get("truncated"))
                if self._progress is not None:
                    self._progress(number, len(due), "days")
            corpus.flush()
            archive.settle(made)

    def _is_edited(self, corpus: Corpus, name: str, digest: str) -> bool:
        return not self._trust_stat and corpus.digest(name) != digest

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
        try:
            yield from read(connection, policy, self._drop, self._fail)
        except (apsw.CorruptError, apsw.NotADBError, apsw.IOError, apsw.SQLError) as error:
            self.damage = str(error)

    def _drop(self, reason: str) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1

    def _fail(self, reason: str) -> None:
        self.failed[reason] = self.failed.get(reason, 0) + 1


def policy(home: Home | None) -> Policy:
    """The policy in force; what the configuration does not say of it is as shipped. Raises BadInput."""
    section: dict[str, Any] = {}
    if home is not None:
        from core.config import load

        section = dict(load(home).section("sources").get(chrome.NAME) or {})
    if section.get("allow") is None or section.get("deny") is None:
        from core.config_yaml import parse

        ours = parse(shipped("collections.yml"))["sources"].get(chrome.NAME) or {}
        for key in ("allow", "deny"):
            if section.get(key) is None:
                section[key] = ours.get(key) or []
    return Policy(section)


def changed(file: SourceFile, known: FileRow | None, *, trust_stat: bool) -> bool:
    """Whether a database must be read again; see ``ingest.files.changed``."""
    if known is None or known.status in ("vanished", "unreadable"):
        return True
    if (known.size, known.mtime_ns, known.inode) != (file.size, file.mtime_ns, file.inode):
        return True
    if trust_stat:
        return False
    try:
        return digest_of(file.path) != known.digest
    except OSError:
        return True


def digest_of(path: str) -> str:
    """SHA-256 of a database and the journals beside it, hex. Raises OSError."""
    total = hashlib.sha256()
    for part in parts(path):
        total.update(f"{part.suffix}\0{part.size}\0".encode())
        try:
            with open(path + part.suffix, "rb") as stream:
                while chunk := stream.read(_CHUNK):
                    total.update(chunk)
        except FileNotFoundError:
            if not part.suffix:
                raise
    return total.hexdigest()


def documents(path: str) -> Iterator[Document | Failure]:
    """The days of one database taken alone, then what in it could not be read. Raises nothing but for the machine's."""
    import tempfile

    taken = _Taken()
    with tempfile.TemporaryDirectory(prefix="brain-chrome-") as folder:
        archive = Archive(Home(folder))
        try:
            with copied(path, join(folder, "copies")) as copy:
                local = archive.zones(zones.system_zone(), "")
                visits = taken.visits(copy.connection, policy(None))
                archive.unite(path, visits, local, follow_clears=False, is_whole=lambda: True)
            for day in archive.days():
                composed = _chrome_day.compose(day, archive.rows(day), local)
                if composed is not None:
                    yield Document(f"{zones.iso_day(day)}.md", *composed)
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
    if not os.path.exists(join(home.state, FILE)):
        return {}
    archive = _open(home)
    try:
        return archive.figures()
    finally:
        archive.close()


def _open(home: Home) -> Archive:
    try:
        return Archive(home)
    except (apsw.NotADBError, apsw.CorruptError) as error:
        path = join(home.state, FILE)
        fix = (
            f"put a backup of it back; without one: mv {path} {path}.damaged, and what browsers still have comes again"
        )
        raise Internal(f"{path} is damaged: {error}", fix) from error


def _stat(path: str) -> tuple[int, int, int]:
    file = chrome.discover([path])[0]
    return file.size, file.mtime_ns, file.inode


def _longer(before: tuple[int, int], left_out: object) -> tuple[int, int]:
    return (before[0] + 1, before[1] + left_out) if isinstance(left_out, int) else before
