"""`/inbox`: note something with the gate's verdict; edit an entry in place, replace it, remove it."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import TYPE_CHECKING, Any

from core.errors import BadInput, Refused
from core.files import open_regular
from core.redaction import shown, shown_value
from core.text import printable_value
from runtime.capture import entries
from runtime.capture.capture import capture, refuse_secrets
from runtime.capture.inbox import TYPES
from runtime.explaining.conflicts import KEEPS, decide
from web.visit import Page

if TYPE_CHECKING:
    from web.visit import Visit

_LISTED = 50
_FIELDS = ("text", "type", "title", "project", "tags", "why", "alternatives", "supersedes", "force")


def view(visit: Visit) -> Page:
    """List the entries below the form; take the form's note, or change the entry that it names."""
    if visit.form is None:
        wanted = visit.text("supersedes")
        older = entries.find(visit.home, wanted) if wanted else None
        draft = {"supersedes": older.entry_id if older else "", "type": older.type if older else "note"}
        edited = entries.find(visit.home, visit.text("edit")) if visit.text("edit") else None
        removed = entries.find(visit.home, visit.text("remove")) if visit.text("remove") else None
        editing = None
        if edited is not None:
            whole = _whole(edited)
            if shown(whole) != whole:
                raise Refused("the entry holds what looks like a secret", f"brain inbox edit {edited.entry_id}")
            editing = (edited.entry_id, whole, _digest(whole))
        return _page(visit, draft, older.title if older else "", editing=editing, removing=removed)
    if visit.field("remove"):
        return _remove(visit, visit.field("remove"))
    if visit.field("conflict"):
        return _settle(visit)
    return _edit(visit, visit.field("edit")) if visit.field("edit") else _note(visit)


def again(visit: Visit, late: Refused) -> Page | None:
    """Return the form with what was written in it, as it was sent too late; None if it had no text."""
    if visit.field("whole"):
        editing = (visit.field("edit"), visit.field("whole").replace("\r\n", "\n"), visit.field("before"))
        page = _page(visit, {}, "", late, editing=editing)
    elif visit.field("text"):
        page = _page(visit, _draft(visit), "", late)
    else:
        return None
    page.envelope = printable_value(late.envelope()) | {"entries": page.envelope["entries"]}
    page.more["late"] = True
    page.status = 403
    return page


def _draft(visit: Visit) -> dict[str, str]:
    return {name: visit.field(name).replace("\r\n", "\n") for name in _FIELDS}


def _settle(visit: Visit) -> Page:
    """Settle a conflict of `/why`, as the field ``keep`` says: newer, older or both."""
    keep = visit.field("keep")
    if keep not in KEEPS:
        raise BadInput("the form does not say which side holds", "settle it on the page /why")
    envelope = printable_value(shown_value(decide(visit.home, visit.config, visit.field("conflict"), keep)))
    return Page("inbox", "Inbox", envelope, {}, "inbox", {"verb": "settle"}, then="/why?settled=1")


def _edit(visit: Visit, reference: str) -> Page:
    """Write an entry as its user changed it: frontmatter and text. Its older text must be the one that was shown."""
    stored = entries.find(visit.home, reference)
    text = visit.field("whole").replace("\r\n", "\n")
    before = _whole(stored)
    try:
        if visit.field("before") != _digest(before):
            raise Refused(
                "the entry was changed elsewhere meanwhile: nothing was written", "look at it, and edit it again"
            )
        edited = entries.replace(stored, text)
        refuse_secrets(text)
    except (BadInput, Refused) as verdict:
        return _refused(_page(visit, {}, "", verdict, editing=(stored.entry_id, text, visit.field("before"))), verdict)
    warning = entries.store(visit.home, edited) if text != before else ""
    envelope: dict[str, Any] = {"schema": 1, "ok": True, "entry_id": stored.entry_id, "changed": text != before}
    if warning:
        envelope["warning"] = printable_value(warning)
    return Page("inbox", "Inbox", envelope, {}, "inbox", {"verb": "edit"}, then=f"/inbox?kept={stored.entry_id}")


def _whole(stored: entries.Stored) -> str:
    """Return an entry as it lies on disk. Raises OSError."""
    with open_regular(stored.path) as stream:
        return stream.read().decode("utf-8", "replace")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _refused(page: Page, verdict: BadInput | Refused) -> Page:
    page.envelope = printable_value(shown_value(verdict.envelope())) | {"entries": page.envelope["entries"]}
    page.status = 422
    return page


def _note(visit: Visit) -> Page:
    draft = _draft(visit)
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
        return _refused(_page(visit, draft, "", verdict), verdict)
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


def _page(
    visit: Visit,
    draft: dict[str, str],
    replaced: str,
    verdict: BadInput | Refused | None = None,
    editing: tuple[str, str, str] | None = None,
    removing: entries.Stored | None = None,
) -> Page:
    """Return the list below its forms.

    ``editing`` is (id, text, digest of the text on disk) of an entry; ``removing`` is one to remove if its user agrees.
    """
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
        "removing": printable_value(shown_value(entries.item(removing))) if removing else None,
        "editing": editing,
    }
    return Page("inbox", "Inbox", envelope, more, "inbox", {"verb": "list"})
