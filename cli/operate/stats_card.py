"""``brain stats --card``: the card of a year on the terminal, as JSON or as SVG."""

from __future__ import annotations

import os
import sys
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from cli import render
from cli.context import Context, shown, write_styled
from core import config
from core.errors import NO_RESULTS, OK, BadInput
from core.files import write_atomic
from core.text import printable

if TYPE_CHECKING:
    from cli.spec import Args

# A square for each shade, and its replacement if the locale has no such characters.
_SQUARES, _PLAIN = "·░▒▓█", ".-+x#"
# Shades of green that both light and dark terminals show (the 256 colours of xterm).
_COLOURS = ("bright_black", "color(115)", "color(72)", "color(36)", "color(29)")
_WEEKS = 54
_LABEL = 4
_DEFAULT_WIDTH = 80
_BAR = 24


def run(args: Args, context: Context) -> int:
    """Show or write the card; exit code 67 if the year has no session."""
    from ops.stats.card import card

    if len(args.words) > 1:
        raise BadInput(f"one FILE.svg is wanted, {len(args.words)} given", "brain stats --card my-year.svg")
    for name, given in (("--svg", args.svg), ("--machine", args.machine)):
        if given:
            raise BadInput(f"{name} and --card exclude each other", "brain stats --card my-year.svg")
    path = _path(args.words[0]) if args.words else ""
    found = card(context.home, config.load(context.home), args.year, projects=args.projects)
    if path and found["sessions"]:
        from ops.stats.card_svg import draw

        write_atomic(path, draw(found))
        found["card"] = path
    if args.json:
        context.emit(found)
    elif not found["sessions"]:
        known = ", ".join(map(str, found["years"]))
        write_styled(f"No session in {found['year']}." + (f" There are some in {known}." if known else "") + "\n")
        write_styled("" if known else "`brain index` brings in the sessions of your tools.\n")
    elif path:
        write_styled(printable(f"card: {shown(path)}") + "\n")
    else:
        _print(found, context)
    return OK if found["sessions"] else NO_RESULTS


def _path(given: str) -> str:
    if not given.endswith(".svg"):
        raise BadInput(f"--card: {given} does not end in .svg", "brain stats --card my-year.svg")
    return picture_path(given)


def picture_path(given: str) -> str:
    """Return the absolute path of a picture to write. Raises BadInput if its folder is missing."""
    path = os.path.abspath(os.path.expanduser(given))
    if not os.path.isdir(os.path.dirname(path)):
        raise BadInput(f"{os.path.dirname(path)} is no folder", "name a folder that is there")
    return path


def _print(found: dict[str, Any], context: Context) -> None:
    import io

    from rich.console import Console
    from rich.text import Text

    from ops.stats.card_svg import figures_of

    stream = io.StringIO()
    width = (context.rich and render.width()) or _DEFAULT_WIDTH
    console = Console(
        file=stream, force_terminal=context.rich, width=width, no_color=not context.rich, highlight=False, markup=False
    )
    console.print(Text(f"{found['year']} with coding agents", style="bold"))
    console.print()
    for line in _map(found, 2 if width >= _LABEL + 2 * _WEEKS else 1):
        console.print(line, no_wrap=True, overflow="crop")
    console.print()
    for value, name in figures_of(found):
        console.print(Text(f"{value:>10}", style="bold") + Text(f"  {name}"), no_wrap=True, overflow="crop")
    for heading, counts in (("Tools", found["tools"]), ("Projects", found["projects"] or [])):
        if counts:
            console.print()
            console.print(Text(heading, style="bold"))
        for line in _bars(counts):
            console.print(line, no_wrap=True, overflow="ellipsis")
    write_styled(stream.getvalue())


def _squares() -> str:
    """Return the squares of the five shades, as stdout's encoding has them."""
    try:
        _SQUARES.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return _PLAIN
    return _SQUARES


def _map(found: dict[str, Any], wide: int) -> list[Any]:
    """Return the heat map as lines of rich text, a column of ``wide`` characters a week, Monday on top."""
    from rich.text import Text

    from runtime.explaining.activity import level

    squares = _squares()
    first = date(found["year"], 1, 1)
    days = found["days"]
    most = max(days.values(), default=0)
    months = [" "] * (_LABEL + wide * _WEEKS)
    rows = [Text(f"{name:<{_LABEL}}", style="dim") for name in ("Mon", "", "Wed", "", "Fri", "", "")]
    for row in rows[: first.weekday()]:
        row.append(" " * wide)
    this = first
    while this.year == first.year:
        if this.day == 1:
            week = (this - first + timedelta(days=first.weekday())).days // 7
            months[_LABEL + week * wide : _LABEL + week * wide + 3] = time.strftime("%b", this.timetuple())
        shade = level(days.get(this.isoformat(), 0), most)
        rows[this.weekday()].append(squares[shade] * wide, style=_COLOURS[shade])
        this += timedelta(days=1)
    return [Text("".join(months).rstrip(), style="dim"), *rows]


def _bars(counts: list[dict[str, Any]]) -> list[Any]:
    """Return a line each: its name, a bar as long as its prompts are many, how many."""
    from rich.cells import cell_len
    from rich.text import Text

    names = [printable(each["name"]) for each in counts]
    wide = max(map(cell_len, names), default=0)
    most = max((each["prompts"] for each in counts), default=0) or 1
    full = _squares()[-1]
    lines = []
    for name, each in zip(names, counts, strict=True):
        length = max(1, round(_BAR * each["prompts"] / most))
        line = Text(f"  {name}" + " " * (wide - cell_len(name) + 2))
        line.append(full * length, style=_COLOURS[3])
        line.append(f"  {each['prompts']:,}", style="dim")
        lines.append(line)
    return lines
