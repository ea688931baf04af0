"""``brain inbox``: note something now, find it with ``ask`` at once."""

from __future__ import annotations

import os
import sys

from cli.context import Context, shown, warn, write
from cli.spec import Args, Command, Option, whole
from core.errors import BadInput
from core.text import printable
from runtime.capture import inbox

_GROUNDS = (
    Option("--why", metavar="TEXT", default="", convert=str, help="what a decision or a rejection rests on"),
    Option(
        "--alternatives",
        metavar="A; B",
        default="",
        convert=str,
        help="what else was considered, separated by semicolons",
    ),
    Option("--force", help="keep it although the gate refuses it; nothing overrides the rule against secrets"),
)
_ENTRY = "an entry's id, the end of one, or its uri"

COMMAND = Command(
    "inbox",
    "note a decision, an idea or a preference",
    description=(
        "Write one markdown file an entry into the inbox; `brain ask` finds it at once. Secrets are refused with\n"
        "exit code 71. So are entries that are noted already, and text that its source can give again (logs,\n"
        "listings, diffs)."
    ),
    words="TEXT",
    prose=True,
    words_help="what to remember; - alone reads it from stdin",
    options=(
        Option("--type", metavar="TYPE", default="", choices=inbox.TYPES, help="one of " + ", ".join(inbox.TYPES)),
        Option("--title", metavar="TITLE", default="", convert=str, help="default: the first line"),
        Option("--project", metavar="PROJECT", convert=str, help="default: the git work tree you are in; '' for none"),
        Option("--tags", metavar="A,B", default="", convert=str, help="separated by commas"),
        *_GROUNDS,
    ),
    examples=(
        'brain inbox "prefer flock over pid files for the writer lock" --type preference',
        'brain inbox --type rejected --tags auth,tokens "JWTs in localStorage" --why "XSS reads them"',
        'pbpaste | brain inbox - --title "Minutes of the design review" --project ~/Projects/api',
        "brain inbox -- --no-verify skips the commit hooks",
    ),
    commands=(
        Command(
            "inbox list",
            "the entries, newest first",
            options=(
                Option("--type", metavar="TYPE", default="", choices=inbox.TYPES, help="only this type"),
                Option("-n", "--limit", metavar="N", default=20, convert=whole, help="how many (20)"),
            ),
            examples=("brain inbox list --type decision",),
        ),
        Command(
            "inbox show", "print an entry", examples=("brain inbox show 1a2b3c4d",), words="ENTRY", words_help=_ENTRY
        ),
        Command(
            "inbox edit",
            "change an entry in $VISUAL or $EDITOR",
            examples=("brain inbox edit 1a2b3c4d",),
            words="ENTRY",
            words_help=_ENTRY,
        ),
        Command(
            "inbox supersede",
            "note what takes an entry's place",
            words="ENTRY TEXT",
            words_help="an entry's id, then what holds now; - alone reads it from stdin",
            options=(
                Option("--title", metavar="TITLE", default="", convert=str, help="default: the first line"),
                *_GROUNDS,
            ),
            examples=('brain inbox supersede 1a2b3c4d "refresh on the first 401" --why "it stalled starts"',),
        ),
        Command(
            "inbox rm",
            "remove an entry",
            options=(Option("--yes", help="without asking"),),
            examples=("brain inbox rm 1a2b3c4d --yes",),
            words="ENTRY",
            words_help=_ENTRY,
        ),
    ),
)


def run(args: Args, context: Context) -> int:
    """Do what the subcommand says; without one, note the words."""
    verb = args.command.verb
    if verb == "inbox":
        return _note(args, context)
    from cli.capture import inbox_entries

    context.fields["verb"] = verb
    if verb == "supersede":
        reference, *rest = args.words or [""]
        reference = _decoded(reference)[0].strip()
        if not (reference and rest):
            raise BadInput(
                "expected an entry and what takes its place", 'brain inbox supersede 1a2b3c4d "what holds now"'
            )
        args.words = rest
        args.dashes -= 1
        return _note(args, context, reference)
    return inbox_entries.run(verb, args, context)


def _note(args: Args, context: Context, supersedes: str = "") -> int:
    """Write one entry; 0 also where it could not be indexed yet, which is then said."""
    from runtime.capture.capture import capture

    context.event = "inbox_write"
    text, warnings = _text(args)
    fields: dict[str, object] = {}
    if not supersedes:
        project = _project() if args.project is None else _anchored(_decoded(args.project)[0])
        fields = {"type": args.type, "project": project, "tags": _decoded(args.tags)[0].split(",")}
    entry = capture(
        context.home,
        text,
        force=args.force,
        supersedes=supersedes,
        title=_decoded(args.title)[0],
        why=_decoded(args.why)[0],
        alternatives=_decoded(args.alternatives)[0].split(";"),
        **fields,
    )
    path = _decoded(entry.path)[0]
    context.fields.update(entry_id=entry.entry_id, path=path, type=entry.type, indexed=entry.indexed)
    if entry.warning:
        warnings.append(entry.warning)
    if args.json:
        result = {**entry.envelope(), "path": path, "uri": _decoded(entry.uri)[0] or None}
        if warnings:
            result["warning"] = _decoded("; ".join(warnings))[0]
        context.emit(result)
        return 0
    instead = f", in place of {entry.supersedes}" if entry.supersedes else ""
    write(printable(f"{entry.type} kept: {shown(entry.title)}{instead}  ({shown(path)})") + "\n")
    for warning in warnings:
        warn(printable(f"warning: {warning}"))
    return 0


def _text(args: Args) -> tuple[str, list[str]]:
    """Return the text to note, and what was done to it that the user should know."""
    alone = args.words[0] if len(args.words) == 1 and args.dashes == 1 else ""
    if args.command is COMMAND and args.dashes and args.words[0] in {command.verb for command in COMMAND.commands}:
        raise BadInput(
            f"{args.words[0]!r} must stand first", f"to note the word itself: brain inbox -- {args.words[0]}"
        )
    if alone == "-":
        # A character takes four bytes of UTF-8 at most: more than this is too long in any case.
        # Python has no standard input where it was started with that closed.
        text, whole = _utf8(sys.stdin.buffer.read(4 * inbox.TEXT_LIMIT + 4) if sys.stdin else b"")
    elif args.words:
        text, whole = _decoded(" ".join(args.words))
    else:
        # Not read from a pipe unasked: agents and schedulers leave stdin open, and the command would never end.
        raise BadInput("there is nothing to note", 'brain inbox "what to remember", or - to read it from stdin')
    return text, [] if whole else ["bytes that are not UTF-8 are kept as \\xNN"]


def _decoded(word: str) -> tuple[str, bool]:
    """Return an argument or a path as text (what was not UTF-8 in it as ``\\xNN``), and whether all of it was."""
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
    """Return a relative path (``.``, ``../api``, ``~/api``) as an absolute one, as in sessions; a name as it is."""
    first = project.split("/", 1)[0]
    return os.path.abspath(os.path.expanduser(project)) if first in (".", "..", "~") else project
