"""``brain friction``: errors that sessions meet again and again."""

from __future__ import annotations

from cli.context import Context
from cli.spec import Args, Command
from cli.work_output import WITHIN, show

COMMAND = Command(
    "friction",
    "list errors that three or more sessions met, with the fix that held",
    description=(
        "List errors that at least three sessions met, those of most sessions first: which agents met them, where\n"
        "they were met last, and the fix after which one did not come back. A subagent counts for its session.\n"
        "Exit code 67 means: no error was met that often."
    ),
    options=WITHIN,
    examples=("brain friction", "brain friction --since 30d --project api", "brain friction -n 3 --json"),
)


def run(args: Args, context: Context) -> int:
    """Print the errors; 67 where there is none."""
    from runtime.work.fix import ERRORS, friction, friction_lines

    return show(args, context, friction, (), ERRORS, friction_lines)
