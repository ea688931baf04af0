"""Private keys in text: PEM blocks, whole or cut off at either end."""

from __future__ import annotations

import re

from core.redaction.rule import Prefilter, Rule, alternatives, made
from core.redaction.tokens import is_varied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# How the body of a private key begins, in base64: PKCS #1, PKCS #8 (RFC 5208), SEC 1 (RFC 5915), OpenSSH.
_KEY_BEGINNINGS = (
    r"MII[A-P][A-Za-z0-9+/][AQgw]IBA(?:AKC|DANBgkqhkiG9w0BAQ)|MII[A-P][A-Za-z0-9+/]{2}B[A-Za-z0-9+/]BgkqhkiG9w0BBQ"
    r"|MHcCAQEEI|MIGkAgEBBDA|MIH[bc]AgEBBE|MI(?:GHAgEAMBMG|G2AgEAMBAG|HuAgEAMBAG)ByqGSM49|M[CE][4c]CAQAwBQYDK2V"
    r"|b3BlbnNzaC1rZXktdjEA"
)
_NAMED = r"[A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)[- ]{0,5}"
_BEGIN, _END = rf"----[- ]BEGIN{_NAMED}", rf"----[- ]END{_NAMED}"
# The same, and a key's first bytes, from which a body is known without its mark.
_BEGIN_OR_BODY = rf"{_BEGIN}|(?<![A-Za-z0-9/=])(?=(?:{_KEY_BEGINNINGS})[A-Za-z0-9+/]{{24}})"
_OTHER = "-----BEGIN "
# A key of 16,384 bits has 12,700 characters, in 200 lines.
_MOST = 20_000
_MOST_LINES = 200
# Separators within a key: white space, quotes, marks of diffs and comments, written line ends, line numbers.
_LOOSE = (
    r"(?:\\+(?:u000[aAdD9]|x0[aAdD9]|[nrt])?|<br ?/?>|&(?:#1[03]|#x[adAD]|quot|gt|nbsp);|%0[aAdD]"
    r"|(?<![A-Za-z0-9+/=])[0-9]{1,12}(?=[→:|.)\s-]|\Z)|[\s\"'`+|>,;→│┃*#….()\[\]-])"
)
_WORD = r"[A-Za-z0-9+/=]"
# The last line of a key may be short; no line before it is.
_RUN = (
    rf"{_WORD}{{16,}}+(?:{_LOOSE}++{_WORD}{{16,}}+)*+(?:{_LOOSE}++{_WORD}{{4,15}}+(?={_LOOSE}*+\Z))?+|{_WORD}{{4,15}}+"
)
_LINE = rf"{_WORD}{{16,}}"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Subject|x-date): ?[^\n\\]{0,100}"
_PUTTY = rf"(Private-Lines: \d{{1,3}}{_LOOSE}{{1,8}}){_LINE}(?:{_LOOSE}{{1,8}}{_LINE})*"
# Without its beginning a key has to have one line that is this wide.
_WIDTH = 24
_LEAST = 16
# Characters that a log may have before and behind a line's message.
_SURROUNDING = 300
_DIGITS = frozenset("0123456789+=")
_NUMBERED = r"\w*\d\w*"


def without_keys(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without private keys, also those that were cut off at either end.

    Args:
        text: the text to look through.
        counts: kind → number of replacements, added to.
    """
    text, putty = made(_PUTTY).subn(r"\g<1>[redacted:private-key]", text)
    if putty:
        counts["private-key"] = counts.get("private-key", 0) + putty
    pieces: list[str] = []
    at = 0
    for start, stop in _places(text):
        pieces += (text[at:start], "[redacted:private-key]")
        counts["private-key"] = counts.get("private-key", 0) + 1
        at = stop
    return "".join((*pieces, text[at:]))


def _places(text: str) -> Iterable[tuple[int, int]]:
    """Yield (start, end) of each private key in ``text``."""
    at = 0
    while (begin := made(_BEGIN_OR_BODY).search(text, at)) is not None:
        yield from _headless(text, at, begin.start())
        at = begin.end()
        again = made(_BEGIN).search(text, at, at + _MOST)
        high = again.start() if again is not None else min(len(text), at + _MOST)
        end = made(_END).search(text, at, high)
        stop = _after(text, begin.start(), at, high) if end is None else end.end()
        # Else the mark is spoken of, and no key follows.
        if made(_LINE).search(text, at, stop) is not None:
            yield begin.start(), stop
            at = stop
        at = max(at, begin.start() + 1)
    yield from _headless(text, at, len(text))


def _headless(text: str, low: int, high: int) -> Iterable[tuple[int, int]]:
    """Yield the keys in ``text[low:high]`` of which only the end is left."""
    while (end := made(_END).search(text, low, high)) is not None:
        start = _before(text, max(low, end.start() - _MOST), end.start(), end.end())
        if start < end.start():
            yield start, end.end()
        low = end.end()


def unended(text: str) -> int | None:
    """Return the width of the lines of a key in ``text`` that has no end.

    0 if the text ends with the key's mark; -1 if the last key has an end; None if the text has no mark.
    """
    begins, ends = list(made(_BEGIN_OR_BODY).finditer(text)), list(made(_END).finditer(text))
    if ends and (not begins or ends[-1].start() > begins[-1].start()):
        return -1
    if not begins:
        return None
    at = begins[-1].end()
    word = made(rf"{_WORD}{{40,}}").search(text, at)
    if word is None:
        return 0 if is_loose(text[at:]) else None
    return len(word[0])


def without_body(text: str, width: int, counts: dict[str, int]) -> tuple[str, int]:
    """Return ``text`` without lines of a key that has begun in another text, and how wide they are, 0 without any.

    Args:
        text: what comes later, of a file or a list.
        width: characters in the key's lines; 0 if only the key's mark is known.
        counts: kind → number of replacements, added to.
    """
    if _OTHER in text and made(_BEGIN).search(text) is None:
        return text, 0  # a certificate, say
    size = _WORD + f"{{{width}}}" if width else rf"(?:{_WORD}{{64}}|{_WORD}{{70}}|{_WORD}{{76}})"
    line = made(rf"(?:(?<!{_WORD})|(?<=\\[nrt]))\+?(?P<line>{size})(?!{_WORD})")
    spans: list[tuple[int, int]] = []
    for match in line.finditer(text):
        start, end = match.span("line")
        if not is_varied(match["line"]):
            continue
        width = width or end - start
        if spans and start - spans[-1][1] <= _SURROUNDING and text.count("\n", spans[-1][1], start) < 3:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    if not spans:
        return text, 0
    # The text may begin and end within a line.
    head = made(rf"{_LOOSE}*+{_WORD}{{1,{width}}}{_LOOSE}++").fullmatch(text, 0, spans[0][0])
    if head is not None:
        spans[0] = (len(text) - len(text.lstrip()), spans[0][1])
    tail = made(rf"{_LOOSE}++{_WORD}{{1,{width}}}(?={_LOOSE}*+\Z)").match(text, spans[-1][1])
    if tail is not None:
        spans[-1] = (spans[-1][0], tail.end())
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], "[redacted:private-key]")
        counts["private-key"] = counts.get("private-key", 0) + 1
        at = end
    return "".join((*pieces, text[at:])), width


class _Frame:
    """The text around each line of one key: as much as the line of its mark begins and ends with."""

    __slots__ = ("_prefix", "_suffix")

    def __init__(self, text: str, start: int, end: int) -> None:
        self._prefix = _shape(text[max(0, start - _SURROUNDING) : start].rpartition("\n")[2])
        self._suffix = _shape(text[end : end + _SURROUNDING].partition("\n")[0])

    def run(self, line: str) -> re.Match[str] | None:
        """Return the part of a key that ``line`` is, in its frame; None if the line belongs to no key."""
        for run in made(_RUN).finditer(line):
            if run.start() > _SURROUNDING:
                break
            if _is_drawn(run[0]) and self._fits(line[: run.start()], line[run.end() :]):
                return run
        return None

    def _fits(self, prefix: str, suffix: str) -> bool:
        return (is_loose(prefix) or (bool(self._prefix) and self._prefix.startswith(_shape(prefix)))) and (
            is_loose(suffix) or (bool(self._suffix) and len(suffix) <= _SURROUNDING and _shape(suffix) == self._suffix)
        )


def is_loose(text: str) -> bool:
    """Return True if ``text`` holds nothing but what separates the lines of a key."""
    return made(f"{_LOOSE}*+").fullmatch(text) is not None


def _is_drawn(run: str) -> bool:
    """Return True if ``run`` may be a part of a key: paths of words have few digits, signs and capitals."""
    return len(run) < _LEAST or not (_DIGITS.isdisjoint(run) or ("/" in run and run == run.lower()))


def _shape(text: str) -> str:
    """Return ``text`` without what differs from line to line: numbers, times, the sign behind a number."""
    return " ".join(made(_NUMBERED).sub("0", text).replace("-", ":").split())


def _after(text: str, start: int, end: int, high: int) -> int:
    """Return the end of a key with the mark ``text[start:end]`` and no end mark: ``high`` at most."""
    frame = _Frame(text, start, end)
    (low, rest), *lines = _lines(text, end, high)
    stop, left = end, _MOST_LINES
    run = made(_RUN).search(rest)
    if run is not None and len(run[0]) >= _LEAST and is_loose(rest[: run.start()]):
        stop = low + run.end()
        if not is_loose(rest[run.end() :]):
            return stop
    for low, line in lines:
        if is_loose(line):
            continue
        run = frame.run(line)
        if run is None:
            if stop == end and made(_HEADER).search(line) is not None:
                continue
            break
        is_short, is_end = len(run[0]) < _LEAST, low + len(line) == len(text)
        if is_short and (stop == end or (run[0].isalpha() and not is_end)):
            break  # a word
        stop, left = low + run.end(), left - 1
        if is_short or not left:
            break
    return stop


def _before(text: str, low: int, start: int, end: int) -> int:
    """Return the beginning of a key with the end mark ``text[start:end]`` and no other."""
    frame = _Frame(text, start, end)
    *lines, (at, head) = _lines(text, low, start)
    left = _MOST_LINES
    run = _last_run(head)
    if run is not None:
        first, widest = at + run.start(), _width(run[0])
        if not is_loose(head[: run.start()]):
            return first
    else:
        first, widest = start, 0
    for at, line in reversed(lines):
        if is_loose(line):
            continue
        run = frame.run(line)
        # The last line of a key may be short, and the first one here a part of a line.
        if run is None or (len(run[0]) < _LEAST and first < start and at > 0):
            # Anything may stand before what is left of the first line.
            run = _last_run(line) if first < start else None
            first, widest = (at + run.start(), _WIDTH) if run is not None else (first, widest)
            break
        first, widest, left = at + run.start(), max(widest, _width(run[0])), left - 1
        if not left:
            break
    return first if widest >= _WIDTH else start


def _last_run(line: str) -> re.Match[str] | None:
    """Return the part of a key that ``line`` ends with, if it is wide enough to be one."""
    for run in made(_RUN).finditer(line):
        if _width(run[0]) >= _WIDTH and _is_drawn(run[0]) and is_loose(line[run.end() :]):
            return run
    return None


def _width(run: str) -> int:
    return max(map(len, made(rf"{_WORD}+").findall(run)), default=0)


def _lines(text: str, low: int, high: int) -> Iterable[tuple[int, str]]:
    """Yield (place, line) for the lines in ``text[low:high]``, which may begin and end within one."""
    for line in text[low:high].split("\n"):
        yield low, line
        low += len(line) + 1


KEYS = Rule(
    "key",
    Prefilter(
        ("----[ -](?:BEGIN|END)[A-Z0-9 ]*(?:PRIVATE KEY|OpenVPN Static)", "Private-Lines: "),
        tuple(f"(?-i:{each})" for each in alternatives(_KEY_BEGINNINGS)),
    ),
    clean=without_keys,
)
