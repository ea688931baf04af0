"""Facts within a budget: each kind has a share, and gives what it does not need to those after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.asking import agents
from runtime.handover.state import KINDS, Fact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Kind → the part of the budget that it gets before others take what is left.
SHARES = {
    "goal": 0.12,
    "asked": 0.15,
    "decision": 0.15,
    "rejected": 0.1,
    "error": 0.1,
    "next": 0.13,
    "file": 0.1,
    "command": 0.08,
    "fixed": 0.05,
    "summary": 0.1,
    "said": 0.12,
    "point": 0.08,
    "ran": 0.02,
}
# A fact of several lines gives way to its beginning and end, down to this many characters.
_LEAST = 200
# Nothing is of use without the goal: so many characters of it come before everything else.
_FIRST, _LEAST_GOAL = "goal", 400
# Kinds whose latest facts hold: these come first if not all fit.
_LATEST_FIRST = ("asked", "decision", "rejected", "error", "fixed", "said", "point")


def written(fact: Fact, uri: str, states: Mapping[str, str], most: int = 0) -> str:
    """Return a fact as an agent reads it, made inert, with its citation; of several lines, at most ``most`` characters.

    Without a ``uri``, the citation is the line alone. ``states`` has what became of files, by the fact's text.
    """
    cited = f"({uri}:{fact.line})" if uri else f"(line {fact.line})"
    state = f" [{agents.line(states[fact.text], 160)}]" if fact.text in states else ""
    speaker = "user: " if fact.by_user and fact.kind not in ("goal", "asked", "file", "command", "ran", "said") else ""
    if not fact.whole:
        return f"- {speaker}{agents.code(fact.text, 700)}{state} {cited}"
    return f"- {cited}\n{agents.quote_code(shortened(fact.text, most))}"


def shortened(text: str, most: int) -> str:
    """Return the beginning and the end of a text of more than ``most`` characters (0: any), with a note between."""
    if not most or len(text) <= most:
        return text
    head, tail = text[: most * 2 // 3].rstrip(), text[-most // 3 :].lstrip()
    return f"{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}"


def choose(facts: Sequence[Fact], uri: str, states: Mapping[str, str], room: int) -> list[tuple[str, list[str]]]:
    """Return (heading, facts as text) by kind, in at most ``room`` characters in all."""
    whole = {kind: [(at, fact) for at, fact in enumerate(facts) if fact.kind == kind] for kind in KINDS}
    needs = {
        kind: _heading(kind) + sum(len(written(fact, uri, states)) + 1 for _, fact in found)
        for kind, found in whole.items()
        if found
    }
    chosen = []
    allotted = allot(needs, SHARES, room)
    least = min(needs.get(_FIRST, 0), _LEAST_GOAL)
    if allotted.get(_FIRST, least) < least:
        others = {kind: need for kind, need in needs.items() if kind != _FIRST}
        allotted = {_FIRST: least, **allot(others, SHARES, max(0, room - least))}
    for kind, allowed in allotted.items():
        left = allowed - _heading(kind)
        taken: dict[int, str] = {}
        for at, fact in whole[kind][::-1] if kind in _LATEST_FIRST else whole[kind]:
            text = written(fact, uri, states)
            if len(text) >= left and fact.whole and left >= _LEAST:
                text = written(fact, uri, states, most=int(left * 0.8) - 80)
            if len(text) < left:
                taken[at] = text
                left -= len(text) + 1
        if taken:
            chosen.append((KINDS[kind], [taken[at] for at in sorted(taken)]))
    return chosen


def _heading(kind: str) -> int:
    return len(KINDS[kind]) + 6


def allot(needs: Mapping[str, int], shares: Mapping[str, float], room: int) -> dict[str, int]:
    """Return how many characters each kind gets: what it needs, or its share of what the others leave."""
    allowed: dict[str, int] = {}
    left = room
    while len(allowed) < len(needs):
        open_kinds = [kind for kind in needs if kind not in allowed]
        total = sum(shares[kind] for kind in open_kinds)
        fair = {kind: int(left * shares[kind] / total) for kind in open_kinds}
        content = [kind for kind in open_kinds if needs[kind] <= fair[kind]]
        for kind in content or open_kinds:
            allowed[kind] = needs[kind] if content else fair[kind]
        left = room - sum(allowed.values())
    return {kind: allowed[kind] for kind in needs}
