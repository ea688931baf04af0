"""``brain distill``: sessions compressed to what matters later, each statement with the turn it rests on."""

from __future__ import annotations

from cli.context import Context, shown, write
from cli.spec import Args, Command, Option, whole
from core import config
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

COMMAND = Command(
    "distill",
    "compress sessions to goals, decisions, rejections, errors and fixes",
    description=(
        "Write distilled/<name>.md for sessions: goals, decisions, rejected approaches and why, errors and fixes,\n"
        "commands that worked, files, open questions. Every statement cites its turn. Without --from-pending or HIT:\n"
        "all sessions that have no distillate or a stale one. Interrupted, it goes on where it was."
    ),
    words="HIT…",
    words_help="docids, uris, paths or names of sessions",
    options=(
        Option("--from-pending", help="what waits in the queue, the oldest first"),
        Option(
            "--limit",
            metavar="N",
            convert=whole,
            help="try at most N sessions; what needs no distilling does not count",
        ),
        Option("--since", metavar="WHEN", help="only sessions that ended since: 7d, 2026-05-01, yesterday"),
        Option("--llm", metavar="WHICH", help="extractive, claude, openai or llm:MODEL (what collections.yml says)"),
        Option("--budget-tokens", metavar="N", convert=whole, help="at most N tokens in this run"),
        Option("--dry-run", help="say what would be distilled, and do nothing"),
    ),
    examples=(
        "brain distill --from-pending",
        "brain distill '#a1b2c3' --llm claude --budget-tokens 50000",
        "brain distill --since 7d --dry-run",
    ),
)


def run(args: Args, context: Context) -> int:
    """Distil, and print what came of it."""
    from cli.progress import Bar
    from runtime.distill import models
    from runtime.distill.distiller import Budget
    from runtime.distill.run import Asked, resolve
    from runtime.distill.run import run as distil

    known = config.load(context.home)
    if args.words and args.from_pending:
        raise BadInput("--from-pending takes the queue's documents, HIT names them", "give one of the two")
    section = known.section("distill")
    budget = Budget(context.home, section, args.budget_tokens or 0)
    name = args.llm or str(section.get("llm") or "extractive")
    chosen = models.choose(name, section, context.environ, budget, known.section("embedding"))
    asked = Asked(
        keys=resolve(context.home, known, args.words) if args.words else [],
        from_pending=args.from_pending,
        since=_since(args.since),
        limit=args.limit or 0,
        dry_run=args.dry_run,
    )
    with Bar() as bar:
        envelope = distil(context.home, known, chosen, asked, progress=bar)
    envelope["today"] = budget.today()
    context.fields.update(
        distiller=envelope["distiller"],
        n_distilled=envelope["distilled"],
        n_dead=envelope["dead"],
        centrality=envelope["centrality"],
        tokens=envelope["tokens"],
        cost_usd=envelope["cost_usd"],
    )
    if args.json:
        context.emit(envelope)
    else:
        from core.text import printable

        write("".join(printable(line) + "\n" for line in _lines(shown(envelope), args.dry_run)))
    return OK


def _since(text: str | None) -> int | None:
    if not text:
        return None
    from core import clock
    from runtime.dates.day_option import parse_day

    return parse_day(text, clock.now(), end=False)


def _lines(envelope: dict[str, Any], dry: bool) -> Iterator[str]:
    if dry:
        would = envelope.get("would", [])
        yield from would
        yield f"{len(would):,} would be distilled by {envelope['distiller']}"
        return
    for made in envelope["written"]:
        share = made["bytes"] / max(made["source_bytes"], 1)
        yield f"{made['uri']}  {made['statements']} statements, {share:.0%} of the session"
    more = envelope["distilled"] - len(envelope["written"])
    if more > 0:
        yield f"and {more:,} more"
    for failed in envelope["failed"]:
        yield f"dead letter: {failed['uri']}: {failed['reason']}"
    by = f" (centrality by {envelope['centrality']})" if envelope["centrality"] else ""
    parts = [f"{envelope['distilled']:,} distilled by {envelope['distiller']}{by}"]
    parts += [
        f"{envelope[key]:,} {said}"
        for key, said in (
            ("unchanged", "unchanged"),
            ("empty", "with nothing to cite"),
            ("gone", "gone"),
            ("synthetic", "synthetic"),
            ("dead", "dead letters"),
            ("dead_before", "dead letters of earlier runs"),
        )
        if envelope[key]
    ]
    if envelope["tokens"]:
        today = envelope["today"]
        parts.append(f"{envelope['tokens']:,} tokens, ${envelope['cost_usd']:.4f} ({today['tokens']:,} tokens today)")
    parts.append(f"{envelope['waiting']:,} waiting")
    yield "; ".join(parts)
    if envelope.get("stopped"):
        yield f"stopped: {envelope['stopped']}; run it again to go on"
