"""``brain pack``: what is remembered on a topic, as a cited bundle within a number of tokens."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option, whole
from core import config
from core.errors import NO_RESULTS, OK

COMMAND = Command(
    "pack",
    "pack what is remembered on a topic into a number of tokens, with citations",
    description=(
        "Print decisions, solved errors, commands that worked and quotes on a topic, each with the document and the\n"
        "line that it comes from, in at most so many tokens (four characters each). For pasting, or for a subagent\n"
        "that cannot ask. The text is redacted, and fenced as evidence. Exit code 67 means: nothing is known of it."
    ),
    words="TOPIC",
    words_help="a few words",
    prose=True,
    options=(
        Option("--tokens", metavar="N", default=1500, convert=whole, help="at most so many tokens (1500)"),
        Option("--project", metavar="NAME", default="", help="only this project: its folder's name, a path or a glob"),
    ),
    examples=('brain pack "token refresh"', "brain pack sqlite locking --tokens 600 --project api --json"),
)


def run(args: Args, context: Context) -> int:
    """Print the bundle."""
    from runtime.handover.pack import pack

    topic = " ".join(args.words)
    context.fields["query_len"] = len(topic)
    found = pack(context.home, config.load(context.home), topic, args.tokens, args.project)
    context.fields.update(n_hits=len(found["quotes"]), tokens=found["tokens"])
    context.given = found
    if args.json:
        context.emit(found, is_clean=True)
    else:
        write((found["text"] or "Nothing is remembered on this.") + "\n")
    return OK if found["quotes"] else NO_RESULTS
