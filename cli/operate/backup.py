"""``brain backup``: the whole memory in one file."""

from __future__ import annotations

import os

from cli.context import Context, shown, warn, write
from cli.operate import leftover
from cli.spec import Args, Command, Option, file_path
from core import config
from core.counting import counted
from core.errors import OK, EngineMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Unreadable objects that are shown; --json has all.
_SHOWN = 5

COMMAND = Command(
    "backup",
    "write the whole memory to one verified file",
    description=(
        "Write documents, archive, state, logs and index into one private file (tar, zstd, a SHA-256 of each member),\n"
        "while everything else goes on. The file is then restored into a scratch home and asked questions drawn from\n"
        "the corpus. If the answers differ, the file is removed, with exit code 99. Exit code 65 means: it is made,\n"
        "but something of the archive is missing or damaged, which is named. `brain forget` reaches into backups too."
    ),
    options=(
        Option("--to", metavar="DIR", convert=file_path, help="the folder to write to (BRAIN_HOME/backups)"),
        Option("--no-index", help="leave the index out: smaller, but its vectors must be computed again"),
        Option("--no-verify", help="do not try it out"),
    ),
    examples=(
        "brain backup",
        "brain backup --to /media/disk/brain",
        "brain backup --no-index --json",
    ),
)


def run(args: Args, context: Context) -> int:
    """Make one."""
    from cli.progress import Bar
    from core.text import printable
    from ops import forgetting
    from ops.backup import backup

    left = forgetting.go_on(context.home, context.environ)
    with Bar("MB", 1_000_000) as bar:
        report = backup.make(
            context.home,
            config.load(context.home),
            to=os.path.abspath(os.path.expanduser(args.to)) if args.to else "",
            with_index=not args.no_index,
            verify=not args.no_verify,
            progress=bar,
        )
    left = list(dict.fromkeys([*left, *report["left"]]))
    context.fields.update(n_documents=report["documents"], bytes=report["bytes"])
    broken = _broken(report)
    code = leftover.code(left) or (OK if broken is None else broken.code)
    if args.json:
        whole = report if broken is None else {**report, **broken.envelope()}
        context.emit(leftover.with_left(whole, left))
        return code
    report, left = shown(report), shown(left)
    write(printable(f"{report['path']}\n"))
    documents, files = counted(report["documents"], "document"), counted(report["files"], "file")
    write(f"{documents}, {files}, {report['bytes'] / 1e6:.1f} MB\n")
    if report["verified"]:
        asked = f"; {report['alike']} of {report['questions']} questions answered alike" if report["questions"] else ""
        state = "it holds what is here" if report["broken"] or report["unnamed"] else "every file is whole"
        write(f"restored for a trial: {state}{asked}\n")
    known = {each["object"] for each in report["broken"] if each["accepted"]}
    if known:
        write(f"not in it, as you know: {counted(len(known), 'object')} of the archive\n")
    for place in left:
        warn(printable(f"brain: still holds what was forgotten: {place}"))
    for folder in report["outside"]:
        write(printable(f"not in it, as it is yours to keep: {folder}\n"))
    if broken is not None:
        warn(f"brain: {broken.message}")
        for each in [each for each in report["broken"] if not each["accepted"]][:_SHOWN]:
            warn(printable(f"  {each['reason']}: {each['object']} of {each['of']}"))
        warn(f"fix: {broken.fix}")
    return code


def _broken(report: dict[str, Any]) -> EngineMissing | None:
    """Return the warning about an archive that is not whole: the backup lacks some of what was kept."""
    names = {each["object"] for each in report["broken"] if not each["accepted"]}
    if not names and report["unnamed"]:
        from ingest.archive import verifier

        lost = verifier.orphans_phrase(report["unnamed"])
        return EngineMissing(f"{lost}: nothing can read them, here or in the backup", "brain doctor says the way out")
    if not names:
        return None
    return EngineMissing(
        f"{counted(len(names), 'object')} of the archive cannot be read, here or in the backup",
        "brain doctor --deep --fix; brain backup; what stays lost: brain doctor --accept-loss",
    )
