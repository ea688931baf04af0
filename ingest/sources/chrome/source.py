"""Browsing: the history of each profile of Chrome's family, Firefox's and Safari's, one document a local day.

A run reads the databases that changed into the archive of visits (``ingest.sources.chrome.archive``), then makes the
days that changed in the archive. Killed at any moment, it leaves whole documents: outdated days are marked in the
transaction that adds their visits, and a database counts as read only after that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from os.path import abspath, expanduser, isdir, isfile, join
from typing import TYPE_CHECKING, Any

import apsw

from core.config import load as load_config
from core.counting import counted
from core.document import render, split
from core.errors import BadInput, BrainError, DiskFull
from core.files import NO_ROOM
from core.home import Home
from core.sqlite import is_full
from core.version import DOCUMENT, REDACTION
from ingest.collector import Collector, Daily, Loss
from ingest.pipeline.collecting import Collecting
from ingest.pipeline.run import account_for_the_rest, vanished
from ingest.pipeline.shadow import in_memory
from ingest.pipeline.state import Changes, FileRow, State, known
from ingest.raw.sqlite_copy import Unsettled, apart, copied, is_database, parts
from ingest.raw.store import SourceFile
from ingest.session.zones import system_zone
from ingest.sources.chrome.archive import (
    COLLECTION,
    FILE,
    Archive,
    damaged,
    day_numbers,
    days_there,
    days_with,
    examine,
    place,
    refuse_emptied,
    way_out,
)
from ingest.sources.chrome.history import NotHistory, read
from ingest.web.day import compose
from ingest.web.policy import Policy, with_lists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ingest.collector import Options
    from ingest.pipeline.ledger import Ledger
    from ingest.session.zones import Zones
    from ingest.source import Environ
    from ingest.sources.chrome.history import Visit

NAME = "chrome"
KEPT = "a day that shows more than the archive has"
# Bump when the same visits give other bytes: every day is then made again.
_DAYS_VERSION = 1
# Bump when the same configuration judges or cleans otherwise than before: the archive is then judged again.
_POLICY_VERSION = 1
# When one of these settings changes, databases are read again and the archive is judged again.
_JUDGING = ("mode", "allow", "deny", "nsfw", "nsfw_words", "noise_words", "follow_clears")
_NOT_HISTORY = "not a browser's history"
_IN_USE = "written to all the time"
_DAMAGED = "damaged database"
_DAY_S = 86_400
_CHUNK = 1024 * 1024

# Browser → system → folders of profiles. Sources: each browser's ``chrome://version`` page ("Profile Path"), chromium's
# page on the "User Data Directory", and the manifests of the snap and flatpak packages.
_TABLE = join(os.path.dirname(__file__), "browsers.json")
_HISTORY = "History"
# The histories of Chrome's family, of Firefox's and of Safari.
_HISTORIES = frozenset((_HISTORY, "places.sqlite", "History.db"))
# Files next to the profiles of a browser, and in each profile; Opera has both in one folder.
_OF_BROWSER = frozenset(("Local State", "profiles.ini", "Bookmarks.plist"))
_OF_PROFILE = frozenset(("Preferences", "prefs.js"))
_SUFFIXES = (".sqlite", ".sqlite3", ".db")
_COMPANIONS = ("-journal", "-wal", "-shm")
# Windows' folder of users, seen from WSL.
_WSL_USERS = "/mnt/c/Users"
_WSL_NOBODY = frozenset(("All Users", "Default", "Default User", "Public", "desktop.ini"))
# Chromium's own profiles, which belong to nobody.
_NO_PROFILES = frozenset(("System Profile", "Guest Profile", "Snapshots"))


class Chrome(Collector):
    """Browsing history: a day's document is made from all visits in the archive."""

    name = NAME
    collection = COLLECTION
    is_watched = True
    daily = Daily("the browser's new days into the corpus", 12, 37)
    own_archive = FILE

    def places(self, environ: Environ | None = None) -> list[str]:
        """Return the folders of profiles of every known browser on this system."""
        return folders(sys.platform, environ)

    def discover(self, roots: Iterable[str]) -> list[SourceFile]:
        """Return the history of every profile below the roots, sorted by path; a root may be a database itself.

        ``size`` and ``mtime_ns`` are those of the database with its journals.
        """
        found: dict[str, SourceFile] = {}
        for root in map(abspath, roots):
            for path in _histories(root) if isdir(root) else (root,):
                found[path] = _look(path)
        return [found[path] for path in sorted(found)]

    def pending(
        self, files: Sequence[SourceFile], known: Mapping[str, FileRow], *, trust_stat: bool
    ) -> list[SourceFile]:
        return [file for file in files if not file.skip and _changed(file, known.get(file.path), trust_stat)]

    def stats(self, home: Home) -> dict[str, object]:
        """Return the record of the last run, and the size of the archive; empty before the first run."""
        from ingest.pipeline.ledger import of

        found = of(home, self.name)
        if not found:
            return {}
        if not self.is_archived(home):
            return {**found, "archive": {}}
        with contextlib.closing(Archive(home)) as archive:
            return {**found, "archive": archive.figures()}

    def is_archived(self, home: Home) -> bool:
        return os.path.exists(place(home))

    def examine(self, home: Home, path: str) -> None:
        examine(home, path)

    def damaged(self, path: str, error: object) -> BrainError:
        return damaged(path, error)

    def losses(self, home: Home) -> Iterator[Loss]:
        """Yield one loss for all days of which the archive lacks the visits, or the archive's damage."""
        path = place(home)
        out = way_out(path)
        if not os.path.exists(path):
            if days := len(days_there(home)):
                yield Loss("visits-lost", "warning", f"{path} is gone, of which {counted(days, 'day')} were made", out)
            return
        try:
            lost = sorted(examine(home, path))
        except (BadInput, DiskFull):
            raise  # nothing is damaged
        except BrainError as error:
            yield Loss("visits-damaged", "error", error.message, error.fix)
            return
        if lost:
            said = f"{counted(len(lost), 'day')} of browsing stand as they were made of visits that are lost: {lost[0]}"
            yield Loss("visits-lost", "notice", said + ", …" * (len(lost) > 1), out)

    def archived_with(self, home: Home, test: Callable[[bytes], bool]) -> set[str]:
        """Return the days of which a visit, shown or not, passes ``test``. Raises Internal and apsw.Error."""
        return days_with(home, test)

    def names_of(self, units: Iterable[str]) -> list[str]:
        return [f"{day}.md" for day in sorted(units)]

    def forget(self, home: Home, units: Iterable[str], names: Iterable[str]) -> None:
        """Remove days from the archive of visits. Raises Internal and apsw.Error."""
        del names
        if self.is_archived(home):
            with contextlib.closing(Archive(home)) as archive:
                archive.remove_days(day_numbers(units))

    def run(self, home: Home, roots: Sequence[str] | None, options: Options) -> Ledger:
        """Bring the archive and its days up to date.

        Raises BadInput, LockContention, OSError, and Internal if the archive is damaged.
        """
        return _Run(self, home, roots, options).go()


SOURCE = Chrome()


def settings(home: Home | None) -> dict[str, Any]:
    """Return ``sources.chrome`` of collections.yml, else the shipped lists of domains. Raises BadInput."""
    return with_lists({} if home is None else load_config(home).section("sources").get(NAME) or {})


def _fingerprint(section: dict[str, Any]) -> str:
    """Return a digest that is equal for settings that keep and clean the same visits."""
    judging = [(key, section.get(key)) for key in _JUDGING]
    text = repr((_POLICY_VERSION, REDACTION, judging))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


class _Run(Collecting):
    """One run over browsing; ``go`` returns its account."""

    def __init__(self, source: Chrome, home: Home, roots: Sequence[str] | None, options: Options) -> None:
        super().__init__(source, home, roots, options)
        self._places = [abspath(root) for root in roots] if roots else source.default_roots(home)
        self._rebuild = options.rebuild or options.from_archive
        self._settings = settings(home)
        self._policy = Policy(self._settings)
        self._copies = join(home.state, "copies")

    def go(self) -> Ledger:
        with self.alone():
            if self.shadow is None:
                with contextlib.closing(State(self.home)) as state, contextlib.closing(Archive(self.home)) as archive:
                    self._bring_up_to_date(archive, state)
            else:
                with contextlib.closing(self._copy()) as archive, apart() as folder:
                    self._copies = join(folder, "copies")
                    self._bring_up_to_date(archive, None)
        return self.ledger

    def _copy(self) -> Archive:
        """Return a copy of the archive in memory, for a rehearsal."""
        path = place(self.home)
        refuse_emptied(self.home, path)
        try:
            return Archive(self.home, in_memory(path))
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise damaged(path, error) from error

    def _bring_up_to_date(self, archive: Archive, state: State | None) -> None:
        if self.options.from_archive:
            # No browser is looked at: the archive is the one file that is read.
            archive.judge_again(_fingerprint(self._settings), self._policy)
            self.ledger.seen = self.ledger.ingested = 1
            self.ledger.bytes = os.stat(place(self.home)).st_size
        elif state is None:
            self._take_over(known(self.home, NAME), archive, None, stale=False)
        else:
            stale = state.expire(NAME)
            self._take_over(state.files(NAME), archive, state, stale=stale)
        self._make_days(archive)
        self.ledger.documents = sum(bool(digest) for digest, _ in archive.days().values())

    def _zones(self, archive: Archive) -> Zones:
        return archive.zones(system_zone(), self._settings.get("time_zone") or "")

    def _take_over(self, known: dict[str, FileRow], archive: Archive, state: State | None, *, stale: bool) -> None:
        """Read the databases that changed into the archive."""
        # A database may have visits that the former policy left out.
        stale = archive.judge_again(_fingerprint(self._settings), self._policy) or stale or self._rebuild
        files = self.source.discover(self._places)
        readable = [file for file in files if not file.skip]
        new = readable if stale else self.source.pending(files, known, trust_stat=self.options.trust_stat)
        account_for_the_rest(files, new, known, self.ledger)
        gone = vanished(files, known, self._places, self.ledger)
        if gone and state is not None:
            state.save(NAME, Changes(gone))
        if not new:
            return
        local = self._zones(archive)
        for number, file in enumerate(new, 1):
            row = self._read(file, archive, local)
            if state is not None:
                state.save(NAME, Changes([row]))
            self.ledger.account(row, fresh=True)
            self.progress(number, len(new), "browsers")

    def _read(self, file: SourceFile, archive: Archive, local: Zones) -> FileRow:
        """Add the visits of one database; the row says how that went."""
        self._policy.redacted = {}
        taken = _Taken()
        status, reason, digest, consumed = "ingested", "", "", 0
        try:
            before = _digest_of(file.path)
            with copied(file.path, self._copies) as copy:
                consumed = sum(part.size for part in copy.parts)
                self.note_read(file.path, consumed)
                now = _look(file.path)
                if (now.size, now.mtime_ns, now.inode) == (file.size, file.mtime_ns, file.inode):
                    digest = before
                archive.unite(
                    file.path,
                    taken.visits(copy.connection, self._policy),
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
            if not isinstance(error, apsw.NotADBError | apsw.CorruptError) and is_full(self.home.state):
                raise
            status, reason = "failed", f"{_DAMAGED}: {error}"
        if taken.damage:
            # The visits before the damage are kept; the account says that others are missing.
            status, reason = "failed", f"{_DAMAGED}: {taken.damage}"
        self.ledger.bytes += consumed
        counts = {"dropped": taken.dropped, "redacted": self._policy.redacted, "failed": taken.failed}
        notes = json.dumps({what: tally for what, tally in counts.items() if tally}) if any(counts.values()) else None
        stat = (file.size, file.mtime_ns, file.inode)
        return FileRow(file.path, *stat, consumed, digest, status, reason, notes)

    def _make_days(self, archive: Archive) -> None:
        """Write the documents of the days that are outdated, missing or edited."""
        if self._rebuild:
            archive.outdate_all()
        archive.made_by(f"{_DAYS_VERSION}.{DOCUMENT}")
        folder = self.home.path(COLLECTION)
        there = set(os.listdir(folder)) if isdir(folder) else set()
        held = archive.days()
        due = [
            day
            for day, (digest, is_outdated) in held.items()
            if is_outdated or (digest and (_name(day) not in there or self._is_edited(day, digest)))
        ]
        if not due:
            return
        local = self._zones(archive)
        held = archive.days()
        # Days with a document that this archive has not made.
        lost = {day for day in due if not held[day][0] and _name(day) in there}
        made: list[tuple[int, str]] = []
        with self.corpus() as corpus:
            for number, day in enumerate(due, 1):
                composed = compose(day, archive.rows(day), local)
                if composed is None:
                    if _name(day) in there:
                        corpus.remove(_name(day))
                        self.ledger.removed += 1
                    made.append((day, ""))
                elif day in lost and _shows_more(join(folder, _name(day)), *composed):
                    # Its visits were lost with a former archive, and browsers have fewer now.
                    self.ledger.skip(KEPT)
                    made.append((day, ""))
                else:
                    meta, body = composed
                    made.append((day, corpus.put(_name(day), render(meta, body))))
                    if left_out := meta.get("truncated") or 0:
                        documents, pieces = self.ledger.truncated
                        self.ledger.truncated = (documents + 1, pieces + left_out)
                self.progress(number, len(due), "days")
            corpus.flush()
            archive.settle(made)

    def _is_edited(self, day: int, digest: str) -> bool:
        if self.options.trust_stat:
            return False
        try:
            with open(self.home.path(COLLECTION, _name(day)), "rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest() != digest
        except OSError:
            return True


class _Taken:
    """The result of reading one database: counts by reason, and the damage that ended the reading."""

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


def _shows_more(path: str, meta: dict[str, Any], body: str) -> bool:
    """Return True if the document at ``path`` has more visits than a new one, or addresses that the new one lacks."""
    try:
        with open(path, encoding="utf-8") as stream:
            fields, text = split(stream.read())
    except (OSError, ValueError):
        return False
    visits = fields.get("visits")
    has_more = isinstance(visits, int) and visits > int(meta["visits"])
    return has_more or not _addresses(text) <= _addresses(body)


def _addresses(body: str) -> set[str]:
    return {line.strip() for line in body.splitlines() if line.lstrip().startswith(("http://", "https://"))}


def _name(day: int) -> str:
    return time.strftime("%Y-%m-%d.md", time.gmtime(day * _DAY_S))


def _look(path: str) -> SourceFile:
    try:
        found = parts(path)
        if not is_database(path):
            return SourceFile(path, 0, 0, 0, "not a database")
    except OSError as error:
        return SourceFile(path, 0, 0, 0, f"unreadable: {error.strerror or error}")
    return SourceFile(path, sum(part.size for part in found), max(part.mtime_ns for part in found), found[0].inode, "")


def _changed(file: SourceFile, known: FileRow | None, trust_stat: bool) -> bool:
    """Return True if a database must be read again; see ``ingest.raw.store.changed``."""
    if known is None or known.status in ("vanished", "unreadable"):
        return True
    if (known.size, known.mtime_ns, known.inode) != (file.size, file.mtime_ns, file.inode):
        return True
    if trust_stat:
        return False
    try:
        return _digest_of(file.path) != known.digest
    except OSError:
        return True


def _digest_of(path: str) -> str:
    """Return the SHA-256 of a database with its journals, hex. Raises OSError."""
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


def folders(system: str, environ: Environ | None = None, wsl_users: str = _WSL_USERS) -> list[str]:
    """Return the folders of profiles on ``system`` (a value of ``sys.platform``), whether or not they exist.

    On Linux, those of Windows' users are added if WSL shows them.
    """
    env = os.environ if environ is None else environ
    found: list[str] = []
    if system == "win32":
        home = expanduser("~")
        local = env.get("LOCALAPPDATA") or join(home, "AppData", "Local")
        found += _filled("windows", "", local, env.get("APPDATA") or join(home, "AppData", "Roaming"))
    elif system == "darwin":
        found += _filled("darwin", "", "", "")
    else:
        found += _filled("linux", env.get("XDG_CONFIG_HOME") or "~/.config", "", "")
        for user in _wsl(wsl_users):
            found += _filled("windows", "", join(user, "AppData", "Local"), join(user, "AppData", "Roaming"))
    return list(dict.fromkeys(found))


def _filled(system: str, config: str, local: str, roaming: str) -> list[str]:
    with open(_TABLE, encoding="utf-8") as stream:
        browsers = json.load(stream)
    return [
        expanduser(path.format(config=config, local=local, roaming=roaming))
        for systems in browsers.values()
        for path in systems.get(system, ())
    ]


def _wsl(users: str) -> list[str]:
    try:
        return [join(users, name) for name in sorted(os.listdir(users)) if name not in _WSL_NOBODY]
    except OSError:
        return []


def _histories(root: str) -> list[str]:
    """Return the histories below a folder of browsers, of profiles (Opera's lies among others) or of copies.

    A file with a history's name is always one. A copy may have another name that begins as Chrome's or ends as
    databases do, but not in a browser's folder, which is full of databases. A profile's own folders are not searched:
    they are caches. A folder that may not be read counts as a history in it: macOS protects Safari's.
    """
    found: list[str] = []
    waiting = [(root, False)]
    while waiting:
        folder, is_browsers = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            if folder == root and isinstance(error, PermissionError):
                found.append(join(folder, "History.db"))
            continue
        names = {entry.name for entry in entries}
        is_browsers = is_browsers or not names.isdisjoint(_OF_BROWSER | _OF_PROFILE)
        ends_here = not names.isdisjoint(_OF_PROFILE) and names.isdisjoint(_OF_BROWSER)
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if not (ends_here or name in _NO_PROFILES):
                    waiting.append((entry.path, is_browsers))
            elif folder == root and entry.is_dir():
                # A profile may be a link to its real folder. Deeper links are not followed, so there are no loops.
                if name not in _NO_PROFILES:
                    linked = (join(entry.path, history) for history in sorted(_HISTORIES))
                    found += filter(isfile, linked)
            elif name in _HISTORIES or (not is_browsers and _may_be_copy(name)):
                found.append(entry.path)
    return found


def _may_be_copy(name: str) -> bool:
    return (name.startswith(_HISTORY) and not name.endswith(_COMPANIONS)) or name.endswith(_SUFFIXES)
