"""``brain sync``: the corpus as a git repository, and one memory on several machines."""

from __future__ import annotations

import os

from cli.context import Context, shown, warn, write
from cli.operate import leftover
from cli.spec import Args, Command, Option, file_path
from core import config
from core.counting import counted
from core.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

COMMAND = Command(
    "sync",
    "share one memory between machines, by git",
    description=(
        "Commit this machine's documents to BRAIN_HOME/sync.git, bring in what the other machines have, and push.\n"
        "Each machine has a branch of its own, so that nothing ever conflicts; the others' documents lie below\n"
        "machines/NAME in each collection. A document forgotten on one machine is forgotten on all, and leaves the\n"
        "history. The remote is remembered; without one, it only commits. Your own git does it, without hooks.\n"
        "--status asks no machine: it says when each was heard, what waits here, and what was not taken."
    ),
    options=(
        Option("--remote", metavar="URL", help="a repository that your git can push to"),
        Option(
            "--dir",
            metavar="PATH",
            convert=file_path,
            help="a bare repository in a folder; made where it is missing",
        ),
        Option(
            "--ssh",
            metavar="HOST",
            help="a bare repository on a host that you reach by ssh; made where it is missing (HOST:PATH: at another"
            " place than brain-sync.git)",
        ),
        Option("--status", help="say when each machine was heard and what waits, and synchronise nothing"),
        Option("--if-remote", help="do nothing where no remote is known, as the scheduled job does"),
        Option("--as", metavar="NAME", help="what this machine is called (its host name and four digits)"),
    ),
    examples=(
        "brain sync --remote git@example.com:me/memory.git",
        "brain sync --dir /media/disk/memory.git --as laptop",
        "brain sync --ssh me@desktop",
        "brain sync --status",
    ),
)


def run(args: Args, context: Context) -> int:
    """Synchronise, and say what came and went."""
    from core.text import printable
    from ops import forgetting
    from ops.sync import sync
    from ops.sync.state import State

    if args.status:
        return _status(args, context)
    if args.if_remote and not State(context.home).remote:
        if args.json:
            context.emit({"schema": 1, "ok": True, "remote": ""})
        return OK
    left = forgetting.go_on(context.home, context.environ)
    report = sync.sync(
        context.home,
        config.load(context.home),
        context.environ,
        remote=args.remote or "",
        folder=os.path.abspath(os.path.expanduser(args.dir)) if args.dir else "",
        ssh=args.ssh or "",
        name=getattr(args, "as") or "",
    )
    for key in ("documents", "added", "removed", "forgotten"):
        context.fields[f"n_{key}"] = report[key]
    if args.json:
        context.emit(leftover.with_left(report, left))
    else:
        write(printable("\n".join(_lines(shown(report)))) + "\n")
        for place in shown(left):
            warn(printable(f"brain: still holds what was forgotten: {place}"))
    return leftover.code(left)


def _status(args: Args, context: Context) -> int:
    from core.text import printable
    from ops.sync.status import status

    report = status(context.home, config.load(context.home), context.environ)
    if args.json:
        context.emit(report)
    else:
        write(printable("\n".join(_known(shown(report)))) + "\n")
    return OK


def _known(report: dict[str, Any]) -> Iterator[str]:
    if not report["remote"]:
        yield "no other machine is known: brain sync --ssh HOST, --dir PATH or --remote URL"
        return
    yield f"{report['machine']} shares its memory through {report['remote']}"
    yield f"last synchronised: {report['synced'] or 'never'}"
    if report["failed"]:
        yield f"the run of {report['failed']} did not reach it: brain sync says why"
    yield f"{counted(report['waiting'], 'document')} here waiting to be sent"
    for machine in report["machines"]:
        heard = machine["heard"] or "at an unknown time"
        silent = ", silent for more than a week" if machine["silent"] else ""
        yield f"{machine['name']}: {counted(machine['documents'], 'document')}, heard {heard}{silent}"
        if machine["coming"]:
            yield f"  {counted(machine['coming'], 'document')} of it did not arrive whole: brain sync goes on"
        for reason, count in machine["not_taken"].items():
            yield f"  not taken: {count} × {reason}"


def _lines(report: dict[str, Any]) -> Iterator[str]:
    done = "committed" if report["committed"] else "as committed before"
    sent = f", pushed to {report['remote']}" if report["pushed"] else ""
    yield f"{report['machine']}: {counted(report['documents'], 'document')} {done}{sent}"
    for name, count in report["machines"].items():
        yield f"{name}: {counted(count, 'document')}"
    if report["added"] or report["removed"] or report["forgotten"]:
        yield f"{report['added']} brought in, {report['removed']} removed, {report['forgotten']} forgotten"
    for uri in report["kept"]:
        yield f"edited here, and left so: {uri}"
    for path in report["unlocked"]:
        yield f"removed the lock of a git that was killed: {path}"
    if report["redacted"]:
        yield f"{counted(sum(report['redacted'].values()), 'secret')} redacted in what came"
    for reason, count in report["skipped"].items():
        yield f"not taken: {count} × {reason}"
    yield from report["beyond"]
