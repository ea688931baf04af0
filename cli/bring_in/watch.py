"""``brain watch``: the resident alternative to hooks and schedules, a role of the process that ``brain serve`` is."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core.errors import OK, BadInput, LockContention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND = Command(
    "watch",
    "index changes as they happen, embed in quiet times",
    description=(
        "Watch the folders of sources and collections until it is ended. Changes are indexed in seconds; after a\n"
        "minute of quiet, missing vectors are computed. Both are done by processes that end. One process a home\n"
        "stays. If `brain serve` runs, that process watches; else this one stays, and answers as well."
    ),
    options=(
        Option("--start", help="start it in the background and return when it watches"),
        Option("--stop", help="watch no more; the process goes on as `brain serve`, and ends when idle"),
        Option("--status", help="whether it watches, what, and what it has done"),
    ),
    examples=("brain watch", "brain watch --start", "brain watch --status --json", "brain watch --stop"),
)


def run(args: Args, context: Context) -> int:
    """Have the home watched, by the process that is there or by this one, or look after it."""
    if args.start + args.stop + args.status > 1:
        raise BadInput("--start, --stop and --status exclude each other", "brain watch --help")
    from runtime.resident import control

    home = context.home
    if args.stop:
        ended = control.unwatch(home)
        report: dict[str, Any] = {"schema": 1, "ok": True, "stopped": ended}
        _say(args, context, report, ["it watches no more" if ended else "nobody watched"])
        return OK
    if args.status:
        found = control.status(home)
        report = _report(found, started=False)
        _say(args, context, report, _lines(report))
        return OK
    home.make()
    for _ in range(2):
        found = control.watch(home) or {}
        if not found and args.start:
            found = control.start(home, context.environ, ("--watch",))
        if found and not _role(found).get("watching"):
            continue  # it was started by somebody else, or is ending: it, or the next one, is asked as well
        if found:
            report = _report(found, started=bool(found["started"]))
            _say(args, context, report, _lines(report))
            return OK
        try:
            return _stay(args, context)
        except LockContention:
            continue
    raise LockContention("another process serves this home and does not answer", "brain serve --stop")


def _stay(args: Args, context: Context) -> int:
    """Be the process that stays; then say what was done. Raises LockContention if another one is."""
    from runtime.resident.server import serve

    done = serve(context.home, watch=True)
    context.fields["reason"] = done["reason"]
    counts = done["watched"]
    for name, count in counts.items():
        context.fields[f"n_{name}"] = count
    report = {"schema": 1, "ok": True, "reason": done["reason"], **counts}
    _say(
        args, context, report, [f"{counts['index']} index runs, {counts['embed']} embeddings; ended: {done['reason']}"]
    )
    return OK


def _report(found: dict[str, Any], *, started: bool) -> dict[str, Any]:
    hung = not found["running"] and found["pid"] is not None
    role = _role(found) or {"watching": None if hung else False}
    return {"schema": 1, "ok": True, "pid": found["pid"], "started": started, **role}


def _role(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the process reports about its watching, nothing if it does not answer."""
    return (found.get("roles") or {}).get("watch") or {}


def _lines(report: dict[str, Any]) -> list[str]:
    if report["watching"] is None:
        return [f"process {report['pid']} serves this home and does not answer: brain serve --stop"]
    if not report["watching"]:
        return ["nobody watches this home"]
    lines = [
        f"process {report['pid']} watches {len(report['watched'])} places: brain watch --stop ends that",
        f"{report['index']} index runs, {report['embed']} embeddings, {report['failed']} failed",
    ]
    last = report["last"]
    lines += [f"last: brain {last['command']} ended with {last['exit_code']} at {last['ended']}"] if last else []
    if fault := report.get("fault"):
        lines.append(f"failed at {fault['at']}: {fault['message']}")
    return lines + [f"not watched: {folder}: {why}" for folder, why in report["problems"].items()]


def _say(args: Args, context: Context, report: dict[str, Any], lines: list[str]) -> None:
    if args.json:
        context.emit(report)
        return
    from core.text import printable

    write("".join(f"{printable(line)}\n" for line in lines))
