"""``brain embed``: vectors for what lacks them."""

from __future__ import annotations

from cli.context import Context, shown, write
from cli.spec import Args, Command, Option, duration
from core import config
from core.counting import counted
from core.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


COMMAND = Command(
    "embed",
    "compute missing embeddings for semantic search",
    description=(
        "Embed the documents that have no vectors yet, the newest first. It can be ended at any time and goes on\n"
        "where it was; indexing and asking go on meanwhile. A text is embedded once for each provider and model.\n"
        "By force, the old vectors answer until the new ones are whole."
    ),
    options=(
        Option("--budget", metavar="TIME", help="stop after so long: 45, 60s, 10m, 1h", convert=duration),
        Option("-f", "--force", help="embed again what has vectors already"),
        Option("-c", "--collection", metavar="NAME", many=True, help="only this collection; may be repeated"),
        Option("--provider", metavar="NAME", help="local, openai, gemini or llm, instead of the configured one"),
        Option("--model", metavar="NAME", help="a model of that provider, instead of its default"),
        Option("--on", metavar="CLUSTER", help="compute on ray (all processors) or on a cluster, ray://HOST:PORT"),
    ),
    examples=(
        "brain embed",
        "brain embed --budget 60s",
        "brain embed -c inbox -c distilled --json",
        "brain embed --on ray://trainer.local:10001",
        "brain embed --provider openai --model text-embedding-3-large",
    ),
)


def run(args: Args, context: Context) -> int:
    """Embed, and print what was done and what still waits."""
    from cli.progress import Bar
    from runtime.watching.embedding import be_nice, embed

    be_nice()
    with Bar("tokens") as bar:
        report = embed(
            context.home,
            config.load(context.home),
            context.environ,
            provider=args.provider or "",
            model=args.model or "",
            collections=args.collection,
            force=args.force,
            budget_s=args.budget,
            cluster=args.on or "",
            progress=bar,
        )
    for key, field in (("texts", "n_texts"), ("chunks", "n_chunks"), ("failed", "n_failed"), ("pending", "n_pending")):
        context.fields[field] = report[key]
    context.fields["provider"] = report["provider"]
    if args.json:
        context.emit(report)
    else:
        from core.text import printable

        write("\n".join(map(printable, _lines(shown(report)))) + "\n")
    return OK


def _lines(report: dict[str, Any]) -> Iterator[str]:
    took = report["embedding_ms"] / 1000
    rate = f", {report['chunks'] / took:.1f} a second" if report["chunks"] and took else ""
    yield (
        f"{report['provider']}/{report['model']}: {counted(report['texts'], 'document')},"
        f" {counted(report['chunks'], 'chunk')} in {took:.1f} s{rate}"
    )
    if report["others_cpu"]:
        yield f"slow, because the machine was busy: other processes took {report['others_cpu']:.0%} of it"
    if report["query_table"] == "fitted":
        yield f"fitted the table that encodes questions in {(report['took_ms'] - report['embedding_ms']) / 1000:.1f} s"
    elif report["query_table_reason"]:
        yield f"the table that encodes questions waits: {report['query_table_reason']}"
    for failure in report["failures"]:
        yield f"  refused: {failure['hash'][:6]}: {failure['reason']}"
    if report["pending"]:
        yield f"still pending: {counted(report['pending'], 'document')}"
        for name, count in report["pending_by_collection"].items():
            yield f"  {name}: {count}"
    elif not report["renewing"]:
        yield "nothing is pending"
    if report["renewing"]:
        yield f"still to be made again: {counted(report['renewing'], 'document')}; the old vectors answer until then"
        for name, count in report["renewing_by_collection"].items():
            yield f"  {name}: {count}"
