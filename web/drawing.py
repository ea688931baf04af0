"""The geometry of the page's drawings: what templates put into SVG. Lengths are in user units of the drawing."""

from __future__ import annotations

import math
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from core import clock
from core.counting import counted
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


def heat_map(first: date, last: date, days: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return the squares of the days from ``first`` to ``last``, a column a week, Monday on top.

    ``days`` are as in ``activity.year``. ``level`` (0–4) compares a day with the busiest one of each kind.
    """
    most: dict[str, int] = {}
    for counts in days.values():
        for kind, count in counts.items():
            most[kind] = max(count, most.get(kind, 0))
    cells: list[dict[str, Any]] = []
    months: list[dict[str, Any]] = []
    monday = first - timedelta(days=first.weekday())
    for number in range((last - first).days + 1):
        today = first + timedelta(days=number)
        x = LEFT + (today - monday).days // 7 * STEP
        if today.day == 1:
            months.append({"x": x, "name": today.strftime("%b")})
        name = today.isoformat()
        counts = days.get(name, {})
        level = max((activity.level(count, most[kind]) for kind, count in counts.items()), default=0)
        said = ", ".join(counted(count, activity.WORDS.get(kind, kind)) for kind, count in counts.items()) or "nothing"
        cells.append(
            {
                "x": x,
                "y": TOP + today.weekday() * STEP,
                "level": level,
                "day": name,
                "said": f"{today.strftime('%a')} {today.day} {today.strftime('%b')}: {said}",
                "some": bool(counts),
            }
        )
    weeks = (last - monday).days // 7 + 1
    return {"cells": cells, "months": months, "width": LEFT + weeks * STEP, "height": TOP + 7 * STEP}


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


# A week's documents as a bar, side by side, and below it a square for the age of the newest one.
_WEEK = 6
_LINE_HEIGHT = 20
_SQUARE = 5
# Shade of a square → the age in days up to which it is that fresh.
_FRESH = ((4, 7), (3, 14), (2, 31))


def weeks(counts: Sequence[int], ages: Sequence[int | None], most: int) -> dict[str, Any]:
    """Return what came each week, and how fresh it was then.

    ``bars``: how many documents; the square root keeps small numbers visible. ``squares``: the age of the newest one,
    the darker the younger, none before the first document.
    """
    bars = [
        {"x": index * _WEEK, "y": _LINE_HEIGHT - height, "height": height, "said": count}
        for index, count in enumerate(counts)
        if (height := math.ceil(_LINE_HEIGHT * math.sqrt(count / most)) if most and count else 0)
    ]
    squares = [
        {
            "x": index * _WEEK,
            "y": _LINE_HEIGHT + 2,
            "level": next((level for level, days in _FRESH if age <= days), 1),
            "said": f"newest: {counted(age, 'day')} old",
        }
        for index, age in enumerate(ages)
        if age is not None
    ]
    height = _LINE_HEIGHT + 2 + _SQUARE
    return {"bars": bars, "squares": squares, "width": len(counts) * _WEEK, "height": height, "total": sum(counts)}


def waiting(days: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what waited for the index and for vectors, by day, as bars: entries of ``stats``' ``freshness``."""
    kinds = ("lexical_pending", "semantic_pending")
    most = max((day.get(kind, 0) for day in days for kind in kinds), default=0)
    step = min(24.0, CHART_WIDTH / max(1, len(days)))
    bars = [
        {
            "x": round(index * step + place * step / 2, 1),
            "y": 60 - height,
            "width": round(max(1.0, step / 2 - 1), 1),
            "height": height,
            "kind": kind.partition("_")[0],
            "said": f"{day['day']}: {day[kind]}",
        }
        for index, day in enumerate(days)
        for place, kind in enumerate(kinds)
        if (height := math.ceil(58 * math.sqrt(day.get(kind, 0) / most)) if most else 0)
    ]
    return {"bars": bars, "width": CHART_WIDTH, "height": 62, "most": most, "days": len(days)}


CHART_WIDTH, _CHART_HEIGHT = 720, 220
_AXIS, _RIGHT, _ABOVE, _BELOW = 36, 150, 12, 24
# Arms that are drawn, each in a colour of its own.
_MOST_LINES = 6


def history(arms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the lines of arms over time, values from 0 to 1; the scale begins at a round number below the least."""
    drawn = sorted(arms, key=lambda arm: len(arm["points"]), reverse=True)[:_MOST_LINES]
    points = [point for arm in drawn for point in arm["points"]]
    moments = [clock.parse_iso(point["ts"]) or 0 for point in points] or [0]
    first, span = min(moments), max(1, max(moments) - min(moments))
    least = min((point["value"] for point in points), default=0.0)
    low = min(0.9, math.floor(10 * least) / 10)
    width, height = CHART_WIDTH - _AXIS - _RIGHT, _CHART_HEIGHT - _ABOVE - _BELOW

    def place(point: Mapping[str, Any]) -> tuple[float, float]:
        x = _AXIS + width * ((clock.parse_iso(point["ts"]) or 0) - first) / span
        return round(x, 1), round(_ABOVE + height * (1 - (point["value"] - low) / (1 - low)), 1)

    lines: list[dict[str, Any]] = []
    for number, arm in enumerate(drawn):
        places = [place(point) for point in arm["points"]]
        dots = [
            {"x": x, "y": y, "said": f"{arm['arm']}: {100 * point['value']:.1f} % of {point['questions']} questions"}
            for (x, y), point in zip(places, arm["points"], strict=True)
        ]
        path = "M" + "L".join(f"{x} {y}" for x, y in places)
        lines.append({"number": number, "arm": arm["arm"], "path": path, "dots": dots, "y": places[-1][1]})
    _spread(lines)
    steps = [round(low + (1 - low) * part / 4, 3) for part in range(5)]
    grid = [
        {"y": round(_ABOVE + height * (1 - part / 4), 1), "name": f"{100 * at:.0f}"} for part, at in enumerate(steps)
    ]
    ends = [{"x": _AXIS, "name": _day(first)}, {"x": _AXIS + width, "name": _day(first + span)}]
    return {
        "lines": lines, "grid": grid, "days": ends if len(set(moments)) > 1 else ends[:1], "left": _AXIS,
        "right": _AXIS + width, "width": CHART_WIDTH, "height": _CHART_HEIGHT,
    }  # fmt: skip


def _spread(lines: list[dict[str, Any]]) -> None:
    """Move the names at the ends of lines apart, so that each can be read."""
    last = -math.inf
    for line in sorted(lines, key=lambda each: float(each["y"])):
        line["label"] = max(line["y"], last + 15)
        last = line["label"]


def _day(instant: int) -> str:
    return time.strftime("%-d %b %Y", time.localtime(instant))


_CHAIN_LEFT, _CHAIN_WIDTH, _CHAIN_STEP = 8, 300, 26
_MOST_CHAINS = 12


def succession(chains: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any] | None:
    """Return what replaced what as lines of time, one a chain, the entry that holds at its right end.

    None if nothing was replaced.
    """
    drawn = [chain for chain in chains if len(chain) > 1][:_MOST_CHAINS]
    if not drawn:
        return None
    moments = [clock.parse_iso(str(entry["date"])) or 0 for chain in drawn for entry in chain]
    first, span = min(moments), max(1, max(moments) - min(moments))
    rows: list[dict[str, Any]] = []
    for number, chain in enumerate(drawn):
        y = 14 + number * _CHAIN_STEP
        marks: list[dict[str, Any]] = []
        last = -math.inf
        for entry in sorted(chain, key=lambda each: str(each["date"])):
            x = _CHAIN_LEFT + _CHAIN_WIDTH * ((clock.parse_iso(str(entry["date"])) or 0) - first) / span
            last = max(x, last + 18)
            marks.append({"x": round(last, 1), "entry": entry, "holds": entry is chain[0]})
        rows.append({"y": y, "marks": marks, "from": marks[0]["x"], "to": marks[-1]["x"], "title": chain[0]["title"]})
    right = max(row["to"] for row in rows) + 14
    return {"rows": rows, "right": right, "width": right + 420, "height": 4 + len(drawn) * _CHAIN_STEP}
