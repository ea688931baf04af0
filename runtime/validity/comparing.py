"""Do two statements go together? If not, the newer one took the place of the older, or they contradict each other.

The subject decides: two statements with a word each that the other's subject lacks are about different things. On one
subject, a newer value takes the place of an older one; a yes and a no contradict each other.
"""

from __future__ import annotations

from runtime.validity import CONTRADICTED, SUPERSEDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runtime.validity.statements import Statement

# The share of the smaller subject that both have.
_SHARED = 0.6
_LEAST_SHARED = 2
# Words that the older statement has beyond the subject: its value. Letters of a name before its number.
_MOST_OTHER, _LEAST_NAME = 2, 3
# The share of their words that two wordings of one question have in common.
_SAME_QUESTION = 0.8
# With a word more on each side, so many of the words are the same.
_NEARLY, _LEAST_NEARLY = 0.75, 3


def relation(older: Statement, newer: Statement) -> str:
    """Return what the newer statement makes of the older one: SUPERSEDED, CONTRADICTED, "" if both can hold."""
    if older.is_answer or newer.is_answer:
        return SUPERSEDED if _other_answer(older, newer) else ""
    if _gives_up(older, newer):
        return SUPERSEDED
    if older.negative != newer.negative:
        if not _same_claim(older, newer):
            return ""
        return SUPERSEDED if newer.changes else CONTRADICTED
    if older.negative:
        return ""
    return SUPERSEDED if _same_words(older, newer) else _other_value(older, newer)


def _gives_up(older: Statement, newer: Statement) -> bool:
    """Return True if the newer statement names what the older one holds, and gives it up."""
    given = newer.old & older.words
    if not given or older.negative or not (newer.old <= older.words or given & (older.value or older.words)):
        return False
    if older.old & newer.old:
        return False  # both give it up
    subject = (newer.words - newer.old - newer.value) & older.words
    rest = newer.subject - newer.old
    return bool(subject) or not rest or not (older.subject - given)


def _other_answer(older: Statement, newer: Statement) -> bool:
    """Return True if the same question, or nearly, got another answer."""
    if not (older.is_answer and newer.is_answer) or older.value <= newer.value or newer.value <= older.value:
        return False
    if older.subject == newer.subject:
        return True
    common = older.subject & newer.subject
    return len(common) >= _LEAST_SHARED and len(common) >= _SAME_QUESTION * len(older.subject | newer.subject)


def _same_claim(older: Statement, newer: Statement) -> bool:
    """Return True if two statements, one of them negative, say and deny the same."""
    one, other = older.words, newer.words
    common = one & other
    least = min(len(one), len(other))
    if not common or len(common) < _SHARED * least:
        return False
    if one == other:
        return True
    if len(common) < _LEAST_SHARED:
        return (older.universal or newer.universal) and (one <= other or other <= one)
    if one - other and other - one:
        return len(common) >= max(_LEAST_NEARLY, _NEARLY * least)
    return True


def _other_value(older: Statement, newer: Statement) -> str:
    """Return SUPERSEDED or CONTRADICTED if two statements give the same subject another value."""
    if not older.value or not newer.value:
        return SUPERSEDED if _replaces(older, newer) else ""
    if _next_version(older, newer):
        return SUPERSEDED
    if not older.kind or not newer.kind:
        return SUPERSEDED if _replaces(older, newer) else ""
    if not _same_subject(older, newer):
        return ""
    one, other = (older.typed, newer.typed) if older.typed and newer.typed else (older.value, newer.value)
    if one <= other or other <= one:
        return ""
    is_typed = bool(older.typed and newer.typed)
    if newer.changes:
        return SUPERSEDED
    if older.kind == newer.kind == "use":
        return CONTRADICTED if is_typed or newer.subject == older.subject else ""
    return SUPERSEDED if is_typed else ""


def _same_subject(older: Statement, newer: Statement) -> bool:
    one, other = older.subject - newer.value, newer.subject - older.value
    common = one & other
    if not common:
        return False
    if one == other:
        return True
    if one - other and other - one:
        return False
    # One names less: what it leaves out may be the difference, unless it speaks of a change.
    return len(common) >= 2 or newer.changes or older.kind == newer.kind


def _same_words(older: Statement, newer: Statement) -> bool:
    """Return True if two statements have the same words but for a name or a number.

    With a name and a number in place of others, they are about two things. Names alone may be of two things, unless the
    newer statement speaks of a change, which also allows it a word of its own.
    """
    gone, come = older.words - newer.words, newer.words - older.words
    one, other = gone & older.named, come & newer.named
    if not one or not other or gone - one or len(come - other) > newer.changes:
        return False
    if len(older.words & newer.words) < _LEAST_SHARED:
        return False
    kinds = {any(map(str.isdigit, each)) for each in one | other}
    return len(kinds) == 1 and (newer.changes or kinds == {True})


def _replaces(older: Statement, newer: Statement) -> bool:
    """Return True if a statement of a change has the whole subject of the older one, and another value."""
    rest = older.words - newer.subject - newer.old
    return (
        newer.changes
        and bool(newer.kind and newer.value)
        and len(newer.subject & older.words) >= _LEAST_SHARED
        and newer.subject - newer.old <= older.words
        and 0 < len(rest) <= _MOST_OTHER
        and rest.isdisjoint(newer.value)
    )


def _next_version(older: Statement, newer: Statement) -> bool:
    """Return True if both give a number of the same name, of something that both speak of: ``ferry/1.2``."""
    pairs = ((one, other) for one in older.typed for other in newer.typed if one != other)
    return bool(older.subject & newer.subject) and any(
        len(_name(one)) >= _LEAST_NAME and _name(one) == _name(other) for one, other in pairs
    )


def _name(value: str) -> str:
    """Return the letters before the number of a value, "" if it has none."""
    at = next((place for place, each in enumerate(value) if each.isdigit()), 0)
    return value[:at]
