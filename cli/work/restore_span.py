"""``brain restore-span``: hand back the text that an edit replaced."""

from __future__ import annotations

from cli.context import Context
from cli.spec import Args, Command, Option, file_path, whole
from cli.work_output import report, within
from core import config
from core.errors import NO_RESULTS
from core.files import write_new

COMMAND = Command(
    "restore-span",
    "print the text that an edit replaced, from the session's log or the archive",
    description=(
        "Print what the newest edit of a file replaced, as the session's log has it; from the archive if the log is\n"
        "gone. --list shows all edits, newest first, with their numbers. No file is ever written over: -o makes a new\n"
        "one, with line ends and control characters as they were, which stdout leaves out. Secrets stay replaced by\n"
        "marks. Exit code 67 means: no log has a text that was replaced."
    ),
    words="PATH",
    words_help="the file that was edited",
    options=(
        Option("--list", help="list the edits, and print no text"),
        Option("--at", metavar="N", default=0, convert=whole, help="the edit with this number in --list (the newest)"),
        Option("--session", metavar="ID", default="", help="only edits of the session with this id, or its beginning"),
        Option("-o", "--output", metavar="FILE", convert=file_path, help="write the text to a new file"),
        Option("--project", metavar="GLOB", default="", help="only this project: a folder's name, a path or a glob"),
        Option("--since", metavar="WHEN", default="", help="only edits since: 7d, 2026-05-01, monday"),
        Option("-n", "--limit", metavar="N", default=20, convert=whole, help="how many edits --list shows (20)"),
    ),
    examples=(
        "brain restore-span src/auth.py",
        "brain restore-span src/auth.py --list",
        "brain restore-span src/auth.py --at 3 -o auth.before.py",
    ),
)


def run(args: Args, context: Context) -> int:
    """Print the text or the list; 67 where there is none."""
    from runtime.work.restore_span import EDITS, lines, restore_span

    envelope, text = restore_span(
        context.home,
        config.load(context.home),
        " ".join(args.words),
        session=args.session,
        number=args.at,
        only_list=args.list,
        **within(args),
    )
    if args.output and text is not None:
        write_new(args.output, text, "-o")
        envelope["output"] = args.output
    code = report(args, context, envelope, EDITS, lines, None if args.output else text)
    return NO_RESULTS if text is None and not args.list else code
