"""One unit of recall, and its markdown form: frontmatter written by a YAML library, then the body.

Contract: docs/documents.md. Same fields and body, same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from core import frontmatter
from core.text import clean, encodable


class Timestamp(str):
    """An ISO 8601 instant that stands unquoted in the frontmatter."""

    __slots__ = ()


class _Dumper(yaml.CSafeDumper if hasattr(yaml, "CSafeDumper") else yaml.SafeDumper):  # type: ignore[misc]
    pass


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """Leaves timestamps as the text that was written, so that reading and writing are inverse."""


_Dumper.add_representer(
    Timestamp, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:timestamp", str(value))
)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


_DEEP = 50


@dataclass(frozen=True, slots=True)
class Document:
    """``name`` is the file's path below its collection (``5f0c….md``); ``meta`` keeps its order."""

    name: str
    meta: dict[str, Any] = field(default_factory=dict)
    body: str = ""

    def render(self) -> bytes:
        """The file's bytes, UTF-8."""
        return render(self.meta, self.body)


@dataclass(frozen=True, slots=True)
class Failure:
    """A record or file that could not be read: a value that flows on and is counted, never an exception.

    ``path`` is the raw source, ``reason`` a short fixed phrase to count by, ``detail`` what was seen, ``line`` 1-based.
    """

    path: str
    reason: str
    detail: str = ""
    line: int = 0


def render(meta: dict[str, Any], body: str) -> bytes:
    """Frontmatter and body as UTF-8 bytes; empty fields (None, "", []) are left out."""
    kept = {clean(key): _safe(value) for key, value in meta.items() if value not in (None, "", [])}
    head = yaml.dump(
        kept, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000, default_flow_style=False
    )
    return f"---\n{head}---\n\n{encodable(body).rstrip()}\n".encode()


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
    if _is_deep(head):
        return None
    try:
        meta = yaml.load(head, Loader=_Loader)  # noqa: S506  # a safe loader's subclass
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # The library's constructors raise whatever a value of the wrong kind makes them stumble over (`!!timestamp x`).
        return None
    if meta is None and not head.strip():
        return {}
    return meta if isinstance(meta, dict) else None


def _is_deep(head: str) -> bool:
    """Whether values nest deeper than any field of a document: libyaml composes by recursion, and ends the process."""
    if sum(map(head.count, "[{?-")) < _DEEP:
        return False
    depth = 0
    try:
        for event in yaml.parse(head, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEP:
                return True
    except yaml.YAMLError:
        return True
    return False


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
