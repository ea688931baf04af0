"""``brain cost``: the tokens that sessions took."""

from __future__ import annotations

from cli.context import Context
from cli.spec import Args, Command, Option
from cli.work_output import WITHIN, show

COMMAND = Command(
    "cost",
    "add up the tokens of sessions, by project, model, session or day",
    description=(
        "Add up the tokens that the tools logged: new input, input from the provider's cache, input stored in it, and\n"
        "output. A price is shown if collections.yml has `prices:` for the model. Exit code 67 means: no session has\n"
        "its tokens in the log."
    ),
    options=(
        Option(
            "--by",
            metavar="WHAT",
            default="project",
            choices=("project", "model", "session", "day"),
            help="project, model, session or day (project)",
        ),
        *WITHIN,
    ),
    examples=("brain cost --since 30d", "brain cost --by model --json", "brain cost --by day --project web -n 7"),
)


def run(args: Args, context: Context) -> int:
    """Print the tokens; 67 where no session has any."""
    from runtime.work.cost import GROUPS, cost, lines

    return show(args, context, cost, (args.by,), GROUPS, lines)
