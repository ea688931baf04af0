"""``brain ask``: a question in, hits with provenance, age and exit code out."""

from __future__ import annotations

import sys

from cli.context import Context, warn
from cli.spec import Args, Command, Option, seconds, whole
from core import config
from core.errors import OK, BadInput, BadQuery
from runtime import ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND = Command(
    "ask",
    "ask your memory a question",
    description=(
        "Search sessions, notes and articles for the evidence that answers a question. A date in the question\n"
        '("last Tuesday", "in March", "three weeks ago") counts. Exit code 67 means: nothing matches.'
    ),
    words="QUERY",
    words_help="the question; words that begin with a dash go after --",
    options=(
        Option("-n", "--limit", metavar="N", help="how many hits (5)", convert=whole),
        Option("-c", "--collection", metavar="NAME", many=True, help="only this collection; may be repeated"),
        Option("--source", metavar="SOURCE", help="only documents of this source, such as claude or note"),
        Option("--project", metavar="GLOB", help="only this project: a folder's name, a path or a glob"),
        Option("--since-days", metavar="N", help="only the last N days", convert=whole),
        Option("--since", metavar="DATE", help="only what ended on or after DATE (2026-05-01, 7d, yesterday)"),
        Option("--until", metavar="DATE", help="only what began by the end of DATE"),
        Option("--timeout", metavar="S", help="give up after S seconds, exit code 66 (10)", convert=seconds),
        Option("--strict", help='qmd\'s own query language: terms ANDed, "phrases", -exclusions'),
        Option("--literal", help="permit ; ` and $( in the question"),
        Option("--explain", help="add to each hit why it ranks where it does"),
        Option("--refresh", help="index new transcripts first"),
        Option("--batch", metavar="FILE", help="one question a line from FILE or - in, one JSON envelope a line out"),
    ),
    examples=(
        'brain ask "why did the permission hook fail"',
        'brain ask "what did I decide about the token refresh three weeks ago?" --project api --json',
        "brain ask --literal 'git log --format=%H; echo done'",
        "brain ask -- --no-verify",
        "brain ask --batch questions.txt > answers.jsonl",
    ),
)


def run(args: Args, context: Context) -> int:
    """Ask once, or once a line with ``--batch``."""
    settings = config.load(context.home)
    request = _request(args)
    if args.refresh:
        from cli.progress import Bar

        with Bar() as bar:
            ask.refresh(context.home, settings, bar)
    if args.batch is not None:
        return _batch(args, context, settings, request)
    question = " ".join(args.words)
    context.fields["query_len"] = len(question)
    with ask.Asker(context.home, settings) as asker:
        envelope = asker.ask(question, request)
    hits = envelope["hits"]
    context.fields.update(
        n_hits=len(hits),
        mode=envelope["route"]["mode"],
        took_ms=envelope["took_ms"],
        hits=[hit["uri"] for hit in hits],
    )
    if args.json:
        context.emit(envelope)
    else:
        from cli.ask_output import render

        render(envelope, context)
    return ask.exit_code(envelope)


def _request(args: Args) -> ask.Request:
    since = until = None
    if args.since_days or args.since or args.until:
        if args.since_days and args.since:
            raise BadInput("--since-days and --since say the same thing twice", "give one of them")
        import time

        from runtime.dates import parse_day

        now = int(time.time())
        since = (
            parse_day(f"{args.since_days}d" if args.since_days else args.since, now, end=False)
            if (args.since_days or args.since)
            else None
        )
        until = parse_day(args.until, now, end=True) if args.until else None
        if since is not None and until is not None and since >= until:
            raise BadInput("--since lies after --until", "exchange them")
    return ask.Request(
        limit=args.limit,
        collections=args.collection,
        source=args.source,
        project=args.project,
        since=since,
        until=until,
        strict=args.strict,
        literal=args.literal or args.batch is not None,
        explain=args.explain,
        timeout_s=args.timeout,
    )


def _batch(args: Args, context: Context, settings: Any, request: ask.Request) -> int:
    if args.words:
        raise BadInput("--batch takes its questions from the file, not from the command line", "brain ask --batch FILE")
    if args.batch == "-":
        lines = sys.stdin.buffer.read()
    else:
        try:
            with open(args.batch, "rb") as stream:
                lines = stream.read()
        except OSError as error:
            raise BadInput(
                f"cannot read {args.batch}: {error.strerror}", "brain ask --batch FILE, or - for stdin"
            ) from None
    try:
        # Split at newlines only: str.splitlines would also split at marks that may stand inside a question.
        questions = [line.removesuffix("\r") for line in lines.decode("utf-8-sig").split("\n")]
    except UnicodeDecodeError as error:
        raise BadQuery(
            f"the questions are not valid UTF-8 (byte {error.start})", "iconv -f LATIN1 -t UTF-8 FILE"
        ) from None
    if questions[-1] == "":
        questions.pop()
    answered = 0
    with ask.Asker(context.home, settings) as asker:
        for envelope in ask.batch(asker, questions, request):
            context.emit(envelope)
            answered += bool(envelope.get("hits"))
    context.fields.update(n_queries=len(questions), n_answered=answered)
    if not questions:
        warn("brain: --batch had no questions")
    return OK
