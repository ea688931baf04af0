"""Edits of a JSON text that leave every other byte as it is: positions of values, insertion, removal.

People and other programs write settings files; parsing and dumping would change indentation, escapes and numbers. The
standard decoder reads the grammar (RFC 8259); this module only keeps positions.
"""

from __future__ import annotations

import json
from json.decoder import JSONDecoder
from typing import Any, NamedTuple

_SPACE = " \t\r\n"
_decoder = JSONDecoder()


class Span(NamedTuple):
    """The positions of a member or an array item: its start (the key's), its value's start, its end."""

    start: int
    value: int
    end: int


def members(text: str, at: int) -> dict[str, Span]:
    """Return key → span for the object that begins at ``at``. Raises ValueError (also for a repeated key)."""
    found: dict[str, Span] = {}
    at = _skip(text, _expect(text, at, "{"))
    while text[at : at + 1] != "}":
        _expect(text, at, '"')
        key, after = _decoder.raw_decode(text, at)
        value = _skip(text, _expect(text, _skip(text, after), ":"))
        _, end = _decoder.raw_decode(text, value)
        if key in found:
            raise ValueError(f"the key {key!r} occurs twice")
        found[key] = Span(at, value, end)
        at = _next(text, end, "}")
    return found


def items(text: str, at: int) -> list[Span]:
    """Return the spans of the items of the array that begins at ``at``. Raises ValueError."""
    found: list[Span] = []
    at = _skip(text, _expect(text, at, "["))
    while text[at : at + 1] != "]":
        _, end = _decoder.raw_decode(text, at)
        found.append(Span(at, at, end))
        at = _next(text, end, "]")
    return found


def start(text: str) -> int:
    """Return the position of the file's one value. Raises ValueError if the text is not one JSON value."""
    json.loads(text)
    return _skip(text, 0)


def insert(text: str, at: int, spans: list[Span], addition: str, depth: int) -> str:
    """Return ``text`` with ``addition`` as the last entry of the container that begins at ``at`` and holds ``spans``.

    ``depth`` is the container's; a file of one line stays one, any other gets a line of its own.
    """
    unit = indentation(text)
    if not unit:
        if spans:
            return f"{text[: spans[-1].end]}, {addition}{text[spans[-1].end :]}"
        return f"{text[: at + 1]}{addition}{text[_skip(text, at + 1) :]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    line = newline + unit * (depth + 1)
    body = addition.replace("\n", line)
    if spans:
        return f"{text[: spans[-1].end]},{line}{body}{text[spans[-1].end :]}"
    return f"{text[: at + 1]}{line}{body}{newline}{unit * depth}{text[_skip(text, at + 1) :]}"


def remove(text: str, spans: list[Span], index: int) -> str:
    """Return ``text`` without the entry ``index`` of a container's ``spans``, its comma and the space that set it
    apart.
    """
    if len(spans) == 1:
        before, after = spans[0].start, spans[0].end
        while text[before - 1] in _SPACE:
            before -= 1
        return text[:before] + text[_skip(text, after) :]
    if index:
        return text[: spans[index - 1].end] + text[spans[index].end :]
    return text[: spans[0].start] + text[spans[1].start :]


def indentation(text: str) -> str:
    """Return the file's unit of indentation: the space before its first key on its own line, "" for
    a file of one line.
    """
    _, newline, rest = text.strip().partition("\n")
    if not newline:
        return "" if text.strip() not in ("{}", "") else "  "
    line = rest.split("\n", 1)[0]
    return line[: len(line) - len(line.lstrip(" \t"))] or "  "


def dump(value: Any, unit: str) -> str:
    """Return ``value`` as JSON for ``insert``, indented by ``unit`` unless that is ""."""
    return json.dumps(value, ensure_ascii=False, indent=unit or None)


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise ValueError(f"expected {character!r} at character {at}")
    return at + 1


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACE:
        at += 1
    return at


def _next(text: str, end: int, close: str) -> int:
    at = _skip(text, end)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != close:
        raise ValueError(f"expected ',' or {close!r} at character {at}")
    return at
