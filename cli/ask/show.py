"""``brain show``: a hit's document, or the passage around a line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli import render
from cli.context import Context, shown
from cli.spec import Args, Command, Option, whole
from core import clock, config
from core.errors import OK, BadInput
from core.text import printable_value
from runtime.asking.documents import resolve
from runtime.asking.envelope import uri_of
from runtime.asking.own_index import open_own
from runtime.asking.withholding import AGENTS
from runtime.explaining import show

if TYPE_CHECKING:
    from cli.render import Line


def _count(text: str) -> int:
    return 0 if text == "0" else whole(text)


COMMAND = Command(
    "show",
    "print a document, or the passage of a hit",
    description=(
        "Print the document that a hit names, or, with a line, the passage around it. Name a hit by its uri, its\n"
        "docid, its path or the end of the path, or by the first four or more characters of its file's name. :LINE\n"
        "may follow each. Exit code 67 means: there is no such document."
    ),
    words="HIT",
    words_help="qmd:// or team:// uri, #docid, an absolute path, the end or the beginning of a name; :LINE after it",
    options=(
        Option("--line", metavar="N", convert=whole, help="the passage around this line of the file"),
        Option(
            "--context", metavar="N", default=show.DEFAULT_CONTEXT, convert=_count, help="lines either side of it (10)"
        ),
        Option("--full", help="the whole document byte for byte, frontmatter and all"),
        Option("--open", help="open the file in $VISUAL or $EDITOR instead"),
    ),
    examples=('brain show "#a1b2c3"', "brain show qmd://brain/5f0c.md:42", "brain show a1b2c3 --line 42 --open"),
)


def run(args: Args, context: Context) -> int:
    """Return one document on stdout, or in the editor."""
    if len(args.words) != 1:
        raise BadInput(f"one HIT is wanted, {len(args.words)} given", COMMAND.examples[0])
    if args.open and args.json:
        raise BadInput("--open and --json exclude each other", "leave one of them out")
    agent = context.surface in AGENTS
    settings = config.load(context.home)
    reference = args.words[0]
    connection = open_own(context.home, settings)
    try:
        if args.open:
            row = show.open_in_editor(connection, settings, reference, context.environ, args.line or 0)
            context.fields["uri"] = shown(uri_of(row))
            return OK
        if args.full and not args.json:
            row = resolve(connection, settings, reference)
            data = show.verbatim(row, show.text_of(connection, row))
            context.fields["uri"] = shown(uri_of(row))
            render.show_verbatim(shown(data.decode("utf-8", "replace")).encode() if agent else data)
            return OK
        envelope = show.show(
            connection,
            settings,
            reference,
            now=clock.now(),
            line=args.line or 0,
            context=args.context,
            full=args.full,
            redact=agent or args.json,
        )
    finally:
        connection.close()
    context.fields["uri"] = envelope["uri"]
    context.given = envelope
    if args.json:
        context.emit(envelope, is_clean=True)
    else:
        # A person sees the file as it is; an agent, which runs this as one does, what it may.
        if agent:
            envelope = printable_value(envelope)
        render.show(context, lines(envelope))
    return OK


def lines(envelope: dict[str, Any]) -> list[Line]:
    """Return a header and the body; a passage has its lines numbered."""
    text: list[str] = envelope["text"].split("\n")
    head: list[Line] = [[(line, "bold" if not place else "dim")] for place, line in enumerate(show.header(envelope))]
    head.append([])
    if envelope["line"] is None:
        return head + [[(line, "")] for line in text[show.body_start(text) :]]
    digits = len(str(envelope["last_line"]))
    numbered: list[Line] = []
    for number, line in enumerate(text, envelope["first_line"]):
        here = number == envelope["line"]
        mark = ">" if here else " "
        numbered.append([(f"{mark} {number:>{digits}}  ", "bold yellow" if here else "dim"), (line, "bold" * here)])
    return head + numbered
