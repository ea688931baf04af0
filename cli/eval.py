"""``brain eval``: how good the answers are, on question sets and on your own memory."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option, whole
from core.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUN = Command(
    "eval run",
    "ask the questions of a set of every arm, and measure",
    description=(
        "Ask every question of every arm and print recall, hits, MRR, nDCG, abstentions, latency and memory, and how\n"
        "each arm differs from a baseline, with 95 % intervals. Corpora are indexed in scratch homes, never in yours.\n"
        "A run that was cut short goes on where it was."
    ),
    options=(
        Option(
            "--data",
            metavar="PATH",
            many=True,
            help="a set or a folder of sets: LoCoMo JSON, qmd bench fixtures, queries.tsv + qrels.tsv + documents",
        ),
        Option("-a", "--arm", metavar="ARM", many=True, help="only this arm, as ask or ask:option=value (all)"),
        Option("--split", metavar="SPLIT", help="dev, held-out or all (all)", choices=("all", "dev", "held-out")),
        Option("--sample", metavar="N", help="at most N questions of a set, chosen by hash", convert=whole),
        Option("--cold", metavar="N", help="measure whole processes too, on N questions", convert=whole),
        Option("--baseline", metavar="ARM", help="the arm that others are compared with (qmd-lex)"),
        Option("--fresh", help="begin anew although an earlier run was cut short"),
    ),
    examples=(
        "brain eval run --data ../shared/evals",
        "brain eval run --data questions/ -a ask -a qmd-lex --split dev --json",
    ),
)

COMMAND = Command("eval", "measure how good the answers are", commands=(RUN,))


def run(args: Args, context: Context) -> int:
    """Do what the subcommand says."""
    return {"run": _run}[args.command.verb](args, context)


def _run(args: Args, context: Context) -> int:
    from cli.progress import Bar
    from evals import arms, sets
    from evals.run import Settings
    from evals.run import run as evaluate

    context.home.make()
    chosen = [arms.Chosen(name) for name in args.arm or arms.ARMS]
    datasets = sets.load(args.data, context.home)
    settings = Settings(args.split or "all", args.sample or 0, args.cold or 0, args.baseline or "")
    with Bar() as bar:
        result = evaluate(context.home, datasets, chosen, settings, fresh=args.fresh, progress=bar)
    return _show(result, args, context)


def _show(result: dict[str, Any], args: Args, context: Context) -> int:
    context.fields.update(run=result["run"], n_sets=len(result["sets"]))
    if args.json:
        context.emit(result)
    else:
        from cli.eval_output import lines

        write("\n".join(lines(result)) + "\n")
    return OK
