"""``brain injected``: what agents were given from memory, whether they used it, and what was wrong."""

from __future__ import annotations

from cli.context import Context, shown, write
from cli.spec import Args, Command, Option, whole
from core.errors import NO_RESULTS, OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LIST = Command(
    "injected list",
    "list what agents were given, newest first",
    options=(
        Option("--session", metavar="ID", default="", help="only this session"),
        Option("--since", metavar="WHEN", default="", help="only from then on: 24h, 7d, 2026-05-01"),
        Option("-n", "--limit", metavar="N", default=50, convert=whole, help="how many to list (50)"),
    ),
    examples=("brain injected", "brain injected --session 5f0c2a1e --json", "brain injected --since 7d"),
)
COMMAND = Command(
    "injected",
    "list what agents were given from memory, and reject a line",
    description=(
        "Each text that an agent was given from memory: by a hook, over MCP or by a command that it ran. Each has its\n"
        "reason, its size (a token is estimated as four characters), and `used` or `ignored` once the session was\n"
        "indexed again. `wrong ID` rejects a text: no hook gives it again, and less from its document.\n"
        "Exit code 67 means: nothing was given."
    ),
    commands=(
        _LIST,
        Command(
            "injected wrong",
            "reject one text, so that no hook gives it again",
            words="ID",
            words_help="the id in the listing, or how it begins",
            options=(Option("--undo", help="take the rejection back"),),
            examples=("brain injected wrong 3fa94c1b", "brain injected wrong 3fa94c1b --undo"),
        ),
    ),
    default="list",
)

_TEXT = 300


def run(args: Args, context: Context) -> int:
    """List, or reject."""
    from runtime.injections import ledger
    from runtime.injections.listing import entry, listing

    if args.command.verb == "wrong":
        if len(args.words) != 1:
            raise BadInput("brain injected wrong takes one id", "brain injected")
        change = ledger.withdraw if args.undo else ledger.wrong
        row = change(context.home, args.words[0])
        if args.json:
            context.emit({"schema": 1, "ok": True, "rejected": entry(row)})
        elif args.undo:
            write(f"Not rejected any more: {row['id']}.\n")
        else:
            write(f"Rejected {row['id']}: no hook gives it again.\n")
        return OK
    from core import clock
    from runtime.dates.day_option import parse_day

    since = parse_day(args.since, clock.now(), end=False) if args.since else None
    found = listing(context.home, args.session, since, args.limit)
    context.fields["n_hits"] = found["total"]
    if args.json:
        context.emit(found)
    else:
        write("\n".join(_lines(shown(found))) + "\n")
    return OK if found["total"] else NO_RESULTS


def _lines(found: dict[str, Any]) -> Iterator[str]:
    from runtime.injections.listing import state

    if not found["total"]:
        yield "Agents were given nothing. `brain hooks install --events stop,prompt,guard` lets the memory speak."
        return
    yield (
        f"{found['total']} texts, about {found['tokens']:,} tokens; used {found['used']}, ignored {found['ignored']},"
        f" wrong {found['wrong']}"
    )
    for item in found["items"]:
        session = f" · session {item['session'][:8]}" if item["session"] else ""
        yield ""
        given = f"{item['ts'][:16].replace('T', ' ')}  {item['surface']} {item['event']}"
        yield f"{item['id']}  {given}{session} · {state(item)}"
        place = f"{item['uri']}:{item['line']}" if item["line"] else item["uri"] or ""
        kind = f"{item['kind']}: " if item["kind"] else ""
        yield f"   {kind}{item['reason']} · about {item['tokens']} tokens · {place}"
        text = " ".join(item["text"].split())
        yield f"   {text if len(text) <= _TEXT else text[: _TEXT - 1] + '…'}"
        if item["by"]:
            yield f"   used: {item['by']}"
