"""``brain inbox list | show | edit | rm``."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from cli.context import Context, shown, warn, write
from core.errors import NO_RESULTS, OK, BadInput, Refused
from core.text import printable

if TYPE_CHECKING:
    from cli.spec import Args
    from runtime.capture.entries import Stored


def run(verb: str, args: Args, context: Context) -> int:
    """Return one of the subcommands; each prints one object with ``--json``."""
    if verb == "list":
        return _list(args, context)
    from runtime.capture import entries

    if len(args.words) != 1:
        raise BadInput("expected one entry", "brain inbox list")
    stored = entries.find(context.home, args.words[0])
    if verb == "show":
        return _show(args, context, stored)
    return _edit(args, context, stored) if verb == "edit" else _remove(args, context, stored)


def _list(args: Args, context: Context) -> int:
    from itertools import islice

    from runtime.capture import entries

    if args.words:
        raise BadInput("`brain inbox list` takes no arguments", 'brain ask "…" -c inbox searches the entries')
    chosen = (stored for stored in entries.entries(context.home) if not args.type or stored.type == args.type)
    items: list[dict[str, Any]] = shown([entries.item(stored) for stored in islice(chosen, args.limit)])
    if args.json:
        context.emit({"schema": 1, "ok": True, **({} if items else {"error": "no_results"}), "entries": items})
    elif not items:
        write("The inbox is empty.\n" if not args.type else f"No {args.type} in the inbox.\n")
    for item in [] if args.json else items:
        gone = f"  [superseded by {item['superseded_by']}]" if item["superseded_by"] else ""
        write(printable(f"{item['entry_id']}  {item['type']:<10} {item['title']}{gone}") + "\n")
    return OK if items else NO_RESULTS


def _show(args: Args, context: Context, stored: Stored) -> int:
    from runtime.capture import entries

    if args.json:
        grounds = {name: stored.meta.get(name) for name in ("why", "alternatives")}
        context.emit({"schema": 1, "ok": True, **entries.item(stored), **grounds, "body": stored.body})
    else:
        write(printable(shown(stored.body).rstrip()) + "\n")
        for name in ("supersedes", "superseded_by"):
            if stored.field(name):
                write(printable(f"{name.replace('_', ' ')}: {shown(stored.field(name))}") + "\n")
    return OK


def _edit(args: Args, context: Context, stored: Stored) -> int:
    from runtime.capture import entries
    from runtime.capture.capture import refuse_secrets
    from runtime.explaining.show import edit

    with open(stored.path, "rb") as stream:
        before = stream.read()
    draft = os.path.join(context.home.state, f"edit-{stored.entry_id}.md")
    from core.files import write_atomic

    write_atomic(draft, before)
    edit(context.environ, draft)
    with open(draft, encoding="utf-8", errors="replace") as stream_again:
        text = stream_again.read()
    changed = text.encode() != before
    warning = ""
    if changed:
        try:
            edited = entries.replace(stored, text)
            refuse_secrets(text)
        except (BadInput, Refused) as error:
            error.fix = f"{error.fix}; what you wrote is in {draft}"
            raise
        warning = entries.store(context.home, edited)
    os.unlink(draft)
    if args.json:
        context.emit({"schema": 1, "ok": True, "entry_id": stored.entry_id, "path": stored.path, "changed": changed})
    else:
        write(printable(f"{stored.entry_id}: {'changed' if changed else 'nothing was changed'}") + "\n")
    if warning and not args.json:
        warn(printable(f"warning: {warning}"))
    return OK


def _remove(args: Args, context: Context, stored: Stored) -> int:
    from runtime.capture import entries

    if not args.yes:
        if args.json or not sys.stdin.isatty():
            raise BadInput("an entry is removed only when asked to", f"brain inbox rm {stored.entry_id} --yes")
        sys.stderr.write(printable(f"remove {stored.type} {shown(stored.title)!r}? [y/N] "))
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Refused("nothing was removed", f"brain inbox rm {stored.entry_id} --yes")
    warning = entries.remove(context.home, stored)
    if args.json:
        report = {"schema": 1, "ok": True, "entry_id": stored.entry_id, "removed": True}
        context.emit({**report, "warning": warning} if warning else report)
    else:
        write(printable(f"removed: {shown(stored.title)}") + "\n")
        if warning:
            warn(printable(f"warning: {warning}"))
    return OK
