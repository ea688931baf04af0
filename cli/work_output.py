"""The options and the output that all commands about the work share."""

from __future__ import annotations

from cli.context import Context, write, write_lines
from cli.spec import Args, Option, whole
from core import config
from core.errors import NO_RESULTS, OK
from runtime.asking.wording import behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LIMIT = Option("-n", "--limit", metavar="N", default=10, convert=whole, help="how many results at most (10)")
WITHIN = (
    LIMIT,
    Option("--project", metavar="GLOB", default="", help="only this project: a folder's name, a path or a glob"),
    Option("--since", metavar="WHEN", default="", help="only what was done since: 7d, 2026-05-01, monday"),
)


def within(args: Args) -> dict[str, Any]:
    """Return the restrictions that were asked for, as ``runtime.work.scope.answer`` takes them."""
    since = 0
    if args.since:
        from core import clock
        from runtime.dates.day_option import parse_day

        since = parse_day(args.since, clock.now(), end=False)
    return {"limit": args.limit, "project": args.project, "since": since}


def show(
    args: Args,
    context: Context,
    ask: Callable[..., dict[str, Any]],
    given: tuple[Any, ...],
    results: str,
    lines: Callable[[dict[str, Any]], list[str]],
    **more: Any,
) -> int:
    """Ask, print the envelope as JSON or as lines, and return the exit code: 67 if nothing was found."""
    envelope = ask(context.home, config.load(context.home), *given, **within(args), **more)
    return report(args, context, envelope, results, lines)


def report(
    args: Args,
    context: Context,
    envelope: dict[str, Any],
    results: str,
    lines: Callable[[dict[str, Any]], list[str]],
    text: str | None = None,
) -> int:
    """Print an envelope as JSON, else ``text``, else as lines; return the exit code: 67 if nothing was found."""
    context.fields["n_hits"] = len(envelope[results])
    context.given = envelope
    if args.json:
        context.emit(envelope, is_clean=True)
    elif text is not None:
        write(text)
    else:
        write_lines([*lines(envelope), *behind(envelope["freshness"], "brain index")])
    return NO_RESULTS if "error" in envelope else OK
