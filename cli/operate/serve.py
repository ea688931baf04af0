"""``brain serve``: the one process of a home that stays."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option, duration, whole
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND = Command(
    "serve",
    "keep the model and the index in memory for faster answers",
    description=(
        "Answer `brain ask`, MCP and hooks on a private socket, with the model in memory, until nobody has asked for\n"
        "15 minutes. One process a home; everything works without it. Without an option it stays in the foreground."
    ),
    options=(
        Option("--start", help="start it in the background and return when it answers"),
        Option("--stop", help="end it"),
        Option("--status", help="whether it runs, and what it takes"),
        Option("--idle", metavar="TIME", help="end after so long without a question (15m)", convert=duration),
        Option("--memory", metavar="MB", help="the most that it may take, its model included (600)", convert=whole),
        Option("--auto", help="as a question starts it: on mains, with memory to spare, at most 250 MB"),
        Option("--detached", help="leave the terminal, the folder and the open files that it was started with"),
        Option("--watch", help="watch sources and collections as well (brain watch); then it does not end when idle"),
    ),
    examples=(
        "brain serve --start",
        "brain serve --start --watch",
        "brain serve --status --json",
        "brain serve --stop",
        "brain serve --idle 8h",
    ),
)


def run(args: Args, context: Context) -> int:
    """Serve, or look after the process that does."""
    if args.start + args.stop + args.status > 1:
        raise BadInput("--start, --stop and --status exclude each other", "brain serve --help")
    if (args.start or args.stop or args.status) and (args.auto or args.detached):
        raise BadInput("--auto and --detached are for a process in the foreground", "brain serve --auto")
    if (args.stop or args.status) and (args.idle or args.memory or args.watch):
        said = "--idle, --memory and --watch are for a process that is being started"
        raise BadInput(said, "brain serve --start --idle 1h")
    if args.memory is not None:
        from runtime.resident.server import LEAST_BYTES

        if args.memory < LEAST_BYTES >> 20:
            said = f"--memory: {args.memory} MB is too little, even without a model"
            raise BadInput(said, f"brain serve --memory {LEAST_BYTES >> 20} (with the model 600)")
    if args.start or args.stop or args.status:
        return _control(args, context)
    if args.json:
        raise BadInput("a server prints no JSON object", "brain serve --start --json")
    from runtime.resident.server import IDLE_S, MEMORY_BYTES, serve

    context.home.make()
    if args.detached:
        from runtime.resident.starting import detach

        detach(context.home)
    most = MEMORY_BYTES
    if args.auto:
        from runtime.resident import starting, thrift

        most = thrift.MEMORY_BYTES
        if why := thrift.obstacle():
            starting.postpone(context.home, thrift.LATER_S)
            context.fields["reason"] = why
            return OK
    memory = args.memory << 20 if args.memory else most
    done = serve(context.home, idle_s=args.idle or IDLE_S, memory_bytes=memory, watch=args.watch, auto=args.auto)
    context.fields["reason"] = done["reason"]
    for name, count in done["watched"].items():
        context.fields[f"n_{name}"] = count
    return OK


def _control(args: Args, context: Context) -> int:
    from runtime.resident import control

    if args.stop:
        report = control.stop(context.home)
        lines = f"ended (pid {report['pid']})\n" if report["stopped"] else "there was none\n"
    else:
        if args.start:
            options = [*(("--idle", f"{args.idle:g}") if args.idle else ())]
            options += ["--memory", str(args.memory)] if args.memory else []
            options += ["--watch"] if args.watch else []
            report = control.start(context.home, context.environ, options)
            if args.watch and not report["started"]:
                report = control.watch(context.home) or report
        else:
            report = control.status(context.home)
        lines = _lines(report)
    if args.json:
        context.emit(report)
    else:
        write(lines)
    return OK


def _lines(report: dict[str, Any]) -> str:
    from core.text import printable

    if not report["running"]:
        hung = f"process {report['pid']} holds its place and does not answer: brain serve --stop"
        return f"{hung if report['pid'] is not None else 'not running'}\n"
    model = report["roles"]["model"]
    said = [
        f"running since {report['since']}, pid {report['pid']}, on {report['socket']}",
        f"{report['memory_bytes'] >> 20} of {report['memory_limit_bytes'] >> 20} MB; {report['served']} questions",
        f"model: {model['model'] or model['state']}" + (f" ({model['reason']})" if model["reason"] else ""),
    ]
    watch = report["roles"].get("watch") or {"watching": False}
    if watch["watching"]:
        said.append(
            f"watching {len(watch['watched'])} places: {watch['index']} index runs, {watch['embed']} embeddings"
        )
    return "".join(printable(line) + "\n" for line in said)
