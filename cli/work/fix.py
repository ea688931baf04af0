"""``brain fix``: what was done after an error when it did not come back."""

from __future__ import annotations

import sys

from cli.context import Context
from cli.spec import Args, Command
from cli.work_output import WITHIN, show

COMMAND = Command(
    "fix",
    "show what was done after an error when it did not come back",
    description=(
        "Look an error up among those that sessions met. Paths, numbers, hashes and addresses do not count. A part\n"
        "of the message finds messages that hold it. Listed are the changes and commands between the failure and the\n"
        "next success, those first after which the error did not come back in that session. Exit code 67 means: no\n"
        "session met it."
    ),
    words="ERROR|-",
    prose=True,
    words_help="the message, or - to read a whole output from stdin",
    options=WITHIN,
    examples=(
        "brain fix \"ModuleNotFoundError: No module named 'x'\"",
        "make test 2>&1 | brain fix -",
        'brain fix "error TS2339" --project web --json',
    ),
)


def run(args: Args, context: Context) -> int:
    """Print what helped; 67 if no session met the error."""
    from runtime.work.fix import FIXES, fix, lines

    error = " ".join(args.words)
    if error == "-":
        error = sys.stdin.buffer.read().decode("utf-8", "replace")
    return show(args, context, fix, (error,), FIXES, lines)
