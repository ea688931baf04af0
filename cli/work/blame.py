"""``brain blame``: the sessions behind a file and its lines."""

from __future__ import annotations

from cli.context import Context
from cli.spec import Args, Command
from cli.work_output import WITHIN, show

COMMAND = Command(
    "blame",
    "show which sessions changed or discussed a file, why, and which lines are theirs",
    description=(
        "List the sessions that changed a file, newest first, then those that read or named it: what was asked, what\n"
        "the agent said before the change, what was decided. If the file is here, it is compared with what each\n"
        "session wrote: `unchanged`, `changed since` or `gone`, and the lines that are its own. Earlier names are\n"
        "those that git follows. Exit code 67 means: no session dealt with it."
    ),
    words="PATH",
    words_help="a file; PATH:LINE or PATH:FIRST-LAST puts the sessions first that wrote these lines",
    options=WITHIN,
    examples=("brain blame src/auth.py", "brain blame src/auth.py:120-140", "brain blame README.md --since 30d --json"),
)


def run(args: Args, context: Context) -> int:
    """Print the sessions; 67 where there is none."""
    from runtime.work.blame import SESSIONS, blame, lines

    return show(args, context, blame, (" ".join(args.words),), SESSIONS, lines)
