"""The geometry of the page's drawings: what templates put into SVG. Lengths are in user units of the drawing."""

from __future__ import annotations

import time
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from core import clock
from runtime.explaining import activity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The side of a square with its gap.
STEP = 14
LEFT, TOP = 34, 18
DAY_WIDTH = 960
_BAR = 18
_LEAST_BAR = 6
# A day has at most so many rows of bars that overlap; further bars share the last row.
_MOST_ROWS = 12
_WORDS = {
    "session": "sessions", "commit": "commits", "shell": "commands", "browsing": "visits", "note": "notes",
    "article": "articles",
}  # fmt: skip


def heat_map(year: int, days: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return the squares of a year, a column a week, Monday on top.

    ``level`` (0–4) compares a day with the year's busiest day of each kind.
    """
    most: dict[str, int] = {}
    for counts in days.values():
        for kind, count in counts.items():
            most[kind] = max(count, most.get(kind, 0))
    first = date(year, 1, 1)
    cells: list[dict[str, Any]] = []
    months: list[dict[str, Any]] = []
    today = first
    while today.year == year:
        week = (today - first + timedelta(days=first.weekday())).days // 7
        if today.day == 1:
            months.append({"x": LEFT + week * STEP, "name": today.strftime("%b")})
        name = today.isoformat()
        counts = days.get(name, {})
        level = max((activity.level(count, most[kind]) for kind, count in counts.items()), default=0)
        said = ", ".join(f"{count} {_WORDS.get(kind, kind)}" for kind, count in counts.items()) or "nothing"
        cells.append(
            {
                "x": LEFT + week * STEP,
                "y": TOP + today.weekday() * STEP,
                "level": level,
                "day": name,
                "said": f"{today.strftime('%a')} {today.day} {today.strftime('%b')}: {said}",
                "some": bool(counts),
            }
        )
        today += timedelta(days=1)
    return {"cells": cells, "months": months, "width": LEFT + 54 * STEP, "height": TOP + 7 * STEP}


def hour_grid(hours: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the squares of a week's hours, a row a weekday."""
    most = max((count for row in hours for count in row), default=0)
    cells = [
        {
            "x": LEFT + hour * STEP,
            "y": TOP + weekday * STEP,
            "level": activity.level(count, most),
            "said": f"{_weekday(weekday)} {hour:02}:00: {count}",
        }
        for weekday, row in enumerate(hours)
        for hour, count in enumerate(row)
    ]
    marks = [{"x": LEFT + hour * STEP, "name": f"{hour:02}"} for hour in range(0, 24, 3)]
    return {"cells": cells, "hours": marks, "width": LEFT + 24 * STEP, "height": TOP + 7 * STEP}


def _weekday(number: int) -> str:
    return "Mon Tue Wed Thu Fri Sat Sun".split()[number]


def day_line(since: str, until: str, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a day from left to right: sessions as bars in rows that do not overlap, every other event as a tick.

    ``since`` and ``until`` (ISO 8601) are the day's bounds; ``items`` are those of ``activity.day``.
    """
    start, end = clock.parse_iso(since) or 0, clock.parse_iso(until) or 1
    scale = DAY_WIDTH / (end - start)

    def x(instant: str) -> float:
        return round(min(max(((clock.parse_iso(instant) or start) - start) * scale, 0), DAY_WIDTH), 1)

    bars: list[dict[str, Any]] = []
    rows: list[float] = []
    for item in items:
        if item["kind"] != "session":
            continue
        left = x(item["date"])
        right = max(x(item["ended"]), left + _LEAST_BAR)
        row = next((number for number, used in enumerate(rows) if used <= left), len(rows))
        if row == len(rows) and row < _MOST_ROWS:
            rows.append(0)
        row = min(row, _MOST_ROWS - 1)
        rows[row] = max(rows[row], right + 2)
        bars.append({"x": left, "y": row * _BAR, "width": round(right - left, 1), "item": item})
    top = len(rows) * _BAR + 4
    lanes: list[dict[str, Any]] = []
    for kind in ("commit", "shell", "browsing", "note", "article"):
        ticks = [
            {"x": x(at), "said": said}
            for item in items
            if item["kind"] == kind
            for at, said in (
                [(event["at"], event["text"]) for event in item["events"]] or [(item["date"], item["title"])]
            )
        ]
        if ticks:
            lanes.append({"kind": kind, "y": top, "ticks": ticks})
            top += _BAR
    hours = [
        {"x": round(second * scale, 1), "name": time.strftime("%H", time.localtime(start + second))}
        for second in range(0, end - start, 3 * 3600)
    ]
    return {"bars": bars, "lanes": lanes, "hours": hours, "width": DAY_WIDTH, "height": top + 16, "bar": _BAR - 4}
