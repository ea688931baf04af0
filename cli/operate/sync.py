"""``brain sync``: the corpus as a git repository, and one memory on several machines."""

from __future__ import annotations

import os

from cli.context import Context, shown, warn, write
from cli.operate import leftover
from cli.spec import Args, Command, Option, file_path
from core import config
from core.counting import counted

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
        "history. The remote is remembered; without one, it only commits. Your own git does it, without hooks."
    ),
    options=(
        Option("--remote", metavar="URL", help="a repository that your git can push to"),
        Option(
            "--dir",
            metavar="PATH",
            convert=file_path,
            help="a bare repository in a folder; made where it is missing",
        ),
        Option("--as", metavar="NAME", help="what this machine is called (its host name and four digits)"),
    ),
    examples=(
        "brain sync --remote git@example.com:me/memory.git",
        "brain sync --dir /media/disk/memory.git --as laptop",
        "brain sync --json",
    ),
)


def run(args: Args, context: Context) -> int:
    """Synchronise, and say what came and went."""
    from core.text import printable
    from ops import forgetting
    from ops.sync import sync

    left = forgetting.go_on(context.home, context.environ)
    report = sync.sync(
        context.home,
        config.load(context.home),
        context.environ,
        remote=args.remote or "",
        folder=os.path.abspath(os.path.expanduser(args.dir)) if args.dir else "",
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
