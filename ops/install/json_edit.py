"""Edits of a JSON text that leave every other byte as it is: positions of values, insertion, removal.

People and other programs write settings files; parsing and dumping would change comments, indentation, escapes and
numbers. Comments and trailing commas (JSONC), unquoted keys and single quotes (JSON5) are read, since some agents write
them; RFC 8259 has none of these.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_SPACE = " \t\r\n\ufeff"
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TOKEN = re.compile(rf"{_STRING.pattern}|{_COMMENT.pattern}|[{{}}\[\]]", re.S)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_SCALAR = re.compile(r"[^\s,\]}/:\"'{\[]+")
_PARTS = re.compile(rf"{_STRING.pattern}|{_COMMENT.pattern}|{_NAME.pattern}(?=\s*:)", re.S)
_TRAILING = re.compile(rf"({_STRING.pattern})|,(?=\s*[}}\]])", re.S)
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)(?=\r?\n|$)")


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
        key, after = _key(text, at)
        value = _skip(text, _expect(text, _skip(text, after), ":"))
        end = _end(text, value)
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
        end = _end(text, at)
        found.append(Span(at, at, end))
        at = _next(text, end, "]")
    return found


def start(text: str, *, strict: bool = False) -> int:
    """Return the position of the file's one value. Raises ValueError if the text is not one JSON value.

    ``strict`` is for programs that read plain JSON: a text with comments is none, then.
    """
    if strict:
        json.loads(text.removeprefix("\ufeff"))
    else:
        loads(text)
    return _skip(text, 0)


def loads(text: str) -> Any:
    """Return the value of a text of JSON, JSONC or the part of JSON5 that this module edits. Raises ValueError."""
    try:
        return json.loads(text)
    except ValueError:
        plain = _PARTS.sub(_plain, text.replace("\ufeff", "", 1) if text.startswith("\ufeff") else text)
        return json.loads(_TRAILING.sub(lambda found: found[1] or "", plain))


def insert(text: str, at: int, spans: list[Span], addition: str, depth: int) -> str:
    """Return ``text`` with ``addition`` as the last entry of the container that begins at ``at`` and holds ``spans``.

    ``depth`` is the container's; a file of one line stays one, any other gets a line of its own.
    """
    unit = indentation(text)
    if not unit:
        if spans:
            return f"{text[: spans[-1].end]}, {addition}{text[spans[-1].end :]}"
        return f"{text[: at + 1]}{addition}{text[at + 1 :].lstrip(_SPACE)}"
    newline = "\r\n" if "\r\n" in text else "\n"
    line = newline + unit * (depth + 1)
    body = addition.replace("\n", line)
    if not spans:
        inside = text[at + 1 : _skip(text, at + 1)].rstrip(_SPACE)  # comments of an empty container stay
        return f"{text[: at + 1]}{inside}{line}{body}{newline}{unit * depth}{text[_skip(text, at + 1) :]}"
    end = spans[-1].end
    comma = _skip(text, end)
    has_comma = text[comma : comma + 1] == ","
    after = comma + 1 if has_comma else end
    remark = _REST_OF_LINE.match(text, after)  # a remark on the last entry's line belongs to that entry
    after = remark.end() if remark else after
    head = text[:after] if has_comma else f"{text[:end]},{text[end:after]}"
    return f"{head}{line}{body}{',' if has_comma else ''}{text[after:]}"


def remove(text: str, spans: list[Span], index: int) -> str:
    """Return ``text`` without the entry ``index`` of a container's ``spans``, its comma and the space that set it
    apart. Comments stay.
    """
    span = spans[index]
    before = span.start
    while before and text[before - 1] in _SPACE:
        before -= 1
    comma = _skip(text, span.end)
    if text[comma : comma + 1] == ",":
        if index:
            return text[:before] + text[span.end : comma] + text[comma + 1 :]
        after = comma + 1
        while text[after : after + 1] and text[after] in _SPACE:
            after += 1
        return text[: span.start] + text[span.end : comma] + text[after:]
    if not index:
        if "//" in text[text.rfind("\n", 0, before) + 1 : before]:
            return text[:before] + text[span.end :]  # the line ends in a remark, which would take in what follows
        after = span.end
        while text[after : after + 1] and text[after] in _SPACE:
            after += 1
        return text[:before] + text[after:]
    comma = _skip(text, spans[index - 1].end)
    return text[:comma] + text[comma + 1 : before] + text[span.end :]


def indentation(text: str) -> str:
    """Return the file's unit of indentation: the space before its first key on its own line, "" for
    a file of one line.
    """
    _, newline, rest = text.strip().partition("\n")
    if not newline:
        return "" if text.strip().strip("\ufeff") not in ("{}", "") else "  "
    for line in rest.split("\n"):
        if line.strip() and not line.lstrip().startswith(("//", "/*", "*")):
            return line[: len(line) - len(line.lstrip(" \t"))] or "  "
    return "  "


def dump(value: Any, unit: str) -> str:
    """Return ``value`` as JSON for ``insert``, indented by ``unit`` unless that is ""."""
    return json.dumps(value, ensure_ascii=False, indent=unit or None)


def _plain(found: re.Match[str]) -> str:
    token = found[0]
    if token.startswith("/"):
        return " "
    if token.startswith("'"):
        inner = token[1:-1].replace("\\'", "'")
        return '"' + re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', inner) + '"'
    return token if token.startswith('"') else f'"{token}"'


def _key(text: str, at: int) -> tuple[str, int]:
    found = _STRING.match(text, at)
    if found:
        return str(loads(found[0])), found.end()
    name = _NAME.match(text, at)
    if name is None:
        raise ValueError(f"expected a key at character {at}")
    return name[0], name.end()


def _end(text: str, at: int) -> int:
    """Return the position after the value that begins at ``at``."""
    if text[at : at + 1] not in ("{", "["):
        found = _STRING.match(text, at) or _SCALAR.match(text, at)
        if found is None:
            raise ValueError(f"expected a value at character {at}")
        return found.end()
    depth = 0
    for token in _TOKEN.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if not depth:
            return token.end()
    raise ValueError(f"nothing closes the bracket at character {at}")


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise ValueError(f"expected {character!r} at character {at}")
    return at + 1


def _skip(text: str, at: int) -> int:
    while True:
        while text[at : at + 1] and text[at] in _SPACE:
            at += 1
        comment = _COMMENT.match(text, at)
        if comment is None:
            return at
        at = comment.end()


def _next(text: str, end: int, close: str) -> int:
    at = _skip(text, end)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != close:
        raise ValueError(f"expected ',' or {close!r} at character {at}")
    return at
