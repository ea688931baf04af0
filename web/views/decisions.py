"""`/why`: what was decided or rejected, and what took its place."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from core.redaction import shown_value
from core.text import printable_value
from runtime.capture import entries
from runtime.explaining.why import TYPES, why
from web.visit import Page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from web.visit import Visit

_MOST = 200
_LIMIT = 20


def view(visit: Visit) -> Page:
    """Answer ``topic`` as `brain why` does; without one, list the inbox's decisions and rejections by project."""
    topic, project = visit.text("topic"), visit.text("project")
    more: dict[str, Any] = {"topic": topic, "project": project, "groups": []}
    if topic:
        envelope = printable_value(why(visit.home, visit.config, topic, project=project, limit=_LIMIT))
        count = len(envelope["decisions"]) + len(envelope["evidence"])
        return Page("why", f"Why: {topic}", envelope, more, "why", {"query_len": len(topic), "n_hits": count})
    chosen = (stored for stored in entries.entries(visit.home) if stored.type in TYPES)
    items = printable_value(
        shown_value([{**entries.item(stored), "why": stored.meta.get("why")} for stored in islice(chosen, _MOST)])
    )
    envelope = {"schema": 1, "ok": True, **({} if items else {"error": "no_results"}), "entries": items}
    more["groups"] = groups(items)
    return Page("why", "Why", envelope, more, "inbox", {"verb": "list"})


def groups(items: Iterable[dict[str, Any]]) -> list[tuple[str, list[list[dict[str, Any]]]]]:
    """Return (project, chains): a chain begins with the entry that holds, then what it replaced, the latest first."""
    known = {item["entry_id"]: item for item in items}
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for item in known.values():
        if item["superseded_by"] in known:
            continue  # a part of its successor's chain
        chain, seen = [item], {item["entry_id"]}
        while (older := known.get(chain[-1]["supersedes"])) is not None and older["entry_id"] not in seen:
            chain.append(older)
            seen.add(older["entry_id"])
        found.setdefault(str(item["project"] or ""), []).append(chain)
    return sorted(found.items(), key=lambda group: (not group[0], group[0]))
