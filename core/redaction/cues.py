"""Words that announce a secret or a login: where they are on a line, and patterns for texts with such a word.

The words are in ``vocabulary.json`` (``cue_…``), in about thirty languages. ``core.redaction.likely`` judges what is
near them.
"""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache

from core.redaction.names import VOCABULARY
from core.redaction.rule import made

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


# Signs that are in no cue.
APART = '.,:()/`"'


class Cue:
    """A word on a line that says something about what is near.

    ``kind`` is a letter: ``P`` password, ``S`` another secret, ``K`` a key, ``C`` a code, ``L`` a login, ``O`` an
    option that often has a password, ``E`` the name of an environment's variable, ``N`` what is no secret (a path).
    """

    __slots__ = ("end", "kind", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end


# Letters of the scripts behind Armenian may have no space before and behind a word: Hebrew, Arabic, Thai, Chinese.
_LAST_SPACED = 0x58F
# Characters that a suffix of a word for a password may have: `passwords`, `Passworts`.
_SUFFIX_MOST = 4
# The kinds of cues: the lists of words that name one, in the order in which a word is looked up.
_KINDS = (
    ("P", ("cue_password", "passwords", "spoken")),
    ("S", ("cue_secret", "keys")),
    ("K", ("cue_key",)),
    ("C", ("cue_code", "codes", "spoken_codes")),
    ("L", ("cue_login",)),
    ("N", ("cue_other",)),
)
# Within a word, as in `dbPassword`: in a line, and in a line in small letters, which `re` passes faster.
_INNER = r"(?i)(?P<P>passw(?:or)?d)|(?P<S>(?:secret|token|apikey)(?![a-z]))"
_INNER_LOW = r"[psta](?:(?P<P>(?<=p)assw(?:or)?d)|(?P<S>(?:(?<=s)ecret|(?<=t)oken|(?<=a)pikey)(?![a-z])))"
_WITHIN = ("passw", "secret", "token", "apikey")
# Letters that are others of ASCII's for `(?i)`, and stay what they are in small letters.
_FOLDED = "[\u017f\u212a\u0130\u0131]"
# An option; the name of an environment's variable. The first character is looked for first, which `re` does fast.
_NAMES = (
    r"[-A-Z](?:(?P<O>(?<=-)(?<!\S-)[aikpuwPUW](?=[ =\"']))"
    r"|(?P<E>(?<=[A-Z])(?<![\w$.-][A-Z])[A-Z0-9_]{3,}(?=[\"']?\]? ?(?:\?\?|\|\|)?[=:])))"
)


def _spelled(kinds: tuple[str, ...], *, wide: bool) -> list[str]:
    return [word.lower() for kind in kinds for word in VOCABULARY[kind] if (ord(word[0]) > _LAST_SPACED) is wide]


@cache
def _spaced() -> re.Pattern[str]:
    """Return a pattern whose first group is the next word of the scripts with spaces; the group is empty at the end.

    The pattern itself passes over the words between, so that ``re`` looks at each character once. Words are by their
    first letters: ``re`` tries one group a word.
    """
    letters: dict[str, list[str]] = {}
    for kind, lists in _KINDS:
        for word in _spelled(lists, wide=False):
            first, rest = (word[0], word[1:]) if word[0] not in "(\\" else ("", word)
            letters.setdefault(first, []).append(rest + (rf"\w{{0,{_SUFFIX_MOST}}}" if kind == "P" else ""))
    groups = (
        f"{first}(?:{'|'.join(sorted(set(rests), key=lambda rest: (-len(rest), rest)))})"
        for first, rests in letters.items()
    )
    cue = rf"(?:{'|'.join(groups)})(?![^\W\d_])"
    rest = r"(?:(?<=[^\W_])[^\W_]++)?+"  # of the word that the last find ended in
    return re.compile(rf"{rest}[\W_]*+(?:[^\W_]++[\W_]*+)*?(?:(?<!/)({cue})|\Z)")


@cache
def _wide() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a pattern of the first letters of the words in other scripts, and one of the words."""
    words = {kind: _spelled(lists, wide=True) for kind, lists in _KINDS}
    first = {word[0] for each in words.values() for word in each}
    groups = (f"(?P<{kind}>{'|'.join(each)})" for kind, each in words.items() if each)
    return re.compile(f"[{''.join(sorted(first))}]"), re.compile("|".join(groups))


@cache
def _kind(kind: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """Return the words of a kind that are no patterns, and one pattern of all others."""
    words = _spelled(dict(_KINDS)[kind], wide=False)
    plain = frozenset(word for word in words if re.sub("[ '-]", "", word).isalnum())
    rest = rf"\w{{0,{_SUFFIX_MOST}}}" if kind == "P" else ""
    others = "|".join(word for word in words if word not in plain) or "(?!)"
    return plain, re.compile(f"(?:{others}){rest}")


@lru_cache(4096)
def _kind_of(word: str) -> str:
    for kind, _ in _KINDS:
        plain, others = _kind(kind)
        if word in plain or others.fullmatch(word):
            return kind
        if kind == "P" and any(
            word[:-size] in plain and word[-size:].replace("_", "a").isalnum() for size in range(1, _SUFFIX_MOST + 1)
        ):
            return kind
    return ""


def cues(line: str, spans: Iterable[tuple[int, int]] = ((0, sys.maxsize),)) -> list[Cue]:
    """Return the words of ``line`` that say what is near them, in their order.

    ``spans``: where the words begin, in order; each span begins behind one of ``APART`` or with the line.
    """
    low = line.lower()
    if len(low) != len(line):  # a letter such as Turkish `İ`
        low = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in line)
    folded = not line.isascii() and made(_FOLDED).search(line) is not None
    inner, text = (_INNER, line) if folded else (_INNER_LOW, low)
    patterns = [(made(inner), text)] if folded or any(map(low.__contains__, _WITHIN)) else []
    patterns.append((made(_NAMES), line))
    if not line.isascii() and _wide()[0].search(low):
        patterns.append((_wide()[1], low))
    kept: list[Cue] = []
    # Where the first find behind the spans so far begins: spans before it need no look.
    later, latest = 0, [0] * len(patterns)
    for begin, end in spans:
        found = []
        if later < end:
            later = sys.maxsize
            for match in _spaced().finditer(low, begin):
                if not match[1]:
                    break
                if (start := match.start(1)) >= end:
                    later = start
                    break
                found.append(Cue(_kind_of(match[1]), start, match.end()))
        for number, (pattern, text) in enumerate(patterns):
            if latest[number] >= end:
                continue
            latest[number] = sys.maxsize
            for match in pattern.finditer(text, begin):
                if match.start() >= end:
                    latest[number] = match.start()
                    break
                found.append(Cue(match.lastgroup or "", match.start(), match.end()))
        found.sort(key=lambda cue: (cue.start, -cue.end))
        for cue in found:
            if not kept or cue.start >= kept[-1].end or cue.kind == "E":
                kept.append(cue)
    return kept


# The prefilters. A candidate has a letter near a digit; a cue precedes the candidate on its line, or follows it.
_SIGN = r"[^\s\"'`\\<>|]"
_MIXED = r"(?:[a-z][!@#$%^&*+~?_.-]?[0-9]|[0-9][!@#$%^&*+~?_.-]?[a-z]|(?-i:[a-z][!#$%^&*~?][A-Z]))"
_VALUE = f"(?:{_SIGN}{{3}}{_SIGN}*{_MIXED}|{_MIXED}{_SIGN}{{3}})"
# What follows a word in the lists, in RE2's ASCII; the longest first.
_ASCII = (
    (r"\w{0,4}", "[a-z]*"),
    (r"\w{0,3}", "[a-z]*"),
    (r"\w{0,2}", "[a-z]*"),
    (r"\w*", "[a-z]*"),
    (r"\w+", "[a-z]+"),
    (r"\w", "[a-z]"),
)


def _ascii(*kinds: str, but: frozenset[str] = frozenset()) -> str:
    words = []
    for kind, lists in _KINDS:
        if kind in kinds:
            words += [word for word in _spelled(lists, wide=False) if word.isascii() and word not in but]
    joined = "|".join(dict.fromkeys(words))
    for written, plain in _ASCII:
        joined = joined.replace(written, plain)
    return joined


# Words for a password with many other meanings: these are looked for only where a value follows them.
_COMMON = frozenset(("contra", "pas", "pass", "passe", "phrase"))
_ESCAPED = r"\\[nrtbf]|\\u[0-9a-fA-F]{4}"


def _sure() -> str:
    return rf"(?:^|[^A-Za-z0-9/]|{_ESCAPED})(?:{_ascii('P', 'S', but=_COMMON)})"


def prefilters() -> list[str]:
    """Return patterns in RE2's syntax: of a candidate near a cue, of one apart from it, of a cue, and of a candidate.

    A text is looked at as well if a word for a secret and a candidate are anywhere on a line. JSON has more than one
    text, and is looked at if both are in one of its strings. Cues that are not ASCII's are looked for apart.
    """
    begins, apart = rf"(?:^|[^A-Za-z0-9/]|{_ESCAPED})", rf"(?:^|[^A-Za-z0-9/_.-]|{_ESCAPED})"
    cue = rf"(?:{begins}(?:{_ascii('P', 'S')})|{apart}(?:{_ascii('K', 'C', 'L')})|[a-z][._-](?:auth|key)[ \"'\\]*[:=])"
    # Words and a sign; quotes of a name and of its value; the end of a line.
    comes = (
        r"(?:(?:[^a-z0-9/.\n\"\\]|\\t)(?:[^\s\"\\]*[ ])*[ :=(*/>,\"'`\\\t]*|[\"'`\\]+[ :=,]+[\"'`\\]*"
        r"|[ :.*?]*(?:\\n|\n)(?:\\[nrt]|\s)*)"
    )
    inner = r"(?:passw|secret)[^\n\"\\]*(?:[^a-z\n\"\\]|[\"'\\]+[ :=\"'\\]*)"
    named = rf"(?-i:(?:^|[^A-Za-z0-9_$-]|{_ESCAPED})[A-Z][A-Z0-9_]{{3,}}[\\\"']*\]? ?(?:\?\?|\|\|)?=)[ \\\"']*"
    option = r" -(?-i:[aikpuwPUW])[ =\\\"']+"
    behind = (
        r"[0-9][a-z]*[\"'`*)!\\]{0,4} (?:as|is|opens|unlocks|\()(?: [a-z]+)* ?"
        r"(?:token|key|secret|login|pin|code|account|credentials?)[^a-z]"
    )
    near = f"(?:{cue}{comes}|{inner}|{named}|{option}){_VALUE}|{behind}"
    # What may be between a cue and a value in one string of JSON.
    gap = r"(?:[^\n\"\\]|\\[^nr])*"
    below = rf"(?:(?:\\n|\n)(?:\\[nrt]|\s)*{gap})?"
    apart_by = rf"{_sure()}{gap}{below}{_VALUE}|{_VALUE}{_SIGN}*(?:[ \t'`<>|]|\\+[\"'`t]){gap}{_sure()}"
    return [f"(?i:{near})", f"(?i:{apart_by})", f"(?i:{_sure()})", f"(?i:{_VALUE}|{behind})"]
