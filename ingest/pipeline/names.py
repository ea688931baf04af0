"""Names of documents: a pure function of the set of units, whatever the order in which they became known.

A name must be safe on every file system (also those that fold case), must not be mistaken for another source's
(``codex__…``), and must not depend on time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from ingest.pipeline.units import split_key

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_ALLOWED = _LETTERS | frozenset("-_.")
_MAX = 100
_SLUG = 40


def stem(unit: str) -> str:
    """The unit's own name, where no other unit claims it: its id if that is safe, else a slug and 12 hex digits."""
    wanted = _wanted(unit)
    if (
        0 < len(wanted) <= _MAX
        and wanted[0] in _LETTERS
        and wanted[-1] in _LETTERS
        and "__" not in wanted
        and ".." not in wanted
        and _ALLOWED.issuperset(wanted)
    ):
        return wanted
    return _hashed(unit)


def assign(units: Iterable[str]) -> dict[str, str]:
    """Unit → stem of its document, all different even where case is folded."""
    groups: dict[str, list[str]] = {}
    for unit in units:
        groups.setdefault(stem(unit).casefold(), []).append(unit)
    names: dict[str, str] = {}
    for group in groups.values():
        if len(group) == 1:
            names[group[0]] = stem(group[0])
            continue
        # The same agent id under two sessions: the session tells them apart, if its first digits do.
        told = {unit: _below_parent(unit) for unit in group}
        folded = [name.casefold() for name in told.values()]
        for unit, name in told.items():
            names[unit] = name if name and folded.count(name.casefold()) == 1 else _hashed(unit)
    return names


def _wanted(unit: str) -> str:
    session, agent = split_key(unit)
    return f"agent-{agent}" if agent else session


def _below_parent(unit: str) -> str:
    parent, agent = split_key(unit)
    head = parent[:8]
    return f"{stem(unit)}__{head}" if agent and len(head) == 8 and _LETTERS.issuperset(head) else ""


def _hashed(unit: str) -> str:
    slug = "".join(character if character in _ALLOWED else "-" for character in _wanted(unit)[: 4 * _SLUG])
    slug = "-".join(piece for piece in slug.replace(".", "-").replace("_", "-").split("-") if piece)[:_SLUG].strip("-")
    digest = hashlib.sha256(unit.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{slug or 'session'}-{digest}"
