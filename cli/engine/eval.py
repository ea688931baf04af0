"""``brain eval``: how good the answers are, on question sets and on your own memory."""

from __future__ import annotations

from cli.context import Context, shown, warn, write
from cli.spec import Args, Command, Option, file_path, whole
from core.counting import counted
from core.errors import OK, BadInput
from core.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HALVES = ("all", "choose", "exam")
# Seconds between two lines of progress if stderr is no terminal.
_LINES_S = 10.0

RUN = Command(
    "eval run",
    "ask the questions of a set of every arm, and measure",
    description=(
        "Ask every question of every arm and print recall, hits, MRR, nDCG, abstentions, latency and memory. Each arm\n"
        "is compared with a baseline, with 95 % intervals. Corpora are indexed in scratch homes, never in yours.\n"
        "A run that was cut short goes on where it was. Without --data, your own questions (`brain eval build`) are\n"
        "asked of your own memory, and a dated row is appended to logs/eval.jsonl."
    ),
    options=(
        Option(
            "--data",
            metavar="PATH",
            many=True,
            help="a set or a folder of sets, in any of five forms: docs/evaluation.md (your own questions)",
        ),
        Option("-a", "--arm", metavar="ARM", many=True, help="only this arm, as ask or ask:option=value (all)"),
        Option("--split", metavar="SPLIT", help="dev, held-out or all (all)", choices=("all", "dev", "held-out")),
        Option("--half", metavar="HALF", help="choose, exam or all, in sets with halves (all)", choices=_HALVES),
        Option("--sample", metavar="N", help="at most N questions of a set, chosen by hash", convert=whole),
        Option("--cold", metavar="N", help="measure whole processes too, on N questions", convert=whole),
        Option("--baseline", metavar="ARM", help="the arm that others are compared with (qmd-lex)"),
        Option("--fresh", help="begin again although an earlier run was cut short"),
    ),
    examples=(
        "brain eval run",
        "brain eval run --data ../shared/evals",
        "brain eval run --data questions/ -a ask -a qmd-lex --split dev --json",
    ),
)

BUILD = Command(
    "eval build",
    "draw questions from your own memory",
    description=(
        "Draw known-item questions from your own documents: titles, decisions, commands, errors and days, in words\n"
        "that a person would remember. Further types are questions in other words, and commands and errors word\n"
        "for word. The same memory gives the same questions; those that are there stay while their documents do.\n"
        "They are kept in the home, and nothing is ever tuned on them."
    ),
    options=(
        Option("-n", "--each", metavar="N", help="how many questions of each kind (40)", convert=whole, default=40),
        Option("--fresh", help="draw all of them again; figures before and after cannot be compared"),
        Option(
            "--paraphrase", help="have the configured generator put some in its words: it is sent titles, decisions"
        ),
    ),
    examples=("brain eval build", "brain eval build -n 100 --fresh"),
)

REPORT = Command(
    "eval report",
    "write the figures as a page with charts",
    description=(
        "Write report.md, with charts as SVG and PNG, of the last run of sets and of your own memory's history."
    ),
    words="RUN",
    words_help="a run's name, last, or last~1 for the one before (the last one of --data)",
    options=(
        Option(
            "--out",
            metavar="DIR",
            convert=file_path,
            help="the folder to write to (state/eval/report in the home)",
        ),
    ),
    examples=("brain eval report", "brain eval report last~1 --out ~/figures"),
)

COMPARE = Command(
    "eval compare",
    "set two arms, or two runs, against each other",
    description=(
        "A and B are arms (ask, ask:option=value) or runs that are kept (their names, last, last~1, or RUN/ARM). Arms\n"
        "are asked the same questions now. Prints B less A with 95 % intervals, and the questions that changed."
    ),
    words="A B",
    words_help="two arms, or two runs",
    options=(
        Option("--data", metavar="PATH", many=True, convert=file_path, help="sets to ask arms of (your own questions)"),
        Option("--split", metavar="SPLIT", help="dev, held-out or all (all)", choices=("all", "dev", "held-out")),
        Option("--half", metavar="HALF", help="choose, exam or all, in sets with halves (all)", choices=_HALVES),
        Option("--sample", metavar="N", help="at most N questions of a set, chosen by hash", convert=whole),
        Option("-n", "--limit", metavar="N", help="how many changed questions to list a side (10)", convert=whole),
    ),
    examples=(
        "brain eval compare qmd-lex ask --data ../shared/evals --split dev",
        "brain eval compare last~1 last",
        "brain eval compare last/qmd-lex last/ask -n 50",
    ),
)

GUARD = Command(
    "eval guard",
    "replay sessions, and count how often the guard is right",
    description=(
        "Index the sessions below a folder in a scratch home, and play the later half of them against a memory of\n"
        "those before: the guard is asked before each command and edit, and after each failure. Prints how many lines\n"
        "were right by a set of labelled moments, how many fired falsely, and which repeated failures were foreseen.\n"
        "Invented moments (near copies, look-alikes, superseded, contradictory and hostile memories) are asked too;\n"
        "without --data, they alone."
    ),
    options=(
        Option("--data", metavar="DIR", help="a folder with folders named after sources", convert=file_path),
        Option("--labels", metavar="FILE", help="labelled moments (those of the samples)", convert=file_path),
    ),
    examples=("brain eval guard --data ../shared/samples", "brain eval guard --json"),
)

VALIDITY = Command(
    "eval validity",
    "ask questions whose answer changed, and count if the newer one comes first",
    description=(
        "Write invented sessions as transcripts, index them in a scratch home, and ask questions whose answer changed\n"
        "or is contradicted. The newer statement has to stand first, and the older one has to be marked with it. Of\n"
        "two statements that only look alike neither may be marked."
    ),
    options=(Option("--half", metavar="HALF", help="choose, exam or all (all)", choices=_HALVES),),
    examples=("brain eval validity", "brain eval validity --half exam --json"),
)

COMMAND = Command("eval", "measure how good the answers are", commands=(RUN, BUILD, REPORT, COMPARE, GUARD, VALIDITY))


def run(args: Args, context: Context) -> int:
    """Do what the subcommand says."""
    verbs = {
        "run": _run,
        "build": _build,
        "report": _report,
        "compare": _compare,
        "guard": _guard,
        "validity": _validity,
    }
    return verbs[args.command.verb](args, context)


def _run(args: Args, context: Context) -> int:
    from evals.arms import registry
    from evals.runs import store

    labels = args.arm or [name for name, arm in registry.ARMS.items() if args.data or arm.own]
    result = _evaluate(args, context, labels, cold=args.cold or 0, baseline=args.baseline or "", fresh=args.fresh)
    store.remember(context.home, result)
    if args.json:
        context.emit(result)
    else:
        from cli.engine.eval_output import lines

        write("\n".join(lines(result)) + "\n")
    return OK


def _guard(args: Args, context: Context) -> int:
    import tempfile
    from pathlib import Path

    from core.home import Home
    from evals.guard import invented, replay

    found: dict[str, Any] = {"schema": 1, "ok": True}
    if args.data:
        with tempfile.TemporaryDirectory(prefix="brain-guard-") as folder:
            home = Home(folder)
            settings = replay.remember(Path(args.data), home)
            known = replay.labels(Path(args.labels)) if args.labels else replay.labels()
            found = replay.replay(home, settings, known).as_dict()
    found["invented"] = invented.measure()
    if args.json:
        context.emit(found)
        return OK
    from cli.engine.eval_output import guard_lines

    write("\n".join(map(printable, guard_lines(shown(found)))) + "\n")
    return OK


def _validity(args: Args, context: Context) -> int:
    import tempfile
    from pathlib import Path

    from core.home import Home
    from evals.validity import measure

    with tempfile.TemporaryDirectory(prefix="brain-validity-") as folder:
        home = Home(f"{folder}/home")
        home.make()
        found = measure.measure(home, Path(folder), args.half or "all")
    if args.json:
        context.emit(found)
        return OK
    from cli.engine.eval_output import validity_lines

    write("\n".join(map(printable, validity_lines(shown(found)))) + "\n")
    return OK


def _evaluate(args: Args, context: Context, labels: list[str], **given: Any) -> dict[str, Any]:
    from cli.progress import Bar
    from evals.arms import registry
    from evals.questions import drawing
    from evals.runs.run import Settings
    from evals.runs.run import run as evaluate
    from evals.sets import loading

    context.home.make()
    chosen = [registry.Chosen(label) for label in labels]
    if args.data:
        datasets = loading.load(args.data, context.home)
    else:
        if args.split and args.split != "all":
            raise BadInput("your own questions are held out from all tuning: they have no split", "--data PATH")
        own, gone = drawing.load(context.home)
        datasets = [own]
        if gone:
            warn(f"brain: {gone} questions have lost their documents: brain eval build draws others")
    fresh = given.pop("fresh", False)
    half = "" if args.half in (None, "all") else args.half
    if half and not all(question.half for each in datasets for question in each.questions):
        raise BadInput("--half is for sets whose questions have halves", "--split dev")
    settings = Settings(args.split or "all", args.sample or 0, half=half, **given)
    try:
        with Bar(lines_s=_LINES_S) as bar:
            result = evaluate(context.home, datasets, chosen, settings, fresh=fresh, progress=bar)
    except KeyboardInterrupt:
        warn("brain: every answer so far is kept: the same command, without --fresh, goes on from there")
        raise
    context.fields.update(run=result["run"], n_sets=len(result["sets"]))
    return result


def _build(args: Args, context: Context) -> int:
    from cli.progress import Bar
    from evals.questions import drawing

    paraphrase = None
    if args.paraphrase:
        from core import config
        from evals.questions import wording

        paraphrase = wording.writer(config.load(context.home), context.environ)
    with Bar(lines_s=_LINES_S) as bar:
        counts = drawing.build(context.home, args.each, fresh=args.fresh, paraphrase=paraphrase, progress=bar)
    context.fields.update(n_questions=counts["questions"])
    if args.json:
        context.emit({"schema": 1, "ok": True, "path": drawing.path(context.home), **counts})
        return OK
    kinds = ", ".join(f"{count} of {kind}" for kind, count in counts["by_type"].items() if count)
    write(f"{counted(counts['questions'], 'question')} from {counted(counts['documents'], 'document')}: {kinds}\n")
    if counts["replaced"]:
        write(
            f"the questions of version {counts['replaced']} are gone: all are drawn again, by the rules of version"
            f" {counts['version']}, and figures before and after cannot be compared\n"
        )
    if counts["stopped"]:
        write(f"no more paraphrases: the generator failed: {printable(counts['stopped'])}\n")
    if counts["kept"]:
        write(f"{counts['kept']} of them were there before\n")
    write(f"kept in {drawing.path(context.home)}; next: brain eval run\n")
    return OK


def _report(args: Args, context: Context) -> int:
    import os

    from evals.reporting import report
    from evals.runs import store

    if len(args.words) > 1:
        raise BadInput("brain eval report takes one run", "brain eval report last")
    history = store.history(context.home)
    run = store.read(context.home, args.words[0]) if args.words else store.last_of_sets(context.home)
    if run is None and not history:
        raise BadInput("no run has ended yet", "brain eval run --data PATH, or brain eval build")
    folder = os.path.join(context.home.state, "eval")
    out = os.path.abspath(os.path.expanduser(args.out)) if args.out else os.path.join(folder, "report")
    files = report.write(run, history, out, os.path.join(folder, "matplotlib"))
    if args.json:
        context.emit({"schema": 1, "ok": True, "run": run["run"] if run else None, "files": files})
    else:
        write("".join(f"{file}\n" for file in files))
    return OK


def _compare(args: Args, context: Context) -> int:
    from evals.runs import tally

    if len(args.words) != 2:
        raise BadInput("brain eval compare takes two arms or two runs", "brain eval compare qmd-lex ask --data PATH")
    sides = [tally.side(context.home, word) for word in args.words]
    if sides[0] is None and sides[1] is None:
        result = _evaluate(args, context, args.words, baseline=args.words[0])
        labels = [row["arm"] for row in result["sets"][0]["arms"]]
        sides = [tally.side(context.home, f"{result['run']}/{label}") for label in labels]
    if sides[0] is None or sides[1] is None:
        missing = args.words[0 if sides[0] is None else 1]
        raise BadInput(f"there is no run {missing!r}", "compare two arms, or two runs that are kept")
    found = tally.compare(sides[0], sides[1])
    if args.json:
        context.emit(found)
    else:
        from cli.engine.eval_output import changes

        write("\n".join(changes(shown(found), args.limit or 10)) + "\n")
    return OK
