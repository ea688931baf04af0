"""The precise rules applied to a text: line by line, with the lines of one command joined, and without escapes."""

from __future__ import annotations

import re
from functools import lru_cache

from core.counting import add
from core.redaction.automaton import COLOUR, ESCAPE, plain_signs, suspects
from core.redaction.engine import compiled
from core.redaction.likely import without_likely
from core.redaction.screen import OF_LINES, WHOLES, suspected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from core.redaction.rule import Rule

# A shell's line that goes on, and how far the next one is set in.
_CONTINUED = re.compile(r"\\\r?\n[ \t]*")
_PUNCTUATED = re.compile(r"\\+(?=[_=+~*:.#&@!<>-])")
_OF_WHOLES = tuple(rule.name for rule in WHOLES)
_OF_LINES = tuple(rule.name for rule in OF_LINES)
_ALL = _OF_WHOLES + _OF_LINES
# Characters of a text that is looked at as a whole, and of the parts in which a history is looked at first.
_CHUNK = 1024
_WIDE = 1 << 15
_GOES_ON = ("\\", "=", ":", "(")
_PASSES = 4
# Characters of a text that is worth its memory.
_REMEMBERED = 1 << 18


def replace(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without all that the policy names; ``counts`` (kind → number) is added to."""
    if len(text) > _REMEMBERED:
        return _replaced(text, counts)
    cleaned, found = _remembered(text)
    add(counts, found)
    return cleaned


@lru_cache(16)
def _remembered(text: str) -> tuple[str, dict[str, int]]:
    """Return (what ``replace`` returns, kind → number): agents log the result of a tool twice in one record."""
    found: dict[str, int] = {}
    return _replaced(text, found), found


def _replaced(text: str, counts: dict[str, int]) -> str:
    # Repeated until nothing more is found, so that a second call leaves the answer alone.
    for _ in range(_PASSES):
        before = text
        text = _once(text, counts)
        if text == before:
            break
    return text


def _once(text: str, counts: dict[str, int]) -> str:
    if "\x1b[" in text:
        found: dict[str, int] = {}
        plain = compiled(COLOUR).sub(b"", text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        cleaned = plain if plain == text else _uncoloured(plain, found)
        if found:  # without the colours, which documents do without as well
            add(counts, found)
            return cleaned
    return _uncoloured(text, counts)


def _uncoloured(text: str, counts: dict[str, int]) -> str:
    if "\\\n" in text or "\\\r\n" in text:
        text = "\n".join(_joined(run, counts) if "\n" in run else run for run in runs(text))
    if plain_signs(text) != text:
        text = _seen_through(text, plain_signs, counts)
    if "\\" in text and compiled(ESCAPE).search(text.encode("utf-8", "surrogatepass")) is not None:
        text = _seen_through(text, _unescaped, counts)
    return _plain(text, counts)


def runs(text: str) -> Iterator[str]:
    """Yield ``text`` line by line; lines that go on in the next one come with it."""
    run: list[str] = []
    for line in text.split("\n"):
        run.append(line)
        if not line.endswith(("\\", "\\\r")):
            yield "\n".join(run)
            run.clear()
    if run:
        yield "\n".join(run)


def _joined(run: str, counts: dict[str, int]) -> str:
    """Return lines that go on in the next one (``curl \\``) without the secrets that they would have as one line."""
    lines, breaks = _CONTINUED.split(run), _CONTINUED.findall(run)
    mark = next((each for each in "\t\v\f" if not any(each in line for line in lines)), None)
    if mark is None:
        return run
    found: dict[str, int] = {}
    cleaned = _plain(mark.join(lines), found)
    # A secret ends where a line does; where one does not, it is left to the rules as they are.
    if not found or cleaned.count(mark) != len(breaks):
        return run
    add(counts, found)
    pieces = cleaned.split(mark)
    return "".join(piece + end for piece, end in zip(pieces, (*breaks, ""), strict=True))


def _unescaped(line: str) -> str:
    """Return ``line`` without markdown's escapes."""
    if "\\" not in line or compiled(ESCAPE).search(line.encode("utf-8", "surrogatepass")) is None:
        return line
    return _PUNCTUATED.sub("", line)


def _seen_through(text: str, plain: Callable[[str], str], counts: dict[str, int]) -> str:
    """Return ``text`` with each line in its ``plain`` form, without secrets, where the line hides one otherwise.

    If the rules find a secret in the line as it is, the line keeps its escapes.
    """
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if (bare := plain(line)) != line:
            found: dict[str, int] = {}
            cleaned = _plain(bare, found)
            if found and cleaned not in (plain(_certain(line, {})), plain(_plain(line, {}))):
                add(counts, found)
                lines[place] = cleaned
    return "\n".join(lines)


def _plain(text: str, counts: dict[str, int]) -> str:
    # A likely secret depends on the line before it, which a chunk may lack.
    return without_likely(_certain(text, counts), counts)


def _certain(text: str, counts: dict[str, int]) -> str:
    """Return ``text`` without what the rules of a grammar find."""
    data = text.encode("utf-8", "surrogatepass")
    # Each chunk of a long text is asked for the rules of lines, and most have none.
    short = len(text) <= _CHUNK
    names = suspected(data, _ALL if short else _OF_WHOLES)
    text = _cleaned(WHOLES, names, text, counts)
    if short:
        return _cleaned(OF_LINES, names, text, counts)
    # Most of a whole history has nothing, and is not taken apart.
    wide = _chunks(text, _WIDE) if len(text) > 2 * _WIDE else (text,)
    return "".join(piece for part in wide for piece in _part(part, counts))


def _cleaned(rules: Iterable[Rule], names: set[str], text: str, counts: dict[str, int]) -> str:
    if names:
        for rule in rules:
            if rule.name in names:
                text = rule.clean(text, counts)
    return text


def _part(text: str, counts: dict[str, int]) -> Iterator[str]:
    if len(text) > _WIDE and not suspects(text.encode("utf-8", "surrogatepass")):
        yield text
        return
    for chunk in _chunks(text, _CHUNK):
        names = suspected(chunk.encode("utf-8", "surrogatepass"), _OF_LINES)
        yield _cleaned(OF_LINES, names, chunk, counts)


def _chunks(text: str, least: int) -> Iterator[str]:
    """Yield ``text`` in pieces of whole lines: the automaton shows where among them the slow rules are needed.

    A line that goes on in the next one stays with it.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start + least) + 1 or len(text)
        while end < len(text) and text[end - 2 : end - 1] in _GOES_ON:
            end = text.find("\n", end) + 1 or len(text)
        yield text[start:end]
        start = end
