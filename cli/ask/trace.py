"""``brain trace``: from an answer back to its raw record, and what has changed since."""

from __future__ import annotations

from cli.context import Context, shown, write_lines
from cli.spec import Args, Command
from core import clock, config
from core.errors import OK, BadInput

COMMAND = Command(
    "trace",
    "follow an answer to its raw record, and list what changed since",
    description=(
        "Follow a hit back to the raw file, the line and the record that it was made from. Print the command that\n"
        "resumes the session, and the files written by the session that have changed since, in git."
    ),
    words="HIT",
    words_help="a uri, docid, path or file name, with :LINE for one passage",
    examples=('brain trace "#a1b2c3"', "brain trace qmd://brain/5f0c….md:42 --json"),
)


def run(args: Args, context: Context) -> int:
    """Print where one hit came from."""
    if len(args.words) != 1:
        raise BadInput("brain trace takes one hit", 'brain ask "…" lists hits and their docids')
    import apsw

    from qmd.index.store import translate
    from runtime.asking.own_index import open_own
    from runtime.explaining.trace import lines, trace

    settings = config.load(context.home)
    connection = open_own(context.home, settings)
    try:
        found = trace(context.home, settings, connection, args.words[0], now=clock.now())
    except apsw.Error as error:
        raise translate(error, context.home.index) from error
    finally:
        connection.close()
    if args.json:
        context.emit(found)
    else:
        write_lines(lines(shown(found)))
    return OK
