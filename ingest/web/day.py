"""A day of browsing as a document: sittings, and in each a line a page or search.

The grammar of the document is a contract: docs/documents.md.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from core import clock
from core.document import Timestamp
from ingest.session import zones

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ingest.session.zones import Zones

# A new sitting begins after such a pause. Within one sitting, a page has one entry.
_PAUSE_US = 30 * 60 * 1_000_000
_SECOND_US = 1_000_000
_DOMAINS = 12
_TITLED = 3
# The greatest length of a document (docs/documents.md): only a program visits more pages a day.
_MAX_CHARACTERS = 4_194_304


class Row(NamedTuple):
    """A visit as a day shows it; see ``ingest.sources.chrome.history.Visit``."""

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
