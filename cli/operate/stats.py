"""``brain stats``: what the telemetry says of how the memory is used, and the card of a year of work."""

from __future__ import annotations

from cli import render
from cli.context import Context, shown, write_styled
from cli.spec import Args, Command, Option, file_path, whole
from core import clock
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND = Command(
    "stats",
    "show how the memory is used: by whom, how fast, how often without a hit",
    description=(
        "Reads logs/usage.jsonl and what was rotated out of it: use by command and surface, latency against its\n"
        "budget, what was not found. `brain sync` brings the logs of other machines (logs/machines/).\n"
        "--card shows a year of your work with agents: prompts by day as a heat map, sessions, tools, the longest\n"
        "streak. With FILE.svg it writes a picture that may be posted: it holds counts, days and names of tools, and\n"
        "nothing that a document says. Projects are only counted; --projects names the five largest by their folders."
    ),
    words="FILE.svg",
    words_help="with --card: write the card to this file instead",
    options=(
        Option("--since", metavar="WHEN", default="30d", help="how far back: 7d, 2026-05-01 (30d)"),
        Option(
            "--machine", metavar="NAME", default="", help="of another machine of `brain sync` (its name), or of all"
        ),
        Option("--card", help="a year of work with agents as a card"),
        Option("--year", metavar="YEAR", convert=whole, help="the year of the card (the last one with a session)"),
        Option("--projects", help="name the five largest projects on the card: not for strangers' eyes"),
        Option(
            "--svg",
            metavar="FILE",
            default="",
            convert=file_path,
            help="draw a chart; a name that ends in .png makes a PNG",
        ),
    ),
    examples=(
        "brain stats",
        "brain stats --since 7d --json",
        "brain stats --svg usage.svg",
        "brain stats --machine all",
        "brain stats --card",
        "brain stats --card my-year.svg --year 2026",
    ),
)


_COLUMNS = ("count", "p50_ms", "p95_ms", "p99_ms", "budget_ms", "over_budget", "failed")


def run(args: Args, context: Context) -> int:
    """Print the statistics, or draw them; or the card of a year."""
    from cli.operate import stats_card

    if args.card:
        return stats_card.run(args, context)
    for name, given in (("FILE.svg", args.words), ("--year", args.year), ("--projects", args.projects)):
        if given:
            raise BadInput(f"{name} belongs to --card", "brain stats --card my-year.svg --year 2026")
    from ops.stats.stats import stats
    from runtime.dates.day_option import parse_day

    found = stats(context.home, parse_day(args.since, clock.now(), end=False), args.machine)
    if args.svg:
        if not args.svg.endswith((".svg", ".png")):
            raise BadInput(f"--svg: {args.svg} ends in neither .svg nor .png", "brain stats --svg usage.svg")
        from ops.stats.chart import write as draw

        path = stats_card.picture_path(args.svg)
        draw(shown(found), path)
        found["chart"] = path
    if args.json:
        context.emit(found)
        return OK
    _print(shown(found), context)
    return OK


def _print(found: dict[str, Any], context: Context) -> None:
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from core.text import printable

    stream = io.StringIO()
    width = (render.width() or 80) if context.rich else 100
    console = Console(file=stream, force_terminal=context.rich, width=width, no_color=not context.rich, highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("command", "count", "p50 ms", "p95 ms", "p99 ms", "budget", "over", "failed"):
        table.add_column(name, justify="left" if name == "command" else "right")
    for event, each in found["commands"].items():
        cells = [
            _number(each[key]) for key in ("count", "p50_ms", "p95_ms", "p99_ms", "budget_ms", "over_budget", "failed")
        ]
        late = bool(each["over_budget"])
        table.add_row(Text(printable(event)), *cells, style="red" if late else "")
    console.print(table)
    asks = found["asks"]
    if asks["count"]:
        share = 100 * asks["answered"] / asks["count"]
        console.print(f"\n{asks['count']} questions, {share:.0f} % answered, {asks['no_hits']} found nothing")
    for each in asks["in_vain"]:
        console.print(Text(f"  {each['count']} times in vain: {printable(each['query'])}"))
    surfaces = ", ".join(f"{name} {count}" for name, count in found["surfaces"].items())
    console.print(Text(printable(f"surfaces: {surfaces or 'none'}")))
    if found["failures"]:
        failures = ", ".join(f"{code}: {count}" for code, count in found["failures"].items())
        console.print(f"failures by exit code: {failures}")
    for name, each in found["machines"].items():
        said = f"{name}: {each['rows']} rows, {each['asks']} questions, {each['answered']} answered"
        console.print(Text(printable(said + (f", the last at {each['last']}" if each["last"] else ""))))
    if found["torn"]:
        console.print(f"{found['torn']} lines are no rows: brain doctor --fix")
    if "chart" in found:
        console.print(Text(f"chart: {printable(found['chart'])}"))
    write_styled(stream.getvalue())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
