"""``brain queue``: the documents that await distillation."""

from __future__ import annotations

from cli.context import Context, shown, write
from cli.spec import Args, Command, Option, whole
from core import config
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DEAD = Option("--dead", help="the dead letters: what could not be distilled, and why")

COMMAND = Command(
    "queue",
    "list what waits to be distilled",
    description=(
        "`brain index --queue` and the hooks make every session that changed wait here; `brain distill\n"
        "--from-pending` takes them, the oldest first. A session that failed for good is a dead\n"
        "letter, until it changes or is added."
    ),
    default="list",
    commands=(
        Command(
            "queue list",
            "what waits, oldest first",
            options=(_DEAD, Option("-n", "--limit", metavar="N", default=50, convert=whole, help="how many (50)")),
            examples=("brain queue list", "brain queue list --dead --json"),
        ),
        Command(
            "queue add",
            "make sessions wait",
            words="HIT…",
            words_help="docids, uris, paths or names of sessions",
            options=(Option("--all", help="every session"),),
            examples=("brain queue add '#a1b2c3'", "brain queue add --all"),
        ),
        Command(
            "queue drop",
            "let sessions wait no longer",
            words="HIT…",
            words_help="docids, uris, paths or names of sessions",
            examples=("brain queue drop 5f0c2a1e",),
        ),
        Command(
            "queue clear",
            "empty the queue, or the dead letters",
            options=(_DEAD,),
            examples=("brain queue clear", "brain queue clear --dead"),
        ),
    ),
)


def run(args: Args, context: Context) -> int:
    """Do what the subcommand says."""
    from runtime import distill_queue

    verb = args.command.verb
    context.fields["verb"] = verb
    envelope: dict[str, Any] = {"schema": 1, "ok": True}
    if verb == "list":
        envelope |= _listed(args, context)
    elif verb == "clear":
        context.home.make()
        envelope["dropped"] = distill_queue.PendingQueue(context.home).clear(letters=args.dead)
    else:
        envelope |= _moved(args, context, verb)
    envelope["waiting"] = len(distill_queue.read(context.home))
    context.fields["n_waiting"] = envelope["waiting"]
    if args.json:
        context.emit(envelope)
    else:
        from core.text import printable

        write("".join(printable(line) + "\n" for line in _lines(verb, shown(envelope))))
    return OK


def _listed(args: Args, context: Context) -> dict[str, Any]:
    from runtime import distill_queue

    rows = (distill_queue.dead if args.dead else distill_queue.read)(context.home)
    items = [
        {
            "uri": f"qmd://{row.get('collection')}/{row['path']}",
            "since": row.get("ts"),
            **{key: row[key] for key in ("reason", "attempts", "distiller") if key in row},
        }
        for row in rows
    ]
    return {"total": len(items), "items": items[: args.limit]}


def _moved(args: Args, context: Context, verb: str) -> dict[str, Any]:
    from runtime import distill_queue
    from runtime.distill import distillate
    from runtime.distill import run as distilling

    known = config.load(context.home)
    everything = verb == "add" and args.all
    if not args.words and not everything:
        raise BadInput("name the sessions", f"brain queue {verb} '#a1b2c3'")
    if everything:
        keys = [(distillate.SESSIONS, name) for name in distillate.names(known, distillate.SESSIONS)]
    elif verb == "drop":
        # A waiting document may be gone from the index: its name is enough.
        waiting = {
            f"qmd://{row.get('collection')}/{row['path']}": (str(row.get("collection")), str(row["path"]))
            for row in [*distill_queue.read(context.home), *distill_queue.dead(context.home)]
        }
        keys = [waiting[word] for word in args.words if word in waiting]
        keys += distilling.resolve(context.home, known, [word for word in args.words if word not in waiting])
    else:
        keys = distilling.resolve(context.home, known, args.words)
    context.home.make()
    queue = distill_queue.PendingQueue(context.home)
    if verb == "add":
        return {"added": sum(queue.add(*key) for key in keys)}
    return {"dropped": sum(queue.end(*key, "dropped") for key in keys)}


def _lines(verb: str, envelope: dict[str, Any]) -> list[str]:
    if verb != "list":
        done = next(f"{envelope[key]:,} {key}" for key in ("added", "dropped") if key in envelope)
        return [f"{done}; {envelope['waiting']:,} waiting"]
    lines = []
    for item in envelope["items"]:
        lines.append(f"{item['since'] or ''}  {item['uri']}")
        if item.get("reason"):
            lines.append(f"   {item['reason']} ({item.get('attempts', 1)} attempts, {item.get('distiller', '')})")
    more = envelope["total"] - len(envelope["items"])
    if more:
        lines.append(f"and {more:,} more: brain queue list -n {envelope['total']}")
    return lines or ["nothing waits"]
