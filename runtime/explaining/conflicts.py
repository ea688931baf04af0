"""Notes of the inbox that cannot all hold: their user settles which one does, or that both do.

Rules read words, no meaning: each names what it saw, and a wrong one costs a look. That both hold is noted in the newer
entry (``holds_with``), so that deleting the index loses nothing.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import combinations
from typing import TYPE_CHECKING, Any

from runtime.capture import entries
from runtime.distill.words import stem, words
from runtime.validity import SUPERSEDED, statements
from runtime.validity.comparing import relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.home import Home
    from runtime.capture.entries import Stored

_TYPES = ("decision", "rejected", "preference")
# So many stems of the shorter statement must be in the longer one, in parts of all, and so many at least.
_SHARED = 0.75
_LEAST = 2
_MOST = 50
# Entries of a project that are compared, the newest: each with each.
_MOST_CLAIMS = 300
# How a conflict is settled.
NEWER, OLDER, BOTH = "newer", "older", "both"
KEEPS = (NEWER, OLDER, BOTH)


def conflicts(home: Home) -> list[dict[str, Any]]:
    """Return pairs of entries of one project that contradict each other: ``id``, ``rule``, ``reason``, ``sides``.

    Sides are items as ``entries.item`` has them, the newer one first. A pair keeps its ``id``.
    """
    standing: dict[str, list[_Claim]] = {}
    for stored in entries.entries(home):
        if stored.type in _TYPES and not stored.field("superseded_by"):
            standing.setdefault(stored.field("project"), []).append(_Claim(stored))
    found: list[dict[str, Any]] = []
    for project in sorted(standing):
        for newer, older in combinations(standing[project][:_MOST_CLAIMS], 2):
            seen = next(_contradictions(newer, older), None)
            if seen is None or _both_hold(newer.stored, older.stored):
                continue
            sides = [entries.item(each.stored) | {"why": each.stored.meta.get("why")} for each in (newer, older)]
            identity = _identity(newer.stored, older.stored)
            found.append(
                {"id": identity, "rule": seen[0], "reason": seen[1], "project": project or None, "sides": sides}
            )
            if len(found) >= _MOST:
                return found
    return found


def settle(home: Home, holds: str, yields: str) -> str:
    """Let the entry ``holds`` stand in place of ``yields``; return a warning, "" if all went well.

    Raises as ``entries.find``; BadInput if one of them has been superseded already.
    """
    from core.errors import BadInput

    kept, gone = entries.find(home, holds), entries.find(home, yields)
    for each in (kept, gone):
        if each.field("superseded_by"):
            raise BadInput(f"{each.entry_id} has been superseded already", "look at the list again")
    if kept.entry_id == gone.entry_id:
        raise BadInput("an entry cannot take its own place", "choose one of the two")
    warning = entries.mark_superseded(home, gone, kept.entry_id)
    if not kept.field("supersedes"):
        warning = entries.mark_supersedes(home, entries.find(home, kept.entry_id), gone.entry_id) or warning
    return warning


def decide(home: Home, identity: str, keep: str) -> dict[str, Any]:
    """Settle the conflict with this ``id``: keep the NEWER entry, the OLDER one, or BOTH; return the envelope.

    Raises BadInput if there is no such conflict.
    """
    from core.errors import BadInput

    found = next((each for each in conflicts(home) if each["id"] == identity.strip().lower()), None)
    if found is None:
        raise BadInput(f"there is no conflict {identity!r}", "brain why --conflicts lists them")
    return carry_out(home, found, keep)


def carry_out(home: Home, found: dict[str, Any], keep: str) -> dict[str, Any]:
    """Settle a conflict that ``conflicts`` returned, as ``decide`` does. Raises as ``settle`` and ``hold_together``."""
    newer, older = (side["entry_id"] for side in found["sides"])
    if keep == BOTH:
        warning = hold_together(home, newer, older)
    else:
        warning = settle(home, *((newer, older) if keep == NEWER else (older, newer)))
    envelope: dict[str, Any] = {"schema": 1, "ok": True, "id": found["id"], "kept": keep, "sides": found["sides"]}
    return {**envelope, "warning": warning} if warning else envelope


def hold_together(home: Home, one: str, other: str) -> str:
    """Note that two entries hold both; return a warning, "" if all went well. Raises as ``entries.find``."""
    stored = [entries.find(home, each) for each in (one, other)]
    newer, older = sorted(stored, key=lambda each: each.entry_id, reverse=True)
    meta = {**newer.meta, "holds_with": [*_holding(newer), older.entry_id]}
    return entries.store(home, entries.Stored(newer.path, meta, newer.body), edited=False)


def _both_hold(one: Stored, other: Stored) -> bool:
    return one.entry_id in _holding(other) or other.entry_id in _holding(one)


def _holding(stored: Stored) -> list[str]:
    found = stored.meta.get("holds_with")
    return [str(each) for each in found] if isinstance(found, list) else []


def _identity(newer: Stored, older: Stored) -> str:
    return blake2b(f"{newer.entry_id} {older.entry_id}".encode(), digest_size=3).hexdigest()


class _Claim:
    """A standing entry: its statements, and the stems of its text, its title and the alternatives it turned down."""

    __slots__ = ("alternatives", "said", "statements", "stored", "title")

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self.title = _stems(stored.title)
        self.said = self.title | _stems(entries.statement(stored))
        text = f"{stored.title}\n{entries.statement(stored)}"
        self.statements = statements.read(text, negative=stored.type == "rejected")
        found = stored.meta.get("alternatives")
        named = [str(each) for each in found] if isinstance(found, list) else []
        self.alternatives = [(each, stems) for each in named if (stems := _stems(each))]


def _contradictions(newer: _Claim, older: _Claim) -> Iterator[tuple[str, str]]:
    one, other = newer.stored, older.stored
    if one.field("supersedes") and one.field("supersedes") == other.field("supersedes"):
        yield "fork", "both took the place of the same entry"
    rejections = [one.type, other.type].count("rejected")
    if rejections == 1 and _alike(newer.said, older.said):
        yield "rejected", "one was decided, the other rejected, in the same words"
    for claim, against in ((newer, older), (older, newer)) if not rejections else ():
        for name, stems in claim.alternatives:
            if stems <= against.title:
                yield "alternative", f"“{claim.stored.title}” was chosen instead of “{name}”"
    for earlier in older.statements:
        for later in newer.statements:
            state = relation(earlier, later)
            if state == SUPERSEDED:
                yield "replaced", "the newer one says otherwise, and does not say that it takes the older one's place"
            elif state:
                yield "opposite", "one says yes and the other no, in the same words"


def _alike(one: set[str], other: set[str]) -> bool:
    least = min(len(one), len(other))
    return least >= _LEAST and len(one & other) >= _SHARED * least


def _stems(text: str) -> set[str]:
    return {stem(word) for word in words(text)}
