"""``brain teardown``: everything that was installed, taken out again."""

from __future__ import annotations

import sys

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core.errors import OK, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LEFT = 1

COMMAND = Command(
    "teardown",
    "remove hooks, skills, schedules, the index and, if you want, the memory",
    description=(
        "Remove what was installed outside the home, by the record of it, then the index and the memory. Every place\n"
        "is then checked again; exit code 1 means: something is left. Backups in the home, folders of notes\n"
        "elsewhere, and skills that you have edited stay."
    ),
    options=(
        Option("--keep-corpus", help="keep documents, archive, notes, logs: only what was installed and derived goes"),
        Option("--dry-run", help="list what would go, and remove nothing"),
        Option("--yes", help="do not ask"),
    ),
    examples=("brain teardown --dry-run", "brain teardown --keep-corpus --yes"),
)


def run(args: Args, context: Context) -> int:
    """Ask, remove, prove."""
    from core.text import printable
    from ops import teardown

    found = teardown.plan(context.home, keep_corpus=args.keep_corpus)
    if args.dry_run:
        _say(args, context, {"schema": 1, "ok": True, "dry_run": True, **found}, _planned)
        return OK
    if not args.yes:
        if args.json or not sys.stdin.isatty():
            raise Refused("what is torn down is gone for good: say so", "look first with --dry-run, then add --yes")
        write("".join(f"{printable(line)}\n" for line in _planned(found)))
        sys.stderr.write("remove all of it? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Refused("nothing was removed", "answer y, or add --yes")
    done = teardown.carry_out(context.home, context.environ, keep_corpus=args.keep_corpus)
    if not args.keep_corpus:
        from core.home import Home

        context.home = Home("/dev/null")  # a row of telemetry would be the first file of a new memory
    _say(args, context, {"schema": 1, "ok": not done["left"], "dry_run": False, **done}, _done)
    return _LEFT if done["left"] else OK


def _say(args: Args, context: Context, report: dict[str, Any], lines: Any) -> None:
    from core.text import printable

    if args.json:
        context.emit(report)
    else:
        write("".join(f"{printable(line)}\n" for line in lines(report)))


def _planned(found: dict[str, Any]) -> Iterator[str]:
    for path in (*found["outside"], *found["inside"]):
        yield f"goes: {path}"
    for path in found["kept"]:
        yield f"stays: {path}"


def _done(report: dict[str, Any]) -> Iterator[str]:
    for path in report["removed"]:
        yield f"removed: {path}"
    for path in report["kept"]:
        yield f"kept: {path}"
    for each in report["left"]:
        yield f"left: {each['what']} {each['path']}: {each['why']}"
    yield "something is left" if report["left"] else "looked again: nothing of what was installed is left"
