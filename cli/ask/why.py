"""``brain why``: what was decided or rejected on a topic, and why."""

from __future__ import annotations

import sys

from cli.context import Context, shown, warn, write, write_lines
from cli.spec import Args, Command, Option, whole
from core import config
from core.errors import NO_RESULTS, OK, BadInput
from runtime.asking.wording import behind, without_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

COMMAND = Command(
    "why",
    "list decisions and rejections on a topic",
    description=(
        "List decisions and rejections from the inbox, newest first, with their successors. Then list those from\n"
        "sessions, with the reason, who made them and when. Each says if it still holds. Exit code 67 means: there is\n"
        "no record.\n"
        "--conflicts lists notes of the inbox, and decisions and preferences of sessions, that contradict each other.\n"
        "On a terminal it asks for each, and one key settles it: n keeps the newer, o the older, b both; s skips, q\n"
        "quits. What a session decided or preferred becomes a note if it holds.\n"
        "--settle ID does the same without a question."
    ),
    words="TOPIC",
    prose=True,
    words_help="a few words, not the whole question",
    options=(
        Option("-n", "--limit", metavar="N", default=10, convert=whole, help="how many decisions at most (10)"),
        Option("--project", metavar="GLOB", default="", help="only this project: a folder's name, a path or a glob"),
        Option("--conflicts", help="list what contradicts itself in notes and sessions, and settle it"),
        Option("--settle", metavar="ID", default="", help="settle this conflict, as --keep says"),
        Option(
            "--keep",
            metavar="WHICH",
            default="",
            choices=("newer", "older", "both"),
            help="which one holds from then on: newer, older or both",
        ),
    ),
    examples=(
        'brain why "token refresh"',
        'brain why "sqlite or postgres" --project api --json',
        "brain why --conflicts",
        "brain why --settle 3fa94c --keep newer",
    ),
)


def run(args: Args, context: Context) -> int:
    """Print decisions, then evidence; 67 where there is neither."""
    from core.text import printable_value
    from runtime.explaining.why import why

    if args.settle or args.keep:
        return _settle(args, context)
    if args.conflicts:
        return _conflicts(args, context)
    topic = " ".join(args.words)
    context.fields["query_len"] = len(topic)
    envelope = why(context.home, config.load(context.home), topic, project=args.project, limit=args.limit)
    context.fields["n_hits"] = len(envelope["decisions"]) + len(envelope["evidence"])
    context.given = envelope
    if args.json:
        context.emit(envelope, is_clean=True)
    else:
        write_lines(_lines(printable_value(envelope)))
    return NO_RESULTS if "error" in envelope else OK


def _lines(envelope: dict[str, Any]) -> Iterator[str]:
    if "error" in envelope:
        yield "No record of a decision on this, and nothing in the sessions either."
        yield from behind(envelope["freshness"], "brain index")
        return
    for found in envelope["decisions"]:
        yield f"{found['type']}: {found['title']}"
        yield from _standing(found)
        yield f"   {_when(found)} ({found['date'][:10]}) · {found['uri']}"
        if found["why"]:
            yield f"   why: {found['why']}"
        if found["alternatives"]:
            yield f"   alternatives: {'; '.join(found['alternatives'])}"
        if found["supersedes"]:
            yield f"   supersedes: {found['supersedes']}"
        yield ""
    said = [found for found in envelope["evidence"] if found["statements"]]
    if not envelope["decisions"]:
        yield (
            "Nobody noted a decision on this. Sessions hold:"
            if said
            else "Nobody noted a decision on this. Sessions say:"
        )
    for found in said:
        for statement in found["statements"]:
            yield f"{statement['type']}{_who(statement)}: {statement['text']}"
            yield from _standing(statement)
            if statement["why"]:
                yield f"   why: {statement['why']}"
        yield f"   {_when(found)} · {found['title']} · {found['trust']} · {found['uri']}:{found['line']}"
        yield ""
    rest = [found for found in envelope["evidence"] if not found["statements"]]
    if rest and (said or envelope["decisions"]):
        yield "Evidence:"
    for found in rest:
        yield f"{found['title']}"
        yield f"   {_when(found)} ({found['date'][:10]}) · {found['trust']} · {found['uri']}:{found['line']}"
        yield from (f"   | {line}" for line in found["snippet"].splitlines())
        yield ""
    yield from without_team(envelope["freshness"])


def _when(found: dict[str, Any]) -> str:
    return f"{found['owner']} · {found['age']}" if "owner" in found else str(found["age"])


def _who(statement: dict[str, Any]) -> str:
    by = f" by {statement['by']}" if statement["by"] else ""
    return f"{by} on {statement['date'][:10]}" if statement["date"] else by


def _standing(found: dict[str, Any]) -> Iterator[str]:
    """Yield a line if something speaks against a decision or a statement."""
    from runtime.validity.validity import words

    if said := words(found["validity"]):
        yield f"   ! {said}"


def _conflicts(args: Args, context: Context) -> int:
    """List conflicts; on a terminal, let one key settle each."""
    from core.text import printable_value
    from runtime.explaining.conflicts import answer

    if args.words:
        raise BadInput("--conflicts takes no topic", "brain why --conflicts --project NAME")
    envelope = answer(context.home, config.load(context.home), args.project)
    held = envelope["conflicts"]
    found = envelope["conflicts"] = printable_value(shown(held))
    context.fields["n_hits"] = len(found)
    if args.json:
        context.emit(envelope)
        return OK if found else NO_RESULTS
    for line in without_team(envelope.get("freshness", {})):
        write(f"{line}\n")
    if not found:
        write("Nothing that was decided contradicts itself.\n")
        return NO_RESULTS
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    gone: set[str] = set()
    for number, (each, own) in enumerate(zip(found, held, strict=True), 1):
        if not gone.isdisjoint(_key_of(side) for side in own["sides"]):
            write(f"{each['id']}  {number} of {len(found)}: settled with an earlier one\n\n")
            continue
        write_lines(_conflict(each, number, len(found)))
        if asks and not _ask(context, own, gone):
            break
    if not asks:
        write("To settle one: brain why --settle ID --keep newer|older|both\n")
    return OK


def _conflict(found: dict[str, Any], number: int, of: int) -> Iterator[str]:
    project = f" · {found['project']}" if found["project"] else ""
    yield f"{found['id']}  {number} of {of}{project}: {found['reason']}"
    for name, side in zip(("newer", "older"), found["sides"], strict=True):
        owner = f"{side['owner']} · " if "owner" in side else ""
        yield f"   {name}: {owner}{side['type']} of {str(side['date'])[:10]}: {side['title']}  ({_key_of(side)})"
        if side["why"]:
            yield f"          why: {side['why']}"
    yield ""


def _key_of(side: dict[str, Any]) -> str:
    """Return what names a side: the entry's id, or the place in a session."""
    return str(side["entry_id"] or f"{side['uri']}:{side['line']}")


def _ask(context: Context, found: dict[str, Any], gone: set[str]) -> bool:
    """Let one key settle a conflict; return False if no more are to be asked. ``gone`` gets the entry that yields."""
    from runtime.explaining.conflicts import carry_out

    write("   keep n(ewer), o(lder), b(oth); s(kip), q(uit)? ")
    key = _key()
    keep = {"n": "newer", "o": "older", "b": "both"}.get(key, "")
    write(f"{keep or ('quit' if key in _QUITS else 'skipped')}\n\n")
    if keep:
        done = carry_out(context.home, found, keep)
        newer, older = map(_key_of, found["sides"])
        gone |= {"newer": {older}, "older": {newer}}.get(keep, set())
        if done.get("warning"):
            warn(f"warning: {shown(done['warning'])}")
    return key not in _QUITS


_QUITS = ("q", "\x03", "\x04", "\x1b", "")


def _key() -> str:
    """Return the next key of the terminal, without waiting for Enter."""
    import termios
    import tty

    sys.stdout.flush()
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSANOW)  # what was typed ahead is kept
        return sys.stdin.read(1).lower()
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _settle(args: Args, context: Context) -> int:
    from core.text import printable, printable_value
    from runtime.explaining.conflicts import decide

    if not (args.settle and args.keep) or args.words:
        raise BadInput("--settle and --keep go together", "brain why --settle 3fa94c --keep newer")
    done = printable_value(shown(decide(context.home, config.load(context.home), args.settle, args.keep)))
    if args.json:
        context.emit(done)
        return OK
    newer, older = (side["title"] for side in done["sides"])
    said = {"newer": f"holds: {newer}", "older": f"holds: {older}", "both": f"both hold: {newer}; {older}"}
    write(printable(f"{done['id']} is settled; {said[done['kept']]}") + "\n")
    if done.get("warning"):
        warn(printable(f"warning: {done['warning']}"))
    return OK
