"""The table of all rules, and what is generated from it: the automaton, and which rules may find something in a text.

After a change of a prefilter, ``python -m core.redaction.screen`` writes the automaton's patterns again.
"""

from __future__ import annotations

from functools import cache

from core.redaction import assignments, commands, cues, nested, prose, settings, shapes, spoken, structures
from core.redaction.automaton import ANY_COLOUR, ESCAPE, ESCAPED_SIGN, FILE, GOES_ON, SIGN, kinds, suspects
from core.redaction.engine import which
from core.redaction.keys import KEYS
from core.redaction.names import ESCAPED, any_of, by_kind, holds_foreign
from core.redaction.private import PRIVATE
from core.redaction.rule import (
    OVER,
    PIECE,
    Rule,
    alternatives,
    literal,
    prefilter_of,
    without_rows,
)
from core.redaction.tokens import TOKENS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from core.redaction.rule import Row

LINES: tuple[Row, ...] = (*shapes.ROWS, *prose.ROWS, *commands.ROWS, *assignments.ROWS, *settings.ROWS)
SPANS: tuple[Row, ...] = (*prose.SPANS, *assignments.SPANS, *settings.SPANS)
# The rules in the order in which they are tried: those with finds that go on over lines' ends, and those of lines.
WHOLES: tuple[Rule, ...] = (
    PRIVATE,
    KEYS,
    Rule("span", prefilter_of(SPANS), clean=lambda text, counts: without_rows(SPANS, text, counts)),
    TOKENS,
    *structures.PAIRS,
    *nested.RULES,
    commands.PRINTED,
    *structures.TABLES,
)
OF_LINES: tuple[Rule, ...] = (
    *structures.PLACES,
    *assignments.RULES,
    *commands.PROGRAMS,
    *prose.RULES,
    commands.STORED,
    *spoken.RULES,
    Rule("row", prefilter_of(LINES), clean=lambda text, counts: without_rows(LINES, text, counts)),
)
RULES = (*WHOLES, *OF_LINES)
# Too many for a number each in the automaton: each is known by a literal as well.
_PROGRAMS = {rule.name: rule for rule in commands.PROGRAMS if rule.name.startswith("program ")}
# The names of the rules of which a text in pieces can have finds in several of them. A token has no end of line in it.
OVER_LINES = tuple(rule.name for rule in WHOLES if rule is not TOKENS)
# Bytes that a thread is worth.
_MUCH = 1 << 20


def ahead(data: bytes, places: Sequence[slice]) -> Callable[[], tuple[list[bool], set[str]]]:
    """Have much ``data`` looked through on a thread while the caller goes on: RE2 works without Python's lock.

    Args:
        data: UTF-8 text.
        places: ``data`` in pieces of whole lines.

    Returns:
        A function that waits for the thread. It returns two things: a list with True for each place that may hold
        something to redact, and the names of those rules in ``OVER_LINES`` that may find something.
    """

    def look() -> tuple[list[bool], set[str]]:
        if not suspects(data):
            return [False] * len(places), set()
        return [suspects(data[place]) for place in places], suspected(data, OVER_LINES)

    if len(data) < _MUCH:
        return look
    import threading

    found: list[tuple[list[bool], set[str]]] = []
    thread = threading.Thread(target=lambda: found.append(look()), name="redaction", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # there is none to be had
        return look

    def waited() -> tuple[list[bool], set[str]]:
        thread.join()
        return found[0] if found else look()

    return waited


def suspected(data: bytes, names: Iterable[str]) -> set[str]:
    """Return the ``names`` of the rules that may find something in ``data``, UTF-8 text."""
    wanted = frozenset(names)
    if len(data) <= PIECE:
        return _suspected(data, wanted)
    # Little of a long text is suspicious: only that is worth a look for each rule.
    found: set[str] = set()
    for start in range(0, len(data), PIECE):
        found |= _suspected(data[start : start + PIECE + OVER], wanted - found)
    return found


def _suspected(data: bytes, names: Collection[str]) -> set[str]:
    found: set[str] = set()
    for kind in kinds(data):  # few automata instead of one for each rule
        for rules in (WHOLES, OF_LINES):
            if any(rule.name in names for rule in rules):
                for groups, match in _by_group(rules, kind):
                    found.update(name for number in match(data) for name in groups[number])
    if "foreign" in names and not data.isascii() and holds_foreign(data):
        found.add("foreign")
    found.intersection_update(names)
    if found.isdisjoint(_PROGRAMS):
        return found
    folded = data.lower()
    return {name for name in found if name not in _PROGRAMS or any(map(folded.__contains__, _literals(name)))}


# Rules of one automaton: its states are sets of places in its patterns, and with more rules most of them would be new.
_TOGETHER = 5


@cache
def _by_group(rules: tuple[Rule, ...], kind: str) -> list[tuple[list[list[str]], Callable[[bytes], list[int]]]]:
    """Return automata of patterns of a kind, each with names of rules by their number in it.

    Single programs have one number.
    """
    single = [[rule] for rule in rules if rule.name not in _PROGRAMS]
    programs = [rule for rule in rules if rule.name in _PROGRAMS]
    groups = [
        ([rule.name for rule in group], any_of(patterns))
        for group in (*single, programs)
        if (patterns := by_kind(rule.prefilter for rule in group)[kind])
    ]
    return [
        ([names for names, _ in some], which(*(pattern for _, pattern in some)))
        for some in (groups[start : start + _TOGETHER] for start in range(0, len(groups), _TOGETHER))
    ]


@cache
def _literals(name: str) -> tuple[bytes, ...]:
    """Return texts in small letters of which each find of a program's rule has one."""
    prefilter = _PROGRAMS[name].prefilter
    return tuple(literal(each).encode() for pattern in prefilter.anywhere for each in alternatives(pattern))


def patterns() -> dict[str, str]:
    """Return the patterns of the automata by name: what may be a secret, what is rewritten first, cues, candidates."""
    found = {kind: any_of(alternatives) for kind, alternatives in by_kind(rule.prefilter for rule in RULES).items()}
    return {
        **found,
        "others": "|".join((found["others"], ESCAPE, ESCAPED_SIGN, *ESCAPED)),
        "written": rf"{GOES_ON}|{ANY_COLOUR}|{SIGN}",
        **dict(zip(("near", "apart", "cue", "value"), cues.prefilters(), strict=True)),
    }


if __name__ == "__main__":
    import json

    with open(FILE, "w", encoding="utf-8") as stream:
        stream.write(json.dumps(patterns(), indent=0) + "\n")
