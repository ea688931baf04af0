"""Units of recall, sessions and their agents: their keys, and the names of their documents.

A key is the session's id, for an agent ``<session>\t<agent>``; neither id holds a tab. A name is a pure function of
the set of units, whatever the order in which they became known. It must be safe on every file system (also those that
fold case), must not look like the name of another source's document (``codex__…``), and must not depend on time.
"""

from __future__ import annotations

import os

from core.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_ALLOWED = _LETTERS | frozenset("-_.")
_MAX = 100
_SLUG = 40


def path_name(name: str) -> str:
    """Return the name of a file or folder as text without secrets: units and documents are called by such names."""
    from core.redaction import clean

    return clean(one_line(os.fsencode(name).decode("utf-8", "replace"), 4000), {})


def unit_key(session: str, agent: str = "") -> str:
    """Return the key of a session, or of an agent below the session that it worked for."""
    return f"{session}\t{agent}" if agent else session


def split_key(unit: str) -> tuple[str, str]:
    """Return (session, agent) of a key; agent is "" for a session."""
    session, _, agent = unit.partition("\t")
    return session, agent


def is_agent(unit: str) -> bool:
    """Return True if a unit is a subagent's transcript."""
    return "\t" in unit


def stem(unit: str) -> str:
    """Return the unit's own name, if no other unit claims it: its id if that is safe, else a slug and 12 hex digits."""
    wanted = _wanted(unit)
    is_safe = len(wanted) <= _MAX and _ALLOWED.issuperset(wanted) and "__" not in wanted and ".." not in wanted
    return wanted if is_safe and _LETTERS.issuperset((wanted[:1], wanted[-1:])) else _hashed(unit)


def assign(units: Iterable[str]) -> dict[str, str]:
    """Return unit → stem of its document, all different even if case is folded."""
    groups: dict[str, list[str]] = {}
    for unit in units:
        groups.setdefault(stem(unit).casefold(), []).append(unit)
    names: dict[str, str] = {}
    for group in groups.values():
        if len(group) == 1:
            names[group[0]] = stem(group[0])
            continue
        # Two sessions with the same agent id: the first digits of the session distinguish them, if they differ.
        below = {unit: _below_parent(unit) for unit in group}
        folded = [name.casefold() for name in below.values()]
        for unit, name in below.items():
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
    import hashlib  # a run that finds nothing new does without it

    slug = "".join(character if character in _ALLOWED else "-" for character in _wanted(unit)[: 4 * _SLUG])
    slug = "-".join(piece for piece in slug.replace(".", "-").replace("_", "-").split("-") if piece)[:_SLUG].strip("-")
    digest = hashlib.sha256(unit.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{slug or 'session'}-{digest}"
