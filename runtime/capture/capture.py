"""Capture with judgment: what goes into the inbox, what is refused and why, and one entry taking another's place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import apsw

from core.errors import BadInput, BrainError, Refused
from runtime.capture import entries, gate, inbox

if TYPE_CHECKING:
    from typing import Any

    from core.home import Home

_CANDIDATES = 5


def capture(home: Home, text: str, *, force: bool = False, supersedes: str = "", **fields: Any) -> inbox.Entry:
    """Note ``text`` (``fields`` as ``inbox.write`` has them), unless the gate refuses it.

    ``supersedes`` names the entry that this one replaces: its type and project are taken over where none is given,
    and it says from then on what superseded it. ``force`` overrides every rule but that against secrets.
    Raises Refused, and what ``inbox.write`` and ``entries.find`` raise.
    """
    _heal(home)
    older = entries.find(home, supersedes) if supersedes else None
    if older is not None:
        _may_be_superseded(home, older)
        fields["type"] = fields.get("type") or older.type
        fields["project"] = fields.get("project") or older.field("project")
    fields["type"] = fields.get("type") or "note"
    said = [text, *(str(fields.get(name) or "") for name in ("title", "why", "project"))]
    refuse_secrets("\n".join([*said, *fields.get("alternatives", ()), *fields.get("tags", ())]))
    if not force:
        # A decision has grounds; a log has none.
        refusal = None if fields.get("why") else gate.judge(text)
        if refusal is not None:
            raise Refused(refusal.message, refusal.fix)
        twin = _twin(home, text, str(fields.get("project") or ""), older)
        if twin is not None:
            raise Refused(
                f"refused: {twin.entry_id} says the same: {twin.title}",
                f"leave it, or: brain inbox supersede {twin.entry_id} …; or --force to keep both",
                quotes=True,
            )
    entry = inbox.write(home, text, supersedes=older.entry_id if older else "", **fields)
    if older is not None:
        warning = entries.mark_superseded(home, older, entry.entry_id)
        entry = replace(entry, warning="; ".join(filter(None, (entry.warning, warning))))
    return entry


def _heal(home: Home) -> None:
    """Index the note of a command that was killed: what it said must not be noted twice."""
    from core.config import load
    from runtime.capture import documents

    try:
        documents.heal(home, load(home))
    except BrainError:
        return  # writing the note says what is wrong with the configuration


def refuse_secrets(text: str) -> None:
    """Raise Refused where ``text`` holds what must never be in a memory, whatever its user says."""
    from core.redaction import redact

    _, kinds = redact(text)
    if kinds:
        raise Refused(
            f"refused: it holds what looks like a secret ({', '.join(sorted(kinds))})",
            "take it out; say where it is kept instead",
        )


def _may_be_superseded(home: Home, older: entries.Stored) -> None:
    holds = entries.successor(home, older)
    if holds is not None and holds.entry_id != older.entry_id:
        raise BadInput(
            f"{older.entry_id} has been superseded already; what holds is {holds.entry_id}: {holds.title}",
            f"brain inbox supersede {holds.entry_id} …",
            quotes=True,
        )


def _twin(home: Home, text: str, project: str, older: entries.Stored | None) -> entries.Stored | None:
    """Return an entry of the same project with the same statement; None if there is none, or no index."""
    from qmd.index.catalogue import Filters
    from qmd.index.store import open_index
    from qmd.search.search import Searcher

    try:
        from core.config import load

        config = load(home)
        connection = open_index(home.index)
    except BrainError:
        return None
    try:
        names = tuple(name for name, folder in config.collections.items() if folder.path == home.inbox)
        hits = Searcher(connection).search(text[:2000], limit=_CANDIDATES, filters=Filters(names)) if names else []
    except apsw.Error:
        return None  # a duplicate more is no harm; a note that is not kept is
    finally:
        connection.close()
    for hit in hits:
        try:
            found = entries.find(home, hit.path)
        except BrainError:
            continue
        if found.field("superseded_by") or (older is not None and found.entry_id == older.entry_id):
            continue
        if found.field("project") == project and gate.similar(text, entries.statement(found)):
            return found
    return None
