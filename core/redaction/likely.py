"""Values that are likely secrets by their looks and their surroundings: a weighted sum of many small signs.

The rules before this one know a grammar: a name and its value, an option of a program, a sentence's verb. This rule
knows none. A line with a word for a secret or for a login (``vocabulary.json``, ``cues``) has candidates: words of
letters and digits. Each candidate has features, a feature has a weight (``likely.json``), and a candidate whose weights
add up to more than the threshold is replaced. ``python -m tests.core.redaction.weights`` computes the weights.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from collections import Counter
from functools import cache, lru_cache
from itertools import islice

from core.redaction.automaton import has_value, is_near
from core.redaction.cues import APART, Cue, cues
from core.redaction.looks import (
    PARTS,
    PLACEHOLDERS,
    TECHNICAL,
    TERMS,
    entropy,
    is_code_word,
    is_filler,
    is_invented,
    is_name,
)
from core.redaction.mark import MARK
from core.redaction.names import UUID, holds_foreign, is_about, is_other_key
from core.redaction.rule import made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Characters around a candidate that count as its surroundings.
_LEFT, _RIGHT = 160, 80
_SIGNS = "!@#$%^&*+~?"


class Candidate:
    """A word of a line that may be a secret: its place, and the name that it is the value of ("" for none)."""

    __slots__ = ("end", "name", "start")

    def __init__(self, start: int, end: int, name: str) -> None:
        self.start = start
        self.end = end
        self.name = name


# Characters of a run, and the words that are no candidate: with one capital at most, in front, or with capitals alone.
_OF_RUN = r"[\x21\x23-\x26\x28-\x3b\x3d\x3f-\x5f\x61-\x7b\x7d\x7e]"
_OTHER_SIGN = r"(),./:;=\[\\\]{}"
_PLAIN = (
    rf"(?>[{_OTHER_SIGN}]*[A-Z](?:[A-Z]*|[a-z]*)(?:[{_OTHER_SIGN}][{_OTHER_SIGN}a-z]*)?|[!#$%&*+?@^a-z~{_OTHER_SIGN}]+)"
)
_APART = _OF_RUN.replace("[", "[^", 1) + "*+"
# The next run, as the first group; it is empty at the end. The pattern itself passes over words that are no candidate.
_RUN = rf"{_APART}(?:(?:{_PLAIN}|{_OF_RUN}{{1,4}}+)(?!{_OF_RUN}){_APART})*+(?:({_OF_RUN}{{5,400}})|\Z)"
_NAMED = r"([A-Za-z_$][\w.-]{0,60}?)(?::=|[:=])(?=.)"
# What everybody may know follows.
_PUBLIC = r"(?i)\b(?:public|verify(?:ing)?|publishable)[ _-]?key\b[^.;]{0,12}\Z"
_PUBLIC_MOST = 40  # characters of it, and more
# The same of sums: ``MD5 (token.bin) = …``, and go.sum's ``github.com/golang-jwt/jwt/v5 v5.2.1 h1:…``.
_SUM = r"(?i)(?:(?<![\w-])(?:md|sha|blake|rmd)[a-z]*[-_]?\d+[a-z]*[ \t]*\([^()]*\)[ \t]*=[ \t]*|(?<=\s)h1:)\Z"
# Ends of names of what numbers or sums up something.
_NUMBERING = (
    r"(?i:(?:^|[_.-])(?:ids?|uuid|guid|sha\d*|commit|rev|revision|ref|etag|digest|checksum|version|nonce|accessor)$)"
    r"|(?<!secret)(?<!Secret)Id$|^(?!.*(?i:pass|pw)).*hash$"
)
_SPACED = r"([A-Za-z_$][\w.-]{0,40})[\"']?\]?[ \t]*(?::=|(?:\?\?|\|\|)?=>?|:)[ \t]*[\"'`]?\Z"
_BEFORE, _BEHIND = "([{*_=:,;/#~>-", ".:)]}*_?\\"
# Addresses, paths, versions, dates, mail addresses, numbers with a unit, marks, variables, calls, names of files.
_OTHER = (
    r"^(?:[a-z][a-z0-9+.-]*://|/|\./|\.\./|~/|[A-Za-z]:\\)|\\|^AAAA[BC]3N|^p(?:k_(?:live|test)|hc)_"
    r"|^0x(?:[0-9A-Fa-f]{1,16}|[0-9A-Fa-f]{40})$|^@[\w-]+(?:\.[\w-]+)+(?:$|[:/?])|^v?\d+(?:\.\d+)+|^\d{4}-\d\d|^[\w.+-]+@[\w-]+\.[\w.]+$"
    r"|(?i:^(?:[a-z]+[-_])*(?:sha|aes|rsa|hmac|ecdsa|ed|utf|base|[hrep]s)[-_]?\d+(?:[-_][a-z]+)*$)"
    r"|^[\d.,:%x/-]+[a-zA-Z]{0,3}$|^\$[A-Z{(]|^[A-Za-z_$][\w$.]*\("
    r"|\.(?:py|js|tsx?|jsx|go|rs|md|json|ya?ml|toml|txt|html|css|sh|sql|png|jpg|svg|lock|log|pem|key|crt)\b"
)


def candidates(line: str) -> Iterator[Candidate]:
    """Yield the words of ``line`` that may be secrets by their characters."""
    for run in made(_RUN).finditer(line):
        for start, end, name in _values(run[1] or ""):
            start += run.start(1)
            end += run.start(1)
            if name is None:
                spaced = made(_SPACED).search(line[max(0, start - 64) : start])
                name = spaced[1] if spaced else ""
                if name and _names_other(name):
                    continue
            yield Candidate(start, end, name)


# The same words, paths and names come again and again in a session.
@lru_cache(4096)
def _values(text: str) -> tuple[tuple[int, int, str | None], ...]:
    """Return the values in ``text``, a run of characters, that may be secrets: begin, end, name.

    The name is None if it may stand before the run.
    """
    if MARK in text or len(text) > _LONGEST or (len(text) > _BYTES and made(r"[\w+=-]*[+/][\w+/=-]*").fullmatch(text)):
        return ()  # encoded bytes
    at = len(text) - len(text.lstrip(_BEFORE))
    if text.startswith("arn:", at):
        return ()
    found: list[tuple[int, int, str | None]] = []
    address = made(_ADDRESS).search(text)
    if address:
        for part in made(r"[?&#]([\w.-]{1,40})=([^&#]+)|/([^/?&#]{16,})").finditer(text, address.end()):
            start = part.start(2 if part[2] else 3)
            value = part[2 if part[2] else 3].rstrip(_BEHIND)
            if len(value) >= 6 and _may_be(value):
                found.append((start, start + len(value), part[1] or "path"))
        return tuple(found)
    name = ""
    named = made(_NAMED).match(text, at)
    if named:
        name, at = named[1], named.end()
    for part in made(r"[^,;&]+(?:&(?![\w.-]*=)[^,;&]*)*").finditer(text, at):
        start, end = part.span()
        if start > at:
            named = made(_NAMED).match(text, start, end)
            name, start = (named[1], named.end()) if named else ("", start)
        value = text[start:end]
        start += len(value) - len(value.lstrip("([{*_=:/#"))
        value = text[start:end].rstrip(_BEHIND)
        if len(value) >= 4 and _may_be(value) and not (name and _names_other(name)):
            found.append((start, start + len(value), name or None))
    return tuple(found)


def _names_other(name: str) -> bool:
    """Return True if what is called ``name`` is no secret, but a number or a sum, or is about a secret."""
    return is_other_key(name) or is_about(name) or made(_NUMBERING).search(name) is not None


# Characters of a word: more are no secret, and more in the signs of base64 are bytes.
_LONGEST, _BYTES = 300, 90
# Characters that are too few for a cue and a candidate, and those that are looked through at once.
_SHORTEST, _PIECE = 10, 1024
# Lines that are looked through for one with a letter, above a candidate.
_ABOVE = 6
# Candidates of a line that are judged: a line with more is a program's.
_MANY = 40
# Lines of one form without a secret, after which others of it are passed over: a log has thousands.
_ALIKE = 4
_NUMBERED = r"(?<!\S)[^\s\d]*+\d\S*+"
_ADDRESS = r"[a-z][a-z0-9+.-]*://"
_CAPITALS = r"[A-Z][a-z]+(?:[-_.][A-Z][a-z]+)+|[a-z]{3,}(?:-[a-z]{3,}){3,}"


def _may_be(value: str) -> bool:
    if value.isdigit():
        return len(value) <= 10
    if len(value) < 6 or not any(map(str.isalpha, value)):
        return len(value) > 6 and made(r"\d{3}-\d{3,4}").fullmatch(value) is not None
    if not any(map(str.isdigit, value)) and not (
        any(map(str.isupper, value)) and any(sign in value[1:-1] for sign in _SIGNS)
    ):
        return made(_CAPITALS).fullmatch(value) is not None or is_invented(value)
    return not (made(_OTHER).search(value) or is_filler(value) or is_name(value, loose=True) or "EXAMPLE" in value)


_SEGMENT = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^A-Za-z0-9]+"
_CLASSES = {
    **{ord(c): "a" for c in "abcdefghijklmnopqrstuvwxyz"},
    **{ord(c): "A" for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    **{ord(c): "9" for c in "0123456789"},
    **{ord(c): "#" for c in _SIGNS},
}
_VOWELS = frozenset("aeiouy")


def _bucket(number: int, bounds: tuple[int, ...]) -> int:
    """Return the first of ``bounds`` that is not below ``number``; 999 above the last."""
    place = bisect_left(bounds, number)
    return bounds[place] if place < len(bounds) else 999


@lru_cache(1024)
def _value_features(value: str) -> tuple[str, ...]:
    """Return the features of a candidate's looks."""
    size = len(value)
    classes = value.translate(_CLASSES)
    counted = {kind: classes.count(kind) for kind in "aA9#"}
    mask = "".join(kind for kind, count in counted.items() if count)
    shape = made(r"(.)\1+").sub(r"\1", classes).replace("Aa", "W")
    found = [
        f"mask:{mask}",
        f"size:{_bucket(size, (7, 9, 12, 16, 20, 24, 31, 32, 39, 40, 48, 63, 64))}",
        f"mask:{mask} size:{_bucket(size, (9, 15, 23, 39))}",
        f"digits:{_bucket(counted['9'], (0, 1, 2, 4, 8))}",
        f"bits:{_bucket(round(entropy(value) * 2), (5, 6, 7, 8, 9))}",
    ]
    inner = value[1:-1]
    found += [f"has:{sign}" for sign in "_-./:@=" if sign in inner]
    found += [f"many:{sign}" for sign in "_-./:=" if value.count(sign) > 1]
    if len(shape) <= 6:
        found.append(f"shape:{shape}")
    if made(r"[0-9a-f]+|[0-9A-F]+").fullmatch(value):
        found.append("hex:whole" if size in (32, 40, 64, 128) else "hex:part")
    elif made(UUID).fullmatch(value):
        found.append("uuid")
    segments = made(_SEGMENT).findall(value)
    words = [each for each in segments if each[0].isalpha()]
    rate = len(segments) / size
    found.append(f"changes:{_bucket(round(rate * 20), (2, 4, 6, 8, 11))}")
    low = [word.lower() for word in words]
    spoken = [
        word for word in low if len(word) > 3 and 0.2 <= sum(letter in _VOWELS for letter in word) / len(word) <= 0.67
    ]
    found += [
        f"spoken:{_bucket(round(sum(map(len, spoken)) / size * 10), (0, 3, 5, 7, 8))}",
        f"words:{_bucket(len(spoken), (0, 1, 2, 3))}",
    ]
    long = [word for word in low if len(word) > 2]
    if any(word in TECHNICAL or word.rstrip("s") in TECHNICAL for word in long):
        found.append("technical")
    if any(word in PARTS for word in long):
        found.append("part")
    if long:
        found.append(f"coded:{_bucket(round(sum(map(is_code_word, long)) / len(long) * 4), (0, 1, 2, 3))}")
    if is_invented(value):
        found.append("invented")
    if low and all(word in PLACEHOLDERS for word in low):
        found.append("placeholder")
    if value.lower() in TERMS:
        found.append("term")
    for name, pattern in _FORMS:
        if made(pattern).fullmatch(value):
            found.append(f"form:{name}")
            break
    if {"a", "A", "9"} <= set(mask) and size >= 16 and rate > 0.3:
        found.append("drawn")
    if made(r"[A-Za-z][013457][A-Za-z]{2}").search(value):
        found.append("leet")
    if made(r"[(){}\[\]\\]").search(value):
        found.append("bracket")
    return tuple(found)


_FORMS = (
    ("word9", r"[A-Z]?[a-z]+\d+[!?.#$*]?"),
    ("words9", rf"(?:[A-Za-z]+[-_.{re.escape(_SIGNS)}])+\d+[!?#$*]?"),
    ("word#9", rf"[A-Za-z]+[{re.escape(_SIGNS)}_-]?\d+[!?#$*]*"),
    ("camel9", r"[a-z]+(?:[A-Z][a-z]+)+\d{1,2}"),
    ("snake", r"[a-z]+(?:_[a-z0-9]+)+"),
    ("SNAKE", r"[A-Z]+(?:_[A-Z0-9]+)+"),
    ("kebab", r"[a-z0-9]+(?:-[a-z0-9]+)+"),
    ("dotted", r"[\w-]+(?:\.[\w-]+)+"),
    ("prefixed", r"[a-z]{1,4}_[A-Za-z0-9]{10,}|[a-z]{2,6}-[A-Za-z0-9]{10,}"),
)
_WORD = r"[^\s\"'`,;:()\[\]{}<>|=*]+"
_SEPARATOR = r"(?:\s|^)?([:=]|->|=>|→|–|—|/|\|)?[\s\"'`*(\[{_]*\Z"
# Words of many languages between a cue and its value.
_LINK = (
    r"(?i)(?<!\w)(?:is|was|be|are|equals|now|to|ist|lautet|est|c'est|es|é|è|e|er|är|on|jest|je|это|este|als|as|with|using"
    r"|use|try|mit|avec|con|met|med|z|ke|och|und|and|y|et|en|then|puis|nyt|ficou|hat|adalah|it's|that's)(?!\w)"
    r"|[是は는은为為もคือ]|है|هي|هو|היא|הוא|είναι|là|[:=–—→]|[-=]>"
)


def _plain_word(word: str) -> str:
    """Return a word of the surroundings; one that may be replaced itself, or has been, is ``#``."""
    return "#" if made(r"[0-9\x00]").search(word) else word.lower()[:20]


def features(line: str, candidate: Candidate, found_cues: list[Cue], before: str) -> list[str]:
    """Return the features of a candidate of ``line``.

    Args:
        line: The line.
        candidate: The candidate.
        found_cues: The cues of the line.
        before: The kinds of cues of the last line before it that has words, then the character at its end.
    """
    start, end = candidate.start, candidate.end
    found = list(_value_features(line[start:end]))
    mask = found[0]
    left, right = line[max(0, start - _LEFT) : start], line[end : end + _RIGHT]
    words = made(_WORD).findall(left)
    close, far = left[-1:] or "^", right[:1] or "$"
    separator = made(_SEPARATOR).search(left)
    found += [
        f"left:{'x' if close.isalnum() else close}",
        f"right:{'x' if far.isalnum() else far}",
        f"sign:{separator[1] or '' if separator else ''}",
    ]
    found += [f"word-{place}:{_plain_word(word)}" for place, word in enumerate(reversed(words[-3:]), 1)]
    found += [f"word+{place}:{_plain_word(word)}" for place, word in enumerate(made(_WORD).findall(right)[:2], 1)]
    if not words:
        found.append("whole" if not right.strip("\"'` \t,;.") else "first")
    kinds = set()
    last: dict[str, Cue] = {}
    next_: dict[str, Cue] = {}
    for cue in found_cues:
        if cue.end <= start and start - cue.end <= _LEFT:
            last[cue.kind] = cue
        elif cue.start >= end and cue.start - end <= _RIGHT:
            next_.setdefault(cue.kind, cue)
    nearest: Cue | None = None
    for kind, cue in last.items():
        gap = line[cue.end : start]
        between = len(made(_WORD).findall(gap))
        kinds.add(kind)
        found.append(f"{kind}<{_bucket(between, (0, 1, 2, 4, 7, 12))}")
        if between < 8 and made(_LINK).search(gap):
            found.append(f"{kind}<link")
        if made(r"[.!?] ").search(gap):
            found.append(f"{kind}<stop")
        if kind in "PSL" and between <= 5:
            found.append(f"{kind}<{mask}")
        if nearest is None or cue.end > nearest.end:
            nearest = cue
    if nearest is not None:
        between = len(made(_WORD).findall(line[nearest.end : start]))
        found.append(f"near:{nearest.kind}<{_bucket(between, (0, 1, 3))}")
    for kind, cue in next_.items():
        kinds.add(kind)
        found.append(f"{kind}>{_bucket(len(made(_WORD).findall(line[end : cue.start])), (0, 1, 2, 4, 8))}")
        if made(r"(?i)\W{0,3}(?:as|is|for|\(|-|—)").match(line, end):
            found.append(f"{kind}>link")
    found += [f"before:{kind}" for kind in before]
    if before and not words:
        found += [f"below:{kind}" for kind in before]
    if not kinds - {"N"}:
        found.append("alone")
    if candidate.name:
        parts = [
            part.lower().rstrip("0123456789")
            for part in made(r"[A-Z]?[a-z\d]+|[A-Z\d]+(?![a-z])|[^\W_]+").findall(candidate.name)
        ]
        found += ["name", "NAME" if candidate.name.isupper() else "Name"]
        found += [f"name:{part}" for part in parts[-4:]]
        found += [f"name>{part}" for part in parts[-1:]]
    found.append(f"code:{_bucket(len(made(r'[(){};]').findall(left + right)), (0, 2, 5))}")
    if end - start >= 20:
        found.append(f"long:{next((kind for kind in 'SPKL' if kind in kinds), '')}")
    return found


@cache
def _weights() -> tuple[dict[str, float], float]:
    """Return the weights of features, and the sum above which a candidate is a secret."""
    with open(f"{os.path.dirname(__file__)}/likely.json", encoding="utf-8") as stream:
        stored = json.load(stream)
    return stored["weights"], stored["threshold"]


def _is_near(value: str, near: list[Cue], before: str) -> bool:
    """Return True if a candidate's cues are enough for its characters."""
    kinds = {cue.kind for cue in near}
    if not any(map(str.isalpha, value)):
        return bool(kinds & {"P", "C"})
    if not any(map(str.isdigit, value)) and not any(sign in value for sign in _SIGNS):
        return "P" in kinds or "P" in before
    return bool(kinds - {"N"}) or "P" in before or "S" in before


def judged(text: str, *, screen: bool = True) -> Iterator[tuple[int, int, list[str], str]]:
    """Yield the candidates of a text that are near a cue: begin, end, features, kind of the mark.

    ``screen``: pass over the lines that the prefilter does not admit.
    """
    for at, line, last in _admitted(text) if screen else _all(text):
        for start, end, found, kind in _of_line(line, last):
            yield at + start, at + end, found, kind


def _of_line(line: str, last: str) -> Iterator[tuple[int, int, list[str], str]]:
    """Yield what ``judged`` yields, for a line; ``last`` is the line above that has a letter, or ""."""
    plain = _unmarked(line)
    found = list(islice(candidates(plain), _MANY))
    if not found:
        return
    before = _summary(last) if last else ""
    found_cues = cues(plain, _surroundings(plain, found))
    starts = [cue.start for cue in found_cues]
    for candidate in found:
        first = bisect_left(starts, candidate.start - _LEFT)
        near = found_cues[first : bisect_left(starts, candidate.end + _RIGHT)]
        if _is_public(plain, candidate.start):
            continue
        # A word within a value says nothing of the value.
        outside = [cue for cue in near if cue.end <= candidate.start or cue.start >= candidate.end]
        if _is_near(plain[candidate.start : candidate.end], outside, before):
            kinds = [cue.kind for cue in near if cue.end <= candidate.start and cue.kind in "PSKCL"]
            kind = {"P": "password", "C": "otp"}.get((kinds or ["S"])[-1], "secret")
            yield candidate.start, candidate.end, features(plain, candidate, near, before), kind


def _is_public(line: str, start: int) -> bool:
    """Return True if the text before a candidate calls it a public key or the sum of a file."""
    if made(_PUBLIC).search(line, max(0, start - _PUBLIC_MOST), start):
        return True
    return line[start - 1 : start] in "= \t:" and made(_SUM).search(line, max(0, start - _LEFT), start) is not None


def _surroundings(line: str, found: list[Candidate]) -> list[tuple[int, int]]:
    """Return where in ``line`` the cues of the candidates may begin: spans for ``cues``."""
    spans: list[tuple[int, int]] = []
    for candidate in found:
        before = max(0, candidate.start - _LEFT)
        begin, end = max(line.rfind(sign, 0, before) for sign in APART) + 1, candidate.end + _RIGHT
        if spans and begin <= spans[-1][1]:
            begin, _ = spans.pop()
        spans.append((begin, end))
    return spans


# A record is judged before it is cleaned, and a text once more after each find.
@lru_cache(1024)
def _secrets(line: str, last: str) -> tuple[tuple[int, int, str], ...]:
    """Return the likely secrets of a line: begin, end, kind."""
    return tuple((start, end, kind) for start, end, found, kind in _of_line(line, last) if _is_secret(found))


def _found(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the likely secrets of a text: begin, end, kind.

    Lines are counted by their words without digits. More than a few of one form since the last secret are a
    program's, and passed over.
    """
    alike: Counter[str] = Counter()
    waiting: list[str] = []
    for at, line, last in _admitted(text):
        waiting.append(line)
        if alike or len(waiting) > _ALIKE:
            forms = [made(_NUMBERED).sub("#", each) for each in waiting]
            waiting.clear()
            alike.update(forms)
            if alike[forms[-1]] > _ALIKE:
                continue
        for start, end, kind in _secrets(line, last):
            alike.clear()
            waiting.clear()
            yield at + start, at + end, kind


def _summary(line: str) -> str:
    return "".join(sorted({cue.kind for cue in cues(_unmarked(line[-_LONGEST:]))} - {"N"})) + line.rstrip()[-1:]


def _unmarked(line: str) -> str:
    """Return ``line`` with a mark's characters as NUL: the kind in a mark is no cue."""
    return made(r"\[redacted:[\w-]+\]").sub(lambda mark: "\x00" * len(mark[0]), line) if MARK in line else line


def _all(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield each line of a text: where it begins, the line, and the last line before it that has a letter."""
    at = 0
    for line in text.split("\n"):
        yield at, line, _line_above(text, at)
        at += len(line) + 1


def _line_above(text: str, at: int) -> str:
    """Return the last line before ``at`` that has a letter, of the few that are nearest; "" if there is none."""
    end = at - 1
    for _ in range(_ABOVE):
        if end <= 0:
            break
        begin = text.rfind("\n", 0, end) + 1
        line = text[begin:end]
        if any(map(str.isalpha, line)):
            return line
        end = begin - 1
    return ""


def _admitted(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield what ``_all`` yields, for the lines that the prefilter admits: most pieces of a text have none."""
    if "\n" not in text:
        if len(text) >= _SHORTEST and _may_hold(text):
            yield 0, text, ""
        return
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PIECE)
        end = len(text) if end < 0 else end
        # A cue may be in the line above.
        if _may_hold(text[max(0, text.rfind("\n", 0, max(0, start - 1)) + 1, start - _LONGEST) : end]):
            yield from _of_piece(text, start, end)
        start = end + 1


def _of_piece(text: str, start: int, end: int) -> Iterator[tuple[int, str, str]]:
    at = start
    for line in text[start:end].split("\n"):
        if line.isascii() and not has_value(line.encode()):
            pass  # no candidate, whatever is above
        elif len(line) >= _SHORTEST and _may_hold(line):
            yield at, line, _line_above(text, at)
        elif made(r"\s*\S{6}").match(line):
            above = _line_above(text, at)
            if above and _may_hold(f"{above[-_LONGEST:]}\n{line}"):
                yield at, line, above
        at += len(line) + 1


def _may_hold(text: str) -> bool:
    data = text.encode("utf-8", "surrogatepass")
    return is_near(data, of_json=False) or (not text.isascii() and holds_foreign(data))


def _is_secret(found: list[str]) -> bool:
    weights, threshold = _weights()
    return sum(weights.get(feature, 0.0) for feature in found) > threshold


def confirms(data: bytes) -> bool:
    """Return True if a string of a JSON text has a likely secret; True as well if the text is no JSON."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return True
    values = [value]
    while values:
        value = values.pop()
        if type(value) is str:
            if len(value) >= _SHORTEST and any(True for _ in _found(value)):
                return True
        elif type(value) is dict:
            values += value.values()
        elif type(value) is list:
            values += value
    return False


def without_likely(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without likely secrets; ``counts`` (kind → number replaced) is added to."""
    pieces: list[str] = []
    done = 0
    for start, end, kind in _found(text):
        pieces += (text[done:start], f"{MARK}{kind}]")
        counts[kind] = counts.get(kind, 0) + 1
        done = end
    return "".join((*pieces, text[done:])) if pieces else text
