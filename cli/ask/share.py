"""``brain share``: a session as one file for a colleague."""

from __future__ import annotations

from cli.context import Context, warn, write
from cli.spec import Args, Command, Option, text_path
from core import config
from core.errors import OK, BadInput
from core.files import write_new

COMMAND = Command(
    "share",
    "write a session for a colleague: redacted, in one file",
    description=(
        "Write a session as one page of HTML or as markdown. Secrets, private spans and the agent's reasoning are\n"
        "left out and counted, and your own folder is written as ~. The page has no script and loads nothing.\n"
        "Read it before you send it: names and code of your work are in it."
    ),
    words="HIT",
    words_help="the session: a uri, a #docid, its id, or the beginning of the id",
    options=(
        Option("-o", "--out", metavar="FILE", default="", convert=text_path, help="this new file (standard output)"),
        Option(
            "--format",
            metavar="FORM",
            default="",
            choices=("html", "md"),
            help="html or md (by the name of the file, else md)",
        ),
    ),
    examples=('brain share "#a1b2c3" -o session.html', "brain share 5f0c2a1e --format md"),
)


def run(args: Args, context: Context) -> int:
    """Write one session."""
    from runtime.asking.documents import resolve
    from runtime.asking.envelope import uri_of
    from runtime.asking.own_index import open_own
    from runtime.explaining import sharing, show

    if len(args.words) != 1:
        raise BadInput(f"one HIT is wanted, {len(args.words)} given", COMMAND.examples[0])
    settings = config.load(context.home)
    connection = open_own(context.home, settings)
    try:
        row = resolve(connection, settings, args.words[0])
        document = show.text_of(connection, row)
    finally:
        connection.close()
    shared = sharing.share(document)
    withheld = sharing.summary(shared.withheld)
    form = args.format or ("html" if args.out.lower().endswith((".html", ".htm")) else "md")
    if form == "html":
        from web.sharing import page

        text = page(shared, withheld)
    else:
        text = sharing.markdown(shared)
    path = write_new(args.out, text, "-o") if args.out else ""
    place = uri_of(row)
    report = {"schema": 1, "ok": True, "uri": place, "format": form, "turns": len(shared.turns)}
    if args.json:
        context.emit({**report, "file": path or None, "withheld": shared.withheld, "text": "" if path else text})
    elif path:
        write(f"{path}: {len(shared.turns)} turns; withheld: {withheld}. Read it before you send it.\n")
    else:
        write(text)
        warn(f"brain: {len(shared.turns)} turns; withheld: {withheld}")
    return OK
