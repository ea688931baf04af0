"""``brain why``: what was decided or rejected on a topic, and why."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option, whole
from core import config
from core.errors import NO_RESULTS, OK
from runtime.asking.wording import behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

COMMAND = Command(
    "why",
    "list decisions and rejections on a topic",
    description=(
        "List decisions and rejections from the inbox, newest first, with their successors. Then list those from\n"
        "sessions, with the reason, who made them and when. Exit code 67 means: there is no record."
    ),
    words="TOPIC",
    prose=True,
    words_help="a few words, not the whole question",
    options=(
        Option("-n", "--limit", metavar="N", default=10, convert=whole, help="how many decisions at most (10)"),
        Option("--project", metavar="GLOB", default="", help="only this project: a folder's name, a path or a glob"),
    ),
    examples=('brain why "token refresh"', 'brain why "sqlite or postgres" --project api --json'),
)


def run(args: Args, context: Context) -> int:
    """Print decisions, then evidence; 67 where there is neither."""
    from core.text import printable, printable_value
    from runtime.explaining.why import why

    topic = " ".join(args.words)
    context.fields["query_len"] = len(topic)
    envelope = why(context.home, config.load(context.home), topic, project=args.project, limit=args.limit)
    context.fields["n_hits"] = len(envelope["decisions"]) + len(envelope["evidence"])
    context.given = envelope
    if args.json:
        context.emit(envelope, is_clean=True)
    else:
        write("\n".join(printable(line).rstrip() for line in _lines(printable_value(envelope))) + "\n")
    return NO_RESULTS if "error" in envelope else OK


def _lines(envelope: dict[str, Any]) -> Iterator[str]:
    if "error" in envelope:
        yield "No record of a decision on this, and nothing in the sessions either."
        yield from behind(envelope["freshness"], "brain index")
        return
    for found in envelope["decisions"]:
        mark = "" if found["standing"] else f"  [superseded by {found['superseded_by']}]"
        yield f"{found['type']}: {found['title']}{mark}"
        yield f"   {found['age']} ({found['date'][:10]}) · {found['uri']}"
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
            if statement["why"]:
                yield f"   why: {statement['why']}"
        yield f"   {found['age']} · {found['title']} · {found['trust']} · {found['uri']}:{found['line']}"
        yield ""
    rest = [found for found in envelope["evidence"] if not found["statements"]]
    if rest and (said or envelope["decisions"]):
        yield "Evidence:"
    for found in rest:
        yield f"{found['title']}"
        yield f"   {found['age']} ({found['date'][:10]}) · {found['trust']} · {found['uri']}:{found['line']}"
        yield from (f"   | {line}" for line in found["snippet"].splitlines())
        yield ""


def _who(statement: dict[str, Any]) -> str:
    by = f" by {statement['by']}" if statement["by"] else ""
    return f"{by} on {statement['date'][:10]}" if statement["date"] else by
