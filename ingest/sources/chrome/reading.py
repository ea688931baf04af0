"""Rows of a ``History`` database → visits that a person made. The query is data; columns are probed, not assumed.

Formats seen: schema versions 16 to 70. Sources: chromium's ``components/history/core/browser/`` (``visit_database.cc``,
``history_types.h``) and ``ui/base/page_transition_types.h``; files of one version differ by build, so that
``meta.version`` says little.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from ingest.sources.chrome.policy import Page, Policy
from ingest.sources.chrome.visits import LONGEST_DWELL_US

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import apsw

# Microseconds from 1601-01-01 to 1970-01-01.
EPOCH_US = 11_644_473_600_000_000
_EARLIEST_US = 788_918_400_000_000  # 1995
_LATEST_US = 4_102_444_800_000_000  # 2100
# Clocks of machines that synchronise differ.
_AHEAD_US = clock.DAY * 1_000_000

_CHAIN_END = 0x2000_0000
_REDIRECT = 0xC000_0000
_LINK, _TYPED, _BOOKMARK, _SUBFRAME, _MANUAL_SUBFRAME, _GENERATED, _START, _RELOAD, _KEYWORD, _KEYWORD_GENERATED = (
    0, 1, 2, 3, 4, 5, 6, 8, 9, 10,
)  # fmt: skip
# With one of these a person sets out anew: what came before did not lead there.
_DEPARTURES = frozenset((_TYPED, _BOOKMARK, _GENERATED, _START, _KEYWORD))

# Pages between a search and what it is still said to have led to.
_STEPS = 3
# A result opened without a referrer is the search's if it follows it so closely.
_SOON_US = 5 * 60 * 1_000_000

SUBFRAME = "within a page"
PASSED = "passed through"
HIDDEN = "hidden by the browser"
FUTURE = "dated in the future"
TOO_LONG = "duration longer than a day"
NO_ADDRESS = "visit without an address"
NO_TIME = "visit without a time"

# (column of ours, table it is in, column there): what a database lacks is 0 or NULL.
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
# Pages that are screened at once.
_TOGETHER = 64
_REQUIRED = {"visits": ("id", "url", "visit_time", "transition"), "urls": ("id", "url")}


class Visit(NamedTuple):
    """A visit that passed the policy. Times in microseconds since 1970, UTC; durations in microseconds.

    ``dwell``: in the foreground where that is known, else until the page was left. ``led_at`` and ``led_term``: the
    search that led here, 0 and "" where none did. ``title_at``: when the title was last written, which is the same
    for all visits of an address.
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
    """How a visit came about: the search it began with and how many pages lie between."""

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
    """The visits of a database in the order of their ids; ``drop(reason)`` for each that is not kept.

    What is dated more than a day after now is not kept. A duration of over a day is 0, and counted likewise.
    ``fail(reason)`` is called for a row that cannot be one. Raises NotHistory, and apsw.Error where the file is
    damaged.
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
        # -1 s stands for unknown.
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
        return PASSED  # a redirect's earlier stations: its end stands for the whole chain
    # A page that answered with an error is hidden, and so is one that was only ever part of another.
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
    """The trail that a visit goes on with, one page further unless it is a redirect or a reload of the same."""
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
    """Table → its columns."""
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
    """Id → (address, title, when it was last written, search term, whether hidden, verdict)."""
    terms: dict[int, str] = {}
    if tables.get("keyword_search_terms", frozenset()).issuperset(("url_id", "term")):
        # One address may have been searched for under several keywords: its term is the same.
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
    """Visit → what the browser calls the group of visits that it put it into, else the group's best keywords."""
    return _clusters(connection, tables) | _journeys(connection, tables)


def _journeys(connection: apsw.Connection, tables: dict[str, frozenset[str]]) -> dict[int, str]:
    """The groups of 2026, which name their visits by time (``components/history/core/browser/journeys``)."""
    from core.redaction import redact
    from core.text import one_line

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
    from core.redaction import redact
    from core.text import one_line

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
