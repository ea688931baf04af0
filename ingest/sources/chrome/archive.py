"""The archive of visits, ``$BRAIN_HOME/raw/chrome.sqlite``, keeps what a browser forgets after about 90 days.

It contains only visits that passed the policy. One visit is one instant and one address: seen in several profiles, in a
copy of a database or through the browser's synchronisation, it is still one. If copies of a visit differ, rules unite
them that do not depend on the order of reading.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from os.path import join
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import Internal
from core.home import Home
from core.sqlite import open_store, open_to_read
from core.tombstones import Tombstones
from ingest.session.zones import Zones, day_number, iso_day
from ingest.web.day import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Concatenate, ParamSpec, Protocol, TypeVar

    from ingest.sources.chrome.history import Visit
    from ingest.web.policy import Page, Policy

    class Located(Protocol):
        """An object that knows the path of its database."""

        path: str

    P = ParamSpec("P")
    S = TypeVar("S", bound=Located)
    T = TypeVar("T")

_FOLDER = "raw"
FILE = "chrome.sqlite"
_VERSION = 1
_BATCH = 10_000

# A browser keeps 90 days: a younger visit that is gone was cleared, not aged out.
_AGES_OUT_S = 85 * 86_400

# Nobody reads one page for longer: the tab was forgotten, or the number is no duration.
LONGEST_DWELL_US = 86_400_000_000

_SCHEMA = """
create table if not exists meta(key text primary key, value text not null) without rowid;
create table if not exists zones(since int primary key, zone text not null);
create table if not exists visits(
  at int not null, url text not null, domain text not null, title text not null, title_at int not null,
  term text not null, label text not null, reload int not null, dwell int not null, led_at int not null,
  led_term text not null, day int not null, shown int not null default 1,
  primary key(at, url)) without rowid;
create index if not exists visits_day on visits(day);
create table if not exists days(day int primary key, digest text not null default '', dirty int not null default 1);
create table if not exists held(source blob not null, at int not null, url text not null,
  primary key(source, at, url)) without rowid;
"""

# Keep the title that was written first after the visit: later titles describe what the page became.
_BETTER_TITLE = """(excluded.title != '' and (visits.title = '' or excluded.title_at < visits.title_at
  or (excluded.title_at = visits.title_at and excluded.title > visits.title)))"""
_BETTER_TRAIL = "(excluded.led_at, excluded.led_term) > (visits.led_at, visits.led_term)"
_INSERT = """
insert into visits(at, url, domain, title, title_at, term, label, reload, dwell, led_at, led_term, day)
values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UNITE = f"""{_INSERT}
on conflict(at, url) do update set
  title = iif({_BETTER_TITLE}, excluded.title, visits.title),
  title_at = iif({_BETTER_TITLE}, excluded.title_at, visits.title_at),
  term = max(excluded.term, visits.term), label = max(excluded.label, visits.label),
  reload = min(excluded.reload, visits.reload), dwell = max(excluded.dwell, visits.dwell),
  led_at = iif({_BETTER_TRAIL}, excluded.led_at, visits.led_at),
  led_term = iif({_BETTER_TRAIL}, excluded.led_term, visits.led_term), shown = 1
where excluded.dwell > visits.dwell or excluded.term > visits.term or excluded.label > visits.label
  or excluded.reload < visits.reload or visits.shown = 0 or {_BETTER_TRAIL}
  or {_BETTER_TITLE}
returning day
"""
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.md")
COLLECTION = "chrome-history"


def damaged(path: str, error: object) -> Internal:
    """Return the failure of an archive that SQLite cannot read."""
    return Internal(f"the archive of visits {path} is damaged: {error}", way_out(path))


def way_out(path: str) -> str:
    """Return the commands that restore the archive at ``path``, with and without a backup."""
    from shlex import quote

    home = os.path.dirname(os.path.dirname(path))
    aside = f'for s in "" -wal -shm; do mv {quote(path)}$s {quote(f"{path}.damaged")}$s; done'
    if not os.path.exists(path):
        aside = f"rm -f {quote(path)}-wal {quote(path)}-shm"
    return (
        f"{aside}; then take it out of a backup, if there is one: tar --zstd -xf FILE -C {quote(home)}"
        f" {os.path.relpath(path, home)}; then add what browsers still have: brain index --source chrome --rebuild"
    )


def named(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make a method raise Internal if its database is damaged: apsw.Error does not name the database."""

    def inner(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise damaged(self.path, error) from error

    return inner


def refuse_emptied(home: Home, path: str) -> None:
    """Raise Internal if the archive at ``path`` is an empty file although days were made from it."""
    try:
        is_empty = not os.stat(path).st_size and not os.path.exists(f"{path}-wal")
    except OSError:
        return
    if is_empty and days_there(home):
        raise damaged(path, "it is empty")


def examine(home: Home, path: str) -> set[str]:
    """Read the whole archive at ``path``; return the days (``YYYY-MM-DD``) with a document that it did not make.

    Raises Internal if the archive is damaged, else apsw.Error.
    """
    refuse_emptied(home, path)
    connection = open_to_read(path)
    try:
        said = connection.execute("pragma quick_check(1)").get
        if said != "ok":
            raise damaged(path, " ".join(str(said).split()))
        there = days_there(home)
        if there:
            there -= {iso_day(day) for (day,) in connection.execute("select day from days where dirty or digest != ''")}
        return there
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError) as error:
        raise damaged(path, error) from error
    finally:
        connection.close()


def days_there(home: Home) -> set[str]:
    """Return the days (``YYYY-MM-DD``) that have a document."""
    try:
        names = os.listdir(join(home.root, COLLECTION))
    except OSError:
        return set()
    return {name.removesuffix(".md") for name in names if _DAY.fullmatch(name)}


def day_numbers(units: Iterable[str]) -> list[int]:
    """Return the numbers of the units that are days; a document that was copied into the folder may have any."""
    found: list[int] = []
    for unit in units:
        with suppress(ValueError):
            found.append(day_number(unit))
    return found


def place(home: Home) -> str:
    """Return the path of the archive."""
    return home.path(_FOLDER, FILE)


def days_with(home: Home, test: Callable[[bytes], bool]) -> set[str]:
    """Return the days (``YYYY-MM-DD``) of which a visit, shown or not, passes ``test``.

    Raises Internal if the archive is damaged, else apsw.Error.
    """
    path = place(home)
    refuse_emptied(home, path)
    if not os.path.exists(path):
        return set()
    connection = open_to_read(path)
    try:
        rows = connection.execute("select day, url, title, term, label, led_term from visits")
        found = {day for day, *texts in rows if test("\n".join(texts).encode("utf-8", "surrogatepass"))}
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise damaged(path, error) from error
    finally:
        connection.close()
    return {iso_day(day) for day in found}


class Archive:
    """An open archive. Methods that write are one transaction each.

    Raises Internal, which names the file, if it is damaged, else apsw.Error.
    """

    @named
    def __init__(self, home: Home, copy: apsw.Connection | None = None) -> None:
        """Open the archive of ``home``, or a ``copy`` of it in memory, with its tables."""
        self.path = place(home)
        self._forgotten = set(day_numbers(Tombstones(home).of("chrome")))
        if copy is not None:
            self._connection = copy
            self._connection.execute(_SCHEMA)
            return
        refuse_emptied(home, self.path)
        # Removed rows must be gone from the file, not only from the table.
        pragmas = "pragma secure_delete=on; pragma synchronous=normal"
        self._connection = open_store(self.path, pragmas, _SCHEMA, _VERSION)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @named
    def zones(self, current: str, pinned: str) -> Zones:
        """Return the time zones in force, by instant. ``current`` is in force from now on if the last zone differs.

        ``pinned`` (configured) is in force at all times. If it changes, archived visits are assigned to days again.
        """
        rows: list[tuple[int, str]] = [
            (int(since), str(zone))
            for since, zone in self._connection.execute("select since, zone from zones order by since")
        ]
        wanted = [(0, pinned)] if pinned else rows
        if not pinned:
            if not rows:
                wanted = [(0, current)]
            elif rows[-1][1] != current:
                wanted = [*rows, (int(time.time()), current)]
        zones = Zones(wanted)
        if wanted != rows:
            with self._connection:
                self._connection.execute("delete from zones")
                self._connection.executemany("insert into zones values(?, ?)", wanted)
                if rows and wanted[: len(rows)] != rows:
                    self._assign_days(zones)
        return zones

    @named
    def unite(
        self, source: str, visits: Iterable[Visit], zones: Zones, *, follow_clears: bool, is_whole: Callable[[], bool]
    ) -> None:
        """Add the visits of one database.

        ``follow_clears``: remove visits that this database had and lacks now, if they are too young to be aged out and
        no other database has them. This happens only if ``is_whole()`` is true after the last visit.
        """
        connection = self._connection
        days: set[int] = set()
        with connection:
            if follow_clears:
                connection.execute("create temp table if not exists here(at int, url text, primary key(at, url))")
                connection.execute("delete from here")
            batch: list[Visit] = []
            for visit in visits:
                batch.append(visit)
                if len(batch) >= _BATCH:
                    self._insert(batch, zones, days, follow_clears)
                    batch = []
            self._insert(batch, zones, days, follow_clears)
            if follow_clears and is_whole():
                self._follow(source, days)
            self._outdate(days)

    @named
    def judge_again(self, fingerprint: str, policy: Policy) -> bool:
        """Apply a changed policy to the archived visits; return True if the policy had changed.

        A domain that is no longer allowed is only hidden: a slip in the configuration must not cost visits that no
        browser has any more. Visits that are now denied, adult or noise are removed.
        """
        held = self._connection.execute("select value from meta where key = 'policy'").get
        if held == fingerprint:
            return False
        with self._connection:
            if held is not None:
                self._judge_all(policy)
                self._connection.execute("update days set dirty = 1")
            self._connection.execute("insert or replace into meta values('policy', ?)", (fingerprint,))
        return True

    @named
    def outdate_all(self) -> None:
        """Mark the document of every day as outdated."""
        self._connection.execute("update days set dirty = 1")

    @named
    def made_by(self, version: str) -> None:
        """Mark every document as outdated unless ``version`` made them; they count as made by it from now on."""
        if self._connection.execute("select value from meta where key = 'documents'").get == version:
            return
        with self._connection:
            self.outdate_all()
            self._connection.execute("insert or replace into meta values('documents', ?)", (version,))

    @named
    def days(self) -> dict[int, tuple[str, bool]]:
        """Return day → (SHA-256 of its document or "", True if the document is outdated)."""
        return {
            int(day): (str(digest), bool(dirty))
            for day, digest, dirty in self._connection.execute("select day, digest, dirty from days order by day")
        }

    @named
    def rows(self, day: int) -> list[Row]:
        """Return the visits that a day shows, in order of time."""
        found = self._connection.execute(
            "select at, url, domain, title, term, label, reload, dwell, led_at, led_term from visits"
            " where day = ? and shown order by at, url",
            (day,),
        )
        return list(map(Row._make, found))

    @named
    def settle(self, made: Iterable[tuple[int, str]]) -> None:
        """Note the documents that were written, as (day, digest); the digest is "" for a day without one."""
        with self._connection:
            self._connection.executemany(
                "update days set dirty = 0, digest = ? where day = ?", [(digest, day) for day, digest in made]
            )
            self._connection.execute(
                "delete from days where digest = '' and not dirty and day not in (select day from visits)"
            )

    @named
    def figures(self) -> dict[str, int | None]:
        """Return the numbers of archived visits and days, and the first and last instant in epoch seconds."""
        row: Any = self._connection.execute(
            "select count(*), count(distinct day), min(at) / 1000000, max(at) / 1000000 from visits"
        ).fetchone()
        return dict(zip(("visits", "days", "first", "last"), row, strict=True))

    @named
    def remove_days(self, days: Iterable[int]) -> int:
        """Remove all visits of these days, hidden ones too; return how many were removed."""
        wanted = [(day,) for day in days]
        before = self._connection.total_changes()
        with self._connection:
            self._connection.executemany(
                "delete from held where (at, url) in (select at, url from visits where day = ?)", wanted
            )
            started = self._connection.total_changes()
            self._connection.executemany("delete from visits where day = ?", wanted)
            gone = self._connection.total_changes() - started
            self._connection.executemany("delete from days where day = ?", wanted)
        if self._connection.total_changes() != before:
            self._connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        return gone

    def _insert(self, batch: list[Visit], zones: Zones, days: set[int], note: bool) -> None:
        day_of = zones.day
        rows = [(*visit, day_of(visit[0] // 1_000_000)) for visit in batch]
        if self._forgotten:
            rows = [row for row in rows if row[-1] not in self._forgotten]
        try:
            # If all visits are new, as in the first run, this takes a third of the time.
            with self._connection:
                self._connection.executemany(_INSERT, rows)
            days.update(row[-1] for row in rows)
        except apsw.ConstraintError:
            days.update(int(day) for (day,) in self._connection.executemany(_UNITE, rows))
        if note:
            self._connection.executemany("insert or ignore into here values(?, ?)", [row[:2] for row in rows])

    def _follow(self, source: str, days: set[int]) -> None:
        connection = self._connection
        path = os.fsencode(source)
        now = int(time.time())
        # A visit ahead of a clock that was set back is still in the browser, but was not given.
        cleared = connection.execute(
            "select at, url from held where source = ? and at > ? and at <= ?"
            " and (at, url) not in (select at, url from here)",
            (path, (now - _AGES_OUT_S) * 1_000_000, now * 1_000_000),
        ).fetchall()
        connection.execute("delete from held where source = ?", (path,))
        connection.execute("insert into held select ?, at, url from here", (path,))
        for visit in cleared:
            if connection.execute("select 1 from held where (at, url) = (?, ?)", visit).get is None:
                removed: Any = connection.execute(
                    "delete from visits where (at, url) = (?, ?) returning day", visit
                ).get
                if removed is not None:
                    days.add(removed)

    def _outdate(self, days: Iterable[int]) -> None:
        self._connection.executemany(
            "insert into days(day) values(?) on conflict(day) do update set dirty = 1", [(day,) for day in sorted(days)]
        )

    def _assign_days(self, zones: Zones) -> None:
        rows: list[Any] = self._connection.execute("select at, url from visits").fetchall()
        moved = [(zones.day(at // 1_000_000), at, url) for at, url in rows]
        self._connection.executemany("update visits set day = ? where at = ? and url = ?", moved)
        self._connection.execute("update days set dirty = 1")
        self._outdate({day for day, _, _ in moved})

    def _judge_all(self, policy: Policy) -> None:
        connection = self._connection
        verdicts: dict[tuple[str, str, str], Page | str] = {}
        hidden: list[tuple[int, int, str]] = []
        removed: list[tuple[int, str]] = []
        renamed: list[tuple[str, str, str, str, int, str]] = []
        trails: list[tuple[int, str]] = []
        for at, url, title, term, led_term, shown in _visits(connection):
            key = (url, title, term)
            verdict = verdicts.get(key)
            if verdict is None:
                verdict = verdicts[key] = policy.judge(*key)
            if isinstance(verdict, str):
                if policy.hides(verdict):
                    hidden.append((0, at, url))
                else:
                    removed.append((at, url))
                continue
            if not shown:
                hidden.append((1, at, url))
            if led_term and not policy.allows_term(led_term):
                trails.append((at, url))
            if (verdict.url, verdict.title, verdict.term) != key:
                renamed.append((verdict.url, verdict.domain, verdict.title, verdict.term, at, url))
        connection.executemany("update visits set shown = ? where at = ? and url = ?", hidden)
        connection.executemany("delete from visits where at = ? and url = ?", removed)
        connection.executemany("delete from held where at = ? and url = ?", removed)
        connection.executemany("update visits set led_at = 0, led_term = '' where at = ? and url = ?", trails)
        # Two addresses may be equal after cleaning.
        connection.executemany(
            "update or replace visits set url = ?, domain = ?, title = ?, term = ? where at = ? and url = ?", renamed
        )
        connection.executemany(
            "update or replace held set url = ? where at = ? and url = ?", [(new[0], *new[4:]) for new in renamed]
        )


def _visits(connection: apsw.Connection) -> list[Any]:
    return connection.execute("select at, url, title, term, led_term, shown from visits").fetchall()
