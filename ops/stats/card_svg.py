"""The card of a year as one SVG file: no script, nothing loaded, light and dark by what its reader prefers.

Lengths are in user units of the drawing.
"""

from __future__ import annotations

import re
import time
from datetime import date, timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from core.counting import counted
from runtime.explaining.activity import level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WIDTH = 888
_EDGE = 32
_SQUARE, _STEP = 11, 15
# The names of weekdays stand left of the squares.
_LEFT = _EDGE + 32
_MAP_TOP = 112
_FIGURES_TOP = _MAP_TOP + 7 * _STEP + 58
_TOOLS_TOP = _FIGURES_TOP + 62
_LINE = 24
_NAME_LENGTH = 28
_COLUMNS = 3
_SERIES = 6
# XML 1.0 has no other characters (https://www.w3.org/TR/xml/#charsets).
_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE = """
svg { --paper: #fdfcf9; --line: #dedad0; --ink: #1d1c1a; --soft: #5f5b54;
  --l0: #ebe8e0; --l1: #b9dcd5; --l2: #7dbcb1; --l3: #38897e; --l4: #0b5d56;
  --s0: #0b5d56; --s1: #b0681f; --s2: #6a4fb3; --s3: #2a72bd; --s4: #b5473b; --s5: #8b867c; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #161513; --line: #37342e; --ink: #e8e4dc; --soft: #a8a297;
    --l0: #24221f; --l1: #1d443f; --l2: #256a61; --l3: #3f9a8d; --l4: #74cbbd;
    --s0: #74cbbd; --s1: #e0a15f; --s2: #b7a1f0; --s3: #83b8f2; --s4: #f0958a; --s5: #8b867c; }
}
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  font-size: 13px; fill: var(--ink); unicode-bidi: isolate; }
.card { fill: var(--paper); stroke: var(--line); }
.title { font-size: 24px; font-weight: 700; letter-spacing: -.02em; }
.figure { font-size: 24px; font-weight: 650; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
.soft { fill: var(--soft); }
.small { font-size: 11px; }
.strong { font-weight: 600; }
"""


def draw(found: Mapping[str, Any]) -> bytes:
    """Return the SVG of the envelope that ``ops.stats.card.card`` gives."""
    body = [*_heading(found), *_map(found), *_figures(found)]
    parts, height = _lists(found)
    body += parts
    said = _text(f"{found['year']}: {counted(found['prompts'], 'prompt')} in {counted(found['sessions'], 'session')}")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
            f' viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="t">',
            f'<title id="t">A year with coding agents, {said}</title>',
            f"<style>{_STYLE}</style>",
            f'<rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="14"/>',
            *body,
            "</svg>",
            "",
        ]
    ).encode()


def _text(value: str) -> str:
    return escape(_FORBIDDEN.sub("", value))


def _write(x: float, y: float, value: str, kind: str = "", anchor: str = "") -> str:
    shape = f' class="{kind}"' if kind else ""
    place = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{shape}{place}>{_text(value)}</text>'


def _heading(found: Mapping[str, Any]) -> Iterator[str]:
    yield _write(_EDGE, 56, f"{found['year']} with coding agents", "title")
    yield _write(WIDTH - _EDGE, 56, "made by brain from local sessions", "soft small", "end")


def _map(found: Mapping[str, Any]) -> Iterator[str]:
    year, days = found["year"], found["days"]
    most = max(days.values(), default=0)
    first = this = date(year, 1, 1)
    while this.year == year:
        x = _LEFT + (this - first + timedelta(days=first.weekday())).days // 7 * _STEP
        if this.day == 1:
            yield _write(x, _MAP_TOP - 10, time.strftime("%b", this.timetuple()), "soft small")
        count = days.get(this.isoformat(), 0)
        said = f"{this.day} {time.strftime('%b', this.timetuple())}: {counted(count, 'prompt')}"
        yield (
            f'<rect x="{x}" y="{_MAP_TOP + this.weekday() * _STEP}" width="{_SQUARE}" height="{_SQUARE}" rx="2.5"'
            f' style="fill:var(--l{level(count, most)})"><title>{_text(said)}</title></rect>'
        )
        this += timedelta(days=1)
    for weekday, name in ((0, "Mon"), (2, "Wed"), (4, "Fri")):
        yield _write(_EDGE, _MAP_TOP + weekday * _STEP + 9, name, "soft small")
    bottom = _MAP_TOP + 7 * _STEP + 20
    right = WIDTH - _EDGE - 32
    yield _write(right - 5 * _STEP - 6, bottom, "less", "soft small", "end")
    for shade in range(5):
        x = right - (5 - shade) * _STEP
        yield (
            f'<rect x="{x}" y="{bottom - 10}" width="{_SQUARE}" height="{_SQUARE}" rx="2.5"'
            f' style="fill:var(--l{shade})"/>'
        )
    yield _write(WIDTH - _EDGE, bottom, "more", "soft small", "end")


def _figures(found: Mapping[str, Any]) -> Iterator[str]:
    figures = figures_of(found)
    step = (WIDTH - 2 * _EDGE) / len(figures)
    for number, (value, name) in enumerate(figures):
        x = _EDGE + number * step
        yield _write(x, _FIGURES_TOP, value, "figure")
        yield _write(x, _FIGURES_TOP + 20, name, "soft")


def figures_of(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the figures of a card, each with what it counts."""
    streak, busiest = found["longest_streak"], found["busiest_day"]
    figures = [
        (f"{found['prompts']:,}", "prompts" if found["prompts"] != 1 else "prompt"),
        (f"{found['sessions']:,}", "sessions" if found["sessions"] != 1 else "session"),
        (f"{found['n_projects']:,}", "projects" if found["n_projects"] != 1 else "project"),
        (f"{found['active_days']:,}", "active days" if found["active_days"] != 1 else "active day"),
    ]
    if streak:
        figures.append((counted(streak["days"], "day"), "longest streak"))
    if busiest:
        day = date.fromisoformat(busiest["day"])
        figures.append(
            (f"{day.day} {time.strftime('%b', day.timetuple())}", f"busiest, {counted(busiest['prompts'], 'prompt')}")
        )
    return figures


def _lists(found: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the tools, as one bar and their names, then the projects if they are named; and the card's height."""
    parts: list[str] = []
    y = _TOOLS_TOP
    whole = sum(tool["prompts"] or 1 for tool in found["tools"])
    x = float(_EDGE)
    parts.append(
        f'<clipPath id="bar"><rect x="{_EDGE}" y="{y}" width="{WIDTH - 2 * _EDGE}" height="10" rx="5"/></clipPath>'
    )
    for number, tool in enumerate(found["tools"]):
        width = (WIDTH - 2 * _EDGE) * (tool["prompts"] or 1) / whole
        parts.append(
            f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="10" clip-path="url(#bar)"'
            f' style="fill:var(--s{number % _SERIES})"/>'
        )
        x += width
    y += 34
    column = (WIDTH - 2 * _EDGE) / _COLUMNS
    for number, tool in enumerate(found["tools"]):
        left, top = _EDGE + number % _COLUMNS * column, y + number // _COLUMNS * _LINE
        parts.append(f'<circle cx="{left + 5:g}" cy="{top - 4.5}" r="5" style="fill:var(--s{number % _SERIES})"/>')
        parts.append(_entry(left + 18, top, tool))
    y += -(-len(found["tools"]) // _COLUMNS) * _LINE
    if found["projects"]:
        y += 12
        parts.append(_write(_EDGE, y, "Projects", "strong"))
        y += _LINE
        for number, project in enumerate(found["projects"]):
            left, top = _EDGE + number % _COLUMNS * column, y + number // _COLUMNS * _LINE
            parts.append(_entry(left, top, project))
        y += -(-len(found["projects"]) // _COLUMNS) * _LINE
    return parts, y + 12


def _entry(x: float, y: float, each: Mapping[str, Any]) -> str:
    said = f'<tspan class="soft" dx="6">{each["prompts"]:,}</tspan>'
    return f'<text x="{x:g}" y="{y:g}">{_text(str(each["name"])[:_NAME_LENGTH])}{said}</text>'
