"""What is to be redacted of a history and goes over several of its commands: keys, names beside values, private spans.

A history is one text of thousands of commands that have nothing to do with each other. What a person searched it for,
``grep '<private>' docs``, therefore never costs what others of them say: a tag without its counterpart nearby is its
own command's alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from core.redaction.keys import without_keys
from core.redaction.private import TAG, without_private
from core.redaction.structures import PAIRS
from core.redaction.tokens import without_tokens

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# A line's end behind which the next command begins; of fish each line is looked at by itself.
_ENDS = {
    "zsh": re.compile(r"(?<!\\)\n"),
    "bash": re.compile(r"\n"),
    "fish": re.compile(r"\n"),
}
# Where a command of fish's begins.
_COMMAND = re.compile(r"^- cmd: ", re.MULTILINE)
# What of a command is not what was typed.
_HEAD = {
    "zsh": re.compile(r"(?:: +[0-9]{1,20} *(?::[^;\n]*)?;)?"),
    "bash": re.compile(r"(?:#[0-9]{9,12}\n)?"),
    "fish": re.compile(r"(?:- cmd: | *- )?"),
}
# Bash writes commands of several lines only where it writes times.
_DATED = re.compile(r"^#[0-9]{9,12}$", re.MULTILINE)
# Between a command and the next, where each has a time.
_BETWEEN = {
    "zsh": r"\n: +[0-9]{1,20} *(?::[^;\n]*)?;",
    "bash": r"\n#[0-9]{9,12}\n",
    "fish": r"(?:\n  when: [0-9]{1,20})?\n- cmd: ",
}
# So many commands may stand between the tags of a span, and so many lines may a key have of which an end is missing:
# tags, or hashes, further apart were searched for, or made, one after the other.
_NEAR = 200
_LINE = r"[A-Za-z0-9+/=]{40,80}"
# A key of which each line is a command, and which a history has no more, or not yet, as a whole: its lines, and its end
# behind them if that is what is left; a beginning, and lines behind that.
_CUT = {
    kind: re.compile(
        rf"(?P<head>{between})(?:{_LINE}{between})+(?:[A-Za-z0-9+/=]{{4,80}}{between})?"
        r"(?P<end>-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{0,5})?"
        rf"|-----BEGIN[A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-{{0,5}}(?:{between}{_LINE}){{1,{_NEAR}}}"
        rf"(?:{between}[A-Za-z0-9+/]{{1,78}}={{1,2}}(?=\n))?"
    )
    for kind, between in _BETWEEN.items()
}
# What is taken out may bring the halves of something else together.
_PASSES = 4


def without_spans(kind: str, data: bytes, rules: Collection[str], counts: dict[str, int]) -> bytes:
    """A history without what goes over several of its commands; what was replaced is added to ``counts``.

    ``rules``: which of ``core.redaction.screen.OVER_LINES`` may find something. Bytes that are no UTF-8 stay.
    """
    text = whole = data.decode("utf-8", "surrogateescape")
    pairs = [rule for rule in PAIRS if rule.name in rules]
    for _ in range(_PASSES):
        before = text
        if "private" in rules:
            text = _without_private(kind, text, counts)
        if "key" in rules:
            text = _without_cut_keys(kind, without_keys(text, counts), counts)
        if pairs:
            # As in a command by itself: a token is called by what it is.
            text = without_tokens(text, counts)
            for rule in pairs:
                text = rule.clean(text, counts)
        if text == before:
            break
    return data if text == whole else text.encode("utf-8", "surrogateescape")


def _without_cut_keys(kind: str, text: str, counts: dict[str, int]) -> str:
    def replaced(match: re.Match[str]) -> str:
        if match["head"] and not match["end"]:
            return match[0]
        counts["private-key"] = counts.get("private-key", 0) + 1
        if not match["head"]:
            return "[redacted:private-key]"
        lines = [each.end() for each in re.finditer(_BETWEEN[kind], match[0])]  # that of the end is the last
        return f"{match[0][: lines[max(0, len(lines) - 1 - _NEAR)]]}[redacted:private-key]"

    return _CUT[kind].sub(replaced, f"\n{text}")[1:]


def has_several(kind: str, text: str) -> bool:
    """Whether ``text``, between two times of a history, is of several commands."""
    return kind != "fish" and _ENDS[kind].search(text.removesuffix("\n")) is not None


def _starts(kind: str, text: str) -> list[int]:
    """Where in a history its commands begin, the first at 0, and its end."""
    first = _DATED.search(text) if kind == "bash" else None
    untimed = len(text) if first is None else first.start()
    places = [0, *(match.end() for match in _ENDS[kind].finditer(text, 0, untimed))]
    if first is not None:
        places += (match.start() for match in _DATED.finditer(text, untimed))
    places.append(len(text))
    return sorted(set(places))


def _without_private(kind: str, text: str, counts: dict[str, int]) -> str:
    """``text`` without what of private spans no command tells by itself, and without the tags of them."""
    pieces: list[str] = []
    at = 0
    for start, end in _across(kind, text):
        pieces.append(text[at:start])
        at = end
    if pieces:
        counts["private"] = counts.get("private", 0) + len(pieces)
    text = "".join((*pieces, text[at:]))
    pieces, at = [], 0
    starts = _starts(kind, text)
    for number in sorted({number for number, _ in _alone(text, starts)}):
        start, end = starts[number], starts[number + 1]
        match = _HEAD[kind].match(text, start, end)
        start = match.end() if match else start
        end -= text.endswith("\n", start, end)
        left, spans = without_private(text[start:end])
        counts["private"] = counts.get("private", 0) + spans
        pieces += (text[at:start], left)
        at = end
    return "".join((*pieces, text[at:]))


def _across(kind: str, text: str) -> Iterator[tuple[int, int]]:
    """Where private spans are that begin in one command and end in another, at most ``_NEAR`` commands between them.

    One that others begin and end behind, and that has no end of its own, goes to the end of the next.
    """
    tags = list(_alone(text, _starts(kind, text)))
    places = _numbers(kind, text, tags)
    ends = [-1] * len(tags)
    begun: list[int] = []
    for number, (_, tag) in enumerate(tags):
        if tag["open"]:
            begun.append(number)
        elif begun and places[number] - places[begun[-1]] <= _NEAR + 1:
            ends[begun.pop()] = number
    for number in reversed(begun):  # what follows such a one begins, too, or is an end that is too far
        end = ends[number + 1] if number + 1 < len(tags) else -1
        if end >= 0 and places[end] - places[number] <= _NEAR + 1:
            ends[number] = end
    number = 0
    while number < len(tags):
        last = max(ends[number], number)
        if tags[last][0] != tags[number][0]:
            yield tags[number][1].start(), tags[last][1].end()
        number = last + 1


def _numbers(kind: str, text: str, tags: list[tuple[int, re.Match[str]]]) -> list[int]:
    """The number of the command of each of ``tags``; fish has several lines for each."""
    if kind != "fish":
        return [number for number, _ in tags]
    commands = [match.start() for match in _COMMAND.finditer(text)]
    return [bisect_right(commands, tag.start()) for _, tag in tags]


def _alone(text: str, starts: list[int]) -> Iterator[tuple[int, re.Match[str]]]:
    """(number of the command, tag) of each tag of a command in which not each that begins also ends."""
    tags = ((bisect_right(starts, tag.start()) - 1, tag) for tag in TAG.finditer(text))
    for _, run in groupby(tags, itemgetter(0)):
        found = list(run)
        depth = least = 0
        for _, tag in found:
            depth += 1 if tag["open"] else -1
            least = min(least, depth)
        if depth or least:
            yield from found
