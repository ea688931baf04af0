"""``brain inbox``: note something now, find it with ``ask`` at once."""

from __future__ import annotations

import os
import sys

from cli.context import Context, warn, write
from cli.spec import Args, Command, Option
from core.errors import BadInput
from core.text import printable
from runtime import inbox

VERBS = ("list", "show", "edit", "supersede", "rm")

COMMAND = Command(
    "inbox",
    "note a decision, an idea, a preference",
    description="One markdown file an entry, in the inbox, findable by `brain ask` at once.",
    words="TEXT",
    words_help="what to remember; - alone reads it from stdin",
    options=(
        Option("--type", metavar="TYPE", default="note", choices=inbox.TYPES, help="one of " + ", ".join(inbox.TYPES)),
        Option("--title", metavar="TITLE", default="", help="default: the first line"),
        Option("--project", metavar="PROJECT", help="default: the git work tree you stand in; '' for none"),
        Option("--tags", metavar="A,B", default="", help="separated by commas"),
    ),
    examples=(
        'brain inbox "prefer flock over pid files for the writer lock" --type preference',
        'brain inbox --type rejected --tags auth,tokens "JWTs in localStorage: XSS reads them"',
        'pbpaste | brain inbox - --title "Minutes of the design review" --project ~/Projects/api',
        "brain inbox -- --no-verify skips the commit hooks",
    ),
)


def run(args: Args, context: Context) -> int:
    """Write one entry; 0 also where it could not be indexed yet, which is then said."""
    text, warnings = _text(args)
    project = _project() if args.project is None else _anchored(_decoded(args.project)[0])
    entry = inbox.write(
        context.home,
        text,
        type=args.type,
        title=_decoded(args.title)[0],
        project=project,
        tags=_decoded(args.tags)[0].split(","),
    )
    path = _decoded(entry.path)[0]
    context.fields.update(entry_id=entry.entry_id, path=path, type=entry.type, indexed=entry.indexed)
    if entry.warning:
        warnings.append(entry.warning)
    if args.json:
        result: dict[str, object] = {
            "schema": 1,
            "ok": True,
            "entry_id": entry.entry_id,
            "path": path,
            "uri": _decoded(entry.uri)[0] or None,
            "type": entry.type,
            "title": entry.title,
            "indexed": entry.indexed,
        }
        if warnings:
            result["warning"] = _decoded("; ".join(warnings))[0]
        context.emit(result)
        return 0
    write(printable(f"{entry.type} kept: {entry.title}  ({path})") + "\n")
    for warning in warnings:
        warn(printable(f"warning: {warning}"))
    return 0


def _text(args: Args) -> tuple[str, list[str]]:
    """The text to note, and what was done to it that the user should know."""
    alone = args.words[0] if len(args.words) == 1 and args.dashes == 1 else ""
    if alone in VERBS:
        raise BadInput(
            f"`brain inbox {alone}` is not available in this version",
            f"to note the word itself: brain inbox -- {alone}",
        )
    if alone == "-":
        # A character takes four bytes of UTF-8 at most: more than this is too long in any case.
        text, whole = _utf8(sys.stdin.buffer.read(4 * inbox.TEXT_LIMIT + 4))
    elif args.words:
        text, whole = _decoded(" ".join(args.words))
    else:
        # Not read from a pipe unasked: agents and schedulers leave stdin open, and the command would never end.
        raise BadInput("there is nothing to note", 'brain inbox "what to remember", or - to read it from stdin')
    return text, [] if whole else ["bytes that are not UTF-8 are kept as \\xNN"]


def _decoded(word: str) -> tuple[str, bool]:
    """An argument or a path as text (what was not UTF-8 in it as ``\\xNN``), and whether all of it was."""
    return (word, True) if word.isascii() else _utf8(os.fsencode(word))


def _utf8(data: bytes) -> tuple[str, bool]:
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode(), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace"), False


def _project() -> str:
    try:
        return _decoded(inbox.project_of(os.getcwd()))[0]
    except FileNotFoundError:  # the folder has been removed under our feet
        return ""


def _anchored(project: str) -> str:
    """A relative path (``.``, ``../api``, ``~/api``) made absolute, as sessions name their project; a name as it is."""
    first = project.split("/", 1)[0]
    return os.path.abspath(os.path.expanduser(project)) if first in (".", "..", "~") else project
