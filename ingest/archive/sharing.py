"""Archived files that several units share (databases, histories of shells, transcripts of several sessions).

What is forgotten of such a file leaves the archive alone; without this, all others would leave it along. Which piece
is whose is told as the parsers tell it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.redaction import clean_document
from ingest.archive import rows
from ingest.raw import databases
from ingest.sources.histories.source import is_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Sources whose files may hold records of several sessions, line by line.
_IN_LINES = ("claude",)


def pieces(source: str, path: str, data: bytes) -> Iterable[tuple[str, bytes]] | None:
    """(unit, bytes) of an archived object's pieces, together its bytes; "" for what is several units'.

    None where the file cannot be taken apart: it goes as a whole.
    """
    if path.endswith(databases.SUFFIXES) or is_history(source, path):
        return [(rows.unit_of(data), data)]
    if source == "shell":
        from ingest.sources.shell import parser as shell

        return shell.pieces(path, data)
    if source in _IN_LINES:
        from ingest.sources.claude import parser as claude

        return claude.pieces(path, data)
    return None


def is_one(source: str, path: str) -> bool:
    """Whether a file's pieces are told of all of its objects together: whose a line is may stand in an earlier one."""
    return source in _IN_LINES and not path.endswith(databases.SUFFIXES) and not is_history(source, path)


def owners(source: str, path: str, data: bytes, test: Callable[[bytes], bool]) -> set[str] | None:
    """The units in whose pieces of an object ``test`` finds something; None where all of the file may be meant."""
    found = pieces(source, path, data)
    if found is None:
        return None
    units = {unit for unit, piece in found if test(piece)}
    return units if units and "" not in units else None


def without(source: str, path: str, data: bytes, is_gone: Callable[[str], bool]) -> bytes:
    """What is left of an object without the pieces of some units, and without those that cannot be told apart."""
    return b"".join(piece for unit, piece in pieces(source, path, data) or () if unit and not is_gone(unit))


def dropped(source: str, path: str, held: bytes, before: bytes, now: bytes, read: bytes) -> bytes:
    """What a file has dropped: ``held``, known before, and the pieces that it had ``before`` and has no more.

    ``now``: what is kept of the bytes that were ``read``.
    """
    if source != "shell":
        return held
    from ingest.sources.shell import parser as shell

    return shell.dropped(path, held, before, now, read)


def redacted(source: str, path: str, data: bytes, counts: dict[str, int]) -> bytes:
    """A file that is one document or text without secrets; what was replaced is added to ``counts``."""
    if source != "shell" or path.endswith(databases.SUFFIXES):
        return clean_document(data, counts)
    from ingest.sources.shell import parser as shell

    return shell.without_secrets(path, data, counts)
