"""``brain recent``: what happened lately, newest first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cli import render
from cli.context import Context
from cli.spec import Args, Command, Option, whole
from core import clock, config
from core.counting import counted
from core.errors import NO_RESULTS, OK
from core.text import one_line, printable_value
from runtime.asking import recent
from runtime.asking.wording import behind, project_name
from runtime.dates.day_option import parse_day

if TYPE_CHECKING:
    from cli.render import Line

COMMAND = Command(
    "recent",
    "list what happened lately, newest first",
    description=(
        "List documents by their own dates over all collections. While others have something to show, a collection\n"
        "fills at most its quota of the list. Synthetic documents are counted instead of listed. So are\n"
        "subagents, if their parent session is among the documents. Exit code 67 means: nothing is that recent."
    ),
    options=(
        Option("--since", metavar="WHEN", default="24h", help="how far back: 24h, 7d, 2026-05-01, monday (24h)"),
        Option("-c", "--collection", metavar="NAME", many=True, help="only this collection; may be repeated"),
        Option("-n", "--limit", metavar="N", default=recent.DEFAULT_LIMIT, convert=whole, help="how many to list (20)"),
        Option("--synthetic", help="list synthetic documents too: sessions that no person had"),
        Option("--own", help="leave out what other members of the team share"),
        Option("--all", help="list synthetic documents and subagents too, and lift the quota"),
    ),
    examples=("brain recent", "brain recent --since 7d -c brain -n 50", "brain recent --since=24h --json"),
)


def run(args: Args, context: Context) -> int:
    """Return one walk of the index, one list."""
    settings = config.load(context.home)
    now = clock.now()
    since = parse_day(args.since, now, end=False)
    envelope = recent.recent(
        context.home,
        settings,
        since=since,
        now=now,
        collections=args.collection,
        limit=args.limit,
        everything=args.all,
        synthetic=args.synthetic,
        own=args.own,
    )
    context.fields.update(walk_ms=envelope["walk_ms"], n_total=envelope["total"], n_hits=len(envelope["items"]))
    if args.json:
        context.emit(envelope, is_clean=True)
    else:
        render.show(context, list(lines(printable_value(envelope), args.since)), cut=True)
    return OK if envelope["items"] else NO_RESULTS


def lines(envelope: dict[str, Any], since: str) -> list[Line]:
    """Return the listing: a heading a local day, then a line a document, then what was left out."""
    result: list[Line] = []
    if not envelope["items"]:
        result += [
            [(f"Nothing since {since}.", "")],
            [("`brain recent --since DATE` looks further back, `brain index` brings in what is new", "dim")],
        ]
    result += [[(line, "dim")] for line in behind(envelope["freshness"], "brain index")]
    day = ""
    for item in envelope["items"]:
        local = time.localtime(clock.parse_iso(item["ended"]))
        named = time.strftime("%a %d %b %Y", local)
        if named != day:
            if day:
                result.append([])
            result.append([(named, "bold")])
            day = named
        where = [item.get("owner"), item["collection"], item["type"], project_name(item["project"])]
        where.append(f"from {item['machine']}" if "machine" in item else "")
        result.append(
            [
                (f"  {time.strftime('%H:%M', local)}  ", "dim"),
                (f"{item['docid']}  ", "dim"),
                (one_line(item["title"]), "cyan"),
                (f"  {one_line(' · '.join(filter(None, where)))}", "dim"),
            ]
        )
    left = left_out(envelope)
    if left:
        result += [[], [(left, "dim")]]
    return result


def left_out(envelope: dict[str, Any]) -> str:
    """Return what matched and is not listed, in one line; "" if everything is listed."""
    parts: list[str] = []
    listed = len(envelope["items"])
    if envelope["total"] > listed:
        parts.append(f"{listed} of {counted(envelope['total'], 'document')}")
    if envelope["held_back"]:
        held = ", ".join(f"{count} of {name}" for name, count in envelope["held_back"].items())
        parts.append(f"held back by quota: {held}")
    if envelope["synthetic"]:
        parts.append(f"{envelope['synthetic']} synthetic left out")
    if envelope["subagents"]:
        parts.append(f"{envelope['subagents']} of subagents left out")
    hidden = envelope["held_back"] or envelope["synthetic"] or envelope["subagents"]
    return "; ".join(parts) + (" (--all)" if hidden else "")
