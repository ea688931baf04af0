"""Archived files that several units share: databases, histories of shells, transcripts of several sessions.

Forgetting one unit must leave the other units of such a file in the archive. The source of a file takes it apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.redaction import clean_document
from ingest import registry
from ingest.archive import rows
from ingest.raw.store import DATABASES
from ingest.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def pieces(source: str, path: str, data: bytes) -> Iterable[tuple[str, bytes]] | None:
    """Return (unit, bytes) of the pieces of an archived object, together its bytes; "" for an uncertain unit.

    None means that the object cannot be taken apart: forgetting removes the whole of it.
    """
    tool = _tool(source)
    if path.endswith(DATABASES) or tool.is_history(path):
        return [(rows.unit_of(data), data)]
    return tool.pieces(path, data)


def is_one(source: str, path: str) -> bool:
    """Return True if only all objects of a file together can be taken apart."""
    tool = _tool(source)
    return tool.pieces_need_whole and not path.endswith(DATABASES) and not tool.is_history(path)


def owners(source: str, path: str, data: bytes, test: Callable[[bytes], bool]) -> set[str] | None:
    """Return the units of the pieces that pass ``test``; None if they may be any units of the file."""
    found = pieces(source, path, data)
    if found is None:
        return None
    units = {unit for unit, piece in found if test(piece)}
    return units if units and "" not in units else None


def without(source: str, path: str, data: bytes, is_gone: Callable[[str], bool]) -> bytes:
    """Return an object without the pieces of some units, and without pieces of an uncertain unit."""
    return b"".join(piece for unit, piece in pieces(source, path, data) or () if unit and not is_gone(unit))


def dropped(source: str, path: str, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
    """Return the content that a file has dropped: see ``ingest.source.Source.dropped``."""
    return _tool(source).dropped(path, held, before, now, read)


def redacted(source: str, path: str, data: bytes, counts: dict[str, int]) -> bytes:
    """Return a file that is one document or text without secrets; replacements are added to ``counts``."""
    if path.endswith(DATABASES):
        return clean_document(data, counts)
    return _tool(source).redacted(path, data, counts)


def _tool(source: str) -> Source:
    """Return a source, with the defaults of every source if it is no longer installed."""
    return registry.find(source) or Source()
