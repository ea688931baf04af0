"""What says itself what it is: tokens of known providers."""

from __future__ import annotations

import re
from functools import cache

from core.redaction.commands import made
from core.redaction.providers import DISTINCT, PROVIDERS
from core.redaction.screen import OVER, PARTS, PIECE, alternatives, compiled, whether
from core.redaction.values import entropy, is_placeholder

_KINDS = {
    **PROVIDERS,
    "jwt": r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?|[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){3})",
}
# What is in every token of kinds that do not begin with letters of their own: one of these.
_NEEDED = {
    "slack": (b"xox", b"xapp-", b"hooks.slack.com/"),
    "mailchimp": (b"-us",),
    "telegram": (b":AA",),
    "terraform": (b".atlasv1.",),
    "azure": (b"8Q~", b"JQQJ9"),
    "teams": (b".office.com/webhook", b".office365.com/webhook"),
    "crypt": (b"$",),
}
# AWS hands out two: what stands right behind the first, as in a table or a call, is the second.
_BESIDE_AWS = (
    r"(?P<head>\[redacted:aws\](?:\\[nrt\"']|[\s,;:|\"'\\]){1,20})"
    r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
)
_ALPHANUMERIC = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_WORD_BYTES = _ALPHANUMERIC | frozenset(b"_-")
_BASE64 = _ALPHANUMERIC | frozenset(b"+/=")
# What ends in a letter or a digit and is no part of the word behind it: escapes of JSON and of programs, of addresses,
# and what colours a terminal's text (also where copying it has lost the escape).
_WRITTEN = re.compile(
    rb"(?:\\(?:[nrtbf]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|%[0-9A-Fa-f]{2}"
    rb"|\[[0-9;]{1,20}m|(?:\x1b|\\(?:x1b|u001b|033|e))\[[0-9;]{0,20}[mK])\Z"
)
_BLOB = 100
# A token that is broken into lines, with what quotes, comments and numbers put between them.
_BREAK = r"[\"'`+ \t]{0,8}(?:\\?\r?\n|\\+(?:r\\+)?n|[\t\v\f])[ \t>|#*+\"'`]{0,20}(?:[0-9]{1,6}[→:|\t-][ \t]?)?"
_BROKEN = (
    r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_.-]{8,}+"
    rf"(?:{_BREAK}[A-Za-z0-9_.-]{{4,}}+(?=[\"'`+,;)}}\] \t]*(?:\\*\r?\n|\\+r?\\*n|[\t\v\f]|\Z)))+"
)
# Lengths of a JSON Web Token's signature (RFC 7518, section 3.1): HS256 to ES512, RSA of 1,024 to 4,096 bits.
_SIGNATURES = frozenset((43, 64, 86, 114, 128, 152, 171, 176, 342, 512, 683))


@cache
def _beginnings(pattern: str) -> tuple[bytes, ...]:
    """The characters that each alternative of ``pattern`` begins with; of one that may begin in several ways, none."""
    plain = (re.match(r"(?:[A-Za-z0-9_/-](?![?*{]))*", alternative) for alternative in alternatives(pattern))
    return tuple(match[0].encode() if match else b"" for match in plain)


def without_tokens(text: str, counts: dict[str, int]) -> str:
    """``text`` without the tokens of known providers, found by the automata, since ``re`` tries each at each place."""
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
    if end == lines[0].end() or made(_KINDS["jwt"]).fullmatch(token) is None:
        return match[0]
    counts["jwt"] = counts.get("jwt", 0) + 1
    return f"[redacted:jwt]{match[0][end:]}"


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
    return f"{match['head']}[redacted:aws]"


def _windows(data: bytes) -> list[tuple[int, int]]:
    """(start, end) of the parts of ``data`` in which something is like a token, and what may belong to it."""
    holds = whether(PARTS["token"])
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
    for kind, pattern in _KINDS.items():
        if not any(map(data.__contains__, _NEEDED.get(kind) or _beginnings(pattern))):
            continue  # most kinds are in no text of a brain, and their automata are never made
        search = compiled(pattern).search
        pieces: list[bytes] = []
        done = at = 0
        while (match := search(data, at)) is not None:
            start, end = match.span()
            if not _is_token(kind, data, start, end):
                at = start + 1
                continue
            pieces += (data[done:start], f"[redacted:{kind}]".encode())
            counts[kind] = counts.get(kind, 0) + 1
            done = at = end
        if pieces:
            data = b"".join((*pieces, data[done:]))
    return data


def _is_token(kind: str, data: bytes, start: int, end: int) -> bool:
    """Whether ``data[start:end]`` is a token, and does not only look like one."""
    before = data[max(0, start - _BLOB) : start]
    if before and before[-1] in _WORD_BYTES and not _begins(kind, data, start, before):
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


def _begins(kind: str, data: bytes, start: int, before: bytes) -> bool:
    """Whether a token may begin at ``start``, behind a letter, a digit, ``_`` or ``-``: the last of ``before``."""
    if before[-1] not in _ALPHANUMERIC and kind in DISTINCT:
        return _distinct(kind).match(data, start) is not None
    # The address of Telegram's API has it right behind `bot`.
    return (kind == "telegram" and before.endswith(b"/bot")) or _WRITTEN.search(before[-32:]) is not None


def is_begun(data: bytes, start: int) -> bool:
    """Return True if a word begins at ``start``: behind no letter, digit, ``_`` or ``-``, but behind an escape."""
    before = data[max(0, start - 32) : start]
    return not before or before[-1] not in _WORD_BYTES or _WRITTEN.search(before) is not None


@cache
def _distinct(kind: str) -> re.Pattern[bytes]:
    return re.compile(DISTINCT[kind].encode())
