"""``brain files``: the files that the work on a topic touched."""

from __future__ import annotations

from cli.context import Context
from cli.spec import Args, Command
from cli.work_output import WITHIN, show

COMMAND = Command(
    "files",
    "list the files that the work on a topic touched",
    description=(
        "Search the sessions on a topic and list their files: those first that were changed, in the sessions that fit\n"
        "best. A path that holds a word of the topic counts more. Exit code 67 means: there is none."
    ),
    words="TOPIC",
    prose=True,
    words_help="a few words, not the whole question",
    options=WITHIN,
    examples=('brain files "token refresh"', 'brain files "the login page" --project web -n 5 --json'),
)


def run(args: Args, context: Context) -> int:
    """Print the files; 67 where there is none."""
    from runtime.work.files import FILES, files, lines

    topic = " ".join(args.words)
    context.fields["query_len"] = len(topic)
    return show(args, context, files, (topic,), FILES, lines)
