"""A rule as a row of a table: a kind, a prefilter for the automaton, a precise pattern, and who accepts a find."""

from __future__ import annotations

import re
from functools import cache

from core.redaction.engine import compiled
from core.redaction.mark import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    # A judge's answer: the kind of the secret, and where it starts and ends.
    Cut = tuple[str, int, int]

# Pieces of patterns: a quote, white space and the end of a line, each also as JSON writes it.
QUOTE = r"(?:\\*[\"'`])"
SPACE = r"(?:[ \t]|\\t)"
BREAK = r"(?:(?:\\r|\r)?(?:\n|\\n))"
# Before and behind a number that is by itself. Encoded bytes have other signs.
AHEAD = r"(?:^|[\s\"'`=:(<>|*]|\\[nrt])"
END = r"(?:$|[^0-9A-Za-z.-]|[.-](?:$|[^0-9A-Za-z]))"
# Bytes that a long text is looked through in, and more than any rule goes on behind where it begins.
PIECE = 1 << 14
OVER = 1 << 13
# Bytes around a find that the function of a row is given.
_AROUND = 60
# Signs of words that mean something in a pattern; a quote follows backslashes in JSON.
_LITERAL = {ord(sign): f"\\{sign}" for sign in ".|<>()[]{}*+?$^"} | {ord('"'): '\\\\*"', ord("'"): "\\\\*'"}
_ALPHANUMERIC = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
WORD_BYTES = _ALPHANUMERIC | frozenset(b"_-")
# These end in a letter or a digit and belong to no word behind them: escapes of JSON, of programs and of addresses,
# and colours of a terminal's text (also without the escape, which copying loses).
_WRITTEN = (
    rb"(?:\\(?:[nrtbf]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}"
    rb"|\[[0-9;]{1,20}m|(?:\x1b|\\(?:x1b|u001b|033|e))\[[0-9;]{0,20}[mK])\Z"
)


@cache
def made(pattern: str) -> re.Pattern[str]:
    """Return ``pattern`` compiled at its first use: all patterns together would take tens of milliseconds."""
    return re.compile(pattern)


@cache
def _written() -> re.Pattern[bytes]:
    return re.compile(_WRITTEN)


def is_begun(data: bytes, start: int) -> bool:
    """Return True if a word begins at ``start``: behind no letter, digit, ``_`` or ``-``, but behind an escape."""
    before = data[max(0, start - 32) : start]
    return not before or before[-1] not in WORD_BYTES or _written().search(before) is not None


def each(words: str, behind: str) -> tuple[str, ...]:
    """Return each of ``words`` (with bars between them) with what follows, so that RE2 can share its beginning."""
    return tuple(word + behind for word in words.split("|"))


def alternatives(pattern: str) -> list[str]:
    """Return the parts of ``pattern`` between its bars, of which none is in a group."""
    if "|" not in pattern:
        return [pattern]
    depth = start = 0
    found = []
    for piece in re.finditer(r"\\.|\[(?:\\.|[^\]\\])+\]|[()|]", pattern):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "|" and not depth:
            found.append(pattern[start : piece.start()])
            start = piece.end()
    return [*found, pattern[start:]]


# Characters of a pattern that are worth repeating so that RE2 can share the beginnings before them.
_REPEATED_MOST = 150


def expanded(pattern: str) -> list[str]:
    """Return ``pattern`` as alternatives without a group at their beginning, so that RE2 can share beginnings.

    A group before a long rest stays: each copy of the rest would take its place in the automaton.
    """
    found = []
    for part in alternatives(pattern):
        head = made(r"\(\?:").match(part)
        end = _closed(part) if head else 0
        if head and len(part) - end < _REPEATED_MOST and part[end : end + 1] not in ("?", "*", "+", "{"):
            found += [
                each for inner in alternatives(part[head.end() : end - 1]) for each in expanded(inner + part[end:])
            ]
        else:
            found.append(part)
    return found


def loosened(pattern: str) -> str:
    """Return ``pattern`` without high bounds of its counts: what it finds, and more, with fewer states."""
    return made(r"\\.|\[(?:\\.|[^\]\\])+\]|\{\d+,\d+\}|\{\d\d+\}").sub(
        lambda match: loose(match[0]) if match[0][0] == "{" else match[0], pattern
    )


def by_ends(patterns: Iterable[str]) -> list[str]:
    """Return ``patterns`` with those joined that end in the same counted class: the automaton then has it once."""
    heads: dict[str, set[str]] = {}
    for pattern in patterns:
        end = made(r"\[[^\]]+\]\{\d+,\}\Z").search(pattern)
        heads.setdefault(end[0] if end else "", set()).add(pattern[: end.start()] if end else pattern)
    whole = sorted(heads.pop("", ()))
    return [*whole, *(f"(?:{'|'.join(sorted(each))}){end}" for end, each in heads.items())]


def _closed(pattern: str) -> int:
    """Return where the group ends that ``pattern`` begins with."""
    depth = 0
    for piece in re.finditer(r"\\.|\[(?:\\.|[^\]\\])+\]|[()]", pattern):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if not depth:
            return piece.end()
    raise ValueError(pattern)


# One piece of a pattern with its count: an escape, a class, a bracket, or a character.
_PIECE = (
    r"(?P<piece>\\.|\[(?:\\.|[^\]\\])+\]|\(\?[a-z-]*:|[^\\\[])"
    r"(?P<count>(?:[?*+]|\{\d+(?:,\d*)?\})\??)?"
)


def literal(pattern: str) -> str:
    """Return the longest text, in small letters, that each match of ``pattern`` has; "" for none.

    ``pattern`` has no bars outside of groups.
    """
    longest = run = ""
    depth = 0
    for match in made(_PIECE).finditer(pattern):
        piece = match["piece"]
        is_plain = not depth and not match["count"] and ((piece not in "^$.()" and len(piece) == 1) or is_sign(piece))
        depth += piece.startswith("(") - (piece == ")")
        run = run + piece[-1].lower() if is_plain else ""
        longest = max(longest, run, key=len)
    return longest


def is_sign(piece: str) -> bool:
    """Return True if a piece of a pattern is an escaped sign."""
    return len(piece) == 2 and piece[0] == "\\" and not piece[1].isalnum()


class Prefilter:
    """Patterns for the automaton, in RE2's syntax, without regard to case: each find of a rule has one of them."""

    __slots__ = ("after_names", "after_passwords", "anywhere", "opening")

    def __init__(
        self,
        anywhere: tuple[str, ...] = (),
        opening: tuple[str, ...] = (),
        *,
        after_passwords: str = "",
        after_names: str = "",
    ) -> None:
        """Keep the fields.

        Args:
            anywhere: Patterns that may begin within a word.
            opening: Patterns that begin where a word begins.
            after_passwords: The pattern behind the name of a password (``core.redaction.names.PASSWORD``).
            after_names: The pattern behind the name of another secret (``core.redaction.names.NAMED``).
        """
        self.anywhere = anywhere
        self.opening = opening
        self.after_passwords = after_passwords
        self.after_names = after_names

    def __bool__(self) -> bool:
        """Return True if there is any pattern."""
        return bool(self.anywhere or self.opening or self.after_passwords or self.after_names)


class Rule:
    """One rule: a name, a prefilter, and either a pattern with its judge or a function that cleans a text."""

    __slots__ = ("_clean", "_judge", "_pattern", "name", "prefilter")

    def __init__(
        self,
        name: str,
        prefilter: Prefilter,
        pattern: str = "",
        judge: Callable[[re.Match[str]], Cut | None] | None = None,
        *,
        clean: Callable[[str, dict[str, int]], str] | None = None,
    ) -> None:
        """Keep the fields.

        Args:
            name: A name for tests and for ``core.redaction.screen.suspected``.
            prefilter: The patterns for the automaton.
            pattern: A pattern of ``re``.
            judge: A function that names the secret in a match; None as its answer leaves the match as it is.
            clean: A function in place of pattern and judge: (text, counts) → text.
        """
        self.name = name
        self.prefilter = prefilter
        self._pattern = pattern
        self._judge = judge
        self._clean = clean

    def clean(self, text: str, counts: dict[str, int]) -> str:
        """Return ``text`` without what the rule finds; ``counts`` (kind → number) is added to."""
        if self._judge is None:
            return self._clean(text, counts) if self._clean is not None else text
        return cleaned(self._pattern, self._judge, text, counts)


def cleaned(pattern: str, judge: Callable[[re.Match[str]], Cut | None], text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without what ``judge`` takes out of the matches of ``pattern``."""
    return made(pattern).sub(lambda match: without(match, judge(match), counts), text)


def cleaned_at(
    heads: str,
    pattern: str,
    judge: Callable[[re.Match[str]], Cut | None],
    text: str,
    counts: dict[str, int],
    *,
    numbered: bool = False,
) -> str:
    """Return what ``cleaned`` returns, for a ``pattern`` whose matches each begin as ``heads`` does.

    RE2 finds the beginnings: ``re`` would try every alternative at every word, which takes 5 ms for 10 KB.
    ``numbered``: each match has a digit behind its beginning, on the same line.
    """
    if "\u0130" in text or "\u0131" in text:  # letters of Turkish that `re` takes as an `i`, and RE2 does not
        return cleaned(pattern, judge, text, counts)
    data = text.encode("utf-8", "surrogatepass")
    search = _heads(heads).search
    pieces: list[str] = []
    done = counted = start = at = 0
    digit = -1  # the next one, or the end of its line
    while (head := search(data, at)) is not None:
        at = head.start() + 1
        if numbered:
            if digit < head.end():
                found = _heads(r"[\n0-9]").search(data, head.end())
                digit = found.start() if found is not None else len(data)
            if not data[digit : digit + 1].isdigit():
                continue
        start += len(data[counted : head.start()].decode("utf-8", "surrogatepass"))  # in characters
        counted = head.start()
        match = made(pattern).match(text, start) if start >= done else None  # compiled late: few texts need all
        if match is not None:
            pieces += (text[done : match.start()], without(match, judge(match), counts))
            done = match.end()
    return "".join((*pieces, text[done:])) if pieces else text


@cache
def _heads(pattern: str) -> Any:
    import re2

    options = re2.Options()  # of UTF-8: letters of any script without regard to case
    options.case_sensitive = False
    return re2.compile(pattern.encode(), options=options)


def without(match: re.Match[str], cut: Cut | None, counts: dict[str, int]) -> str:
    """Return the match without ``cut``, unless another rule has replaced something there."""
    if cut is None:
        return match[0]
    kind, start, end = cut
    if MARK in match.string[start:end]:
        return match[0]
    counts[kind] = counts.get(kind, 0) + 1
    at = match.start()
    return f"{match[0][: start - at]}{MARK}{kind}]{match[0][end - at :]}"


def first(match: re.Match[str], kind: str, length: int = -1, group: str = "value") -> Cut | None:
    """Return the cut of the first ``length`` characters of a group, all of them by default; None without a kind."""
    if not kind:
        return None
    start, end = match.span(group)
    return kind, start, end if length < 0 else start + length


class Found:
    """A find of a row: the value, and the text before and after it."""

    __slots__ = ("after", "before", "value")

    def __init__(self, value: str, before: str, after: str) -> None:
        self.value = value
        self.before = before
        self.after = after


class Row:
    """A rule of which RE2 finds head, value and tail, and a function accepts the value."""

    __slots__ = tuple("accept head is_one is_rare is_word kind prefilter tail value words".split())

    def __init__(
        self,
        kind: str,
        words: str,
        head: str,
        value: str,
        accept: Callable[[Found], int],
        *,
        tail: str = "",
        is_word: bool = True,
        is_one: bool = False,
        is_rare: bool = False,
        prefilter: str = "",
    ) -> None:
        """Keep the fields.

        Args:
            kind: The kind in the mark that replaces the value.
            words: Small letters, separated by commas, one of which each find has; empty for numbers.
            head: The pattern before the value. Case counts only within ``(?-i:…)``.
            value: The pattern of the value.
            accept: A function: find → how many of its characters are secret, 0 for none.
            tail: The pattern that has to follow.
            is_word: The head begins where a word begins.
            is_one: The head is the value's beginning, and says enough for the automaton; one of ``words`` is in it.
            is_rare: The words are so rare that the automaton looks for them alone.
            prefilter: The pattern for the automaton, where it is not made of the others.
        """
        self.kind = kind
        self.words = tuple(words.split(", ")) if words else ()
        self.head = head
        self.value = value
        self.accept = accept
        self.tail = tail
        self.is_word = is_word
        self.is_one = is_one
        self.is_rare = is_rare
        self.prefilter = prefilter

    @property
    def pattern(self) -> str:
        """The whole pattern, with the value as its first group."""
        value = f"({self.head}{self.value})" if self.is_one else f"{self.head}({self.value})"
        return value + self.tail

    @property
    def screened(self) -> str:
        """The pattern for the automaton, which each find has."""
        if self.is_rare:
            return "|".join(word.translate(_LITERAL) for word in self.words)
        if self.prefilter:
            return self.prefilter
        return self.head if self.is_one else f"{self.head}(?:{self.value}){self.tail}"

    def clean(self, data: bytes, counts: dict[str, int]) -> bytes:
        """Return ``data``, UTF-8, without what the row finds; ``counts`` (kind → number) is added to."""
        search = compiled(f"(?i){self.pattern}").search
        pieces: list[bytes] = []
        done = at = 0
        while (match := search(data, at)) is not None:
            start, end = match.span(1)
            length = 0
            if not self.is_word or is_begun(data, match.start()):
                length = self.accept(
                    Found(
                        data[start:end].decode("latin-1"),
                        data[max(0, start - _AROUND) : start].decode("latin-1"),
                        data[end : end + _AROUND].decode("latin-1"),
                    )
                )
            if not length:
                at = match.start() + 1
                continue
            # A count in a pattern is of bytes, and may end within a letter.
            start, end = _letter(data, start, -1), _letter(data, start + length, 1)
            pieces += (data[done:start], f"{MARK}{self.kind}]".encode())
            counts[self.kind] = counts.get(self.kind, 0) + 1
            done = at = end
        return b"".join((*pieces, data[done:])) if pieces else data


def _letter(data: bytes, at: int, step: int) -> int:
    """Return ``at``, moved by ``step`` bytes at a time to where a character of ``data``, UTF-8, begins."""
    while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
        at += step
    return at


def without_rows(rows: Iterable[Row], text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without what ``rows`` find; ``counts`` (kind → number) is added to."""
    folded = text.lower()
    data = text.encode("utf-8", "surrogatepass")
    for row in rows:
        if not row.words or any(map(folded.__contains__, row.words)):
            data = row.clean(data, counts)
    return data.decode("utf-8", "surrogatepass")


def prefilter_of(rows: Iterable[Row]) -> Prefilter:
    """Return the prefilter of ``rows``, in which what several begin with is there once."""
    opening: dict[str, list[str]] = {}
    anywhere: dict[str, list[str]] = {}
    for row in rows:
        if row.is_rare:
            anywhere.setdefault("", []).append(row.screened)
            continue
        shared = row.head if not row.prefilter and row.screened.startswith(row.head) else ""
        found = opening if row.is_word else anywhere
        found.setdefault(shared, []).append(row.screened.removeprefix(shared))
    return Prefilter(_shared(anywhere), _shared(opening))


def _shared(found: dict[str, list[str]]) -> tuple[str, ...]:
    return tuple(f"{head}(?:{'|'.join(rests)})" if head else "|".join(rests) for head, rests in found.items())


def loose(pattern: str) -> str:
    """Return ``pattern`` with counts that cost the automaton few states; what matched before still matches."""
    return re.sub(r"\{(\d+)(?:,\d*)?\}", lambda match: f"{{{min(int(match[1]), 16)},}}", pattern)
