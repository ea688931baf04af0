"""One unit of recall, and its markdown form: frontmatter, then the body. Same fields and body, same bytes.

Contract: docs/documents.md. Frontmatter that is plain, as nearly all is, is written and read here; the rest is left to
the YAML library (``core.document_yaml``): its import takes a tenth of the time that a hook has. Tests hold the two
against each other on hostile fields.
"""

from __future__ import annotations

import re
from typing import Any

from core.text import clean, encodable

_KEY = re.compile("[A-Za-z_][A-Za-z0-9_]{0,99}")
_WORDS = frozenset(("yes", "no", "true", "false", "on", "off", "null"))
# A letter or slash that nothing of YAML 1.1 has that begins with a digit and is no text: numbers have a–f (hexadecimal,
# b of binary and e of exponents among them), x and o; dates have T, t and Z. Infinities and NaN begin with a dot.
_LETTER = re.compile("[g-np-su-wyzG-NP-SU-WY/]")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NUMBER = re.compile("0|[1-9][0-9]{0,17}", re.ASCII)
# The lines around the fields, without the first one's end; white space may follow the dashes.
_OPENING = re.compile(r"\ufeff?---[^\S\n]*+(?=\n)")
_CLOSING = re.compile(r"\n---[^\S\n]*+(?:\n|\Z)")
# The last character of YAML's basic plane: libyaml escapes those beyond.
_LAST = "\ufffd"
_LONGEST = 10_000


class Timestamp(str):
    """An ISO 8601 instant without quotes in the frontmatter."""

    __slots__ = ()


class Document:
    """``name`` is the file's path below its collection (``5f0c….md``); ``meta`` keeps its order."""

    __slots__ = ("body", "meta", "name")

    def __init__(self, name: str, meta: dict[str, Any], body: str) -> None:
        self.name = name
        self.meta = meta
        self.body = body

    def render(self) -> bytes:
        """The file's bytes, UTF-8."""
        return render(self.meta, self.body)


class Failure:
    """A record or file that could not be read: a value that flows on and is counted, never an exception.

    ``path`` is the raw source, ``reason`` a short fixed phrase to count by, ``detail`` what was seen, ``line`` 1-based.
    """

    __slots__ = ("detail", "line", "path", "reason")

    def __init__(self, path: str, reason: str, detail: str = "", line: int = 0) -> None:
        self.path = path
        self.reason = reason
        self.detail = detail
        self.line = line

    def __repr__(self) -> str:
        return f"Failure({self.path!r}, {self.reason!r}, {self.detail!r}, {self.line})"


def render(meta: dict[str, Any], body: str) -> bytes:
    """Frontmatter and body as UTF-8 bytes; empty fields (None, "", []) are left out."""
    kept = {clean(key): _safe(value) for key, value in meta.items() if value not in (None, "", [])}
    head = block(kept)
    if head is None:
        from core import document_yaml

        head = document_yaml.dump(kept)
    text = f"---\n{head}---\n\n{body.rstrip()}\n"
    try:
        return text.encode()
    except UnicodeEncodeError:
        return encodable(text).encode()


def split(text: str) -> tuple[dict[str, Any], str]:
    """(frontmatter, body) of a markdown text; where there is no valid frontmatter, ({}, text)."""
    found = bounds(text)
    if found is None:
        return {}, text
    start, end, after = found
    meta = fields(text[start:end])
    if meta is None:
        return {}, text
    while text.startswith(("\n", "\r\n"), after):
        after += 1 + (text[after] == "\r")
    return meta, text[after:]


def fields(head: str) -> dict[str, Any] | None:
    """The mapping that the text between the ``---`` lines is, None where it is none."""
    found = read(head)
    if found is not None:
        return found
    from core import document_yaml

    return document_yaml.load(head)


def bounds(text: str) -> tuple[int, int, int] | None:
    """Return (start of the fields, their end, start of the rest) in characters; None without frontmatter.

    The fields are between two lines of ``---`` at the very top (a byte order mark may come first), with line ends of
    either kind. A thematic break at the top of a text opens none: no field follows it.
    """
    opening = _OPENING.match(text)
    closing = opening and _CLOSING.search(text, opening.end())
    if not opening or not closing:
        return None
    first, end = opening.end() + 1, closing.start() + 1
    head = text[first:end]
    return None if head.strip() and ":" not in head else (first, end, closing.end())


def block(fields: dict[str, Any]) -> str | None:
    """``fields`` as a block mapping; None where one of them is left to the library."""
    lines: list[str] = []
    for key, value in fields.items():
        if not _is_key(key):
            return None
        if isinstance(value, list):
            items = [_written(item) for item in value]
            if not items or None in items:
                return None
            lines.append(f"{key}:\n" + "".join(f"- {item}\n" for item in items))
        else:
            written = _written(value)
            if written is None:
                return None
            lines.append(f"{key}: {written}\n")
    return "".join(lines) or None


def read(head: str) -> dict[str, Any] | None:
    """The fields of a block mapping, timestamps as text; None where one of them is left to the library."""
    fields: dict[str, Any] = {}
    items: list[Any] | None = None
    for line in head.removesuffix("\n").split("\n"):
        if items is not None and line.startswith("- "):
            value = _value(line[2:])
            if value is None:
                return None
            items.append(value)
            continue
        if items == []:
            return None
        key, colon, rest = line.partition(":")
        if not colon or not _is_key(key):
            return None
        if rest:
            value = _value(rest[1:]) if rest[0] == " " else None
            if value is None:
                return None
            fields[key], items = value, None
        else:
            fields[key] = items = []
    return None if items == [] else fields


def _is_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None and key.lower() not in _WORDS


def _written(value: Any) -> str | None:
    if type(value) is int:
        return str(value)
    if type(value) is Timestamp and _INSTANT.fullmatch(value):
        return str(value)
    if type(value) is not str:
        return None
    if _is_text(value):
        return value if _is_plain(value) else "'" + value.replace("'", "''") + "'"
    # The name of a day's document: a date, if it stood without quotes.
    return f"'{value}'" if _DAY.fullmatch(value) else None


def _value(written: str) -> str | int | None:
    if _NUMBER.fullmatch(written):
        return int(written)
    if _INSTANT.fullmatch(written) or (_is_text(written) and _is_plain(written)):
        return written
    inner = written[1:-1]
    if written[:1] != "'" or written[-1:] != "'" or not inner or "'" in inner.replace("''", ""):
        return None
    return inner.replace("''", "'") if _is_printable(inner) else None


def _is_text(value: str) -> bool:
    """Return True if YAML reads ``value`` as a text and nothing else."""
    # Nothing that means something to YAML begins with one of these (https://yaml.org/spec/1.1).
    if not value or not (value[0].isalnum() or value[0] in "/_(") or not _is_printable(value):
        return False
    if value.lower() in _WORDS:
        return False
    if not value[0].isdigit() or _LETTER.search(value) or value.count(".") > 1 or value.count("-") > 3:
        return True
    # A note's identifier has a day without dashes; of YAML's only dates have these letters.
    return value[4:5] != "-" and any(sign in value for sign in "TtZ")


def _is_printable(value: str) -> bool:
    """Return True if ``value`` is one line without characters to escape (a regex would take 8 ms to compile)."""
    return value.isprintable() and len(value) <= _LONGEST and (value.isascii() or max(value) <= _LAST)


def _is_plain(value: str) -> bool:
    """Return True if ``value`` needs no quotes."""
    return ": " not in value and " #" not in value and value[-1] not in ": "


def _safe(value: Any) -> Any:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): _safe(item) for key, item in value.items()}
    return value
