"""``brain share``: a session as one file for a colleague."""

from __future__ import annotations

import os
from os.path import abspath, dirname, expanduser, isdir

from cli.context import Context, warn, write
from cli.spec import Args, Command, Option, text_path
from core import config
from core.errors import OK, BadInput, Refused

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

_MODE = 0o600


def run(args: Args, context: Context) -> int:
    """Write one session."""
    from qmd.index.store import open_index
    from runtime.asking.documents import resolve
    from runtime.asking.envelope import uri
    from runtime.explaining import sharing, show

    if len(args.words) != 1:
        raise BadInput(f"one HIT is wanted, {len(args.words)} given", COMMAND.examples[0])
    settings = config.load(context.home)
    connection = open_index(context.home.index)
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
    path = _written(args.out, text) if args.out else ""
    place = uri(row.collection, row.path)
    report = {"schema": 1, "ok": True, "uri": place, "format": form, "turns": len(shared.turns)}
    if args.json:
        context.emit({**report, "file": path or None, "withheld": shared.withheld, "text": "" if path else text})
    elif path:
        write(f"{path}: {len(shared.turns)} turns; withheld: {withheld}. Read it before you send it.\n")
    else:
        write(text)
        warn(f"brain: {len(shared.turns)} turns; withheld: {withheld}")
    return OK


def _written(path: str, text: str) -> str:
    """Write a new file and return its absolute path. Raises Refused if something is there, BadInput, OSError."""
    target = abspath(expanduser(path))
    if os.path.lexists(target):
        raise Refused(f"{target} exists, and is not overwritten", "name another file: -o FILE")
    if not isdir(dirname(target)):
        raise BadInput(f"there is no folder {dirname(target)}", f"mkdir -p {dirname(target)}")
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    with open(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    return target
