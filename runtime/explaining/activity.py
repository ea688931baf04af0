"""When work was done and where: a year's days, one day's events on one line of time, projects.

Documents describe themselves: one with `commits` is a day of commits, one with `commands` a day of a shell, one with
`visits` a day of browsing (docs/documents.md). All days are those of the user's time zone.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from contextlib import closing
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from core import clock
from core.errors import BadInput
from core.redaction import shown, shown_value
from core.text import one_line
from qmd.index import catalogue
from qmd.index.catalogue import Filters
from qmd.index.store import open_index
from runtime.asking.documents import Row
from runtime.asking.envelope import Freshness
from runtime.asking.recent import item
from runtime.asking.request import project_glob

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from zoneinfo import ZoneInfo

    import apsw

    from core.config import Config
    from core.home import Home

# Shades of a heat map besides that of nothing.
LEVELS = 4
# The kinds of work, in the order in which a day shows them, each with the word for one of what it counts.
WORDS = {
    "session": "session", "commit": "commit", "shell": "command", "browsing": "visit", "note": "note",
    "article": "article",
}  # fmt: skip
KINDS = tuple(WORDS)
# A document that holds a day of some kind, by the field that counts its entries.
COUNTED = {"commits": "commit", "commands": "shell", "visits": "browsing"}
_BY_TRUST = {"session": "session", "browser": "browsing", "note": "note", "article": "article"}
# A symbol of code has no date of its own.
_SYMBOL = "nodeId"
_FIELDS = ("project", "synthetic", _SYMBOL, *COUNTED)
# A session that was left open for days did not work through their nights.
_MOST_HOURS = 12
_MOST_EVENTS = 500
_MOST_OF_DAY = 1_000
_EVENT_LENGTH = 200
_MOST_PROJECTS = 200
_BROWSED = re.compile(r"^\s*- (\d\d):(\d\d)() (\S.*)$")
_TYPED = re.compile(r"^- (\d\d):(\d\d):(\d\d) (\S.*)$")
_COMMITTED = re.compile(r"^## (\d\d):(\d\d)() (\S.*)$")
_LINES = {"browsing": _BROWSED, "shell": _TYPED, "commit": _COMMITTED}
_EPOCH = date(1970, 1, 1).toordinal()
_NO_YEAR = "a year from 1970 to 9998"


class Tally:
    """One document as ``_walk`` gives it: times in epoch seconds, ``count`` of what its day holds."""

    __slots__ = ("count", "date", "ended", "kind", "project")

    def __init__(self, kind: str, project: str, began: int, ended: int, count: int) -> None:
        self.kind, self.project, self.date, self.ended, self.count = kind, project, began, ended, count


def year(home: Home, config: Config, wanted: int, project: str = "") -> dict[str, Any]:
    """Return what each day of a year holds.

    ``days``: by local day (``YYYY-MM-DD``), how many sessions, commits, commands, visits, notes and articles.
    ``hours``: seven lists, Monday first, of how many sessions and notes were at work in each hour of the day.
    ``years``: those with a dated document. Raises BadInput, and what opening the index raises.
    """
    if not 1970 <= wanted < 9999:
        raise BadInput(f"there is no year {wanted}", _NO_YEAR)
    start, end = (clock.day_start(clock.month_start(each, 1)) for each in (wanted, wanted + 1))
    days: dict[str, Counter[str]] = {}
    hours = [[0] * 24 for _ in range(7)]
    with closing(open_index(home.index)) as connection:
        for found in _walk(connection, config, start, project):
            if found.date >= end:
                continue
            if found.date >= start:
                day = time.strftime("%Y-%m-%d", time.localtime(found.date))
                days.setdefault(day, Counter())[found.kind] += found.count
            if found.kind in ("session", "note"):
                _add_hours(hours, max(found.date, start), min(found.ended, end - 1))
        years = _years(connection)
        fresh = Freshness(home, config, connection).envelope()
    return {
        "schema": 1,
        "ok": True,
        "year": wanted,
        "project": project or None,
        "years": years,
        "days": {day: dict(counts) for day, counts in sorted(days.items())},
        "hours": hours,
        "freshness": fresh,
    }


def days(home: Home, config: Config, first: date, last: date, project: str = "") -> dict[str, dict[str, int]]:
    """Return what each day from ``first`` to ``last`` holds, as ``days`` of ``year``. Raises as ``open_index``."""
    start, end = clock.day_start(first.toordinal() - _EPOCH), clock.day_start(last.toordinal() - _EPOCH + 1)
    found: dict[str, Counter[str]] = {}
    with closing(open_index(home.index)) as connection:
        for each in _walk(connection, config, start, project):
            if start <= each.date < end:
                name = time.strftime("%Y-%m-%d", time.localtime(each.date))
                found.setdefault(name, Counter())[each.kind] += each.count
    return {name: dict(counts) for name, counts in sorted(found.items())}


def day(home: Home, config: Config, wanted: str, project: str = "") -> dict[str, Any]:
    """Return one local day (``YYYY-MM-DD``): its documents in order of time, each with what it records of that day.

    ``items`` are as in ``recent``, with ``kind``, ``events`` (``at``, ``line``, ``text``: commands, pages, commits) and
    ``more`` (events left out). A commit's time is by its author's clock; the difference to UTC is taken from the first
    commit of the same day. Raises BadInput.
    """
    this = _parse(wanted)
    start, end = clock.day_start(this), clock.day_start(this + 1)
    with closing(open_index(home.index)) as connection:
        # Only dated ones: code and articles without a date may all have been written to disk on one day.
        ids = catalogue.on_days(connection, [(start, end)], Filters(), _MOST_OF_DAY)
        rows = [Row(row, config) for row in catalogue.rows(connection, Filters(), ids)]
        if project:
            rows = [row for row in rows if is_of(row.field("project") or "", project)]
        items = [found for row in rows if (found := _of_day(connection, config, row, start, end)) is not None]
        fresh = Freshness(home, config, connection).envelope()
    items.sort(key=lambda found: (str(found["date"]), str(found["uri"])))
    counts = Counter[str]()
    for found in items:
        counts[found["kind"]] += len(found["events"]) + found["more"] if found["kind"] in _LINES else 1
    answer: dict[str, Any] = {
        "schema": 1,
        "ok": True,
        "day": wanted,
        "since": clock.iso(start),
        "until": clock.iso(end),
        "project": project or None,
        "counts": dict(counts),
        "freshness": fresh,
    }
    if not items:
        answer["error"] = "no_results"
    answer["items"] = items
    return answer


def rows(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of a day in order of time: each document, or each of the events that it lists."""
    found: list[dict[str, Any]] = []
    for each in items:
        events = each["events"] or [{"at": each["date"], "text": each["title"], "line": None}]
        found += [{**event, "item": each} for event in events]
    return sorted(found, key=lambda row: str(row["at"]))


def level(count: int, most: int) -> int:
    """Return how dark a square of a heat map is, 0 to ``LEVELS``; the square root keeps quiet days visible."""
    return math.ceil(LEVELS * math.sqrt(count / most)) if most else 0


def projects(home: Home, config: Config) -> dict[str, Any]:
    """Return the projects, those worked on last first: ``project``, ``counts`` by kind, ``date`` and ``ended``."""
    known: dict[str, dict[str, Any]] = {}
    with closing(open_index(home.index)) as connection:
        for found in _walk(connection, config, 0, ""):
            if not found.project:
                continue
            entry = known.setdefault(found.project, {"counts": Counter(), "ended": found.ended, "date": found.date})
            entry["counts"][found.kind] += found.count
            entry["date"] = min(entry["date"], found.date)
        fresh = Freshness(home, config, connection).envelope()
    items = [
        {
            "project": name,
            "date": clock.iso(entry["date"]),
            "ended": clock.iso(entry["ended"]),
            "counts": dict(entry["counts"]),
        }
        for name, entry in known.items()
    ][:_MOST_PROJECTS]
    total = len(known)
    return {"schema": 1, "ok": True, "total": total, "freshness": fresh, "items": shown_value(items)}


def project(home: Home, config: Config, name: str, *, limit: int = 50, until: int | None = None) -> dict[str, Any]:
    """Return the documents of a project (a folder's name, a path or a glob), newest first, as ``recent`` lists them.

    ``until`` (epoch seconds, exclusive): only those that began before. ``total`` counts all of the project.
    """
    fields = (("project", "GLOB", project_glob(name)),)
    listed = tuple(each for each, folder in config.collections.items() if folder.trust != "distilled")
    now = clock.now()
    with closing(open_index(home.index)) as connection:
        total = catalogue.count(connection, Filters(listed, fields=fields))
        newest = catalogue.newest(connection, Filters(listed, until=until, fields=fields), limit + 1)
        found = [Row(row, config) for row in newest]
        items = [{**item(row, config, now), "kind": kind_of(row, config)} for row in found[:limit]]
        fresh = Freshness(home, config, connection).envelope()
    answer: dict[str, Any] = {"schema": 1, "ok": True, "project": name, "total": total, "freshness": fresh}
    if not items:
        answer["error"] = "no_results"
    return {**answer, "items": items, "more": len(found) > limit}


def _walk(connection: apsw.Connection, config: Config, since: int, project: str) -> Iterator[Tally]:
    """Yield the dated documents that ended since, the last first; no symbol, no distillate, nothing synthetic."""
    trusts = {name: folder.trust for name, folder in config.collections.items()}
    for _, collection, _, _, began, ended, _, *values in catalogue.walk(connection, _FIELDS, since, only_dated=True):
        fields = dict(zip(_FIELDS, values, strict=True))
        folder = fields["project"] if isinstance(fields["project"], str) else ""
        if fields["synthetic"] == 1 or (project and not is_of(folder, project)):
            continue
        kind, count = _kind(fields, trusts.get(collection, "note"))
        if kind:
            yield Tally(kind, folder, began, ended, count)


def is_of(folder: str, project: str) -> bool:
    """Return True if a document of ``folder`` belongs to ``project``: a folder's name, a path or a glob."""
    glob = project_glob(project)
    return folder == project or fnmatchcase(f"/{folder}" if glob.startswith("*/") else folder, glob)


def _kind(fields: Mapping[str, Any], trust: str) -> tuple[str, int]:
    """Return (the kind of a document, how much it counts); ("", 0) for one that records no work."""
    if fields.get(_SYMBOL) or trust == "distilled":
        return "", 0  # a distillate has the fields of what it was made from
    for name, kind in COUNTED.items():
        count = fields.get(name)
        if isinstance(count, int) and count > 0:
            return kind, count
    return _BY_TRUST.get(trust, ""), 1


def kind_of(row: Row, config: Config) -> str:
    """Return the kind of a document (``KINDS``), "" for one that records no work."""
    folder = config.collections.get(row.collection)
    return _kind(row.fields, folder.trust if folder else "note")[0]


def _add_hours(hours: list[list[int]], began: int, ended: int) -> None:
    for step in range(min(_MOST_HOURS, max(0, ended - began) // 3600 + 1)):
        at = time.localtime(began + 3600 * step)
        hours[at.tm_wday][at.tm_hour] += 1


def _years(connection: apsw.Connection) -> list[int]:
    first, last = (
        catalogue.first_date(connection, Filters(), 1),
        catalogue.last_end(connection, Filters(), clock.now() + clock.DAY),
    )
    if first is None or last is None:
        return []
    return list(range(time.localtime(first).tm_year, time.localtime(last).tm_year + 1))


def _of_day(connection: apsw.Connection, config: Config, row: Row, start: int, end: int) -> dict[str, Any] | None:
    """Return a document as an item of a day; None if it records no work, or none of this day."""
    kind = kind_of(row, config)
    if not kind:
        return None
    found = {**item(row, config, clock.now()), "kind": kind, "events": [], "more": 0}
    if row.fields.get("synthetic") is True:
        found["synthetic"] = True
    if kind in _LINES:
        events = [each for each in _events(connection, row, kind) if start <= each[0] < end]
        if not events:
            return None
        found["more"] = max(0, len(events) - _MOST_EVENTS)
        found["events"] = [
            {"at": clock.iso(at), "line": line, "text": text if row.is_clean else shown(text)}
            for at, line, text in sorted(events)[:_MOST_EVENTS]
        ]
    return found


def _events(connection: apsw.Connection, row: Row, kind: str) -> Iterator[tuple[int, int, str]]:
    """Yield (epoch seconds, line, text) of what a day of commands, pages or commits lists."""
    pattern = _LINES[kind]
    difference: int | None = None
    midnight = _midnight(row, kind)
    for number, line in enumerate((catalogue.text(connection, row.hash) or "").split("\n"), 1):
        match = pattern.match(line)
        if match is None:
            continue
        passed = int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0)
        if kind == "commit":
            if difference is None:
                # Clocks differ from UTC by quarters of an hour, between -12 and +14 hours.
                off = round((passed - row.date % clock.DAY) / 900) * 900
                difference = (off + 43_200) % clock.DAY - 43_200
            passed -= difference
        yield midnight + passed, number, one_line(match[4], _EVENT_LENGTH)


def _midnight(row: Row, kind: str) -> int:
    """Return when the day of a document begins, epoch seconds: in its own time zone where it has one, else in UTC."""
    named = str(row.fields.get("session_id") or "").rpartition(":")[2]
    try:
        this = date.fromisoformat(named)
    except ValueError:
        this = datetime.fromtimestamp(row.date, UTC).date()
    zone = _zone(row.fields.get("time_zone")) if kind == "browsing" else None
    return int(datetime(this.year, this.month, this.day, tzinfo=zone or UTC).timestamp())


def _zone(value: object) -> ZoneInfo | None:
    from zoneinfo import ZoneInfo

    name = value[0] if isinstance(value, list) and value else value
    try:
        return ZoneInfo(name) if isinstance(name, str) and name else None
    except (OSError, ValueError):
        return None  # a zone that this system does not know


def _parse(day: str) -> int:
    """Return the number of a day. Raises BadInput."""
    try:
        found = date.fromisoformat(day)
    except ValueError:
        raise BadInput(f"{day!r} is no day", "a day such as 2026-03-12") from None
    if not 1970 <= found.year < 9999 or len(day) != len("YYYY-MM-DD"):
        raise BadInput(f"{day!r} is no day", _NO_YEAR)
    return clock.day_number(found.year, found.month, found.day)
