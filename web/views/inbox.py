"""`/inbox`: note something with the gate's verdict, replace an entry, remove one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, Refused
from core.redaction import shown_value
from core.text import printable_value
from runtime.capture import entries
from runtime.capture.capture import capture
from runtime.capture.inbox import TYPES
from web.visit import Page

if TYPE_CHECKING:
    from web.visit import Visit

_LISTED = 50
_FIELDS = ("text", "type", "title", "project", "tags", "why", "alternatives", "supersedes", "force")


def view(visit: Visit) -> Page:
    """List the entries below the form; take the form's note, or remove the entry that it names."""
    if visit.form is None:
        wanted = visit.text("supersedes")
        older = entries.find(visit.home, wanted) if wanted else None
        draft = {"supersedes": older.entry_id if older else "", "type": older.type if older else "note"}
        return _page(visit, draft, older.title if older else "")
    if visit.field("remove"):
        return _remove(visit, visit.field("remove"))
    return _note(visit)


def _note(visit: Visit) -> Page:
    draft = {name: visit.field(name).replace("\r\n", "\n") for name in _FIELDS}
    try:
        entry = capture(
            visit.home,
            draft["text"],
            force=bool(draft["force"]),
            supersedes=draft["supersedes"],
            type="" if draft["supersedes"] else draft["type"],
            title=draft["title"],
            project=draft["project"].strip(),
            tags=draft["tags"].split(","),
            why=draft["why"],
            alternatives=draft["alternatives"].split(";"),
        )
    except (BadInput, Refused) as verdict:
        page = _page(visit, draft, "", verdict)
        page.envelope = printable_value(shown_value(verdict.envelope())) | {"entries": page.envelope["entries"]}
        page.status = 422
        return page
    envelope = printable_value(shown_value(entry.envelope()))
    fields = {"entry_id": entry.entry_id, "type": entry.type, "indexed": entry.indexed}
    return Page("inbox", "Inbox", envelope, {}, "inbox_write", fields, then=f"/inbox?kept={entry.entry_id}")


def _remove(visit: Visit, reference: str) -> Page:
    stored = entries.find(visit.home, reference)
    warning = entries.remove(visit.home, stored)
    envelope: dict[str, Any] = {"schema": 1, "ok": True, "entry_id": stored.entry_id, "removed": True}
    if warning:
        envelope["warning"] = printable_value(warning)
    return Page("inbox", "Inbox", envelope, {}, "inbox", {"verb": "rm"}, then="/inbox?removed=1")


def _page(visit: Visit, draft: dict[str, str], replaced: str, verdict: BadInput | Refused | None = None) -> Page:
    listed = [entries.item(stored) for stored in islice(entries.entries(visit.home), _LISTED)]
    items = printable_value(shown_value(listed))
    envelope = {"schema": 1, "ok": True, **({} if items else {"error": "no_results"}), "entries": items}
    more = {
        "draft": {**dict.fromkeys(_FIELDS, ""), **draft},
        "types": TYPES,
        "verdict": verdict,
        "replaced": replaced,
        "fresh": visit.issue,
        "kept": visit.text("kept"),
        "removed": visit.text("removed"),
        "remove": visit.text("remove"),
    }
    return Page("inbox", "Inbox", envelope, more, "inbox", {"verb": "list"})
