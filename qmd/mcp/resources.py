"""Documents as resources: ``qmd://collection/path``, percent-encoded, read from the index and from nowhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from mcp_types import TextResourceContents

from qmd.index import retrieve, virtual
from qmd.index.references import number_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

TEMPLATE = "qmd://{+path}"
MIME_TYPE = "text/markdown"
# What encodeURIComponent leaves as it is, and the slash.
_SAFE = "/!'()*-._~"
# Under which a document's names travel through the SDK.
_NAMED = "brain/named"


class BadAddress(ValueError):
    """An address that is none of ours, or that cannot be decoded."""


def encode(path: str) -> str:
    """The address of ``collection/path``."""
    return virtual.SCHEME + quote(path, safe=_SAFE)


def decode(uri: str) -> str:
    """What an address names. Raises BadAddress."""
    if not uri.startswith(virtual.SCHEME) or uri == virtual.SCHEME:
        raise BadAddress(f"Resource not found: {uri}")
    path = uri.removeprefix(virtual.SCHEME)
    if re.search(r"%(?![0-9A-Fa-f]{2})", path):
        raise BadAddress(f"URI malformed: {uri}")
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise BadAddress(f"URI malformed: {uri}") from None


def find(connection: apsw.Connection, name: str, *, body: bool = True) -> retrieve.Document | retrieve.NotFound:
    """The document that a client's ``name`` means. The file system is not asked, so no name leads out of the index."""
    if "\0" in name:
        return retrieve.NotFound(name)
    return retrieve.get(connection, name, body=body)


def missing(found: retrieve.NotFound, name: str) -> str:
    """What to say of a document that is not there; paths like it are left to the caller."""
    if found.ignored:
        collection, path, rule = found.ignored
        return (
            f"Document excluded by ignore rule: {name}\nCollection: {collection}\nMatched path: {path}"
            f"\nIgnore rule: {rule}"
        )
    return f"Document not found: {name}"


def with_context(text: str, context: str) -> str:
    """``text`` after a comment with its context, where it has one."""
    return f"<!-- Context: {context} -->\n\n{text}" if context else text


def read(connection: apsw.Connection, uri: str, outgoing: Callable[[str], str]) -> TextResourceContents:
    """The contents of a resource; of one that is not there, a text that says so. Raises BadAddress, apsw.Error.

    ``outgoing`` gives a document's text as it may leave.
    """
    name = decode(uri)
    found = find(connection, name)
    if isinstance(found, retrieve.NotFound):
        return TextResourceContents(uri=uri, text=missing(found, name))
    text = with_context(number_lines(outgoing(found.body or "")), outgoing(found.context or ""))
    named = {_NAMED: {"name": f"{found.collection}/{found.path}", "title": outgoing(found.title)}}
    return TextResourceContents(uri=uri, mime_type=MIME_TYPE, text=text, _meta=named)


def with_names(result: dict[str, Any]) -> None:
    """Put a document's ``collection/path`` and title beside its text, in a result as it goes out.

    That is where qmd has them. The protocol does not, so that the SDK leaves them out of what it makes of a result.
    """
    for contents in result.get("contents", ()):
        meta = contents.get("_meta", {})
        contents.update(meta.pop(_NAMED, {}))
        if not meta:
            contents.pop("_meta", None)
