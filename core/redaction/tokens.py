"""Tokens of known providers, which their own shape names (``providers.json``).

The shapes come from the providers' documentation of their token formats and their registrations for secret scanning
(https://docs.github.com/code-security/secret-scanning).
"""

from __future__ import annotations

import json
import os
import re
from functools import cache

from core.redaction.engine import compiled, whether
from core.redaction.looks import entropy, is_placeholder
from core.redaction.mark import MARK
from core.redaction.names import screened
from core.redaction.rule import (
    OVER,
    PIECE,
    WORD_BYTES,
    Prefilter,
    Rule,
    by_ends,
    is_begun,
    loose,
    made,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# AWS hands out two: the second comes right behind the first, as in a table or a call.
_BESIDE_AWS = (
    r"(?P<head>\[redacted:aws\](?:\\[nrt\"']|[\s,;:|\"'\\]){1,20})"
    r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
_ALPHANUMERIC = WORD_BYTES - frozenset(b"_-")
_BASE64 = _ALPHANUMERIC | frozenset(b"+/=")
# So many characters of a token are telling.
_TELLING = 16
_BLOB = 100
# A token that is broken into lines, with what quotes, comments and numbers put between them.
_BREAK = r"[\"'`+ \t]{0,8}(?:\\?\r?\n|\\+(?:r\\+)?n|[\t\v\f])[ \t>|#*+\"'`]{0,20}(?:[0-9]{1,6}[→:|\t-][ \t]?)?"
_BROKEN = (
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_.-]{8,}+"
    rf"(?:{_BREAK}[A-Za-z0-9_.-]{{4,}}+(?=[\"'`+,;)}}\] \t]*(?:\\*\r?\n|\\+r?\\*n|[\t\v\f]|\Z)))+"
)
# Lengths of a JSON Web Token's signature (RFC 7518, section 3.1): HS256 to ES512, RSA of 1,024 to 4,096 bits.
_SIGNATURES = frozenset((43, 64, 86, 114, 128, 152, 171, 176, 342, 512, 683))


class Provider:
    """The tokens of one kind; the first kind that matches names a token."""

    __slots__ = ("distinct", "kind", "literals", "opening", "pattern", "within")

    def __init__(
        self,
        kind: str,
        pattern: Sequence[str],
        within: Sequence[str] = (),
        opening: Sequence[str] = (),
        distinct: Sequence[str] = (),
        literals: Sequence[str] = (),
    ) -> None:
        """Keep the fields.

        Args:
            kind: The kind in the mark.
            pattern: The alternatives of the shape, in the syntax that RE2 and ``re`` share.
            within: For the automaton, patterns within a token with a beginning that says nothing.
            opening: For the automaton, beginnings; without ``within`` and ``opening`` they are made of ``pattern``.
            distinct: Beginnings with which no word goes on, not even behind a hyphen: ``build-ghp_…``.
            literals: One of them is in each token; by default the letters that each alternative begins with.
        """
        self.kind = kind
        self.pattern = pattern
        self.within = within
        self.opening = opening
        self.distinct = distinct
        self.literals = literals

    def needed(self) -> tuple[bytes, ...]:
        """Return bytes of which each token has one; a pattern that may begin in several ways has b"" among them."""
        if self.literals:
            return tuple(literal.encode() for literal in self.literals)
        return tuple(made(_PLAIN).match(each)[0].encode() for each in self.pattern)  # type: ignore[index]

    def beginnings(self) -> Sequence[str]:
        """Return the patterns for the automaton of how a token begins."""
        return self.opening or ([] if self.within else [_beginning(each) for each in self.pattern])


_PLAIN = r"(?:[A-Za-z0-9_/-](?![?*{]))*"
_PIECE = r"(?:\\.|\[(?:\\.|[^\]\\])+\]|\((?:[^()]|\([^()]*\))*\)|[^\\\[(])(?:[?*+]|\{\d+(?:,\d*)?\})?"


def _beginning(pattern: str) -> str:
    """Return what ``pattern`` begins with, up to as many counted characters as are telling."""
    found, size = "", 0
    for piece in made(_PIECE).findall(pattern):
        found += loose(piece)
        count = re.search(r"\{(\d+)(?:,\d*)?\}\Z", piece)
        size += int(count[1]) if count else 0
        if size >= _TELLING:
            break
    return found


with open(f"{os.path.dirname(__file__)}/providers.json", encoding="utf-8") as _file:
    PROVIDERS = tuple(Provider(**each) for each in json.load(_file))
_JWT = next(provider for provider in PROVIDERS if provider.kind == "jwt")
_PREFILTER = Prefilter(
    (
        *(each for provider in PROVIDERS for each in provider.within),
        *(f"(?-i:[_-]{each})" for provider in PROVIDERS for each in provider.distinct),
    ),
    tuple(f"(?-i:{each})" for each in by_ends(each for provider in PROVIDERS for each in provider.beginnings())),
)


def without_tokens(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without the tokens of known providers; ``counts`` (kind → number) is added to."""
    if "eyJ" in text:
        text = made(_BROKEN).sub(lambda match: _rejoined(match, counts), text)
    data = text.encode("utf-8", "surrogatepass")
    pieces: list[bytes] = []
    done = 0
    for start, end in _windows(data):
        pieces += (data[done:start], _without_tokens(data[start:end], counts))
        done = end
    text = b"".join((*pieces, data[done:])).decode("utf-8", "surrogatepass")
    return made(_BESIDE_AWS).sub(lambda match: _second(match, counts), text) if "[redacted:aws]" in text else text


def _rejoined(match: re.Match[str], counts: dict[str, int]) -> str:
    """Return the match without the JSON Web Token that its lines make together."""
    lines = list(made(r"[A-Za-z0-9_.-]+").finditer(made(_BREAK).sub(lambda gap: "\n" * len(gap[0]), match[0])))
    token, end = lines[0][0], lines[0].end()
    for line in lines[1:]:
        if is_whole(token) or not (is_varied(line[0]) or "." in line[0]):
            break
        token, end = token + line[0], line.end()
    if end == lines[0].end() or made("|".join(_JWT.pattern)).fullmatch(token) is None:
        return match[0]
    counts["jwt"] = counts.get("jwt", 0) + 1
    return f"{MARK}jwt]{match[0][end:]}"


def is_whole(text: str) -> bool:
    """Return True if the JSON Web Token that ``text`` ends with has all its parts."""
    parts = re.split(r"[^A-Za-z0-9_.-]", text.rstrip())[-1].split(".")
    return len(parts) == 5 or (len(parts) == 3 and len(parts[2]) in _SIGNATURES)


def is_varied(value: str) -> bool:
    """Return True if ``value`` has letters of both cases and digits, as no word and no hash in hexadecimal has."""
    return all(any(map(sign, value)) for sign in (str.isdigit, str.isupper, str.islower))


def _second(match: re.Match[str], counts: dict[str, int]) -> str:
    """The secret of a pair, where it is no hash."""
    if not all(sum(map(sign, match["value"])) > 2 for sign in (str.isdigit, str.isupper, str.islower)):
        return match[0]
    counts["aws"] = counts.get("aws", 0) + 1
    return f"{match['head']}{MARK}aws]"


def _windows(data: bytes) -> list[tuple[int, int]]:
    """(start, end) of the parts of ``data`` in which something is like a token, and what may belong to it."""
    holds = whether(screened([_PREFILTER]))
    found: list[tuple[int, int]] = []
    for start in range(0, len(data), PIECE):
        end = min(len(data), start + PIECE + OVER)
        if not holds(data[start:end]):
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _without_tokens(data: bytes, counts: dict[str, int]) -> bytes:
    for provider in PROVIDERS:
        if not any(map(data.__contains__, provider.needed())):
            continue  # most kinds are in no text of a brain, and their automata are never made
        kind, search = provider.kind, compiled("|".join(provider.pattern)).search
        pieces: list[bytes] = []
        done = at = 0
        while (match := search(data, at)) is not None:
            start, end = match.span()
            if not _is_token(provider, data, start, end):
                at = start + 1
                continue
            pieces += (data[done:start], f"{MARK}{kind}]".encode())
            counts[kind] = counts.get(kind, 0) + 1
            done = at = end
        if pieces:
            data = b"".join((*pieces, data[done:]))
    return data


def _is_token(provider: Provider, data: bytes, start: int, end: int) -> bool:
    """Return True if ``data[start:end]`` is a token, and does not only look like one."""
    kind = provider.kind
    before = data[max(0, start - _BLOB) : start]
    if not is_begun(data, start) and not _begins(provider, data, start, before):
        return False
    if end < len(data) and data[end] in _ALPHANUMERIC:
        return False
    if len(before) == _BLOB and _BASE64.issuperset(before):
        return False  # a coincidence in the middle of encoded bytes: an image, a font
    found = data[start:end].decode("ascii", "replace")
    if (kind not in ("crypt", "django") and is_placeholder(found)) or len(set(found[-16:])) < 5:
        return False
    if kind == "secret":
        if found.startswith("pk_"):
            return False  # a publishable key, which every page that uses it shows
        tail = max(re.split("[_-]", found), key=len)
        digits = sum(map(str.isdigit, tail))
        mixed = digits and any(map(str.islower, tail)) and any(map(str.isupper, tail))
        mixed = mixed and (digits > 2 or entropy(tail) >= 4)
        return mixed or (len(tail) >= 32 and entropy(tail) >= 3)
    return kind not in ("slack", "brave", "octopus", "infracost") or any(map(str.isdigit, found))


def _begins(provider: Provider, data: bytes, start: int, before: bytes) -> bool:
    """Return True if a token may begin at ``start``, behind the letter, digit, ``_`` or ``-`` that ends ``before``."""
    if before[-1] not in _ALPHANUMERIC and provider.distinct:
        return _distinct("|".join(provider.distinct)).match(data, start) is not None
    # The address of Telegram's API has it right behind `bot`.
    return provider.kind == "telegram" and before.endswith(b"/bot")


@cache
def _distinct(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode())


TOKENS = Rule("token", _PREFILTER, clean=without_tokens)
