"""``brain ask``: a question in, hits with provenance, age and exit code out."""

from __future__ import annotations

import sys
import time

from cli.context import Context, shown, warn
from cli.spec import Args, Command, Option, file_path, seconds, whole
from core import config
from core.errors import NO_RESULTS, OK, BadInput, LockContention
from runtime.asking.request import PARAGRAPH, PERSON, Request, is_answered_here, other_engine, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from core.config import Config

# How long --refresh waits for another index run, where --timeout does not say.
_REFRESH_WAIT_S = 10.0
# Options with the same name in a request.
_SAME = ("limit", "source", "project", "strict", "explain", "mode", "min_score", "own")


def _mode(text: str) -> str:
    if text not in ("auto", "lex", "vec", "hybrid", "time"):
        raise ValueError("auto, lex, vec, hybrid or time")
    return text


def _score(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return value


COMMAND = Command(
    "ask",
    "ask your memory a question",
    description=(
        "Search sessions, notes and articles for the evidence that answers a question. A date in the question\n"
        '("last Tuesday", "in March", "three weeks ago") counts. Exit code 67 means: nothing matches.'
    ),
    words="QUERY",
    prose=True,
    words_help="the question; words that begin with a dash go after --",
    options=(
        Option("-n", "--limit", metavar="N", help="how many hits (5)", convert=whole),
        Option(
            "--context", metavar="N", help="characters of each session's answer (600; 1200 with -n 1)", convert=whole
        ),
        Option("-c", "--collection", metavar="NAME", many=True, help="only this collection; may be repeated"),
        Option("--source", metavar="SOURCE", help="only documents of this source, such as claude or note"),
        Option("--project", metavar="GLOB", help="only this project: a folder's name, a path or a glob"),
        Option("--since-days", metavar="N", help="only the last N days", convert=whole),
        Option("--since", metavar="DATE", help="only what ended on or after DATE (2026-05-01, 7d, yesterday)"),
        Option("--until", metavar="DATE", help="only what began by the end of DATE"),
        Option("--timeout", metavar="S", help="give up after S seconds, exit code 66 (10)", convert=seconds),
        Option("--mode", metavar="MODE", help="auto, lex (words), vec (meaning), hybrid or time (auto)", convert=_mode),
        Option("--min-score", metavar="X", help="let only this much evidence be enough, 0 to 1", convert=_score),
        Option("--rerank", help="have the configured reranker order the best candidates"),
        Option("--no-rerank", help="do not, where collections.yml says to"),
        Option("--strict", help='qmd\'s own query language: terms ANDed, "phrases", -exclusions'),
        Option("--literal", help="permit ; ` and $( in the question"),
        Option("--own", help="leave out what other members of the team share"),
        Option("--explain", help="add to each hit why it ranks where it does"),
        Option("--refresh", help="index new transcripts first"),
        Option(
            "--batch",
            metavar="FILE",
            convert=file_path,
            help="one question a line from FILE or - in, one JSON envelope a line out",
        ),
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
    request, question = _request(args), " ".join(args.words)
    if not args.words and args.batch is None and not args.json and sys.stdin.isatty() and sys.stdout.isatty():
        question = _prompt(context)
    if args.batch is None:
        question = validate(question, literal=request.literal)
        context.fields["query_len"] = len(question)
    if args.refresh:
        _refresh(args, context, settings)
    if args.batch is not None:
        return _batch(args, context, settings, request)
    if is_answered_here(context.home, settings, request, context.environ):
        from core import jsonb  # noqa: F401  # so that apsw comes without what it would import besides
        from runtime.asking.ask import Asker

        with Asker(context.home, settings, request.timeout_s) as asker:
            envelope = asker.ask(question, request)
    else:
        from runtime.resident.answer import find_answer

        envelope, how = find_answer(context.home, settings, question, request, context.environ)
        context.fields.update(how)
    context.fields.update(_row(envelope, settings, question))
    context.given = envelope
    if args.json:
        context.emit(envelope, is_clean=True)
    else:
        _print(envelope, args, context)
    embedded = envelope["freshness"]["semantic"]["as_of"]
    may_start = settings.serve == "on-demand" or (embedded and settings.serve != "off")
    if may_start and not context.fields.get("warm") and not other_engine(context.environ):
        from runtime.resident.starting import after

        sys.stdout.flush()
        context.fields["started"] = after(context.home, settings, context.environ, envelope)
    return OK if envelope["hits"] else NO_RESULTS


def _prompt(context: Context) -> str:
    """Return a question that a person types; "" for none."""
    started = time.perf_counter()
    sys.stderr.write("Question: ")
    sys.stderr.flush()
    typed = sys.stdin.buffer.readline().decode("utf-8", "surrogateescape")
    context.waited_s = time.perf_counter() - started
    return typed.strip()


def _print(envelope: dict[str, Any], args: Args, context: Context) -> None:
    """Print an answer for people."""
    from cli.ask_output import render
    from core.text import printable_value

    render(printable_value(envelope), context, _within(args))


def _within(args: Args) -> list[str]:
    """Return the restrictions of a question as they were typed."""
    given = [("-c", name) for name in args.collection]
    names = ("source", "project", "since", "since-days", "until")
    given += [(f"--{name}", value) for name in names if (value := getattr(args, name.replace("-", "_")))]
    return [f"{flag} {value}" for flag, value in given]


def _row(envelope: dict[str, Any], settings: Config, question: str) -> dict[str, object]:
    """Return what telemetry keeps of an answer; the question itself only if the configuration says so."""
    hits = envelope.get("hits") or []
    row: dict[str, object] = {"query_len": len(question), "n_hits": len(hits), "hits": [hit["uri"] for hit in hits]}
    if "route" in envelope:  # no failure
        row.update(mode=envelope["route"]["mode"], took_ms=envelope["took_ms"])
        # `brain stats` and the page show how far answers were behind.
        row.update({f"{name}_pending": each["pending"] for name, each in envelope["freshness"].items()})
    if "rerank" in envelope:
        row["reranked"] = envelope["rerank"]["applied"]
    if settings.keeps_questions:
        row["query"] = shown(question)
    return row


def _refresh(args: Args, context: Context, settings: Config) -> None:
    """Index what is new; where another run holds the lock past the deadline, the answer is from what there is."""
    from cli.progress import Bar
    from runtime.capture.indexing import index

    try:
        with Bar() as bar:
            index(context.home, settings, trust_stat=True, wait_s=args.timeout or _REFRESH_WAIT_S, progress=bar)
    except LockContention:
        warn("brain: another index run is not done yet; this answer is from before it")


def _request(args: Args) -> Request:
    if not f"{args.source}{args.project}".isprintable():
        flag = "--project" if not args.source or args.source.isprintable() else "--source"
        raise BadInput(f"{flag} holds a character that no name has", "brain ask --help")
    if args.rerank and args.no_rerank:
        raise BadInput("--rerank and --no-rerank contradict each other", "give one of them")
    given = {name: getattr(args, name) for name in _SAME}
    if args.since_days or args.since or args.until:
        given["since"], given["until"] = _days(args)
    if args.rerank or args.no_rerank:
        given["rerank"] = args.rerank
    return Request(
        **given,
        budget=args.context or (PARAGRAPH if args.limit == 1 else PERSON),
        collections=args.collection,
        timeout_s=args.timeout,
        literal=args.literal or args.batch is not None,
    )


def _days(args: Args) -> tuple[int | None, int | None]:
    """Return the options about days as epoch seconds: since, and until (exclusive)."""
    from runtime.dates.day_option import parse_day

    if args.since_days and args.since:
        raise BadInput("--since-days and --since say the same thing twice", "give one of them")
    now = int(time.time())
    first = f"{args.since_days}d" if args.since_days else args.since
    since = parse_day(first, now, end=False) if first else None
    until = parse_day(args.until, now, end=True) if args.until else None
    if since is not None and until is not None and since >= until:
        raise BadInput("--since lies after --until", "exchange them")
    return since, until


def _batch(args: Args, context: Context, settings: Config, request: Request) -> int:
    import gc

    from core import telemetry
    from runtime.asking import ask
    from runtime.resident.answer import Warm, open_asker

    gc.enable()  # a batch may be long
    context.event = "ask_batch"  # each question has an "ask" row of its own
    if args.words:
        raise BadInput("--batch takes its questions from the file, not from the command line", "brain ask --batch FILE")
    questions = _questions(args.batch)
    answered = 0
    with open_asker(context.home, settings, request, context.environ) as asker:
        answering = asker if other_engine(context.environ) else Warm(context.home, settings, asker)
        started = time.perf_counter()
        for question, envelope in zip(questions, ask.batch(answering, questions, request), strict=True):
            latency = round((time.perf_counter() - started) * 1000, 1)
            context.emit(envelope, is_clean="hits" in envelope)
            answered += bool(envelope.get("hits"))
            row = _row(envelope, settings, question)
            row["exit_code"] = envelope.get("exit_code", OK if envelope.get("hits") else NO_RESULTS)
            telemetry.record(context.home, "ask", context.surface, latency_ms=latency, batch=True, **row)
            started = time.perf_counter()
    context.fields.update(n_queries=len(questions), n_answered=answered)
    if not questions:
        warn("brain: --batch had no questions")
    return OK


def _questions(file: str) -> list[str]:
    if file == "-":
        raw = sys.stdin.buffer.read()
    else:
        try:
            with open(file, "rb") as stream:
                raw = stream.read()
        except OSError as error:
            message = f"cannot read {file}: {error.strerror}"
            raise BadInput(message, "brain ask --batch FILE, or - for stdin") from None
    # Split at newlines only: str.splitlines would also split at marks inside a question. A line that is no UTF-8 is one
    # bad question; its own envelope reports that.
    lines = [line.removesuffix(b"\r") for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    if lines[-1] == b"":
        lines.pop()
    return [line.decode("utf-8", "surrogateescape") for line in lines]
