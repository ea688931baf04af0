"""How documents are referred to: docids, names, globs, line ranges, and near misses."""

from __future__ import annotations

import apsw

from qmd import ecma
from qmd.index import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_HEX = frozenset("0123456789abcdefABCDEF")


def split_range(reference: str) -> tuple[str, int | None, int | None]:
    """Return (reference, first line, lines) of ``path``, ``path:FROM`` or ``path:FROM:COUNT``."""
    rest, last = _number_at_end(reference)
    if last is None:
        return reference, None, None
    shorter, first = _number_at_end(rest)
    return (rest, last, None) if first is None else (shorter, first, last)


def lines(text: str, first: int | None, count: int | None) -> str:
    """Return ``count`` lines of ``text`` from line ``first`` (1-based) on; None means from the first, to the last."""
    if first is None and count is None:
        return text
    start = max(1, first or 1) - 1
    return "\n".join(text.split("\n")[start : None if count is None else start + count])


def number_lines(text: str, first: int = 1) -> str:
    """Return each line after its number and a colon, from ``first`` on."""
    return "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), first))


def normalize_docid(text: str) -> str:
    """Return a docid without white space, quotes and ``#``."""
    trimmed = ecma.trim(text)
    if len(trimmed) > 1 and trimmed[0] == trimmed[-1] and trimmed[0] in "\"'":
        trimmed = trimmed[1:-1]
    return trimmed.removeprefix("#")


def is_docid(text: str) -> bool:
    """Return True if ``text`` has the form of a docid: six hex digits or more."""
    digits = normalize_docid(text)
    return len(digits) >= 6 and _HEX.issuperset(digits)


def escape_like(text: str) -> str:
    """Return ``text`` as a literal for a LIKE pattern with ``ESCAPE '#'``."""
    return text.replace("#", "##").replace("%", "#%").replace("_", "#_")


def similar_files(connection: apsw.Connection, name: str, distance: int, limit: int) -> list[str]:
    """Return the paths at most ``distance`` edits from ``name``, nearest first, then by path, case aside.

    If there are none and ``name`` begins with a collection, return what is near in that one, as ``collection/path``.
    """
    near = _nearest(_paths(connection), name, distance, limit)
    collection, _, rest = name.removeprefix("qmd://").partition("/")
    if near or not rest:
        return near
    return [f"{collection}/{path}" for path in _nearest(_paths(connection, (collection,)), rest, distance, limit)]


def _paths(connection: apsw.Connection, collections: tuple[str, ...] = ()) -> list[str]:
    return sorted(path for _, _, path, *_ in catalogue.entries(connection, collections))


def _nearest(paths: Iterable[str], name: str, distance: int, limit: int) -> list[str]:
    wanted = name.lower()
    masks: dict[str, int] = {}
    for index, character in enumerate(wanted):
        masks[character] = masks.get(character, 0) | 1 << index
    near = []
    for path in paths:
        if abs(len(path) - len(wanted)) <= distance:
            edits = _edits(masks, len(wanted), path.lower())
            if edits <= distance:
                near.append((edits, path))
    near.sort(key=lambda pair: pair[0])
    return [path for _, path in near[:limit]]


def _edits(masks: dict[str, int], size: int, text: str) -> int:
    """Levenshtein's distance by Myers' bit vectors (JACM 46:3, 1999), in Hyyrö's form of 2003."""
    if not size:
        return len(text)
    full = (1 << size) - 1
    last = 1 << (size - 1)
    up, down, score = full, 0, size
    for character in text:
        equal = masks.get(character, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        rise = down | ~(diagonal | up)
        fall = up & diagonal
        if rise & last:
            score += 1
        elif fall & last:
            score -= 1
        rise = (rise << 1) | 1
        up = ((fall << 1) | ~(diagonal | rise)) & full
        down = rise & diagonal & full
    return score


def is_list(pattern: str) -> bool:
    """Return True if ``multi_get`` reads ``pattern`` as names separated by commas or as one docid, not as a glob."""
    return is_docid(pattern) or ("," in pattern and not any(character in pattern for character in "*?{"))


def one_glob(glob: str) -> str:
    """Return ``glob`` as a mask of one glob: a comma outside braces is a character like any other."""
    depth = 0
    out = ""
    for character in glob:
        if character in "{[":
            depth += 1
        elif character in "}]":
            depth = max(0, depth - 1)
        out += "[,]" if character == "," and not depth else character
    return out


def without_line(reference: str) -> str:
    """Return ``reference`` without a ``:N`` at its end."""
    return _number_at_end(reference)[0]


def _number_at_end(text: str) -> tuple[str, int | None]:
    head, colon, tail = text.rpartition(":")
    if colon and tail and tail.isascii() and tail.isdigit():
        return head, ecma.parse_int(tail)
    return text, None
