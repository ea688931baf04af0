"""All visits ever taken over: ``$BRAIN_HOME/raw/chrome.sqlite``. A browser forgets after some 90 days; this does not.

It holds visits that passed the policy, and no others. One visit is one instant and one address: seen in several
profiles, in a copy of a database or through the browser's own synchronisation, it is still one. What copies say
differently of it is united by rules that do not depend on the order in which they were read.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from core.home import Home, make_private
from core.sqlite import connect
from core.tombstones import Tombstones
from ingest.session.zones import day_number, iso_day
from ingest.sources.chrome.damage import damaged, named, refuse_emptied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ingest.session.zones import Zones
    from ingest.sources.chrome.policy import Page, Policy
    from ingest.sources.chrome.reading import Visit

# As ``ingest.archive.archive`` has it, which brings zstd along.
_FOLDER = "raw"
FILE = "chrome.sqlite"
_BUSY_MS = 10_000
_VERSION = 1
_BATCH = 10_000

# What is younger than this cannot have been aged out by a browser (it keeps 90 days), so it was cleared.
_AGES_OUT_S = 85 * 86_400

# A page that is left open for longer is not read; what says so is no duration, or one of a tab that was forgotten.
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

# The title is the one that was written first after the visit: later ones are of what the page has become since.
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


class Row(NamedTuple):
    """A visit as a day shows it; see ``ingest.sources.chrome.reading.Visit``."""

    at: int
    url: str
    domain: str
    title: str
    term: str
    label: str
    reload: bool
    dwell: int
    led_at: int
    led_term: str


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
    connection = connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("pragma query_only=on")
        rows = connection.execute("select day, url, title, term, label, led_term from visits")
        found = {day for day, *texts in rows if test("\n".join(texts).encode("utf-8", "surrogatepass"))}
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise damaged(path, error) from error
    finally:
        connection.close()
    return {iso_day(day) for day in found}


class Archive:
    """An open archive. Methods that write are one transaction each.

    Raises Internal, which names it, where the file is damaged, else apsw.Error.
    """

    @named
    def __init__(self, home: Home, copy: apsw.Connection | None = None) -> None:
        """Open the archive of ``home``, or a ``copy`` of it in memory, with its tables."""
        self.path = place(home)
        self._forgotten = {day_number(day) for day in Tombstones(home).of("chrome")}
        if copy is not None:
            self._connection = copy
            self._connection.execute(_SCHEMA)
            return
        make_private(home.path(_FOLDER))
        refuse_emptied(home, self.path)
        self._connection = connect(place(home))
        try:
            self._connection.set_busy_timeout(_BUSY_MS)
            # What is removed must be gone from the file, not only from the table.
            self._connection.execute(
                "pragma secure_delete=on; pragma synchronous=normal; pragma journal_mode=wal"
            ).fetchall()
            if self._connection.pragma("user_version") != _VERSION:
                with self._connection:
                    self._connection.execute(f"{_SCHEMA}pragma user_version={_VERSION};")
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @named
    def zones(self, current: str, pinned: str) -> Zones:
        """The time zones in force, by instant; ``current`` holds from now on if it is not the one that held last.

        ``pinned`` (configured) holds at all times: what is archived is cut into days anew when that changes.
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
        from ingest.session.zones import Zones

        zones = Zones(wanted)
        if wanted != rows:
            with self._connection:
                self._connection.execute("delete from zones")
                self._connection.executemany("insert into zones values(?, ?)", wanted)
                if rows and wanted[: len(rows)] != rows:
                    self._cut_anew(zones)
        return zones

    @named
    def unite(
        self, source: str, visits: Iterable[Visit], zones: Zones, *, follow_clears: bool, is_whole: Callable[[], bool]
    ) -> None:
        """Take over the visits of one database.

        ``follow_clears``: what this database held before and holds no longer, although it is too young to have been
        aged out, goes from the archive too, unless another database still has it. Only if ``is_whole()`` says, once
        all visits have been given, that they are all there are.
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
                    self._take(batch, zones, days, follow_clears)
                    batch = []
            self._take(batch, zones, days, follow_clears)
            if follow_clears and is_whole():
                self._follow(source, days)
            self._soil(days)

    @named
    def judge_again(self, fingerprint: str, policy: Callable[[], Policy]) -> bool:
        """Apply a policy that has changed to what is archived; returns whether it had.

        What is no longer in the list of allowed domains is shown no more, and again when it is put back: a slip in a
        configuration must not cost what no browser has any more. What is denied, adult or noise by now is removed.
        """
        held = self._connection.execute("select value from meta where key = 'policy'").get
        if held == fingerprint:
            return False
        with self._connection:
            if held is not None:
                self._judge_all(policy())
                self._connection.execute("update days set dirty = 1")
            self._connection.execute("insert or replace into meta values('policy', ?)", (fingerprint,))
        return True

    @named
    def soil_all(self) -> None:
        """Have every day be made anew."""
        self._connection.execute("update days set dirty = 1")

    @named
    def made_by(self, version: str) -> None:
        """Have every day be made anew unless they were last made by ``version``, as they now are."""
        if self._connection.execute("select value from meta where key = 'documents'").get == version:
            return
        with self._connection:
            self.soil_all()
            self._connection.execute("insert or replace into meta values('documents', ?)", (version,))

    @named
    def days(self) -> dict[int, tuple[str, bool]]:
        """Day → (SHA-256 of its document's bytes or "", whether it is to be made anew)."""
        return {
            int(day): (str(digest), bool(dirty))
            for day, digest, dirty in self._connection.execute("select day, digest, dirty from days order by day")
        }

    @named
    def rows(self, day: int) -> list[Row]:
        """The visits that a day shows, in order of time."""
        found = self._connection.execute(
            "select at, url, domain, title, term, label, reload, dwell, led_at, led_term from visits"
            " where day = ? and shown order by at, url",
            (day,),
        )
        return list(map(Row._make, found))

    @named
    def settle(self, made: Iterable[tuple[int, str]]) -> None:
        """Note that the documents of these days (day, digest) are in place; "" for a day that has none."""
        with self._connection:
            self._connection.executemany(
                "update days set dirty = 0, digest = ? where day = ?", [(digest, day) for day, digest in made]
            )
            self._connection.execute(
                "delete from days where digest = '' and not dirty and day not in (select day from visits)"
            )

    @named
    def figures(self) -> dict[str, int | None]:
        """How many visits and days are archived, and the first and last instant (epoch seconds)."""
        row: Any = self._connection.execute(
            "select count(*), count(distinct day), min(at) / 1000000, max(at) / 1000000 from visits"
        ).fetchone()
        return dict(zip(("visits", "days", "first", "last"), row, strict=True))

    @named
    def remove_days(self, days: Iterable[int]) -> int:
        """Remove all visits of these days, also those that are not shown; returns how many went."""
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

    def _take(self, batch: list[Visit], zones: Zones, days: set[int], note: bool) -> None:
        day_of = zones.day
        rows = [(*visit, day_of(visit[0] // 1_000_000)) for visit in batch]
        if self._forgotten:
            rows = [row for row in rows if row[-1] not in self._forgotten]
        try:
            # Where all of them are new, as at first, this takes a third of the time.
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
        # What is ahead of a clock that was set back is still in the browser, and was not given.
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

    def _soil(self, days: Iterable[int]) -> None:
        self._connection.executemany(
            "insert into days(day) values(?) on conflict(day) do update set dirty = 1", [(day,) for day in sorted(days)]
        )

    def _cut_anew(self, zones: Zones) -> None:
        rows: list[Any] = self._connection.execute("select at, url from visits").fetchall()
        moved = [(zones.day(at // 1_000_000), at, url) for at, url in rows]
        self._connection.executemany("update visits set day = ? where at = ? and url = ?", moved)
        self._connection.execute("update days set dirty = 1")
        self._soil({day for day, _, _ in moved})

    def _judge_all(self, policy: Policy) -> None:
        from ingest.sources.chrome.policy import HIDING

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
                if verdict in HIDING:
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
        # Two addresses may be the same once they are clean.
        connection.executemany(
            "update or replace visits set url = ?, domain = ?, title = ?, term = ? where at = ? and url = ?", renamed
        )
        connection.executemany(
            "update or replace held set url = ? where at = ? and url = ?", [(new[0], *new[4:]) for new in renamed]
        )


def _visits(connection: apsw.Connection) -> list[Any]:
    return connection.execute("select at, url, title, term, led_term, shown from visits").fetchall()
