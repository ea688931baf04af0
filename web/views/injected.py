"""`/injected`: what agents were given from memory, whether it was of use, and a way to reject it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import BadInput
from core.redaction import shown_value
from core.text import printable_value
from runtime.dates.day_option import parse_day
from runtime.injections import ledger
from runtime.injections.listing import entry, listing, state
from web.rendering import address, local_day, named_day
from web.visit import Page

if TYPE_CHECKING:
    from web.visit import Visit

_LISTED = 50
_MOST = 1000


def view(visit: Visit) -> Page:
    """List as `brain injected` does, within ``session`` and ``since``; reject one text, or take the rejection back."""
    kept = {name: visit.text(name) for name in ("session", "since")}
    if visit.form is not None:
        return _reject(visit, kept)
    since = parse_day(kept["since"], visit.now, end=False) if kept["since"] else None
    wanted = visit.number("n", _LISTED, _MOST)
    envelope = printable_value(shown_value(listing(visit.home, kept["session"], since, wanted)))
    days: dict[str, list[dict[str, Any]]] = {}
    for item in envelope["items"]:
        days.setdefault(local_day(item["ts"]), []).append({**item, "state": state(item)})
    more = {
        "days": [(named_day(day, visit.now), items) for day, items in days.items()],
        "kept": kept,
        "budget": ledger.budget(visit.config),
        "longer": min(wanted * 2, _MOST) if envelope["total"] > wanted and wanted < _MOST else 0,
        "fresh": visit.issue,
    }
    fields = {"verb": "list", "n_hits": envelope["total"]}
    return Page("injected", "Given to agents", envelope, more, "injected", fields)


def _reject(visit: Visit, kept: dict[str, str]) -> Page:
    name = next((name for name in ("wrong", "undo") if visit.field(name)), "")
    if not name:
        raise BadInput("the form names no text", "load /injected again, and send it from there")
    change = ledger.wrong if name == "wrong" else ledger.withdraw
    row = change(visit.home, visit.field(name))
    envelope = printable_value(shown_value({"schema": 1, "ok": True, "rejected": entry(row)}))
    then = f"{address('/injected', kept)}#i{row['id']}"
    return Page("injected", "Given to agents", envelope, {}, "injected", {"verb": name}, then=then)
