"""Rows of a ``History`` database become visits; the visits of one local day become its document.

Columns are probed, not assumed. Formats seen: schema versions 16 to 70. Sources: chromium's
``components/history/core/browser/`` (``visit_database.cc``, ``history_types.h``) and
``ui/base/page_transition_types.h``; files of one version differ by build, so ``meta.version`` says little. The grammar
of a day's document is a contract: docs/documents.md.
"""

from __future__ import annotations

import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from core.document import Timestamp
from core.redaction import redact
from core.text import one_line
from ingest.session import zones
from ingest.sources.chrome.archive import LONGEST_DWELL_US
from ingest.web.policy import Page, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import apsw

    from ingest.session.zones import Zones
    from ingest.sources.chrome.archive import Row

# Microseconds from 1601-01-01 to 1970-01-01.
EPOCH_US = 11_644_473_600_000_000
_EARLIEST_US = 788_918_400_000_000  # 1995
_LATEST_US = 4_102_444_800_000_000  # 2100
# The clocks of synchronised machines differ.
_AHEAD_US = clock.DAY * 1_000_000

_CHAIN_END = 0x2000_0000
_REDIRECT = 0xC000_0000
_LINK, _TYPED, _BOOKMARK, _SUBFRAME, _MANUAL_SUBFRAME, _GENERATED, _START, _RELOAD, _KEYWORD, _KEYWORD_GENERATED = (
    0, 1, 2, 3, 4, 5, 6, 8, 9, 10,
)  # fmt: skip
# A person starts somewhere else with one of these: the page before did not lead there.
_DEPARTURES = frozenset((_TYPED, _BOOKMARK, _GENERATED, _START, _KEYWORD))

# A search led to at most so many pages in a row.
_STEPS = 3
# A page without a referrer belongs to a search if it follows within this time.
_SOON_US = 5 * 60 * 1_000_000

SUBFRAME = "within a page"
PASSED = "passed through"
HIDDEN = "hidden by the browser"
FUTURE = "dated in the future"
TOO_LONG = "duration longer than a day"
NO_ADDRESS = "visit without an address"
NO_TIME = "visit without a time"

# (our column, its table, its column there). A missing column reads as 0 or NULL.
_VISIT_COLUMNS = (
    ("id", "visits", "id"),
    ("page", "visits", "url"),
    ("at", "visits", "visit_time"),
    ("parent", "visits", "from_visit"),
    ("opener", "visits", "opener_visit"),
    ("transition", "visits", "transition"),
    ("duration", "visits", "visit_duration"),
    ("foreground", "context_annotations", "total_foreground_duration"),
    ("term", "content_annotations", "search_terms"),
)
_JOINS = {
    "context_annotations": "left join context_annotations on context_annotations.visit_id = visits.id",
    "content_annotations": "left join content_annotations on content_annotations.visit_id = visits.id",
}
_TEXTS = frozenset(("term",))
_LONGEST = 4096
_LONGEST_ADDRESS = 65_536
# Pages that are screened together.
_TOGETHER = 64
_REQUIRED = {"visits": ("id", "url", "visit_time", "transition"), "urls": ("id", "url")}

# A new sitting begins after such a pause. Within one sitting, a page has one entry.
_PAUSE_US = 30 * 60 * 1_000_000
_SECOND_US = 1_000_000
_DOMAINS = 12
_TITLED = 3
# The greatest length of a document (docs/documents.md): only a program visits more pages a day.
_MAX_CHARACTERS = 4_194_304


class Visit(NamedTuple):
    """A visit that passed the policy. Times in microseconds since 1970, UTC; durations in microseconds.

    ``dwell``: time in the foreground if known, else until the page was left. ``led_at`` and ``led_term``: the search
    that led here, 0 and "" for none. ``title_at``: the last write of the title, the same for all visits of an address.
    """

    at: int
    url: str
    domain: str
    title: str
    title_at: int
    term: str
    label: str
    reload: bool
    dwell: int
    led_at: int
    led_term: str


class NotHistory(Exception):
    """A database without the tables of a browser's history."""


class _Trail:
    """The search that a visit began with, and the number of pages between."""

    __slots__ = ("at", "steps", "term")

    def __init__(self, at: int, term: str, steps: int) -> None:
        self.at = at
        self.term = term
        self.steps = steps


def read(
    connection: apsw.Connection,
    policy: Policy,
    drop: Callable[[str], None],
    fail: Callable[[str], None],
) -> Iterator[Visit]:
    """Yield the visits of a database in the order of their ids.

    ``drop(reason)`` is called for each visit that is left out, such as one dated more than a day after now; also for a
    duration of more than a day, which becomes 0. ``fail(reason)`` is called for a row that is no visit.
    Raises NotHistory, and apsw.Error if the file is damaged.
    """
    tables = _tables(connection)
    for table, needed in _REQUIRED.items():
        if not tables.get(table, frozenset()).issuperset(needed):
            raise NotHistory(f"no {table}")
    latest = clock.now() * 1_000_000 + _AHEAD_US
    pages = _pages(connection, tables, policy)
    labels = _labels(connection, tables)
    trails: dict[int, _Trail] = {}
    last: tuple[int, _Trail | None] = (0, None)
    for number, page_id, at, parent, opener, transition, duration, foreground, term in connection.execute(
        _select(tables)
    ):
        at -= EPOCH_US
        core = transition & 0xFF
        known = pages.get(page_id)
        if known is None:
            fail(NO_ADDRESS)
            continue
        if not _EARLIEST_US <= at < _LATEST_US:
            fail(NO_TIME)
            continue
        if at > latest:
            drop(FUTURE)
            continue
        url, title, title_at, page_term, hidden, page = known
        if term is not None and not page_term and (said := _text(term).strip()):
            page = policy.judge(url, title, said)
            pages[page_id] = (url, title, title_at, said, hidden, page)
        trail = _follow(trails, last, core, transition, parent, opener, at)
        if isinstance(page, Page) and page.term and core not in (_SUBFRAME, _MANUAL_SUBFRAME):
            trail = _Trail(at, page.term, 0)
        if trail is not None:
            trails[number] = trail
        reason = _why_not(core, transition, hidden)
        if reason:
            drop(reason)
            continue
        last = (at, trail)
        if isinstance(page, str):
            drop(page)
            continue
        # -1 s means unknown.
        dwell = max(foreground if foreground > 0 else duration, 0)
        if dwell > LONGEST_DWELL_US:
            drop(TOO_LONG)
            dwell = 0
        led = trail if trail is not None and not page.term else None
        yield Visit(
            at,
            page.url,
            page.domain,
            page.title,
            title_at,
            page.term,
            labels.get(number, ""),
            core == _RELOAD,
            dwell,
            led.at if led is not None else 0,
            led.term if led is not None else "",
        )


def _why_not(core: int, transition: int, hidden: bool) -> str:
    if core in (_SUBFRAME, _MANUAL_SUBFRAME, _KEYWORD_GENERATED):
        return SUBFRAME
    if not transition & _CHAIN_END:
        return PASSED  # the end of a chain of redirects represents the chain
    # The browser hides pages that answered with an error, and pages that were only part of others.
    return HIDDEN if hidden else ""


def _follow(
    trails: dict[int, _Trail],
    last: tuple[int, _Trail | None],
    core: int,
    transition: int,
    parent: int,
    opener: int,
    at: int,
) -> _Trail | None:
    """Return the trail of a visit: one page further, unless the visit is a redirect or a reload."""
    redirected = bool(transition & _REDIRECT)
    if core in _DEPARTURES and not redirected:
        return None
    before = trails.get(parent or opener)
    if before is None and not parent and not opener and core == _LINK:
        then, trail = last
        if trail is not None and trail.steps == 0 and 0 <= at - then <= _SOON_US:
            before = trail
    if before is None:
        return None
    steps = before.steps + (not redirected and core != _RELOAD)
    return _Trail(before.at, before.term, steps) if steps <= _STEPS else None


def _tables(connection: apsw.Connection) -> dict[str, frozenset[str]]:
    """Return table → its columns."""
    names = connection.execute("select name from sqlite_schema where type = 'table'").fetchall()
    return {
        str(name): frozenset(
            str(row[0]) for row in connection.execute("select name from pragma_table_info(?)", (name,))
        )
        for (name,) in names
    }


def _select(tables: dict[str, frozenset[str]]) -> str:
    columns: list[str] = []
    joins: set[str] = set()
    for name, table, column in _VISIT_COLUMNS:
        usable = column in tables.get(table, ()) and (table == "visits" or "visit_id" in tables[table])
        if usable and table in _JOINS:
            joins.add(_JOINS[table])
        place = f"{table}.{column}" if usable else "null"
        columns.append(
            f"cast(substr({place}, 1, {_LONGEST}) as blob) as {name}"
            if name in _TEXTS
            else f"coalesce(cast({place} as integer), 0) as {name}"
        )
    return f"select {', '.join(columns)} from visits {' '.join(sorted(joins))} order by visits.id"


def _pages(
    connection: apsw.Connection, tables: dict[str, frozenset[str]], policy: Policy
) -> dict[int, tuple[str, str, int, str, bool, Page | str]]:
    """Return id → (address, title, its last write, search term, True if hidden, verdict)."""
    terms: dict[int, str] = {}
    if tables.get("keyword_search_terms", frozenset()).issuperset(("url_id", "term")):
        # One address may have several keywords; its term is the same.
        for page_id, term in connection.execute(
            f"select cast(url_id as integer), cast(substr(max(term), 1, {_LONGEST}) as blob) from keyword_search_terms"
            " group by url_id"
        ):
            terms[page_id] = _text(term)
    has = tables["urls"].__contains__
    title, last, hidden = (name if has(name) else "null" for name in ("title", "last_visit_time", "hidden"))
    found: dict[int, tuple[str, str, int, str, bool, Page | str]] = {}
    rows = connection.execute(
        f"select id, cast(substr(url, 1, {_LONGEST_ADDRESS}) as blob), cast(substr({title}, 1, {_LONGEST}) as blob),"
        f" coalesce(cast({last} as integer), 0),"
        f" coalesce(cast({hidden} as integer), 0) from urls"
    )
    while several := list(islice(rows, _TOGETHER)):
        texts = [(_text(url), _text(name), terms.get(page_id, "")) for page_id, url, name, _, _ in several]
        pages = policy.judge_all(texts)
        for (page_id, _, _, when, out_of_sight), (url, name, term), page in zip(several, texts, pages, strict=True):
            found[page_id] = (url, name, max(when - EPOCH_US, 0), term, bool(out_of_sight), page)
    return found


def _labels(connection: apsw.Connection, tables: dict[str, frozenset[str]]) -> dict[int, str]:
    """Return visit → the browser's name for its group of visits, else the best keywords of the group."""
    return _clusters(connection, tables) | _journeys(connection, tables)


def _journeys(connection: apsw.Connection, tables: dict[str, frozenset[str]]) -> dict[int, str]:
    """Return the names of groups since 2026, which refer to visits by time (chromium's ``browser/journeys``)."""
    entries = tables.get("journey_history_entries", frozenset())
    if not entries.issuperset(("journey_id", "visit_timestamp_micros")) or "title" not in tables.get("journeys", ()):
        return {}
    found: dict[int, str] = {}
    for visit, title in connection.execute(
        "select cast(visits.id as integer), cast(journeys.title as blob) from journey_history_entries as entry"
        " join journeys on journeys.journey_id = entry.journey_id"
        " join visits on visits.visit_time = entry.visit_timestamp_micros order by journeys.journey_id"
    ):
        if called := one_line(redact(_text(title))[0], 100):
            found[visit] = called
    return found


def _clusters(connection: apsw.Connection, tables: dict[str, frozenset[str]]) -> dict[int, str]:
    if not tables.get("clusters_and_visits", frozenset()).issuperset(("cluster_id", "visit_id")):
        return {}
    names: dict[int, str] = {}
    if "keyword" in tables.get("cluster_keywords", ()):
        order = "score desc, " if "score" in tables["cluster_keywords"] else ""
        words: dict[int, list[str]] = {}
        for cluster, keyword in connection.execute(
            f"select cast(cluster_id as integer), cast(keyword as blob) from cluster_keywords order by {order}keyword"
        ):
            words.setdefault(cluster, []).append(one_line(redact(_text(keyword))[0], 60))
        names = {cluster: ", ".join(filter(None, several[:3])) for cluster, several in words.items()}
    columns = [name for name in ("raw_label", "label") if name in tables.get("clusters", ())]
    for column in columns:
        for cluster, label in connection.execute(
            f"select cast(cluster_id as integer), cast({column} as blob) from clusters"
        ):
            if name := one_line(redact(_text(label))[0], 100).strip("“”\"' "):
                names[cluster] = name
    found: dict[int, str] = {}
    for cluster, visit in connection.execute(
        "select cast(cluster_id as integer), cast(visit_id as integer) from clusters_and_visits order by cluster_id"
    ):
        if called := names.get(cluster):
            found[visit] = called
    return found


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


class Entry:
    """One page of a sitting, however often loaded, or one search, however often repeated."""

    __slots__ = ("children", "count", "dwell", "first", "label", "last", "row", "title")

    def __init__(self, row: Row) -> None:
        self.row = row
        self.first = self.last = row.at
        self.count = 0
        self.dwell = 0
        self.title = self.label = ""
        self.children: list[Entry] = []

    def add(self, row: Row) -> None:
        """Add one more load."""
        self.last = row.at
        self.dwell += row.dwell
        self.count += not (row.reload and self.count)
        self.title = self.title or row.title
        self.label = self.label or row.label


def compose(day: int, rows: Sequence[Row], local: Zones) -> tuple[dict[str, Any], str] | None:
    """Return (frontmatter, body) of a day from its ``rows`` in order of time; None if there are no rows."""
    if not rows:
        return None
    sittings = [_entries(sitting) for sitting in _sittings(rows)]
    everything = [entry for sitting in sittings for entry in _flat(sitting)]
    domains: dict[str, list[int]] = {}
    for entry in everything:
        tally = domains.setdefault(entry.row.domain, [0, 0])
        tally[0] += entry.count
        tally[1] += entry.dwell
    ranked = sorted(domains, key=lambda domain: (-domains[domain][0], -domains[domain][1], domain))
    name = zones.iso_day(day)
    used = local.names(row.at // _SECOND_US for row in rows)
    dwell = sum(entry.dwell for entry in everything)
    searches = sum(bool(entry.row.term) for entry in everything)
    body, left_out = _body(name, sittings, local)
    meta: dict[str, Any] = {
        "session_id": name,
        "source": "chrome",
        "title": f"Browsing on {name}: {', '.join(ranked[:_TITLED])}",
        "date": Timestamp(clock.iso(rows[0].at // _SECOND_US)),
        "ended": Timestamp(clock.iso(max(row.at for row in rows) // _SECOND_US)),
        "time_zone": used[0] if len(used) == 1 else used,
        "visits": len(rows),
        "pages": len(everything) - searches,
        "searches": searches or None,
        "dwell_s": dwell // _SECOND_US or None,
        "domains": ranked[:_DOMAINS],
        "truncated": left_out or None,
    }
    return meta, body


def _sittings(rows: Sequence[Row]) -> Iterator[list[Row]]:
    held: list[Row] = []
    for row in rows:
        if held and row.at - held[-1].at > _PAUSE_US:
            yield held
            held = []
        held.append(row)
    yield held


def _entries(rows: list[Row]) -> list[Entry]:
    """Return the entries of one sitting, with the pages that a search led to below the search."""
    top: list[Entry] = []
    known: dict[tuple[str, str], Entry] = {}
    searches: dict[int, Entry] = {}
    for row in rows:
        # A place within a page is the same page; a page of results is the same search.
        key = (
            (row.domain, row.term) if row.term else ("", row.url.partition("#")[0] if "#/" not in row.url else row.url)
        )
        entry = known.get(key)
        if entry is None:
            entry = known[key] = Entry(row)
            search = searches.get(row.led_at) if row.led_at else None
            (top if search is None else search.children).append(entry)
        entry.add(row)
        if row.term:
            searches[row.at] = entry
    return top


def _flat(entries: list[Entry]) -> Iterator[Entry]:
    for entry in entries:
        yield entry
        yield from entry.children


def _body(name: str, sittings: list[list[Entry]], local: Zones) -> tuple[str, int]:
    """Return the markdown, and the number of entries that did not fit."""
    pieces = [f"# Browsing on {_weekday(name)}, {name}\n"]
    size = left_out = 0
    for sitting in sittings:
        first = sitting[0].first
        last = max(entry.last for entry in _flat(sitting))
        heading = _time(first, local)
        end = _time(last, local)
        pieces.append(f"\n## {heading if heading == end else f'{heading}–{end}'}\n\n")
        for entry in sitting:
            for indent, one in (("", entry), *(("  ", child) for child in entry.children)):
                text = _lines(one, indent, local)
                size += len(text)
                if size > _MAX_CHARACTERS:
                    left_out += 1
                else:
                    pieces.append(text)
    if left_out:
        pieces.append(f"\n… {left_out:,} entries are left out here: the day is longer than a document may be.\n")
    return "".join(pieces), left_out


def _lines(entry: Entry, indent: str, local: Zones) -> str:
    row = entry.row
    said = [f"search: {row.term}" if row.term else entry.title, row.domain]
    if entry.dwell >= _SECOND_US:
        said.append(_duration(entry.dwell // _SECOND_US))
    if entry.count > 1:
        said.append(f"{entry.count}×")
    if entry.label:
        said.append(f"topic: {entry.label}")
    if row.led_term and not indent and not row.term:
        said.append(f"after the search: {row.led_term}")
    return f"{indent}- {_time(entry.first, local)} {' · '.join(filter(None, said))}\n{indent}  {row.url}\n"


def _time(at: int, local: Zones) -> str:
    return local.clock(at // _SECOND_US)


def _duration(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds} s"
    minutes = (seconds + 30) // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _weekday(name: str) -> str:
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return names[datetime.date.fromisoformat(name).weekday()]
