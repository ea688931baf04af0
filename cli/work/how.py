"""``brain how``: how this machine really runs a program."""

from __future__ import annotations

from cli.context import Context
from cli.spec import Args, Command
from cli.work_output import WITHIN, show

COMMAND = Command(
    "how",
    "show how this machine really runs a program: what succeeded, and how often it failed",
    description=(
        "List the commands with which sessions ran a program: those that succeeded first, of this project first, then\n"
        "the newest. A success that a pipe hides (`make | tail`) counts as unknown.\n"
        "Exit code 67 means: no session ran it."
    ),
    words="TOOL…",
    words_help="a program, and words that the command holds: pytest, npm run build, docker compose up",
    options=WITHIN,
    examples=("brain how pytest", "brain how git rebase --project api", "brain how npm run build --since 30d --json"),
)


def run(args: Args, context: Context) -> int:
    """Print the commands; 67 where there is none."""
    from runtime.work.how import RESULTS, how, lines

    return show(args, context, how, (args.words,), RESULTS, lines)
