"""`/forget`: choose, see what will be touched, confirm by typing, and read the proof."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from core.counting import counted
from core.errors import BadInput, LockContention, Refused
from core.files import FileLock
from core.redaction import shown_value
from core.text import printable_value
from runtime.asking.documents import Selection
from runtime.asking.envelope import uri
from runtime.dates.day_option import parse_day
from runtime.forgetting import forget, verify_erasure
from runtime.forgetting.report import report
from web.visit import Page

if TYPE_CHECKING:
    from runtime.forgetting.forget import Plan
    from web.visit import Visit

_CHOICE = ("hit", "project", "since", "until", "match")
_LEAST_MATCH = 3
_WAIT_S = 3.0
# How long a preview reads files: a gigabyte takes ten seconds.
_LOOK_S = 3.0


class _Unconfirmed(Refused):
    """The form does not confirm what would go now."""


def view(visit: Visit) -> Page:
    """Show what the choice would remove; remove it if the form confirms just that.

    A text is chosen by a form alone: an address would be kept in the browser's history, where it is read again.
    """
    if visit.form is None and visit.text("match"):
        raise BadInput("a text to forget is sent by the form, so that no history keeps it", "/forget")
    chosen = {name: (visit.text(name) if visit.form is None else visit.field(name).strip()) for name in _CHOICE}
    if "confirm" in (visit.form or {}):
        try:
            return _carry_out(visit, chosen)
        except LockContention as error:
            return _again(_preview(visit, chosen), error, visit.field("confirm"))
        except _Unconfirmed as error:
            return _again(_preview(visit, chosen), error)
    if not any(chosen.values()):
        envelope: dict[str, Any] = {"schema": 1, "ok": True, "documents": []}
        more = {"chosen": chosen, "asked": False, "done": False, "empty": visit.form is not None, "fresh": visit.issue}
        return Page("forget", "Forget", envelope, more)
    return _preview(visit, chosen)


def _preview(visit: Visit, chosen: dict[str, str]) -> Page:
    found = forget.plan(visit.home, visit.config, _selection(visit, chosen), chosen["match"])
    # The proof looks at the same bytes afterwards, and must find nothing there.
    told, own, unread = verify_erasure.preview(visit.home, found.probes, _LOOK_S)
    files = [os.path.relpath(row.file, visit.home.root) for row in found.rows if row.file]
    places = sorted({*files, *told, *([os.path.basename(visit.home.index)] if files else [])})
    envelope = printable_value(
        shown_value({**report(found, None, dry_run=True, own=own), "places": places, "unread": unread})
    )
    more = {
        "chosen": chosen,
        "asked": True,
        "done": False,
        "phrase": phrase(found),
        "digest": _digest(found),
        "fresh": visit.issue,
        "marks": len(found.marks),
        "originals": printable_value(shown_value(found.originals)),
    }
    return Page("forget", "Forget", envelope, more, "forget", {"n_documents": len(found.rows), "dry_run": True})


def _again(page: Page, error: LockContention | _Unconfirmed, typed: str = "") -> Page:
    """Return the preview once more: nothing was begun, as another process writes or the form does not confirm it."""
    page.envelope = page.envelope | printable_value(shown_value(error.envelope()))
    is_busy = isinstance(error, LockContention)
    page.more |= {"busy": is_busy, "refused": not is_busy, "typed": typed}
    page.status = 503 if is_busy else 403
    return page


def _carry_out(visit: Visit, chosen: dict[str, str]) -> Page:
    """Forget what was shown, as `brain forget --yes` does. Raises Refused if that is not what would go now."""
    from ops import forgetting
    from runtime.capture.indexing import index

    # An index run may take minutes: better to say so than to let a browser wait for it.
    with FileLock(os.path.join(visit.home.state, "index.lock"), _WAIT_S):
        pass
    elsewhere = forgetting.elsewhere(visit.home, visit.config, visit.environ, anywhere=bool(chosen["match"]))
    selection = _selection(visit, chosen)
    _confirm(visit, forget.plan(visit.home, visit.config, selection, chosen["match"]))
    late: list[str] = []
    if forget.pending(visit.home):
        # An earlier run was cut short; its user has agreed already.
        probes = verify_erasure.spellings(chosen["match"]) if chosen["match"] else []
        late, _ = forget.finish_elsewhere(visit.home, elsewhere, probes)
    # A document that was copied into its folder by hand must be found, too.
    index(visit.home, visit.config, markdown_only=True, trust_stat=True, wait_s=_WAIT_S)
    found = forget.plan(visit.home, visit.config, selection, chosen["match"])
    _confirm(visit, found)
    outcome = forget.carry_out(visit.home, found, elsewhere, wait_s=_WAIT_S)
    outcome.left = late + outcome.left
    envelope = printable_value(shown_value(report(found, outcome, dry_run=False)))
    more = {"chosen": chosen, "asked": True, "done": True, "phrase": "", "digest": "", "marks": len(found.marks)}
    fields = {"n_documents": len(found.rows), "dry_run": False}
    return Page("forget", "Forgotten", envelope, more, "forget", fields)


def _confirm(visit: Visit, found: Plan) -> None:
    if not found.rows and not found.marks:
        raise BadInput("nothing was selected", "choose again")
    if visit.field("digest") != _digest(found):
        raise _Unconfirmed("what would go is no longer what was shown: nothing was forgotten", "look at it again")
    if " ".join(visit.field("confirm").split()).lower() != phrase(found):
        raise _Unconfirmed("the words do not match: nothing was forgotten", f"type: {phrase(found)}")


def phrase(found: Plan) -> str:
    """Return the words that confirm a plan."""
    return f"forget {counted(len(found.rows), 'document')}"


def _digest(found: Plan) -> str:
    names = sorted(uri(row.collection, row.path) for row in found.rows)
    marks = sorted("\t".join(mark) for mark in found.marks)
    text = "\n".join([*names, "", *marks, "", *sorted(found.outside)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _selection(visit: Visit, chosen: dict[str, str]) -> Selection:
    filters = any(chosen[name] for name in ("project", "since", "until"))
    if sum((bool(chosen["hit"]), filters, bool(chosen["match"]))) > 1:
        raise BadInput("a document, a text, and a project with days cannot be combined", "choose one of them")
    if chosen["match"] and len(chosen["match"]) < _LEAST_MATCH:
        raise BadInput("the text needs at least three characters", "write more of it")
    if not any(chosen.values()):
        raise BadInput("nothing was chosen", "name a document, a text or a project")
    return Selection(
        references=[chosen["hit"]] if chosen["hit"] else (),
        within=os.path.expanduser(chosen["project"]) if chosen["project"] else "",
        since=parse_day(chosen["since"], visit.now, end=False) if chosen["since"] else None,
        until=parse_day(chosen["until"], visit.now, end=True) if chosen["until"] else None,
    )
