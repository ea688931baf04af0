"""``brain tried``: was this tried, what came of it, is it still true."""

from __future__ import annotations

import sys

from cli.context import Context
from cli.spec import Args, Command
from cli.work_output import WITHIN, show

COMMAND = Command(
    "tried",
    "show whether an approach was tried, what came of it, and whether that still holds",
    description=(
        "Find attempts at something: results that sessions reported (worked, failed, given up), commands with the end\n"
        "of their last run, decisions and rejections. Each cites its line. `validity` compares the files that were\n"
        "changed for it, and the versions of dependencies that it names, with git, and names its replacement.\n"
        "Exit code 67 means: there is no sign that it was tried."
    ),
    words="TOPIC|-",
    prose=True,
    words_help="the approach in a few words, or - to read a plan from stdin",
    options=WITHIN,
    examples=(
        'brain tried "connection pool for sqlite"',
        'brain tried "pytest xdist" --project api --json',
        "head -5 plan.md | brain tried -",
    ),
)


def run(args: Args, context: Context) -> int:
    """Print the attempts; 67 where there is none."""
    from runtime.work.tried import TRIES, lines, tried

    topic = " ".join(args.words)
    if topic == "-":
        topic = sys.stdin.buffer.read(100_000).decode("utf-8", "replace")
    context.fields["query_len"] = len(topic)
    return show(args, context, tried, (topic,), TRIES, lines)
