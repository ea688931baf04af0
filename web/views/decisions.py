"""`/why`: what was decided or rejected, what took its place, and what contradicts what."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import apsw

from core.errors import BrainError
from core.redaction import shown_value
from core.text import printable, printable_value
from runtime.capture import demo, entries
from runtime.explaining.activity import is_of
from runtime.explaining.conflicts import answer
from runtime.explaining.decided import decided
from runtime.explaining.why import TYPES, why
from web import drawing
from web.visit import Page, known

if TYPE_CHECKING:
    from collections.abc import Iterable

    from web.visit import Visit

_MOST = 200
_LIMIT = 20
# Topics of the demo set that sessions speak of.
_DEMO_TRIES = ("redis", "token refresh", "permission hook")


def view(visit: Visit) -> Page:
    """Answer ``topic`` as `brain why` does; without one, list the inbox's by project, then those of sessions."""
    topic, project = visit.text("topic"), visit.text("project")
    more: dict[str, Any] = {"topic": topic, "project": project, "groups": [], "fresh": visit.issue}
    if topic:
        envelope = printable_value(why(visit.home, visit.config, topic, project=project, limit=_LIMIT))
        count = len(envelope["decisions"]) + len(envelope["evidence"])
        more["titles"] = {each["entry_id"]: each["title"] for each in envelope["decisions"] if each.get("entry_id")}
        return Page("why", f"Why: {topic}", envelope, more, "why", {"query_len": len(topic), "n_hits": count})
    chosen = (
        stored
        for stored in entries.entries(visit.home)
        if stored.type in TYPES and (not project or is_of(stored.field("project"), project))
    )
    items = printable_value(
        shown_value([{**entries.item(stored), "why": stored.meta.get("why")} for stored in islice(chosen, _MOST)])
    )
    contradictions = answer(visit.home, visit.config, project)
    envelope = {
        "schema": 1,
        "ok": True,
        **({} if items else {"error": "no_results"}),
        "entries": items,
        "conflicts": printable_value(shown_value(contradictions["conflicts"])),
        **({"freshness": contradictions["freshness"]} if "freshness" in contradictions else {}),
    }
    try:
        envelope["statements"] = printable_value(decided(visit.home, visit.config, project))
    except (BrainError, apsw.Error) as error:
        # Entries of the inbox are files: without a readable index, only what sessions hold is missing.
        envelope["statements"] = []
        missing = printable(known(error, visit.home).message)
        envelope["warning"] = f"decisions of sessions are left out: {missing}"
    if envelope["statements"]:
        envelope.pop("error", None)
    more["groups"] = [(name, chains, drawing.succession(chains)) for name, chains in groups(items)]
    more["settled"] = visit.text("settled")
    more["tries"] = _DEMO_TRIES if demo.is_there(visit.home) else ()
    return Page("why", "Why", envelope, more, "inbox", {"verb": "list"})


def groups(items: Iterable[dict[str, Any]]) -> list[tuple[str, list[list[dict[str, Any]]]]]:
    """Return (project, chains): a chain begins with the entry that holds, then what it replaced, the latest first."""
    known = {item["entry_id"]: item for item in items}
    before: dict[str, list[dict[str, Any]]] = {}
    for item in known.values():
        if item["superseded_by"] in known:
            before.setdefault(item["superseded_by"], []).append(item)
    found: dict[str, list[list[dict[str, Any]]]] = {}
    replaced = {item["entry_id"] for items in before.values() for item in items}
    shown: set[str] = set()
    # A chain that ends in itself has no head: its entries come last, each alone.
    for item in sorted(known.values(), key=lambda each: each["entry_id"] in replaced):
        if item["entry_id"] in shown:
            continue  # a part of its successor's chain
        chain, seen = [item], {item["entry_id"]}
        for each in chain:
            older = [other for other in before.get(each["entry_id"], []) if other["entry_id"] not in seen]
            seen.update(other["entry_id"] for other in older)
            chain += older
        shown |= seen
        chain[1:] = sorted(chain[1:], key=lambda each: str(each["date"]), reverse=True)
        found.setdefault(str(item["project"] or ""), []).append(chain)
    return sorted(found.items(), key=lambda group: (not group[0], group[0]))
