"""``brain restore``: a backup into a home."""

from __future__ import annotations

import os

from cli.context import Context, shown, warn, write
from cli.operate import leftover
from cli.spec import Args, Command, Option, file_path
from core import config
from core.counting import counted
from core.errors import BadInput

COMMAND = Command(
    "restore",
    "put a backup into a home, and keep the former state",
    description=(
        "Check a backup whole, then put what it holds into the home. The former content is moved to\n"
        "backups/replaced-… in the home. Documents that were forgotten after the backup, in that home or in\n"
        "BRAIN_HOME, stay forgotten, whatever the backup holds of them. Without --force a home that holds something\n"
        "is left as it is (71)."
    ),
    words="FILE",
    words_help="a file that `brain backup` made; without one, the newest in BRAIN_HOME/backups",
    options=(
        Option("--to", metavar="HOME", convert=file_path, help="the home to restore into (BRAIN_HOME)"),
        Option("--force", help="also where the home holds something"),
    ),
    examples=(
        "brain restore ~/.brain/backups/brain-20260428T091403Z.tar.zst --to ~/restored",
        "brain restore --force",
    ),
)


def run(args: Args, context: Context) -> int:
    """Restore one."""
    from cli.progress import Bar
    from core.home import Home
    from core.text import printable
    from ops import forgetting
    from ops.backup import restore

    if len(args.words) > 1:
        raise BadInput("one backup at a time", "brain restore FILE")
    path = os.path.abspath(os.path.expanduser(args.words[0])) if args.words else restore.newest(context.home)
    home = Home(os.path.abspath(os.path.expanduser(args.to))) if args.to else context.home
    left = forgetting.go_on(home, context.environ)
    with Bar("MB", 1_000_000) as bar:
        report = restore.restore(path, home, force=args.force, current=context.home, progress=bar)
    context.fields.update(n_documents=report["documents"])
    if args.json:
        context.emit(leftover.with_left(report, left))
        return leftover.code(left)
    code = leftover.code(left)
    report, left = shown(report), shown(left)
    write(
        printable(f"{shown(home.root)}: as it was at {report['made_at']}; {counted(report['documents'], 'document')}\n")
    )
    if report["forgotten_again"]:
        write(f"{report['forgotten_again']} of what it held was forgotten since, and stays so\n")
    if report["aside"]:
        write(printable(f"what was there: {report['aside']}\n"))
    for setting in report["new_settings"]:
        warn(printable(f"brain: its collections.yml sets {setting}"))
    if report["new_settings"]:
        warn(f"fix: read {shown(config.locate(home))} before the next `brain index` or `brain embed`")
    if report["remote_left_out"]:
        write(
            printable(f"the address of the remote is not taken over: brain sync --remote {report['remote_left_out']}\n")
        )
    for place in left:
        warn(printable(f"brain: still holds what was forgotten: {place}"))
    write("brain index brings in what is newer\n" if report["index"] else "brain rebuild makes its index\n")
    return code
