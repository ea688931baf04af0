"""The table of all rules, and the automaton made of their prefilters: may these bytes hold anything to redact?

The automaton is RE2's: its time is linear in the input. It must let through everything that the rules would replace, in
plain text and in JSON's spelling (quotes and line ends behind backslashes). A test checks both. A text that it lets
through in vain costs time only.
"""

from __future__ import annotations

import re
from functools import cache

from core.redaction import assignments, commands, prose, shapes, spoken, structures
from core.redaction.keys import KEYS
from core.redaction.names import ESCAPED, holds_foreign, screened
from core.redaction.private import PRIVATE
from core.redaction.rule import (
    OVER,
    PIECE,
    Rule,
    alternatives,
    literal,
    prefilter_of,
    which,
    without_rows,
)
from core.redaction.tokens import TOKENS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from core.redaction.rule import Row

LINES: tuple[Row, ...] = (*shapes.ROWS, *prose.ROWS, *commands.ROWS, *assignments.ROWS)
SPANS: tuple[Row, ...] = (*prose.SPANS, *assignments.SPANS)
# The rules in the order in which they are tried: those with finds that go on over lines' ends, and those of lines.
WHOLES: tuple[Rule, ...] = (
    PRIVATE,
    KEYS,
    Rule("span", prefilter_of(SPANS), clean=lambda text, counts: without_rows(SPANS, text, counts)),
    TOKENS,
    *structures.PAIRS,
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
# A markdown escape in a word: `API\_KEY`, `ghp\_…`. The rules read it without its backslash.
ESCAPE = r"[A-Za-z0-9]\\+[_=+~*:-]"
# A character that could have been written plainly was not: looked at once it is decoded.
_ESCAPED = r"\\u(?:00[2-7]|[fF][fF]1[aAdD]|[fF][eE]55|2236)"
# Where a command goes on in the next line: in text, and in JSON.
_GOES_ON = r"\\(?:\r?\n|\\(?:\\r)?\\n)(?:[ \t]|\\t)*"
# Colours of a terminal's text, which may part a name from its value.
COLOUR = r"\x1b\[[0-9;]*[mK]"
_COLOUR = rf"(?:{COLOUR}|\\u001[bB]\[[0-9;]*[mK])"
# Quotes, colons and equals signs between a name and its value as HTML and East Asian keyboards write them.
_SIGN = r"&(?:amp;)?(?:quot|apos|colon|equals|#[0x][0-9a-zA-Z]+|#[0-9]+);|\xef\xbc[\x9a\x9d]|\xef\xb9\x95|\xe2\x88\xb6"
_WRITTEN_SIGNS = {
    written: sign
    for sign, forms in {
        '"': "&amp;quot; &quot; &#34; &#034; &#x22;",
        "'": "&apos; &#39; &#039; &#x27;",
        ":": "&colon; &#58; &#x3a; &#x3A; \uff1a \ufe55 \u2236",
        "=": "&equals; &#61; &#x3d; &#x3D; \uff1d",
    }.items()
    for written in forms.split()
}
# Bytes that a thread is worth.
_MUCH = 1 << 20

_match: Callable[[bytes], list[int] | None] | None = None


def plain_signs(text: str) -> str:
    """Return ``text`` with quotes, colons and equals signs in ASCII that are written in another way."""
    if "&" in text or not text.isascii():
        for written, sign in _WRITTEN_SIGNS.items():
            if written in text:
                text = text.replace(written, sign)
    return text


def suspects(data: bytes) -> bool:
    """Return True if ``data`` (UTF-8 text, or JSON in UTF-8) may hold something to redact."""
    global _match
    if _match is None:
        rules = screened(rule.prefilter for rule in RULES)
        _match = which("|".join((rules, ESCAPE, _ESCAPED, *ESCAPED)), rf"{_GOES_ON}|{_COLOUR}|{_SIGN}")
    found = _match(data)
    if found == [1]:
        # A command that goes on in the next line counts as one, and a text in colours as one without.
        plain = re.sub(_GOES_ON.encode(), b" ", data)
        plain = re.sub(_COLOUR.encode(), b"", plain) if b"\x1b" in data or b"u001" in data else plain
        plain = plain_signs(plain.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        found = _match(plain)
    return bool(found and found != [1]) or (not data.isascii() and holds_foreign(data))


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
    if not suspects(data):
        return set()  # one automaton instead of one for each rule
    found: set[str] = set()
    for rules in (WHOLES, OF_LINES):
        if any(rule.name in names for rule in rules):
            groups, match = _by_group(rules)
            found.update(name for number in match(data) or () for name in groups[number])
    if "foreign" in names and holds_foreign(data):
        found.add("foreign")
    found.intersection_update(names)
    if found.isdisjoint(_PROGRAMS):
        return found
    folded = data.lower()
    return {name for name in found if name not in _PROGRAMS or any(map(folded.__contains__, _literals(name)))}


@cache
def _by_group(rules: tuple[Rule, ...]) -> tuple[tuple[tuple[str, ...], ...], Callable[[bytes], list[int] | None]]:
    """Return the names of rules by their number in an automaton, in which single programs have one number, and it."""
    single = [rule for rule in rules if rule.prefilter and rule.name not in _PROGRAMS]
    programs = [rule for rule in rules if rule.name in _PROGRAMS]
    groups = [*([rule] for rule in single), *([programs] if programs else [])]
    patterns = (screened([rule.prefilter for rule in group]) for group in groups)
    return tuple(tuple(rule.name for rule in group) for group in groups), which(*patterns)


@cache
def _literals(name: str) -> tuple[bytes, ...]:
    """Return texts in small letters of which each find of a program's rule has one."""
    prefilter = _PROGRAMS[name].prefilter
    return tuple(literal(each).encode() for pattern in prefilter.anywhere for each in alternatives(pattern))
