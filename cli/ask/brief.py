"""``brain`` alone: one screen about the memory, the latest sessions and what to do next."""

from __future__ import annotations

import sys
import time

from cli import render
from cli.context import Context
from cli.spec import Args, Command
from core import clock
from core.config import SILENT_S
from core.counting import counted
from core.errors import OK
from core.text import one_line, printable_value
from runtime.asking.wording import project_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cli.render import Line

COMMAND = Command(
    "brief",
    "show on one screen what is remembered and what to do next",
    description=(
        "`brain` alone does the same. Show how much is remembered and how fresh it is, and the sessions of today\n"
        "and yesterday by project. Show open decisions, questions asked twice in vain, the doctor's last run and the\n"
        "next useful command. Off a terminal it prints JSON. It never runs the doctor."
    ),
    examples=("brain brief", "brain brief --json"),
)

# One screen has 24 rows; the shell's prompt takes one. The longest brief has 23.
_PROJECTS = {"today": 4, "yesterday": 3}
_OPEN_SHOWN = 3
_PROJECT_COLUMNS = 16
_KIND_COLUMNS = 8
_MACHINES_SHOWN = 3


def run(args: Args, context: Context) -> int:
    """Print the brief: a screen on a terminal, else JSON."""
    from core import jsonb  # noqa: F401  # so that apsw comes without what it would import besides
    from runtime.explaining.brief import brief

    found = brief(context.home)
    context.fields.update(n_documents=found.get("documents", 0))
    if args.json or not sys.stdout.isatty():
        context.emit(found, is_clean=True)
    else:
        render.show(context, lines(printable_value(found), time.time()), cut=True)
    return OK


def lines(found: dict[str, Any], now: float) -> Iterator[Line]:
    """Yield the lines of the screen, as it is seen at ``now`` (epoch seconds)."""
    if not found["exists"]:
        yield [("Brain remembers nothing yet", "bold"), (f"  {found['home']}", "dim")]
        yield []
        yield from _next(found)
        yield [("      brain init --demo", "cyan"), ("  try it with invented sessions first", "dim")]
        yield [("      brain --help", "cyan"), ("       all commands", "dim")]
        return
    yield from _holds(found, now)
    yield []
    for name, most in _PROJECTS.items():
        yield from _sessions(name, found["days"][name], most)
    if not any(day["sessions"] for day in found["days"].values()) and found["last"]:
        last = found["last"]
        yield [(f"Last session, {last['age']}: ", "bold"), (one_line(last["title"]), "cyan")]
    if found["open"]["count"]:
        yield []
        yield from _open(found["open"])
    yield []
    yield from _in_vain(found["in_vain"])
    yield from _machines(found["machines"], now)
    yield from _attention(found["attention"], now)
    yield from _next(found)


def _holds(found: dict[str, Any], now: float) -> Iterator[Line]:
    lexical, semantic = found["freshness"]["lexical"], found["freshness"]["semantic"]
    as_of = f"indexed {ago(now - (clock.parse_iso(lexical['as_of']) or now))}" if lexical["as_of"] else "never indexed"
    parts = [as_of]
    if lexical["as_of"] and lexical["pending"]:
        parts.append(f"at least {lexical['pending']} changed since")
    if not found["embedded"]:
        parts.append("not embedded")
    elif semantic["pending"]:
        parts.append(f"{semantic['pending']:,} without vectors")
    yield [(counted(found["documents"], "document"), "bold"), (f"  {', '.join(parts)}", "dim")]
    if len(found["collections"]) > 1:
        held = sorted(found["collections"].items(), key=lambda each: -each[1])
        yield [(", ".join(f"{one_line(name)} {count:,}" for name, count in held), "dim")]


def _sessions(name: str, day: dict[str, Any], most: int) -> Iterator[Line]:
    if not day["sessions"]:
        return
    yield [(f"{name.capitalize()}: {counted(day['sessions'], 'session')}", "bold")]
    projects = day["projects"]
    shown = projects if len(projects) <= most else projects[: most - 1]
    for project in shown:
        item = project["items"][0]
        at = time.strftime("%H:%M", time.localtime(clock.parse_iso(item["ended"])))
        label = one_line(project_name(project["project"])) or "no project"
        many = f" (+{project['sessions'] - 1})" if project["sessions"] > 1 else ""
        yield [
            (f"  {at}  ", "dim"),
            *_column(label, _PROJECT_COLUMNS),
            (one_line(item["title"]), "cyan"),
            (many, "dim"),
        ]
    if len(shown) < len(projects):
        rest = sum(project["sessions"] for project in projects[len(shown) :])
        yield [(f"  {counted(rest, 'session')} in {counted(len(projects) - len(shown), 'other project')}", "dim")]


def _open(found: dict[str, Any]) -> Iterator[Line]:
    more = f"  the newest of {found['count']}" if found["count"] > _OPEN_SHOWN else ""
    yield [("Open decisions and questions", "bold"), (more, "dim")]
    for item in found["items"][:_OPEN_SHOWN]:
        yield [
            (f"  {item['date'][:10]}  ", "dim"),
            *_column(one_line(item["type"]), _KIND_COLUMNS),
            (one_line(item["title"]), "cyan"),
            (f"  {item['docid']}", "dim"),
        ]


def _in_vain(found: dict[str, Any]) -> Iterator[Line]:
    if found["questions"]:
        first = found["questions"][0]
        yield [("Asked in vain", "yellow"), (f" {first['count']} times: {one_line(first['query'])}", "")]
    elif found["nothing"]:
        yield [(f"{found['nothing']} of the last {counted(found['asked'], 'question')} found nothing", "dim")]


def _attention(found: dict[str, Any] | None, now: float) -> Iterator[Line]:
    if found is None:
        return
    when = ago(now - (clock.parse_iso(found["at"]) or now))
    worst = found["worst"]
    if worst is None:
        yield [(f"The doctor found nothing, {when}", "dim")]
        return
    more = f" (and {found['findings'] - 1} more)" if found["findings"] > 1 else ""
    style = "red" if worst["severity"] == "error" else "yellow"
    yield [(worst["severity"].capitalize(), style), (f" {when}{more}: ", "dim"), (one_line(worst["evidence"]), "")]


def _machines(found: dict[str, Any] | None, now: float) -> Iterator[Line]:
    if found is None:
        return
    heard = {name: now - (clock.parse_iso(at) or now) for name, at in found["heard"].items()}
    parts = [f"{one_line(name)} heard {ago(age)}" for name, age in list(heard.items())[:_MACHINES_SHOWN]]
    if len(heard) > _MACHINES_SHOWN:
        parts.append(f"{len(heard) - _MACHINES_SHOWN} more")
    if found["lacking"]:
        parts.append(f"{counted(found['lacking'], 'document')} did not arrive")
    if found["failed"]:
        parts.append("the last synchronisation failed")
    is_late = found["failed"] or found["lacking"] or any(age > SILENT_S for age in heard.values())
    yield [("Machines", "yellow" if is_late else "dim"), (f"  {', '.join(parts) or 'none heard yet'}", "dim")]


def _next(found: dict[str, Any]) -> Iterator[Line]:
    command = found["next"]
    yield [("Next: ", "bold"), (command["command"], "cyan"), (f"  {command['why']}", "dim")]


def _column(text: str, columns: int) -> list[tuple[str, str]]:
    fitted = render.fit(text, columns)
    return [(fitted + " " * (columns - render.cells(fitted)) + "  ", "")]


def ago(seconds: float) -> str:
    """Return a span of time in its largest unit: ``just now``, ``5 min ago``, ``3 h ago``, ``8 days ago``."""
    span = max(0, int(seconds))
    if span < 60:
        return "just now"
    if span < 3600:
        return f"{span // 60} min ago"
    if span < 2 * clock.DAY:
        return f"{span // 3600} h ago"
    return f"{span // clock.DAY} days ago"
