"""Rows of a browser's history become visits: Chromium's, Firefox's and Safari's.

Columns are probed, not assumed. The other browsers' kinds of visits are brought to Chromium's words for them.

Sources: chromium, ``components/history/core/browser/`` (``visit_database.cc``, ``history_types.h``) and
``ui/base/page_transition_types.h``, schema versions 16 to 70 seen; files of one version differ by build, so
``meta.version`` says little. Firefox, ``toolkit/components/places/`` (``nsPlacesTables.h``,
``nsINavHistoryService.idl``, ``Interactions.sys.mjs``). Safari has no published source: tables of macOS 10.13 to 15.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from core.redaction import redact
from core.text import one_line
from ingest.sources.chrome.archive import LONGEST_DWELL_US
from ingest.web.policy import Page, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import apsw

    # Table → its columns.
    Tables = Mapping[str, frozenset[str]]

# Microseconds from 1601-01-01 to 1970-01-01, and from 1970-01-01 to 2001-01-01.
EPOCH_US = 11_644_473_600_000_000
_COCOA_US = 978_307_200_000_000
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
    layout = _layout(tables)
    latest = clock.now() * 1_000_000 + _AHEAD_US
    pages = _pages(connection, tables, layout, policy)
    labels = _labels(connection, tables)
    viewed = _viewed(connection, tables)
    trails: dict[int, _Trail] = {}
    last: tuple[int, _Trail | None] = (0, None)
    rows = connection.execute(layout.visits(tables))
    for number, page_id, at, parent, opener, transition, duration, foreground, term, is_unseen in rows:
        at -= layout.epoch
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
        reason = _why_not(core, transition, hidden or bool(is_unseen))
        if reason:
            drop(reason)
            continue
        last = (at, trail)
        if isinstance(page, str):
            drop(page)
            continue
        # -1 s means unknown.
        dwell = max(foreground if foreground > 0 else duration, viewed.get(number, 0), 0)
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


class _Layout(NamedTuple):
    """How a family of browsers keeps its history.

    ``visits`` returns a statement whose rows are id, page, time, visit before, visit of the page that opened it,
    transition, duration, time in the foreground, search term, and true if nobody saw the page, in the order of ids.
    ``pages`` returns one whose rows are id, address, title, time of the last visit, true if hidden. Times are
    microseconds after ``epoch`` before 1970.
    """

    required: dict[str, tuple[str, ...]]
    visits: Callable[[Tables], str]
    pages: Callable[[Tables], str]
    epoch: int


def _chromium_visits(tables: Tables) -> str:
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
    return f"select {', '.join(columns)}, 0 from visits {' '.join(sorted(joins))} order by visits.id"


def _probed_pages(tables: Tables, table: str, last: str) -> str:
    has = tables[table].__contains__
    title, visited, hidden = (name if has(name) else "null" for name in ("title", last, "hidden"))
    return _page(table, "id", "url", title, visited, hidden)


def _page(table: str, number: str, url: str, title: str, last: str, hidden: str) -> str:
    return (
        f"select {number}, cast(substr({url}, 1, {_LONGEST_ADDRESS}) as blob),"
        f" cast(substr({title}, 1, {_LONGEST}) as blob), coalesce(cast({last} as integer), 0),"
        f" coalesce(cast({hidden} as integer), 0) from {table}"
    )


def _firefox_visits(tables: Tables) -> str:
    del tables
    # 1 and 7 follow a link, to a page or a download; 5 and 6 are the targets of redirects.
    kinds = {2: _TYPED, 3: _BOOKMARK, 4: _SUBFRAME, 8: _MANUAL_SUBFRAME, 9: _RELOAD}
    kind = " ".join(f"when {theirs} then {ours}" for theirs, ours in kinds.items())
    redirected = "visit_type in (5, 6)"
    return (
        "select id, cast(place_id as integer), coalesce(cast(visit_date as integer), 0),"
        " coalesce(cast(from_visit as integer), 0), 0,"
        f" (case visit_type {kind} else {_LINK} end) | iif({redirected}, {_REDIRECT}, 0)"
        f" | iif(id in (select from_visit from moz_historyvisits where {redirected}), 0, {_CHAIN_END}),"
        " 0, 0, null, 0 from moz_historyvisits order by id"
    )


def _safari_visits(tables: Tables) -> str:
    has = tables["history_visits"].__contains__
    source, target, loaded = (
        name if has(name) else other
        for name, other in (("redirect_source", "null"), ("redirect_destination", "null"), ("load_successful", "1"))
    )
    return (
        f"select id, cast(history_item as integer), cast(visit_time * 1000000 as integer),"
        f" coalesce(cast({source} as integer), 0), 0,"
        f" {_LINK} | iif({source} is null, 0, {_REDIRECT}) | iif({target} is null, {_CHAIN_END}, 0),"
        f" 0, 0, null, not {loaded} from history_visits order by id"
    )


def _safari_pages(tables: Tables) -> str:
    del tables
    # The other columns of a group are those of the row with its maximum.
    titled = (
        "history_items left join (select history_item, title, max(visit_time) as last from history_visits"
        " where title != '' group by history_item) on history_item = id"
    )
    return _page(titled, "id", "url", "title", "last * 1000000", "0")


_LAYOUTS = (
    _Layout(
        {"visits": ("id", "url", "visit_time", "transition"), "urls": ("id", "url")},
        _chromium_visits,
        partial(_probed_pages, table="urls", last="last_visit_time"),
        EPOCH_US,
    ),
    _Layout(
        {
            "moz_historyvisits": ("id", "from_visit", "place_id", "visit_date", "visit_type"),
            "moz_places": ("id", "url"),
        },
        _firefox_visits,
        partial(_probed_pages, table="moz_places", last="last_visit_date"),
        0,
    ),
    _Layout(
        {"history_visits": ("id", "history_item", "visit_time", "title"), "history_items": ("id", "url")},
        _safari_visits,
        _safari_pages,
        -_COCOA_US,
    ),
)


def _layout(tables: Tables) -> _Layout:
    """Return the layout of a database. Raises NotHistory."""
    for layout in _LAYOUTS:
        if all(tables.get(table, frozenset()).issuperset(needed) for table, needed in layout.required.items()):
            return layout
    raise NotHistory("none of " + ", ".join(table for layout in _LAYOUTS for table in layout.required))


def _viewed(connection: apsw.Connection, tables: Tables) -> dict[int, int]:
    """Return visit → how long a person looked at the page afterwards, in microseconds, as Firefox measures it."""
    needed = ("place_id", "created_at", "total_view_time")
    if not tables.get("moz_places_metadata", frozenset()).issuperset(needed):
        return {}
    visits: dict[int, list[tuple[int, int]]] = {}
    for number, place, at in connection.execute(
        "select id, cast(place_id as integer), cast(visit_date as integer) from moz_historyvisits"
        " where visit_date is not null order by visit_date, id"
    ):
        visits.setdefault(place, []).append((at, number))
    found: dict[int, int] = {}
    for place, at, spent in connection.execute(
        "select cast(place_id as integer), cast(created_at as integer) * 1000,"
        " cast(total_view_time as integer) * 1000 from moz_places_metadata"
        " where created_at is not null and total_view_time > 0"
    ):
        # Rounded to milliseconds, a look may seem to begin before its visit.
        if index := bisect_right(visits.get(place, ()), (at + 1000, 0)):
            number = visits[place][index - 1][1]
            found[number] = found.get(number, 0) + spent
    return found


def _pages(
    connection: apsw.Connection, tables: Tables, layout: _Layout, policy: Policy
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
    found: dict[int, tuple[str, str, int, str, bool, Page | str]] = {}
    rows = connection.execute(layout.pages(tables))
    while several := list(islice(rows, _TOGETHER)):
        texts = [(_text(url), _text(name), terms.get(page_id, "")) for page_id, url, name, _, _ in several]
        pages = policy.judge_all(texts)
        for (page_id, _, _, when, out_of_sight), (url, name, term), page in zip(several, texts, pages, strict=True):
            found[page_id] = (url, name, max(when - layout.epoch, 0), term, bool(out_of_sight), page)
    return found


def _labels(connection: apsw.Connection, tables: Tables) -> dict[int, str]:
    """Return visit → the browser's name for its group of visits, else the best keywords of the group."""
    return _clusters(connection, tables) | _journeys(connection, tables)


def _journeys(connection: apsw.Connection, tables: Tables) -> dict[int, str]:
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


def _clusters(connection: apsw.Connection, tables: Tables) -> dict[int, str]:
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
