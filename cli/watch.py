"""``brain watch``: the resident alternative to hooks and schedules."""

from __future__ import annotations

import signal
import threading

from cli.context import Context, write
from cli.spec import Args, Command
from core.errors import OK

COMMAND = Command(
    "watch",
    "index what changes as it changes, embed when it is quiet",
    description=(
        "Watch the folders of sources and collections until it is ended. What changes is indexed in seconds; after\n"
        "a minute of quiet, what lacks vectors is embedded. Both are done by processes that end. One runs a home."
    ),
    examples=("brain watch", "brain watch --json &"),
)


def run(args: Args, context: Context) -> int:
    """Watch until a signal says otherwise; then say what was done."""
    from core.text import printable
    from ops import program
    from runtime.watching import Watcher

    context.home.make()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    done = Watcher(context.home, program.command()).run(stop)
    for name in ("events", "index", "embed", "failed"):
        context.fields[f"n_{name}"] = done[name]
    if args.json:
        context.emit({"schema": 1, "ok": True, **done})
    else:
        lines = [f"{len(done['watched'])} folders watched, {done['index']} index runs, {done['embed']} embeddings"]
        lines += [f"not watched: {folder}: {why}" for folder, why in done["problems"].items()]
        write("".join(f"{printable(line)}\n" for line in lines))
    return OK
