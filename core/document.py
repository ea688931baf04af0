"""One unit of recall, and its markdown form: frontmatter written by a YAML library, then the body.

Contract: docs/documents.md. Same fields and body, same bytes.
"""

from __future__ import annotations

from typing import Any

from core import frontmatter, plain_yaml
from core.text import clean, encodable

Timestamp = plain_yaml.Timestamp


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
    head = plain_yaml.block(kept)
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
    found = frontmatter.bounds(text)
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
    found = plain_yaml.read(head)
    if found is not None:
        return found
    from core import document_yaml

    return document_yaml.load(head)


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
